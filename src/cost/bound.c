/* bound.c - lower bounds from the load on a rank's ports, its processor and the links.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "bound.h"
#include "sim.h"
#include "topologies.h"

enum { NUMBERS = 2 * TT_TREE_LEVELS };

/* The load of one rank: on its ports at each level, in both directions, and on its processor. */
typedef struct load {
  tt_bound_line port[2][TT_TREE_LEVELS], processor;
  /* The data that the rank sends over links of each level, in multiples of the vector. If symmetric ranks use links with the
   * same numbers, each link number has its own entry. */
  double sent[NUMBERS][TT_TREE_LEVELS];
  double L; /* L of the fastest message that it receives; < 0: none */
  uint32_t rank;
} load;

/* Returns the outermost level where the two ranks are in different domains. */
static int parting_level(const tt_cost_model *model, int a, int b) {
  const tt_tree *tree = &model->tree;
  int l = 0, below = model->ranks;
  a = tt_cost_position(model, a);
  b = tt_cost_position(model, b);
  for (int g = 0; l < model->levels - 1; l++) {
    const int each = tree->level[l].each;
    if (tree->even) {
      below /= each;
      if (a / below != b / below) break;
      continue;
    }
    const int with = tt_tree_domain(tree, l, g, b);
    g = tt_tree_domain(tree, l, g, a);
    if (g != with) break;
  }
  return l;
}

static bool bursts(const tt_cost_model *model) {
  bool any = false;
  for (int l = 0; l < model->levels; l++) any |= model->link[l].burst > 0;
  return any;
}

/* Returns the number of a domain's links that are counted separately. Returns 1 unless symmetric ranks use links with the
 * same numbers. */
static size_t numbers_of(const tt_cost_model *model, int level) {
  return tt_topology_at(model, level)->same_numbers ? tt_links_numbered(model, level) : 1;
}

/* Returns the links that a message uses at its sender's end, or link 0 if the level's links are counted together. */
static tt_links same_links(const tt_cost_model *model, int level, const tt_sim_message *d) {
  if (tt_topology_at(model, level)->same_numbers) return tt_links_of(model, level, d, false);
  return (tt_links){0, 1};
}

/* Returns the minimum time per byte of a message at this rank's end, in s/B. It is the time on the slowest link of the route
 * if no other message uses that link. On a torus, this applies in every node of the route. */
static double least_beta(const tt_cost_model *model, uint32_t rank, const tt_sim_message *d) {
  const int last = model->levels - 1;
  double beta = tt_link_at(model, last, rank)->beta;
  if (bursts(model)) return 0;
  for (int l = d->level; l < last; l++) {
    const double other = tt_link_at(model, l, rank)->beta * same_links(model, l, d).count;
    if (other > beta) beta = other;
  }
  return beta;
}

static void load_links(load *x, const tt_sim_message *d, double share, const tt_cost_model *model) {
  for (int l = d->level; l < model->levels - 1; l++) {
    const tt_links taken = same_links(model, l, d);
    x->sent[taken.which][l] += share * taken.count;
  }
}

/* Adds a message to the load of a rank's port. `mean` is 0 if the placement is known. Otherwise only the first message of a
 * step adds its fixed time, and messages add their bytes, times `mean`, only if the ranks are symmetric. */
static void load_port(tt_bound_line *port, double mean, const tt_bound_line *takes, bool first,
                      bool alike) {
  if (mean <= 0 || first) port->each += takes->each;
  port->slope += takes->slope * (mean <= 0 ? 1 : alike ? mean : 0);
}

/* Adds a message to the load of a rank. Returns the extra processor time of the first message of a step. */
static double load_message(load *x, const tt_sched *s, const tt_step *step, int peer, bool later,
                           bool alike, const tt_cost_model *model) {
  const int level = parting_level(model, s->rank, peer);
  const double share = tt_step_share(s, step);
  const bool in = step->kind != TT_SEND;
  const tt_link *link = tt_link_at(model, level, x->rank);
  tt_bound_line *port = &x->port[in && !model->half_duplex][level];
  const tt_sim_message d = {.sender = x->rank, .reader = (uint32_t)peer, .level = (uint8_t)level};
  const double beta = least_beta(model, x->rank, &d);
  const double mean = level ? 0 : model->contention.mean;
  const double sooner = mean > 0 ? model->contention.nearest : 0;
  const tt_bound_line takes = {
      .each = link->alpha - sooner + tt_links_transit(model, &d) + model->header * beta,
      .slope = share * beta};
  load_port(port, mean, &takes, !later, alike);
  x->processor.each += link->o_next;
  if (!in) load_links(x, &d, share, model);
  if (in && (x->L < 0 || link->L < x->L)) x->L = link->L;
  return link->o - link->o_next;
}

static void load_rank(load *x, const tt_sched *s, bool alike, const tt_cost_model *model) {
  memset(x, 0, sizeof *x);
  x->L = -1;
  x->rank = (uint32_t)s->rank;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    const tt_sim_task job = tt_sim_job(s, step, model);
    double first = 0; /* the minimum, because any message may be the first */
    int others = 0;
    x->processor.each += job.o;
    x->processor.slope += job.copying + job.reducing;
    if (tt_step_local(step)) continue;
    for (int k = 0; k < step->peers.count; k++) {
      const int peer = tt_peer_rank(&step->peers, k, s->ranks);
      if (peer == s->rank) continue;
      const double more = load_message(x, s, step, peer, others > 0, alike, model);
      if (!others++ || more < first) first = more;
    }
    x->processor.each += first;
  }
}

static bool covers(const tt_bound_line *a, const tt_bound_line *b) {
  return a->each >= b->each && a->once >= b->once && a->slope >= b->slope && a->part >= b->part;
}

/* Adds a line to the bound. A line that does not fit is dropped, which only makes the bound lower. */
static void add_bound(tt_bound *bound, tt_bound_line line) {
  for (int i = 0; i < bound->n; i++)
    if (covers(&bound->line[i], &line)) return;
  int kept = 0;
  for (int i = 0; i < bound->n; i++)
    if (!covers(&line, &bound->line[i])) bound->line[kept++] = bound->line[i];
  bound->n = kept;
  if (kept < TT_BOUND_LINES) bound->line[bound->n++] = line;
}

/* Adds a line to the bound. Without slices, a line needs only one constant and one slope, so its parts are merged and fewer
 * lines have to be kept. */
static void add_whole(tt_bound *bound, tt_bound_line line, bool sliced) {
  add_bound(bound,
            sliced ? line : (tt_bound_line){0, line.each + line.once, 0, line.slope + line.part});
}

/* Adds the lower bounds of a rank's ports. If levels have separate ports, each level gives a bound. All messages of a slice
 * give another, because they leave one after the other. Otherwise all levels share the same ports. */
static void add_ports(tt_bound *bound, const load *x, const tt_cost_model *model, bool in,
                      bool sliced) {
  tt_bound_line all = {.once = in && x->L > 0 ? x->L : 0};
  int most = 1;
  for (int l = 0; l < model->levels; l++) {
    const int ports = tt_ports(tt_link_at(model, l, x->rank));
    const tt_bound_line *one = &x->port[in][l];
    if (ports > most) most = ports;
    all.each += one->each;
    all.slope += one->slope;
    if (model->ports_per_level)
      add_whole(bound, (tt_bound_line){one->each / ports, 0, one->slope / ports, 0}, sliced);
  }
  if (!model->ports_per_level)
    add_whole(bound, (tt_bound_line){all.each / most, all.once, all.slope / most, 0}, sliced);
  else if (!in && !model->half_duplex)
    add_whole(bound, (tt_bound_line){0, all.each, 0, all.slope}, sliced);
}

void tt_bound_rounds(tt_bound *bound, int rounds, const tt_cost_model *model) {
  double least = 0;
  for (int l = 0; l < model->levels; l++) {
    const tt_link *link = tt_link_at(model, l, 0);
    const double alpha = link->alpha / tt_ports(link);
    if (!l || alpha < least) least = alpha;
  }
  /* The minimum, which assumes that each level has separate ports. */
  add_bound(bound, (tt_bound_line){.once = rounds * least / model->levels});
}

/* Returns the time per byte on a level's link when `ranks` ranks send a vector through it. With parallel links, this is the
 * average, because the busiest link carries at least the average. */
static double busy_link(const tt_cost_model *model, int level, double ranks, uint32_t rank) {
  return ranks / tt_links_parallel(model, level) * tt_link_at(model, level, rank)->beta;
}

void tt_bound_rank(tt_bound *bound, const tt_sched *s, const tt_cost_model *model, bool alike) {
  load x;
  load_rank(&x, s, alike, model);
  add_ports(bound, &x, model, false, alike);
  add_ports(bound, &x, model, true, alike);
  if (!model->shm.migrates) add_whole(bound, x.processor, alike);
  for (int l = 0; l < model->levels - 1 && alike && model->tree.even; l++)
    for (size_t i = 0; i < numbers_of(model, l); i++)
      add_bound(bound,
                (tt_bound_line){.slope = x.sent[i][l] *
                                         busy_link(model, l, tt_links_ranks(model, l), x.rank)});
}

void tt_bound_domain(tt_bound *bound, tt_sched *const *all, int first, int n,
                     const tt_cost_model *model, int level) {
  double sent[NUMBERS][TT_TREE_LEVELS] = {{0}};
  for (int r = first; r < first + n; r++) {
    load x;
    load_rank(&x, all[r], false, model);
    for (int l = 0; l <= level; l++)
      for (size_t i = 0; i < numbers_of(model, l); i++) sent[i][l] += x.sent[i][l];
  }
  for (int l = 0; l <= level; l++)
    for (size_t i = 0; i < numbers_of(model, l) && tt_links_owner(model, l) == level; i++)
      add_whole(bound,
                (tt_bound_line){.slope = sent[i][l] * busy_link(model, l, 1, (uint32_t)first)},
                false);
}

/* ---- a chain of messages ---- */

enum { MOST_HOPS = 48 };

static bool has_peer(const tt_sched *s, const tt_step *step, int peer) {
  for (int k = 0; k < step->peers.count; k++)
    if (tt_peer_rank(&step->peers, k, s->ranks) == peer) return true;
  return false;
}

static bool receives_from(const tt_sched *s, uint32_t i, int peer) {
  return tt_step_receives(&s->steps[i]) && has_peer(s, &s->steps[i], peer);
}

/* Returns the step of `from` that sends the message received by step `i` of `to`, or nsteps if no step sends it. */
static uint32_t sending_step(const tt_sched *from, const tt_sched *to, uint32_t i) {
  uint32_t earlier = 0, j = 0;
  for (uint32_t k = 0; k < i; k++) earlier += receives_from(to, k, from->rank);
  for (; j < from->nsteps; j++)
    if (from->steps[j].kind == TT_SEND && has_peer(from, &from->steps[j], to->rank) &&
        earlier-- == 0)
      break;
  return j;
}

/* Returns the last receive that a step depends on, or nsteps if it depends on no receive. `waits` is scratch memory with one
 * element per step. */
static uint32_t last_receive(const tt_sched *s, uint32_t step, bool *waits) {
  memset(waits, 0, s->nsteps * sizeof *waits);
  waits[step] = true;
  for (uint32_t i = step + 1; i-- > 0;) {
    if (!waits[i]) continue;
    if (i < step && tt_step_receives(&s->steps[i])) return i;
    for (uint32_t k = s->after_at[i]; k < s->after_at[i + 1]; k++) waits[s->after[k]] = true;
  }
  return s->nsteps;
}

/* Returns a peer of the step that is a different rank, or -1. */
static int some_peer(const tt_sched *s, const tt_step *step) {
  for (int k = 0; k < step->peers.count; k++) {
    const int peer = tt_peer_rank(&step->peers, k, s->ranks);
    if (peer != s->rank) return peer;
  }
  return -1;
}

/* Returns the minimum processor time that a message of this step takes. */
static double least_overhead(const tt_step *step, const tt_link *link) {
  return step->peers.count > 1 && link->o_next < link->o ? link->o_next : link->o;
}

static double larger_of(double a, double b) {
  return a > b ? a : b;
}

/* Adds to the chain the message that `step` receives from `peer`, which sends it in its step `sent`. */
static void add_hop(tt_bound_line *line, const tt_sched *s, const tt_step *step, int peer,
                    const tt_step *sent, const tt_cost_model *model) {
  const int level = parting_level(model, s->rank, peer);
  const double share = tt_step_share(s, step);
  const tt_link *to = tt_link_at(model, level, (uint32_t)s->rank),
                *from = tt_link_at(model, level, (uint32_t)peer);
  const tt_sim_message d = {
      .sender = (uint32_t)peer, .reader = (uint32_t)s->rank, .level = (uint8_t)level};
  const double beta = larger_of(least_beta(model, d.reader, &d), least_beta(model, d.sender, &d));
  line->once +=
      larger_of(to->alpha, from->alpha) + tt_links_transit(model, &d) + model->header * beta;
  line->part += share * beta;
  line->once += larger_of(to->L, from->L);
  if (model->shm.cores <= 0 && !model->shm.migrates)
    line->once += least_overhead(step, to) + least_overhead(sent, from);
  if (step->kind == TT_RECV_REDUCE) line->part += share * model->gamma;
}

bool tt_bound_chain(tt_bound *bound, tt_bound_schedule *schedule, void *context, int rank,
                    const tt_cost_model *model) {
  const tt_sched *s = schedule(context, rank);
  tt_bound_line line = {0};
  uint32_t at = s ? s->nsteps : 0;
  while (at > 0 && !tt_step_receives(&s->steps[at - 1])) at--;
  for (int hops = 0; at > 0 && hops < MOST_HOPS; hops++) {
    const int peer = some_peer(s, &s->steps[at - 1]);
    const tt_sched *from = peer < 0 ? NULL : schedule(context, peer);
    if (!from) break;
    const uint32_t sends = sending_step(from, s, at - 1);
    if (sends == from->nsteps) break;
    add_hop(&line, s, &s->steps[at - 1], peer, &from->steps[sends], model);
    bool *waits = malloc(((size_t)from->nsteps + 1) * sizeof *waits);
    if (!waits) return false;
    const uint32_t before = last_receive(from, sends, waits);
    at = before == from->nsteps ? 0 : before + 1;
    s = from;
    free(waits);
  }
  add_bound(bound, line);
  return true;
}

double tt_bound_at(const tt_bound *bound, int slices, double bytes) {
  double most = 0;
  for (int i = 0; i < bound->n; i++) {
    const tt_bound_line *x = &bound->line[i];
    const double time = slices * x->each + x->once + (x->slope + x->part / slices) * bytes;
    if (time > most) most = time;
  }
  return most;
}
