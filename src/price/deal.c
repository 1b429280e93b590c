/* deal.c - the messages between schedules, and the links that they share.
 *
 * Idea       sends are sorted by reader; each receive takes the next one of its sender.
 *            A link that leaves a thing, or enters it, carries at the same time what its
 *            ranks send in the same round: that is told by a play in which every message
 *            takes one unit of time.
 * Invariant  where one rank is played for all, the step that sends what it receives has
 *            the same number in its own schedule: it is looked up in its sender's.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "play.h"

double tt_step_share(const tt_sched *s, const tt_step *step) {
  const double blocks = tt_span_size(tt_step_cargo(step));
  return blocks / (step->split ? step->peers.count : 1) / s->blocks;
}

/* ---- matching ---- */

typedef struct sent {
  int sender, reader;
  uint32_t slot; /* among the deals */
} sent;

typedef struct post {
  sent *sent;       /* by reader, then by sender, then in order */
  uint32_t *box;    /* the first of each reader, and the end */
  uint32_t *next;   /* of each sender, for one reader */
  uint32_t *others; /* peers but the rank itself, of each played step, added up */
} post;

/* Calls for each message of a schedule that some player reads: count it in its box, or
 * put it there. */
static void sort_sends(const tt_play *play, const tt_sched *s, const uint32_t *first, post *p,
                       bool put) {
  const uint32_t base = play->players == 1 ? 0 : first[s->rank];
  for (uint32_t i = 0; i < s->nsteps; i++) {
    uint32_t other = 0;
    for (int k = 0; s->steps[i].kind == TT_SEND && k < s->steps[i].peers.count; k++) {
      const int turn = tt_send_turn(s, &s->steps[i], k);
      const int peer = tt_peer_rank(&s->steps[i].peers, turn, s->ranks);
      if (peer == s->rank) continue;
      const uint32_t step = base + i, slot = (step < play->steps ? p->others[step] : 0) + other++;
      if (peer >= play->players) continue;
      if (put)
        p->sent[p->box[peer]++] = (sent){s->rank, peer, slot};
      else
        p->box[peer]++;
    }
  }
}

static bool new_post(tt_play *play, tt_sched *const *all, const uint32_t *first, post *p) {
  const int ranks = all[0]->ranks;
  uint32_t sum = 0, others = 0;
  *p = (post){.box = calloc((size_t)play->players + 2, sizeof *p->box),
              .next = calloc((size_t)ranks, sizeof *p->next),
              .others = calloc((size_t)play->steps + 1, sizeof *p->others)};
  if (!p->box || !p->next || !p->others) return false;
  for (int r = 0, at = 0; r < play->players; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++, at++) {
      p->others[at] = others;
      for (int k = 0; all[r]->steps[i].kind == TT_SEND && k < all[r]->steps[i].peers.count; k++)
        others += tt_peer_rank(&all[r]->steps[i].peers, k, ranks) != r;
    }
  p->others[play->steps] = play->deals = others;
  for (int r = 0; r < ranks; r++)
    if (all[r]) sort_sends(play, all[r], first, p, false);
  for (int r = 0; r <= play->players; r++) {
    const uint32_t n = p->box[r];
    p->box[r] = sum;
    sum += n;
  }
  p->sent = malloc((sum + 1) * sizeof *p->sent);
  if (!p->sent || sum != others) return false;
  for (int r = 0; r < ranks; r++)
    if (all[r]) sort_sends(play, all[r], first, p, true);
  memmove(p->box + 1, p->box, (size_t)play->players * sizeof *p->box);
  p->box[0] = 0;
  return true;
}

/* The receives of one rank take what is in its box, sender by sender. */
static bool empty_box(tt_play *play, const tt_sched *s, uint32_t base, post *p, uint32_t *taken) {
  const int player = play->players == 1 ? 0 : s->rank;
  const uint32_t lo = p->box[player], hi = p->box[player + 1];
  for (uint32_t i = hi; i > lo; i--) p->next[p->sent[i - 1].sender] = i - 1;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    for (int k = 0; tt_step_receives(step) && k < step->peers.count; k++) {
      const int peer = tt_peer_rank(&step->peers, k, s->ranks);
      if (peer == s->rank) continue;
      const uint32_t at = p->next[peer]++;
      if (at < lo || at >= hi || p->sent[at].sender != peer) return false;
      const uint32_t slot = p->sent[at].slot;
      if (slot >= play->deals || play->deal[slot].share != 0) return false;
      play->deal[slot] = (tt_deal){.to = base + i,
                                   .sender = (uint32_t)peer,
                                   .reader = (uint32_t)s->rank,
                                   .share = tt_step_share(s, step)};
      ++*taken;
      play->job[base + i].needs++;
    }
  }
  return true;
}

static void free_post(post *p) {
  free(p->sent);
  free(p->box);
  free(p->next);
  free(p->others);
}

/* What a message more of a step takes of a core. */
static double handling(tt_job *job, const tt_reach *reach) {
  const double takes = job->messages ? reach->again : reach->processor;
  job->messages = true;
  return takes;
}

/* At either end a core handles it: with the rest of its step; or, where ranks roam, one message
 * leaves before the next one is handled, and all but one are as they come. */
static void handle(tt_play *play, uint32_t d) {
  tt_deal *deal = &play->deal[d];
  tt_job *from = &play->job[deal->from], *to = &play->job[deal->to];
  const tt_reach *reach = &play->profile.reach[deal->level];
  const bool apart = play->profile.roam && to->messages;
  const double out = handling(from, reach), in = handling(to, reach);
  from->processor += out;
  *(apart ? &deal->again : &to->processor) += in;
  deal->early = out;
}

/* From what each takes to what those after it take. */
static void send_in_turn(tt_play *play, uint32_t step) {
  double after = 0;
  for (uint32_t d = play->deal_at[step + 1]; d-- > play->deal_at[step];) {
    const double own = play->deal[d].early;
    play->deal[d].early = after;
    after += own;
  }
}

bool tt_play_deals(tt_play *play, tt_sched *const *all, const uint32_t *first) {
  post p;
  uint32_t taken = 0;
  bool ok = new_post(play, all, first, &p);
  if (ok) {
    play->deal = calloc((size_t)play->deals + 1, sizeof *play->deal);
    ok = play->deal;
  }
  for (int r = 0; ok && r < play->players; r++) ok = empty_box(play, all[r], first[r], &p, &taken);
  ok = ok && taken == play->deals;
  for (uint32_t i = 0, d = 0; ok && i < play->steps; i++)
    for (; d < p.others[i + 1]; d++) play->deal[d].from = i;
  play->deal_at = p.others;
  p.others = NULL;
  free_post(&p);
  return ok;
}

/* ---- links ---- */

uint32_t *tt_profile_things(const tt_profile *profile) {
  const size_t ranks = (size_t)profile->ranks;
  uint32_t *thing = malloc((size_t)profile->levels * ranks * sizeof *thing);
  if (!thing) return NULL;
  for (int l = profile->levels - 1; l >= 0; l--) {
    uint32_t parent = 0;
    int end = l < profile->levels - 1 ? tt_tree_count(&profile->tree, l + 1, 0) : 0;
    for (size_t r = 0; r < ranks; r++) {
      if (l == profile->levels - 1) {
        thing[(size_t)l * ranks + r] = (uint32_t)r;
        continue;
      }
      while ((int)thing[(size_t)(l + 1) * ranks + r] >= end)
        end += tt_tree_count(&profile->tree, l + 1, (int)++parent);
      thing[(size_t)l * ranks + r] = parent;
    }
  }
  return thing;
}

/* Whose link it is: the thing's; a torus has one of every level for each node. */
static int owner(const tt_profile *profile, int level) {
  const int node = profile->levels - 2;
  return profile->torus && level < node ? node : level;
}

static void narrow(tt_deal *d, double beta, int level, double carried) {
  if (beta * carried <= d->slope) return;
  d->slope = beta * carried;
  d->narrowest = (uint8_t)level;
}

/* Ranks that share a link of a level, all alike. */
static double sharers(const tt_profile *profile, int level) {
  double ranks = 1;
  for (int l = owner(profile, level) + 1; l < profile->levels; l++)
    ranks *= profile->tree.level[l].most;
  return ranks;
}

/* Links of a level that a message takes: one; on a torus as many as its ends are apart. */
static double links_of(const tt_profile *profile, int level, const tt_deal *d) {
  if (profile->hop <= 0 || level >= profile->levels - 1 || !profile->tree.even) return 1;
  uint32_t below = 1;
  for (int l = level + 1; l < profile->levels; l++) below *= (uint32_t)profile->tree.level[l].each;
  const uint32_t n = (uint32_t)profile->tree.level[level].each;
  const uint32_t apart = (d->sender / below % n + n - d->reader / below % n) % n;
  return apart < n - apart ? apart : n - apart;
}

/* The nodes on the way take their time, too. */
static double way_of(const tt_profile *profile, const tt_deal *d) {
  double links = 0;
  for (int l = d->level; profile->hop > 0 && l < profile->levels - 1; l++)
    links += links_of(profile, l, d);
  return links > 1 ? (links - 1) * profile->hop : 0;
}

/* The links of one level, outwards or inwards: in a first pass what crosses together is
 * added up, in a second one it is known. */
static bool share_links(tt_play *play, const uint32_t *things, const uint32_t *round, int level,
                        bool inward) {
  const tt_profile *profile = &play->profile;
  const size_t ranks = (size_t)profile->ranks;
  const uint32_t *thing = things + (size_t)owner(profile, level) * ranks;
  size_t rounds = 1;
  for (uint32_t i = 0; i < play->deals; i++)
    if (round[i] >= rounds) rounds = round[i] + 1;
  double *sum = calloc((thing[ranks - 1] + 1) * rounds, sizeof *sum);
  for (int pass = 0; pass < 2 && sum; pass++)
    for (uint32_t i = 0; i < play->deals; i++) {
      tt_deal *d = &play->deal[i];
      if (d->level > level) continue;
      double *together = &sum[thing[inward ? d->reader : d->sender] * rounds + round[i]];
      if (pass == 0)
        *together += d->share * links_of(profile, level, d);
      else
        narrow(d, profile->reach[level].beta, level, *together);
    }
  free(sum);
  return sum;
}

static void bound_by(tt_play *play, double carried, int level) {
  const tt_profile *profile = &play->profile;
  const tt_reach *reach = &profile->reach[level];
  if (level == profile->levels - 1) carried /= tt_ports(reach);
  if (carried > 0) play->saved[level] = reach->burst / carried;
  const double slope = carried * reach->beta;
  if (slope <= play->link_slope) return;
  play->link_slope = slope;
  play->link_level = (uint8_t)level;
}

/* The link of a level that carries most, in or out, over all rounds: none is done before. */
static bool bound_by_links(tt_play *play, const uint32_t *things, int level) {
  const tt_profile *profile = &play->profile;
  const size_t ranks = (size_t)profile->ranks;
  const uint32_t *thing = things + (size_t)owner(profile, level) * ranks;
  const size_t n = thing[ranks - 1] + 1;
  const size_t inwards = profile->half && level == profile->levels - 1 ? 0 : n;
  double *sum = calloc(2 * n, sizeof *sum), most = 0;
  if (!sum) return false;
  for (uint32_t i = 0; i < play->deals; i++) {
    const tt_deal *d = &play->deal[i];
    if (d->level > level) continue;
    const double share = d->share * links_of(profile, level, d);
    sum[thing[d->sender]] += share;
    sum[inwards + thing[d->reader]] += share;
  }
  for (size_t k = 0; k < 2 * n; k++)
    if (sum[k] > most) most = sum[k];
  free(sum);
  bound_by(play, most, level);
  return true;
}

/* The same where one rank is played for all. */
static void bound_by_own(tt_play *play, int level) {
  double sum = 0;
  for (uint32_t i = 0; i < play->deals; i++)
    if (play->deal[i].level <= level)
      sum += play->deal[i].share * links_of(&play->profile, level, &play->deal[i]);
  if (play->profile.half && level == play->profile.levels - 1) sum *= 2;
  bound_by(play, sum * sharers(&play->profile, level), level);
}

int tt_profile_parts(const tt_profile *profile, const uint32_t *things, int a, int b) {
  const size_t ranks = (size_t)profile->ranks;
  int l = 0;
  while (l < profile->levels - 1 &&
         things[(size_t)l * ranks + (size_t)a] == things[(size_t)l * ranks + (size_t)b])
    l++;
  return l;
}

/* One rank played for all: all that share a link cross it at once. A rank's own link is its
 * ports, which are busy all the time that it needs, unless it lets bytes through at once. */
bool tt_play_links(tt_play *play) {
  const tt_profile *profile = &play->profile;
  const int last = profile->levels - 1,
            bounds = last + (profile->reach[last].burst > 0 || profile->apart);
  uint32_t *things = bounds ? tt_profile_things(profile) : NULL;
  uint32_t *round = last ? malloc(((size_t)play->deals + 1) * sizeof *round) : NULL;
  bool ok = (things || !bounds) && (round || !last);
  for (uint32_t i = 0; ok && i < play->deals; i++) {
    tt_deal *d = &play->deal[i];
    d->level =
        last ? (uint8_t)tt_profile_parts(profile, things, (int)d->sender, (int)d->reader) : 0;
    d->narrowest = (uint8_t)last;
    d->slope = profile->reach[last].beta * d->share;
    for (int l = last - 1; play->players == 1 && l >= d->level; l--)
      narrow(d, profile->reach[l].beta, l,
             d->share * sharers(profile, l) * links_of(profile, l, d));
  }
  if (ok && last && play->players > 1) ok = tt_play_rounds(play, round);
  for (int l = last - 1; play->players > 1 && l >= 0 && ok; l--)
    ok = share_links(play, things, round, l, false) && share_links(play, things, round, l, true);
  for (int l = bounds - 1; l >= 0 && ok; l--) {
    if (play->players > 1)
      ok = bound_by_links(play, things, l);
    else
      bound_by_own(play, l);
  }
  for (uint32_t i = 0; i < play->deals; i++) {
    tt_deal *d = &play->deal[i];
    d->way = way_of(profile, d);
    handle(play, i);
  }
  for (uint32_t i = 0; i < play->steps; i++) send_in_turn(play, i);
  for (uint32_t i = 0; play->players == 1 && i < play->deals; i++)
    play->deal[i].sender = play->deal[i].reader = 0;
  free(things);
  free(round);
  return ok;
}
