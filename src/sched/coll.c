/* coll.c - what each collective starts with and asks for, in blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"

/* What a rank has of src, or of dst. */
enum { WHOLE, OWN /* the block of its number */, AT_ROOT /* the root all, others nothing */ };

static const struct {
  const char *name;
  uint8_t src, dst;
  bool reduces;
} table[TUTTI_COLL_COUNT] = {[TUTTI_ALLREDUCE] = {"allreduce", WHOLE, WHOLE, true},
                             [TUTTI_REDUCE_SCATTER] = {"reduce_scatter", WHOLE, OWN, true},
                             [TUTTI_ALL_GATHER] = {"all_gather", OWN, WHOLE, false},
                             [TUTTI_BROADCAST] = {"broadcast", AT_ROOT, WHOLE, false},
                             [TUTTI_REDUCE] = {"reduce", WHOLE, AT_ROOT, true},
                             [TUTTI_BARRIER] = {"barrier", WHOLE, WHOLE, true}};

const char *tutti_coll_name(tutti_coll coll) {
  return (unsigned)coll < TUTTI_COLL_COUNT ? table[coll].name : "?";
}

bool tt_coll_reduces(tutti_coll coll) {
  return table[coll].reduces;
}

bool tt_coll_rooted(tutti_coll coll) {
  return table[coll].src == AT_ROOT || table[coll].dst == AT_ROOT;
}

bool tt_coll_owned(tutti_coll coll) {
  return table[coll].src == OWN || table[coll].dst == OWN;
}

static void part(const tt_sched *s, int what, uint32_t *lo, uint32_t *hi) {
  *lo = what == OWN ? (uint32_t)s->rank : 0;
  *hi = what == OWN ? *lo + 1 : s->blocks;
  if ((what == AT_ROOT && s->rank != s->root) || s->rank >= s->data) *lo = *hi = 0;
}

void tt_coll_src(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  part(s, table[s->coll].src, lo, hi);
}

void tt_coll_dst(const tt_sched *s, uint32_t *lo, uint32_t *hi) {
  part(s, table[s->coll].dst, lo, hi);
}

tt_wanted tt_coll_wanted(const tt_sched *s, uint32_t block) {
  if (table[s->coll].reduces) return (tt_wanted){0, s->data, block};
  const int from = tt_coll_rooted(s->coll) ? s->root : (int)block;
  return (tt_wanted){from, from + 1, block};
}
