/* sim_match.c - the messages between schedules, and the links that they share (topologies.h).
 *
 * Idea       Sends are sorted by reader, and each receive is matched with the next send of its sender. A link that
 *            leaves or enters a domain is shared by the messages of its ranks in the same round. Rounds are found by a
 *            simulation in which every message takes one unit of time. On a torus with hops, a message from far away
 *            arrives later, when some of the others have already passed.
 * Invariant  If one rank is simulated for all, the step that sends what it receives has the same number in its own
 *            schedule. It is looked up in the schedule of the sender.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "topologies.h"

double tt_step_share(const tt_sched *s, const tt_step *step) {
  const double blocks = tt_span_size(tt_step_cargo(step));
  return blocks / (step->split ? step->peers.count : 1) / s->blocks;
}

/* ---- matching ---- */

typedef struct sent {
  int sender, reader;
  uint32_t slot; /* index of the message */
} sent;

typedef struct matcher {
  sent *sent;       /* sorted by reader, then by sender, then in order */
  uint32_t *box;    /* index of each reader's first message, plus the total */
  uint32_t *next;   /* index of each sender's next message to the current reader */
  uint32_t *others; /* prefix sum over the steps: number of peers other than the rank itself */
} matcher;

/* Puts each message that a simulated rank reads into the box of this rank. If `put` is false, only counts the messages. */
static void sort_sends(const tt_sim *sim, const tt_sched *s, const uint32_t *first, matcher *p,
                       bool put) {
  const uint32_t base = sim->sim_ranks == 1 ? 0 : first[s->rank];
  for (uint32_t i = 0; i < s->nsteps; i++) {
    uint32_t other = 0;
    for (int k = 0; s->steps[i].kind == TT_SEND && k < s->steps[i].peers.count; k++) {
      const int turn = tt_send_turn(s, &s->steps[i], k);
      const int peer = tt_peer_rank(&s->steps[i].peers, turn, s->ranks);
      if (peer == s->rank) continue;
      const uint32_t step = base + i, slot = (step < sim->steps ? p->others[step] : 0) + other++;
      if (peer >= sim->sim_ranks) continue;
      if (put)
        p->sent[p->box[peer]++] = (sent){s->rank, peer, slot};
      else
        p->box[peer]++;
    }
  }
}

static bool matcher_new(tt_sim *sim, tt_sched *const *all, const uint32_t *first, matcher *p) {
  const int ranks = all[0]->ranks;
  uint32_t sum = 0, others = 0;
  *p = (matcher){.box = calloc((size_t)sim->sim_ranks + 2, sizeof *p->box),
                 .next = calloc((size_t)ranks, sizeof *p->next),
                 .others = calloc((size_t)sim->steps + 1, sizeof *p->others)};
  if (!p->box || !p->next || !p->others) return false;
  for (int r = 0, at = 0; r < sim->sim_ranks; r++)
    for (uint32_t i = 0; i < all[r]->nsteps; i++, at++) {
      p->others[at] = others;
      for (int k = 0; all[r]->steps[i].kind == TT_SEND && k < all[r]->steps[i].peers.count; k++)
        others += tt_peer_rank(&all[r]->steps[i].peers, k, ranks) != r;
    }
  p->others[sim->steps] = sim->messages = others;
  for (int r = 0; r < ranks; r++)
    if (all[r]) sort_sends(sim, all[r], first, p, false);
  for (int r = 0; r <= sim->sim_ranks; r++) {
    const uint32_t n = p->box[r];
    p->box[r] = sum;
    sum += n;
  }
  p->sent = malloc((sum + 1) * sizeof *p->sent);
  if (!p->sent || sum != others) return false;
  for (int r = 0; r < ranks; r++)
    if (all[r]) sort_sends(sim, all[r], first, p, true);
  memmove(p->box + 1, p->box, (size_t)sim->sim_ranks * sizeof *p->box);
  p->box[0] = 0;
  return true;
}

/* Assigns the messages in a rank's box to the rank's receives, in order for each sender. */
static bool empty_box(tt_sim *sim, const tt_sched *s, uint32_t base, matcher *p, uint32_t *taken) {
  const int sim_rank = sim->sim_ranks == 1 ? 0 : s->rank;
  const uint32_t lo = p->box[sim_rank], hi = p->box[sim_rank + 1];
  for (uint32_t i = hi; i > lo; i--) p->next[p->sent[i - 1].sender] = i - 1;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    for (int k = 0; tt_step_receives(step) && k < step->peers.count; k++) {
      const int peer = tt_peer_rank(&step->peers, k, s->ranks);
      if (peer == s->rank) continue;
      const uint32_t at = p->next[peer]++;
      if (at < lo || at >= hi || p->sent[at].sender != peer) return false;
      const uint32_t slot = p->sent[at].slot;
      if (slot >= sim->messages || sim->message[slot].share != 0) return false;
      sim->message[slot] = (tt_sim_message){.to = base + i,
                                            .sender = (uint32_t)peer,
                                            .reader = (uint32_t)s->rank,
                                            .share = tt_step_share(s, step)};
      ++*taken;
      sim->task[base + i].needs++;
    }
  }
  return true;
}

static void matcher_free(matcher *p) {
  free(p->sent);
  free(p->box);
  free(p->next);
  free(p->others);
}

/* Returns the processor time of one more message of a step. `share` is the message's fraction of the vector. */
static double handling(tt_sim_task *task, const tt_link *link, double share) {
  task->reducing += share * link->code / 2;
  const double takes = task->messages ? link->o_next : link->o;
  task->messages = true;
  return takes;
}

/* Adds the processor time for a message to the steps at both of its ends. If ranks migrate, a message leaves before the next
 * one is handled, and all received messages except one are handled when they arrive. */
static void handle(tt_sim *sim, uint32_t d) {
  tt_sim_message *message = &sim->message[d];
  tt_sim_task *from = &sim->task[message->from], *to = &sim->task[message->to];
  const bool apart = sim->model.shm.migrates && to->messages;
  const double out =
      handling(from, tt_link_at(&sim->model, message->level, message->sender), message->share);
  const double in =
      handling(to, tt_link_at(&sim->model, message->level, message->reader), message->share);
  from->o += out;
  *(apart ? &message->o_next : &to->o) += in;
  message->early = out;
}

/* Replaces the overhead of each message with the sum over the messages that follow it in the step. */
static void send_in_turn(tt_sim *sim, uint32_t step) {
  double after = 0;
  for (uint32_t d = sim->message_at[step + 1]; d-- > sim->message_at[step];) {
    const double own = sim->message[d].early;
    sim->message[d].early = after;
    after += own;
  }
}

bool tt_sim_match(tt_sim *sim, tt_sched *const *all, const uint32_t *first) {
  matcher p;
  uint32_t taken = 0;
  bool ok = matcher_new(sim, all, first, &p);
  if (ok) {
    sim->message = calloc((size_t)sim->messages + 1, sizeof *sim->message);
    ok = sim->message;
  }
  for (int r = 0; ok && r < sim->sim_ranks; r++) ok = empty_box(sim, all[r], first[r], &p, &taken);
  ok = ok && taken == sim->messages;
  for (uint32_t i = 0, d = 0; ok && i < sim->steps; i++)
    for (; d < p.others[i + 1]; d++) sim->message[d].from = i;
  sim->message_at = p.others;
  p.others = NULL;
  matcher_free(&p);
  return ok;
}

/* ---- links ---- */

/* Changes the order of the array from positions to ranks. Returns false if out of memory. */
static bool order_by_ranks(const tt_cost_model *model, uint32_t *domain) {
  const size_t ranks = (size_t)model->ranks;
  uint32_t *of_position = malloc(ranks * sizeof *of_position);
  for (int l = 0; of_position && l < model->levels; l++, domain += ranks) {
    memcpy(of_position, domain, ranks * sizeof *domain);
    for (size_t r = 0; r < ranks; r++) domain[r] = of_position[model->position[r]];
  }
  const bool ok = of_position;
  free(of_position);
  return ok;
}

uint32_t *tt_cost_domains(const tt_cost_model *model) {
  const size_t ranks = (size_t)model->ranks;
  uint32_t *domain = malloc((size_t)model->levels * ranks * sizeof *domain);
  if (!domain) return NULL;
  for (int l = model->levels - 1; l >= 0; l--) {
    uint32_t parent = 0;
    int end = l < model->levels - 1 ? tt_tree_count(&model->tree, l + 1, 0) : 0;
    for (size_t r = 0; r < ranks; r++) {
      if (l == model->levels - 1) {
        domain[(size_t)l * ranks + r] = (uint32_t)r;
        continue;
      }
      while ((int)domain[(size_t)(l + 1) * ranks + r] >= end)
        end += tt_tree_count(&model->tree, l + 1, (int)++parent);
      domain[(size_t)l * ranks + r] = parent;
    }
  }
  if (!model->position || order_by_ranks(model, domain)) return domain;
  free(domain);
  return NULL;
}

/* Returns the number of domains at a level. */
static size_t domains_in(const tt_cost_model *model, const uint32_t *domain) {
  uint32_t last = 0;
  for (int r = 0; r < model->ranks; r++)
    if (domain[r] > last) last = domain[r];
  return last + 1;
}

static void narrow(tt_sim_message *d, double beta, int level, double carried) {
  if (beta * carried <= d->slope) return;
  d->slope = d->late = beta * carried;
  d->narrowest = (uint8_t)level;
}

/* The messages that cross a link in one round. `all` and `last` are the load as shares of the vector: of all messages, and of
 * those that arrive last. The times in s are those when the first and the last message reach the link. */
typedef struct crossing {
  double all, last, first_way, last_way;
} crossing;

static void join(crossing *c, double part, double way) {
  if (c->all == 0 || way < c->first_way) c->first_way = way;
  if (way > c->last_way) c->last = 0;
  if (way > c->last_way) c->last_way = way;
  if (way == c->last_way) c->last += part;
  c->all += part;
}

/* Charges a message for a link at one of its ends that other messages cross in the same round. `own` is the message's share
 * of the vector. */
static void cross(tt_sim *sim, uint32_t i, int level, uint32_t rank, const crossing *c,
                  double own) {
  tt_sim_message *d = &sim->message[i];
  const double beta = tt_link_at(&sim->model, level, rank)->beta, before = d->slope;
  narrow(d, beta, level, c->all);
  if (sim->ends) tt_sim_ends_cross(sim, i, level, c->all);
  if (d->slope == before) return;
  d->head = d->way - c->first_way;
  d->late = beta * (d->way == c->last_way ? c->last : own);
}

/* Shares the links of a level, outward or inward, among the messages of each round. The first pass adds up the load of each
 * link, and the second pass uses the sums. If one rank represents all, ranks that share its link do the same. */
static bool share_links(tt_sim *sim, const uint32_t *domains, const uint32_t *round, int level,
                        bool inward) {
  const tt_cost_model *model = &sim->model;
  const size_t ranks = (size_t)model->ranks;
  const bool alone = sim->sim_ranks == 1;
  const uint32_t *domain = domains + (size_t)tt_links_owner(model, level) * ranks;
  const double sharers = alone ? tt_links_sharers(model, level) : 1;
  size_t rounds = 1;
  for (uint32_t i = 0; i < sim->messages; i++)
    if (round[i] >= rounds) rounds = round[i] + 1;
  const size_t each = tt_links_numbered(model, level);
  const size_t n = each * (alone ? 1 : domains_in(model, domain)) * rounds;
  crossing *crossings = calloc(n, sizeof *crossings);
  for (int pass = 0; pass < 2 && crossings; pass++)
    for (uint32_t i = 0; i < sim->messages; i++) {
      tt_sim_message *d = &sim->message[i];
      const tt_links taken = tt_links_of(model, level, d, inward);
      if (taken.count <= 0 || tt_rank_uncontended(model, inward ? d->reader : d->sender)) continue;
      const uint32_t of = alone ? 0 : domain[inward ? d->reader : d->sender];
      crossing *c = &crossings[(each * of + taken.which) * rounds + round[i]];
      const double own = d->share * taken.count * sharers;
      if (pass == 0)
        join(c, own, d->way);
      else
        cross(sim, i, level, inward ? d->reader : d->sender, c, own);
    }
  free(crossings);
  return crossings;
}

/* `slope` is used only if the links of hosts differ: it is that of the link that is slowest for its load. */
static void bound_by(tt_sim *sim, double carried, double slope, int level) {
  const tt_cost_model *model = &sim->model;
  const tt_link *link = &model->link[level];
  if (level == model->levels - 1) carried /= tt_ports(link);
  if (carried > 0) sim->saved[level] = link->burst / carried;
  if (!model->hosts) slope = carried * link->beta;
  if (slope <= sim->link_slope) return;
  sim->link_slope = slope;
  sim->link_level = (uint8_t)level;
  sim->link_burst = link->burst;
  sim->link_incast = tt_incast_threshold(link);
}

/* Raises the lower bound of the time if the level's busiest link takes longer, in either direction, over all rounds. */
static bool bound_by_links(tt_sim *sim, const uint32_t *domains, int level) {
  const tt_cost_model *model = &sim->model;
  const size_t ranks = (size_t)model->ranks;
  const uint32_t *domain = domains + (size_t)tt_links_owner(model, level) * ranks;
  const size_t each = tt_links_numbered(model, level), n = each * domains_in(model, domain);
  const size_t inwards = model->half_duplex && level == model->levels - 1 ? 0 : n;
  double *sum = calloc(2 * n, sizeof *sum), most = 0, slope = 0;
  if (!sum) return false;
  for (uint32_t i = 0; i < sim->messages; i++) {
    const tt_sim_message *d = &sim->message[i];
    for (int inward = 0; inward < 2; inward++) {
      const tt_links taken = tt_links_of(model, level, d, inward);
      const uint32_t rank = inward ? d->reader : d->sender;
      if (!tt_rank_uncontended(model, rank))
        sum[(inward ? inwards : 0) + each * domain[rank] + taken.which] += d->share * taken.count;
    }
  }
  for (size_t k = 0; k < 2 * n; k++)
    if (sum[k] > most) most = sum[k];
  for (uint32_t r = 0; model->hosts && r < ranks; r++) {
    const tt_link *link = tt_link_at(model, level, r);
    const double beta = link->beta / (level == model->levels - 1 ? tt_ports(link) : 1);
    for (size_t k = each * domain[r], way = 0; way < 2 * each; way++) {
      const double takes = beta * sum[k + way % each + (way < each ? 0 : n)];
      if (takes > slope) slope = takes;
    }
  }
  free(sum);
  bound_by(sim, most, slope, level);
  return true;
}

/* Raises the lower bound of the time if the level's busiest link takes longer, where one rank represents all. Uses the
 * messages that this rank receives, because all known messages are for this rank. */
static bool bound_by_own(tt_sim *sim, int level) {
  const tt_cost_model *model = &sim->model;
  double *sum = calloc(tt_links_numbered(model, level), sizeof *sum), most = 0;
  for (uint32_t i = 0; sum && i < sim->messages; i++) {
    const tt_links taken = tt_links_of(model, level, &sim->message[i], true);
    sum[taken.which] += sim->message[i].share * taken.count;
    most = sum[taken.which] > most ? sum[taken.which] : most;
  }
  if (model->half_duplex && level == model->levels - 1) most *= 2;
  bound_by(sim, most * tt_links_sharers(model, level), 0, level);
  const bool ok = sum;
  free(sum);
  return ok;
}

int tt_cost_level(const tt_cost_model *model, const uint32_t *domains, int a, int b) {
  const size_t ranks = (size_t)model->ranks;
  int l = 0;
  while (l < model->levels - 1 &&
         domains[(size_t)l * ranks + (size_t)a] == domains[(size_t)l * ranks + (size_t)b])
    l++;
  return l;
}

/* Finds the rounds with tt_sim_rounds. If one rank represents all, the rank is its own peer during that call. */
static bool find_rounds(tt_sim *sim, uint32_t *round) {
  const size_t size = ((size_t)sim->messages + 1) * sizeof *sim->message;
  tt_sim_message *as_they_are = sim->sim_ranks == 1 ? malloc(size) : NULL;
  if (sim->sim_ranks > 1) return tt_sim_rounds(sim, round);
  if (!as_they_are) return false;
  memcpy(as_they_are, sim->message, size);
  for (uint32_t i = 0; i < sim->messages; i++) sim->message[i].sender = sim->message[i].reader = 0;
  const bool ok = tt_sim_rounds(sim, round);
  memcpy(sim->message, as_they_are, size);
  free(as_they_are);
  return ok;
}

/* Returns true if a rank can have several messages in the same round. */
static bool sends_at_once(const tt_cost_model *model) {
  bool several = model->ports_per_level;
  for (int l = 0; l < model->levels; l++) several |= tt_ports(&model->link[l]) > 1;
  return several;
}

/* If one rank is simulated for all, all ranks that share a link cross it in the same round. Only the links into its domains
 * are considered: all known messages go to this rank, and messages to other ranks leave on other links. The link of a
 * single rank consists of its ports, whose busy time is simulated. It is also used as a bound if it has burst credit, if
 * incast slows it, or if all ports of the rank share it. */
bool tt_sim_links(tt_sim *sim) {
  const tt_cost_model *model = &sim->model;
  const int last = model->levels - 1;
  const bool one_link = model->ports_per_level && !model->torus; /* a link that all ports share */
  const int bounds = last + (tt_incast_threshold(&model->link[last]) > 0 || one_link);
  const bool shared = sim->sim_ranks > 1 || sends_at_once(model);
  uint32_t *domains = bounds ? tt_cost_domains(model) : NULL;
  const bool mixed = tt_placement_unknown(model), rounds = mixed || (last && shared);
  uint32_t *round = rounds ? malloc(((size_t)sim->messages + 1) * sizeof *round) : NULL;
  bool ok = (domains || !bounds) && (round || !rounds) && tt_sim_ends_new(sim);
  for (uint32_t i = 0; ok && i < sim->messages; i++) {
    tt_sim_message *d = &sim->message[i];
    d->level = last ? (uint8_t)tt_cost_level(model, domains, (int)d->sender, (int)d->reader) : 0;
    d->narrowest = (uint8_t)last;
    d->slope = model->link[last].beta * d->share;
    d->way = tt_links_transit(model, d);
    if (sim->ends) tt_sim_ends_begin(sim, i);
    d->late = d->slope;
    for (int l = last - 1; !shared && l >= d->level; l--)
      narrow(d, model->link[l].beta, l,
             d->share * tt_links_sharers(model, l) * tt_links_of(model, l, d, true).count);
  }
  if (ok && rounds) ok = find_rounds(sim, round);
  for (int l = last - 1; shared && l >= 0 && ok; l--)
    ok = (sim->sim_ranks == 1 || share_links(sim, domains, round, l, false)) &&
         share_links(sim, domains, round, l, true);
  if (ok && mixed) ok = tt_sim_mix(sim, round);
  for (int l = bounds - 1; l >= 0 && ok; l--) {
    if (sim->sim_ranks > 1)
      ok = bound_by_links(sim, domains, l);
    else
      ok = bound_by_own(sim, l);
  }
  for (uint32_t i = 0; i < sim->messages; i++) {
    handle(sim, i);
    if (sim->ends) tt_sim_ends_finish(sim, i);
  }
  for (uint32_t i = 0; i < sim->steps; i++) send_in_turn(sim, i);
  for (uint32_t i = 0; sim->sim_ranks == 1 && i < sim->messages; i++)
    sim->message[i].sender = sim->message[i].reader = 0;
  free(domains);
  free(round);
  return ok;
}
