/* traded.h - computes a number for all messages that a rank's schedule sends to another rank, or
 * receives from it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TRADED_H
#define TRADED_H

#include "schedule.h"

/* Returns a number. The numbers of both ranks are equal if one sends the messages that the other receives: the same
 * number of blocks in each message, with the same first and last block. Every step must have a single peer. */
static inline uint64_t traded_with(const tt_sched *s, int peer, bool sends) {
  uint64_t all = 0;
  for (uint32_t i = 0; i < s->nsteps; i++) {
    const tt_span *cargo = tt_step_cargo(&s->steps[i]);
    if (tt_step_local(&s->steps[i]) || (s->steps[i].kind == TT_SEND) != sends ||
        s->steps[i].peers.first != peer)
      continue;
    all = tt_mix(all ^ tt_span_size(cargo));
    all = tt_mix(all ^ tt_span_block(cargo, 0));
    all = tt_mix(all ^ tt_span_block(cargo, tt_span_size(cargo) - 1));
  }
  return all;
}

#endif
