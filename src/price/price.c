/* price.c - the cost of one rank's schedule from its steps.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "price.h"

tt_profile tt_profile_shm(double crowd) {
  /* With more ranks than cores, a round is a turn of the scheduler for each. */
  double turn = crowd > 1 ? 0.7e-6 * crowd : 0;
  return (tt_profile){
      .round = 0.25e-6 + turn, .message = 0.08e-6, .beta = 0.08e-9, .gamma = 0.06e-9};
}

static int others(const tt_sched *s, const tt_step *step) {
  int n = 0;
  for (int i = 0; i < step->peers.count; i++)
    n += tt_peer_rank(&step->peers, i, s->ranks) != s->rank;
  return n;
}

tt_line tt_price(const tt_sched *s, const tt_profile *profile) {
  tt_line line = {0, 0};
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_step *step = &s->steps[i];
    double share = (double)tt_span_size(tt_step_cargo(step)) / s->blocks;
    int messages = tt_step_local(step) ? 0 : others(s, step);
    double moved = messages * (step->split ? share / step->peers.count : share);
    line.fixed += messages * profile->message;
    if (tt_step_receives(step)) line.fixed += profile->round;
    if (step->kind == TT_RECV_REDUCE) line.slope += moved * profile->gamma;
    if (step->kind == TT_REDUCE) line.slope += share * step->inputs * profile->gamma;
    if (tt_step_local(step)) moved = 2 * share;
    line.slope += moved * profile->beta;
  }
  return line;
}
