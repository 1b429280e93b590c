/* lot_calls.c - draws random calls, makes them, and describes them in the words of tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lot_calls.h"

#include <stdio.h>
#include <string.h>

#include "cover.h"
#include "tutti_plan.h"

static const tutti_type types[] = {TUTTI_INT32, TUTTI_INT64, TUTTI_FLOAT, TUTTI_DOUBLE,
                                   TUTTI_UINT8};
static const tutti_op ops[] = {TUTTI_SUM, TUTTI_MAX, TUTTI_MIN, TUTTI_PROD};

static bool reduces(tutti_coll coll) {
  return coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_REDUCE ||
         coll == TUTTI_SCAN || coll == TUTTI_EXSCAN;
}

static bool rooted(tutti_coll coll) {
  return coll == TUTTI_BROADCAST || coll == TUTTI_REDUCE || coll == TUTTI_GATHER ||
         coll == TUTTI_SCATTER;
}

static size_t drawn_count(uint64_t lot) {
  return 1 + (size_t)(lot % 2 ? lot / 2 % 40 : lot / 2 % (CALL_COUNT - 1));
}

lot_call call_drawn(uint64_t seed, int ranks) {
  const uint64_t lot = cover_mix(seed);
  return (lot_call){.coll = (tutti_coll)(lot % TUTTI_COLL_COUNT),
                    .count = drawn_count(cover_mix(lot)),
                    .type = types[lot / 16 % (sizeof types / sizeof *types)],
                    .op = ops[lot / 256 % (sizeof ops / sizeof *ops)],
                    .root = (int)(lot / 4096 % (uint64_t)ranks)};
}

lot_call call_changed(lot_call c, int way, uint64_t seed, int ranks) {
  lot_call other = c;
  if ((way == 2 && !reduces(c.coll)) || (way == 3 && (!rooted(c.coll) || ranks == 1))) way = 0;
  if (c.coll == TUTTI_BARRIER) way = 4;
  while (call_equal(&other, &c)) {
    const lot_call drawn = call_drawn(seed++, ranks);
    other = c;
    if (way == 0) other.count = drawn.count;
    if (way == 1) other.type = drawn.type;
    if (way == 2) other.op = drawn.op;
    if (way == 3) other.root = drawn.root;
    if (way == 4) other.coll = drawn.coll;
  }
  return other;
}

bool call_equal(const lot_call *a, const lot_call *b) {
  char one[120], two[120];
  call_words(a, one, sizeof one);
  call_words(b, two, sizeof two);
  return strcmp(one, two) == 0;
}

tutti_status call_make(tutti_comm *comm, const lot_call *c, void *x, void *y) {
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(comm, x, y, c->count, c->type, c->op);
    case TUTTI_REDUCE_SCATTER: return tutti_reduce_scatter(comm, x, y, c->count, c->type, c->op);
    case TUTTI_ALLGATHER: return tutti_allgather(comm, x, y, c->count, c->type);
    case TUTTI_BROADCAST: return tutti_broadcast(comm, x, y, c->count, c->type, c->root);
    case TUTTI_REDUCE: return tutti_reduce(comm, x, y, c->count, c->type, c->op, c->root);
    case TUTTI_SCAN: return tutti_scan(comm, x, y, c->count, c->type, c->op);
    case TUTTI_EXSCAN: return tutti_exscan(comm, x, y, c->count, c->type, c->op);
    case TUTTI_GATHER: return tutti_gather(comm, x, y, c->count, c->type, c->root);
    case TUTTI_SCATTER: return tutti_scatter(comm, x, y, c->count, c->type, c->root);
    case TUTTI_ALLTOALL: return tutti_alltoall(comm, x, y, c->count, c->type);
    default: return tutti_barrier(comm);
  }
}

void call_words(const lot_call *c, char *text, size_t size) {
  int n = snprintf(text, size, "%s", tutti_coll_name(c->coll));
  if (c->coll == TUTTI_BARRIER) return;
  n += snprintf(text + n, size - (size_t)n, " of %zu %s", c->count, tutti_type_name(c->type));
  if (reduces(c->coll)) n += snprintf(text + n, size - (size_t)n, ", %s", tutti_op_name(c->op));
  if (rooted(c->coll)) snprintf(text + n, size - (size_t)n, ", root %d", c->root);
}
