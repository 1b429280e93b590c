/* mp_uneven.c - every collective that plans over uneven levels support, on real ranks: sums and copies are
 * right, with blocks of any size, in place and not, and for every root.
 *
 * Ranks: 7 8 12
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "algo.h"
#include "by_name.h"
#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

enum { MOST = 40000, RANKS = 12 };

static const struct {
  int ranks;
  const char *levels;
} machines[] = {
    {7, "node:(4,3)"},
    {7, "rack:2 node:(2,1) core:(3,1,3)"},
    {8, "node:(1,5,2)"},
    {8, "node:(3*2,2)"},
    {8, "rack:2 node:(1,2) core:(5,2,1)"},
    {12, "node:(4,3,4,1)"},
    {12, "rack:2 node:(1,2) core:(5,3,4)"},
    {12, "rack:2 node:(2,3) core:(3,2,1,4,2)"},
};

static const struct {
  const char *name;
  tutti_coll coll;
} plans[] = {
    {"blueconnect(%s)", TUTTI_ALLREDUCE},
    {"blueconnect(%s,ring)", TUTTI_ALLREDUCE},
    {"blueconnect(%s)", TUTTI_REDUCE_SCATTER},
    {"blueconnect(%s,ring)", TUTTI_REDUCE_SCATTER},
    {"blueconnect(%s)", TUTTI_ALLGATHER},
    {"blueconnect(%s,ring)", TUTTI_ALLGATHER},
    {"tree(leaders,%s)", TUTTI_BROADCAST},
    {"tree(leaders,radix=4,%s)", TUTTI_BROADCAST},
    {"tree(leaders,chain,%s)", TUTTI_BROADCAST},
    {"tree(leaders,%s)", TUTTI_REDUCE},
    {"tree(leaders,binary,segments=3,%s)", TUTTI_REDUCE},
};

/* A call: rank r's block has count[r] elements, starting at at[r]. */
typedef struct call {
  tutti_comm *comm;
  tutti_coll coll;
  int me, ranks, root;
  bool in_place;
  size_t count[RANKS], at[RANKS + 1];
} call;

static void cut(call *c, size_t n, bool varied) {
  c->at[0] = 0;
  for (int r = 0; r < c->ranks; r++) {
    c->count[r] = varied ? (n * (size_t)(r * 7 % 5)) / 3 : n;
    c->at[r + 1] = c->at[r] + c->count[r];
  }
}

static int64_t input(int rank, size_t i) {
  return (rank + 1) * (int64_t)(i + 1);
}

static int64_t sum(const call *c, size_t i) {
  return (int64_t)c->ranks * (c->ranks + 1) / 2 * (int64_t)(i + 1);
}

/* The elements of the whole vector that this rank contributes, or receives. */
static void part(const call *c, bool gives, size_t *lo, size_t *hi) {
  const bool own = c->coll == (gives ? TUTTI_ALLGATHER : TUTTI_REDUCE_SCATTER);
  const bool at_root = c->coll == (gives ? TUTTI_BROADCAST : TUTTI_REDUCE);
  *lo = own ? c->at[c->me] : 0;
  *hi = own ? c->at[c->me + 1] : c->at[c->ranks];
  if (at_root && c->me != c->root) *hi = 0;
}

static int64_t wanted(const call *c, size_t i) {
  if (c->coll == TUTTI_BROADCAST) return input(c->root, i);
  if (c->coll != TUTTI_ALLGATHER) return sum(c, i);
  int owner = 0;
  while (c->at[owner + 1] <= i) owner++;
  return input(owner, i);
}

static tutti_status make_call(const call *c, const int64_t *src, int64_t *dst) {
  const size_t all = c->at[c->ranks];
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(c->comm, src, dst, all, TUTTI_INT64, TUTTI_SUM);
    case TUTTI_REDUCE_SCATTER:
      return tutti_reduce_scatterv(c->comm, src, dst, c->count, TUTTI_INT64, TUTTI_SUM);
    case TUTTI_ALLGATHER: return tutti_allgatherv(c->comm, src, dst, c->count, TUTTI_INT64);
    case TUTTI_BROADCAST: return tutti_broadcast(c->comm, src, dst, all, TUTTI_INT64, c->root);
    default: return tutti_reduce(c->comm, src, dst, all, TUTTI_INT64, TUTTI_SUM, c->root);
  }
}

/* Returns NULL, or a description of the error. In place, a block is at its position in the whole vector. */
static const char *run_call(const call *c) {
  static int64_t src[MOST], dst[MOST];
  int64_t *const to = c->in_place ? src : dst;
  size_t lo, hi, from, end;
  memset(src, 0xee, sizeof src);
  memset(dst, 0xee, sizeof dst);
  part(c, true, &lo, &hi);
  part(c, false, &from, &end);
  for (size_t i = lo; i < hi; i++) src[i] = input(c->me, i);
  if (make_call(c, src + lo, to + from)) return tutti_error();
  for (size_t i = from; i < end; i++)
    if (to[i] != wanted(c, i)) return "a wrong element";
  return NULL;
}

/* Does this plan run? Another one runs if it is refused. */
static const char *is_taken(const call *c, const char *plan) {
  char name[NAME];
  if (tutti_comm_plan(c->comm, c->coll, 1000, TUTTI_INT64, TUTTI_SUM, name, sizeof name))
    return tutti_error();
  return strcmp(name, plan) != 0 ? "another plan runs instead" : NULL;
}

/* Runs one plan on some lengths, until a result is wrong on this rank. */
static const char *run(call *c, const char *plan) {
  static const size_t lengths[] = {0, 1, 3, 70, 1000};
  const char *wrong = comm_set_algorithm(c->comm, plan) ? tutti_error() : is_taken(c, plan);
  const int roots = tt_coll_rooted(c->coll) ? c->ranks : 1;
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths && !wrong; k++)
    for (int mode = 0; mode < 4 && !wrong; mode++)
      for (c->root = 0; c->root < roots && !wrong; c->root++) {
        c->in_place = mode % 2;
        cut(c, lengths[k], mode / 2);
        wrong = run_call(c);
      }
  return wrong;
}

int main(void) {
  call c = {0};
  tutti_comm *side;
  end_after(200);
  if (start_comm(&c.comm) || tutti_comm_dup(c.comm, &side)) return 1;
  c.me = tutti_comm_rank(side);
  c.ranks = tutti_comm_size(side);
  for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
    int32_t failed = 0;
    if (machines[m].ranks != c.ranks) continue;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
      char name[NAME];
      snprintf(name, sizeof name, plans[i].name, machines[m].levels);
      c.coll = plans[i].coll;
      const char *wrong = run(&c, name);
      failed += wrong != NULL;
      if (wrong) printf("# rank %d: %s, %s: %s\n", c.me, name, tutti_coll_name(c.coll), wrong);
    }
    if (tutti_allreduce(side, &failed, &failed, 1, TUTTI_INT32, TUTTI_SUM)) failed = 1;
    if (c.me) continue;
    printf("%s - all collectives on %s\n", failed ? "not ok" : "ok", machines[m].levels);
    fflush(stdout);
  }
  tutti_comm_free(side);
  tutti_comm_free(c.comm);
  return start_end() ? 1 : 0;
}
