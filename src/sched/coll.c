/* coll.c - what each collective starts with and asks for, in blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

const char *tutti_coll_name(tutti_coll coll) {
  static const char *const names[TUTTI_COLL_COUNT] = {"allreduce", "reduce_scatter", "all_gather",
                                                      "broadcast", "reduce",         "barrier"};
  return (unsigned)coll < TUTTI_COLL_COUNT ? names[coll] : "?";
}

bool tt_coll_reduces(tutti_coll coll) {
  return coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_REDUCE ||
         coll == TUTTI_BARRIER;
}

bool tt_coll_rooted(tutti_coll coll) {
  return coll == TUTTI_BROADCAST || coll == TUTTI_REDUCE;
}

bool tt_coll_owned(tutti_coll coll) {
  return coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_ALL_GATHER;
}

static void own_block(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  *lo = (uint32_t)s->rank;
  *hi = *lo + 1;
}

void tt_coll_src(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  *lo = 0;
  *hi = s->blocks;
  if (s->coll == TUTTI_ALL_GATHER) own_block(s, lo, hi);
  if (s->coll == TUTTI_BROADCAST && s->rank != s->root) *hi = 0;
  if (s->rank >= s->data) *lo = *hi = 0;
}

void tt_coll_dst(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  *lo = 0;
  *hi = s->blocks;
  if (s->coll == TUTTI_REDUCE_SCATTER) own_block(s, lo, hi);
  if (s->coll == TUTTI_REDUCE && s->rank != s->root) *hi = 0;
  if (s->rank >= s->data) *lo = *hi = 0;
}
