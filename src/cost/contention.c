/* contention.c - the load of links if the placement of ranks is unknown. Works with any topology.
 *
 * Idea       Ranks may be anywhere. A place is a domain of the outermost level or, without levels, a rank. If every
 *            place sends one message, each of the topology's busiest links carries `mean` messages on average, and by
 *            chance the busiest one carries `excess` more. The messages that a place sends in a round are a sample,
 *            without repetition, of messages to all P - 1 others. The excess therefore vanishes as their number
 *            approaches P - 1: an all-to-all loads each link with its mean.
 * Latency    The last message of a round either comes from the furthest place after all others have passed, or crosses
 *            a link that has been busy since the first message arrived. The slower case counts. A message from the
 *            nearest place arrives `nearest` seconds before an average one. The first of n messages arrives (n - 1) /
 *            (n + 1) of that time before an average one.
 * Steps      The messages of a step leave together and arrive together, because only many messages spread over all
 *            links.
 * Cost       O(n) for n messages, whether one rank or all ranks are simulated.
 * Invariant  No message is faster than if it were alone on its link. A round takes at least as long as all its messages
 *            take on the links of the sender or of the reader.
 * Source     Raab and Steger, "Balls into bins", RANDOM 1998 (the excess); Valiant and Brebner, 1981 (random
 *            placement).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim.h"

/* The load of one round on links that messages share by chance. It consists of the number of messages, the sum of their
 * shares of the vector, and the sum of the squares of the shares. `busiest` is the load of the busiest link, which the first
 * message reaches `sooner` seconds earlier than an average one. */
typedef struct round_load {
  double messages, shares, squares;
  double busiest, sooner;
} round_load;

/* The loads of all rounds, and the shares of the vector that each simulated rank sends and receives in each round. */
typedef struct all_loads {
  round_load *round;
  double *sent, *received;
} all_loads;

bool tt_sim_together(const tt_sim *sim, uint32_t last, uint32_t event) {
  if (event < sim->steps || !tt_placement_unknown(&sim->model)) return false;
  const uint32_t n = sim->messages, d = event - sim->steps;
  const tt_sim_message *one = &sim->message[d % n], *other = &sim->message[(last - sim->steps) % n];
  return one->level == 0 && (d < n ? one->from == other->from : one->to == other->to);
}

static double busier_of(double a, double b) {
  return a > b ? a : b;
}

/* Computes a square root by Newton's method. The library thus needs no libm, and all ranks get the same bits. */
static double root_of(double x) {
  double root = busier_of(x, 1);
  for (int i = 0; i < 60 && x > 0; i++) root = (root + x / root) / 2;
  return x > 0 ? root : 0;
}

/* Returns the load of the busiest link in a round, as a share of the vector, if all places have the average load. */
static double on_busiest_link(const tt_sim *sim, const round_load *all) {
  const tt_contention *x = &sim->model.contention;
  const double places = tt_tree_count(&sim->model.tree, 0, 0);
  const double each = sim->model.ranks / places / sim->sim_ranks;
  const double left = 1 - all->messages * each / (places - 1); /* fraction of places that receive
                                                                * nothing */
  const double squares = all->squares * each * (left > 0 ? left : 0);
  return x->mean * all->shares * each + x->excess * root_of(squares);
}

static void find_busiest(const tt_sim *sim, round_load *round, size_t rounds) {
  for (round_load *all = round; all < round + rounds; all++) {
    if (all->shares <= 0) continue;
    all->busiest = on_busiest_link(sim, all);
    const double n = all->busiest * all->messages / all->shares;
    all->sooner = n > 1 ? sim->model.contention.nearest * (n - 1) / (n + 1) : 0;
  }
}

static void add_load(all_loads *x, const tt_sim_message *d, uint32_t round, size_t out, size_t in) {
  x->round[round].messages++;
  x->round[round].shares += d->share;
  x->round[round].squares += d->share * d->share;
  x->sent[out] += d->share;
  x->received[in] += d->share;
}

/* Sets the time of a message to the time on the slowest link of its route. This is either the busiest link of the round, or a
 * link of the node at one end, which several ports share. */
static void use_load(tt_sim *sim, tt_sim_message *d, const all_loads *x, uint32_t round, size_t out,
                     size_t in) {
  const tt_link *link = &sim->model.link[0];
  const double ends = busier_of(x->sent[out], x->received[in]) / tt_ports(link);
  const double busiest = x->round[round].busiest, slope = link->beta * busier_of(busiest, ends);
  d->way = d->head = sim->model.contention.furthest;
  if (busiest > ends) d->head += x->round[round].sooner;
  d->late = d->slope;
  if (slope <= d->slope) return;
  d->slope = slope;
  d->narrowest = d->level;
}

bool tt_sim_mix(tt_sim *sim, const uint32_t *round) {
  const bool one = sim->sim_ranks == 1;
  size_t rounds = 1;
  for (uint32_t i = 0; i < sim->messages; i++)
    if (round[i] >= rounds) rounds = round[i] + 1;
  const size_t each = (size_t)sim->sim_ranks * rounds;
  all_loads x = {calloc(rounds, sizeof *x.round), calloc(2 * each, sizeof *x.sent), NULL};
  const bool ok = x.round && x.sent;
  for (uint32_t i = 0; i < 2 * sim->messages && ok; i++) {
    const uint32_t k = i % sim->messages;
    if (i == sim->messages) find_busiest(sim, x.round, rounds);
    tt_sim_message *d = &sim->message[k];
    const size_t out = (one ? 0 : d->sender) * rounds + round[k];
    const size_t in = (one ? 0 : d->reader) * rounds + round[k];
    if (d->level > 0) continue;
    x.received = x.sent + each;
    if (i < sim->messages)
      add_load(&x, d, round[k], out, in);
    else
      use_load(sim, d, &x, round[k], out, in);
  }
  free(x.round);
  free(x.sent);
  return ok;
}
