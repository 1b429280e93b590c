/* sim_ends.c - messages between hosts whose links differ: the time of a message, and how long the ports at its ends are
 * busy.
 *
 * Idea       A message has the larger alpha of its two ends and is as slow as the slowest link of its route. However,
 *            the port of a fast host is not busy for as long as the slow port at the other end. It is busy for the time
 *            of the link at its own end, and may then send or receive the next message.
 * Invariant  A port is never busy for longer than the message takes. If a host's parameters equal those of other hosts,
 *            all times are the same as without its parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "sim.h"

static double larger(double a, double b) {
  return a > b ? a : b;
}

bool tt_sim_ends_new(tt_sim *sim) {
  sim->ends = NULL;
  if (!sim->model.hosts) return true;
  sim->ends = calloc((size_t)sim->messages + 1, sizeof *sim->ends);
  return sim->ends;
}

void tt_sim_ends_begin(tt_sim *sim, uint32_t i) {
  const tt_cost_model *model = &sim->model;
  tt_sim_message *d = &sim->message[i];
  tt_sim_ends *e = &sim->ends[i];
  const int last = model->levels - 1;
  if (model->hosts->level < last) { /* all ports of a host's ranks are equal */
    e->rest = d->slope;
    return;
  }
  e->crowd = d->share;
  d->slope = d->share * larger(tt_link_at(model, last, d->sender)->beta,
                               tt_link_at(model, last, d->reader)->beta);
}

void tt_sim_ends_cross(tt_sim *sim, uint32_t i, int level, double carried) {
  const tt_cost_model *model = &sim->model;
  tt_sim_ends *e = &sim->ends[i];
  if (level == model->hosts->level)
    e->crowd = larger(e->crowd, carried);
  else
    e->rest = larger(e->rest, model->link[level].beta * carried);
}

/* Returns the time per byte for which the port at one end is busy, in s/B. On a torus, a message uses links of several levels
 * at each end, so the port is busy for as long as the message takes. */
static double own_slope(const tt_cost_model *model, const tt_sim_message *d, const tt_sim_ends *e,
                        uint32_t rank) {
  const double own = larger(e->rest, tt_link_at(model, model->hosts->level, rank)->beta * e->crowd);
  return own < d->slope && !model->torus ? own : d->slope;
}

void tt_sim_ends_finish(tt_sim *sim, uint32_t i) {
  const tt_cost_model *model = &sim->model;
  const tt_sim_message *d = &sim->message[i];
  const tt_link *out = tt_link_at(model, d->level, d->sender),
                *in = tt_link_at(model, d->level, d->reader);
  tt_sim_ends *e = &sim->ends[i];
  e->out_alpha = out->alpha;
  e->in_alpha = in->alpha;
  e->alpha = larger(out->alpha, in->alpha);
  e->L = larger(out->L, in->L);
  e->out_slope = own_slope(model, d, e, d->sender);
  e->in_slope = own_slope(model, d, e, d->reader);
}
