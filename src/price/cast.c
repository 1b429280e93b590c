/* cast.c - makes schedules ready to be played: what each step asks of its processor, what
 * waits for what, and room for what will happen.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "play.h"

enum { PORTS = 16 };

void tt_profile_flat(tt_profile *profile, int ranks) {
  memset(profile, 0, sizeof *profile);
  profile->ranks = ranks;
  profile->levels = profile->tree.levels = 1;
  profile->tree.even = true;
  profile->tree.ranks = profile->tree.level[0].each = profile->tree.level[0].most = ranks;
}

/* What the step's rank does for it, in the profile's figures. */
static tt_job job_of(const tt_sched *s, const tt_step *step, const tt_profile *p, uint32_t player) {
  tt_job job = {.player = player, .receives = tt_step_receives(step)};
  const double share = tt_step_share(s, step);
  int others = 0;
  if (tt_step_local(step)) {
    job.copying = 2 * share * p->copy;
    job.reducing = share * step->inputs * p->gamma;
    return job;
  }
  for (int i = 0; i < step->peers.count; i++)
    others += tt_peer_rank(&step->peers, i, s->ranks) != s->rank;
  if (!others) return job;
  if (step->kind == TT_SEND) {
    job.processor = p->message + (others - 1) * p->again;
    if (!p->lent) job.copying = share * p->copy * (p->published && !step->split ? 1 : others);
    return job;
  }
  job.processor = others * (step->peers.count > 1 ? p->again : p->message);
  job.copying = others * share * p->copy;
  if (step->kind == TT_RECV_REDUCE)
    job.copying = share * (others * p->copy - (others - 1) * p->spared);
  if (step->kind == TT_RECV_REDUCE) job.reducing = others * share * p->gamma;
  return job;
}

static bool list_jobs(tt_play *play, tt_sched *const *all, uint32_t *first) {
  uint32_t steps = 0, edges = 0;
  for (int r = 0; r < play->players; r++) {
    first[r] = steps;
    steps += all[r]->nsteps;
    edges += all[r]->nsteps ? all[r]->after_at[all[r]->nsteps] : 0;
  }
  first[play->players] = play->steps = steps;
  play->job = malloc(((size_t)steps + 1) * sizeof *play->job);
  play->then_at = calloc((size_t)steps + 2, sizeof *play->then_at);
  play->then = malloc(((size_t)edges + 1) * sizeof *play->then);
  if (!play->job || !play->then_at || !play->then) return false;
  for (int pass = 0; pass < 2; pass++) {
    for (int r = 0; r < play->players; r++)
      for (uint32_t i = 0; i < all[r]->nsteps; i++) {
        const tt_sched *s = all[r];
        if (!pass) {
          play->job[first[r] + i] = job_of(s, &s->steps[i], &play->profile, (uint32_t)r);
          play->job[first[r] + i].turn = i;
          play->job[first[r] + i].needs = s->after_at[i + 1] - s->after_at[i];
          play->job[first[r] + i].alone = !play->job[first[r] + i].needs;
        }
        for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++) {
          uint32_t *at = &play->then_at[first[r] + s->after[k] + 1];
          if (pass)
            play->then[at[0]++] = first[r] + i;
          else
            at[1]++;
        }
      }
    for (uint32_t i = 1; !pass && i <= steps; i++) play->then_at[i + 1] += play->then_at[i];
  }
  return true;
}

bool tt_play_room(tt_play *play) {
  const size_t events = (size_t)play->steps + play->deals;
  const size_t more = play->profile.roam ? 2 * (size_t)play->deals : play->deals;
  play->moment = malloc((events + more + 1) * sizeof *play->moment);
  play->event = malloc((events + 1) * sizeof *play->event);
  return play->moment && play->event;
}

/* From how many ranks one receives; false: out of memory. */
static bool count_senders(const tt_sched *s, int ranks, int *n) {
  bool *seen = calloc((size_t)ranks, sizeof *seen);
  for (uint32_t i = 0; seen && i < s->nsteps; i++)
    for (int k = 0; tt_step_receives(&s->steps[i]) && k < s->steps[i].peers.count; k++) {
      bool *here = &seen[tt_peer_rank(&s->steps[i].peers, k, ranks)];
      *n += !*here;
      *here = true;
    }
  const bool counted = seen;
  free(seen);
  return counted;
}

tt_play *tt_play_new(tt_sched *const *all, int n, bool uniform, const tt_profile *profile) {
  tt_play *play = calloc(1, sizeof *play);
  uint32_t *first = play ? malloc(((size_t)n + 1) * sizeof *first) : NULL;
  bool ok = first && n == profile->ranks;
  for (int l = 0; l < profile->levels; l++) ok = ok && profile->reach[l].ports <= PORTS;
  if (ok) {
    play->profile = *profile;
    play->players = uniform ? 1 : n;
    play->slices = 1;
    ok = list_jobs(play, all, first) && tt_play_deals(play, all, first) &&
         count_senders(all[0], n, &play->senders);
  }
  ok = ok && tt_play_room(play) && tt_play_links(play);
  free(first);
  if (ok) return play;
  tt_play_free(play);
  return NULL;
}

uint32_t tt_play_events(const tt_play *play) {
  return play->steps + play->deals;
}

tt_sends tt_play_busiest(const tt_play *play) {
  tt_sends most = {0}, rank = {0};
  for (uint32_t i = 0; i < play->deals; i++) { /* a rank's stand together */
    const tt_deal *d = &play->deal[i];
    if (i && d->sender != d[-1].sender) rank = (tt_sends){0};
    rank.vectors += d->share;
    rank.level[d->level] += d->share;
    if (++rank.messages > most.messages) most.messages = rank.messages;
    if (rank.vectors > most.vectors) most.vectors = rank.vectors;
    if (rank.level[d->level] > most.level[d->level]) most.level[d->level] = rank.level[d->level];
  }
  return most;
}

void tt_play_free(tt_play *play) {
  if (!play) return;
  free(play->job);
  free(play->then_at);
  free(play->then);
  free(play->deal_at);
  free(play->deal);
  free(play->moment);
  free(play->event);
  free(play);
}
