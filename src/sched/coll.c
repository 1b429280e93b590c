/* coll.c - the input and the result of each collective, in blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

/* The part of src, or of dst, that a rank has. */
enum { WHOLE, OWN /* the block with its number */, AT_ROOT /* everything, but only on the root */ };
/* The ranks that the sum includes, if there is a sum. */
enum { NONE, ALL /* all */, UP_TO /* including this one */, BELOW /* excluding it */ };

static const struct {
  const char *name;
  uint8_t src, dst, sums;
} table[TUTTI_COLL_COUNT] = {[TUTTI_ALLREDUCE] = {"allreduce", WHOLE, WHOLE, ALL},
                             [TUTTI_REDUCE_SCATTER] = {"reduce_scatter", WHOLE, OWN, ALL},
                             [TUTTI_ALLGATHER] = {"allgather", OWN, WHOLE, NONE},
                             [TUTTI_BROADCAST] = {"broadcast", AT_ROOT, WHOLE, NONE},
                             [TUTTI_REDUCE] = {"reduce", WHOLE, AT_ROOT, ALL},
                             [TUTTI_BARRIER] = {"barrier", WHOLE, WHOLE, ALL},
                             [TUTTI_SCAN] = {"scan", WHOLE, WHOLE, UP_TO},
                             [TUTTI_EXSCAN] = {"exscan", WHOLE, WHOLE, BELOW},
                             [TUTTI_GATHER] = {"gather", OWN, AT_ROOT, NONE},
                             [TUTTI_SCATTER] = {"scatter", AT_ROOT, OWN, NONE},
                             [TUTTI_ALLTOALL] = {"alltoall", WHOLE, WHOLE, NONE}};

const char *tutti_coll_name(tutti_coll coll) {
  return (unsigned)coll < TUTTI_COLL_COUNT ? table[coll].name : "?";
}

bool tt_coll_reduces(tutti_coll coll) {
  return table[coll].sums != NONE;
}

bool tt_coll_prefix(tutti_coll coll) {
  return table[coll].sums == UP_TO || table[coll].sums == BELOW;
}

bool tt_coll_rooted(tutti_coll coll) {
  return table[coll].src == AT_ROOT || table[coll].dst == AT_ROOT;
}

bool tt_coll_owned(tutti_coll coll) {
  return table[coll].src == OWN || table[coll].dst == OWN || coll == TUTTI_ALLTOALL;
}

bool tt_coll_alike(tutti_coll coll) {
  return coll == TUTTI_ALLTOALL;
}

bool tt_coll_has_result(tutti_coll coll, int rank) {
  return table[coll].sums != BELOW || rank > 0;
}

static void block_range(const tt_sched *s, int what, uint32_t *lo, uint32_t *hi) {
  *lo = what == OWN ? (uint32_t)s->rank : 0;
  *hi = what == OWN ? *lo + 1 : s->blocks;
  if ((what == AT_ROOT && s->rank != s->root) || s->rank >= s->data) *lo = *hi = 0;
}

void tt_coll_src(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  block_range(s, table[s->coll].src, lo, hi);
}

void tt_coll_dst(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  block_range(s, table[s->coll].dst, lo, hi);
  if (!tt_coll_has_result(s->coll, s->rank)) *lo = *hi = 0;
}

tt_wanted tt_coll_wanted(const tt_sched *s, uint32_t block) {
  switch (table[s->coll].sums) {
    case ALL: return (tt_wanted){0, s->data, block};
    case UP_TO: return (tt_wanted){0, s->rank + 1, block};
    case BELOW: return (tt_wanted){0, s->rank, block};
    default: break;
  }
  const int from = table[s->coll].src == AT_ROOT ? s->root : (int)block;
  return (tt_wanted){from, from + 1, tt_coll_alike(s->coll) ? (uint32_t)s->rank : block};
}
