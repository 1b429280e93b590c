/* mp_aggregated.c - sums computed by an in-network reduction server (aggregator), on ranks of several hosts,
 * also while it exits.
 *
 * Usage      mp_aggregated SECONDS: calls of many lengths for this time; every result is checked. SECONDS "lost": until one
 *            fails. Then the same for a short time on a duplicate; or, after a failure, on the communicator of all live ranks.
 *            Each rank prints its results; rank 0 also the plans before, after, and of the second communicator.
 * Ranks: none; tests/sh/aggregator.sh starts it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

enum { MOST = 1 << 18, SHORT = 4, LONGEST = 20 /* s */ };
static const double A_WHILE = 0.2; /* s */
static int64_t x[MOST], y[MOST];

/* One sum, in place or not; *right: whether the result is right. */
static tutti_status sum(tutti_comm *comm, size_t count, bool in_place, bool *right) {
  const int64_t me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  for (size_t k = 0; k < count; k++) x[k] = me * 1000003 + (int64_t)k;
  int64_t *to = in_place ? x : y;
  const tutti_status status = tutti_allreduce(comm, x, to, count, TUTTI_INT64, TUTTI_SUM);
  for (size_t k = 0; !status && k < count; k++)
    *right &= to[k] == P * (P - 1) / 2 * 1000003 + P * (int64_t)k;
  return status;
}

/* The other collectives. Element k of rank r's vector is r * 1000003 + k. */
static tutti_status move(tutti_comm *comm, unsigned what, size_t count, bool in_place,
                         bool *right) {
  const int64_t me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  const int root = (int)(what / 4 % (unsigned)P);
  const size_t all = what % 4 > 1 ? count / (size_t)P * (size_t)P : count, block = all / (size_t)P;
  const int64_t *from = x + (what % 4 == 3 ? (size_t)me * block : 0);
  int64_t *to = in_place ? x : y;
  tutti_status status;
  for (size_t k = 0; k < all; k++) x[k] = me * 1000003 + (int64_t)k;
  switch (what % 4) {
    case 0:
      status = tutti_reduce(comm, x, me == root ? to : NULL, all, TUTTI_INT64, TUTTI_SUM, root);
      for (size_t k = 0; !status && me == root && k < all; k++)
        *right &= to[k] == P * (P - 1) / 2 * 1000003 + P * (int64_t)k;
      return status;
    case 1:
      status = tutti_broadcast(comm, x, to, all, TUTTI_INT64, root);
      for (size_t k = 0; !status && k < all; k++) *right &= to[k] == root * 1000003 + (int64_t)k;
      return status;
    case 2:
      status = tutti_reduce_scatter(comm, x, in_place ? x + (size_t)me * block : y, block,
                                    TUTTI_INT64, TUTTI_SUM);
      to = in_place ? x + (size_t)me * block : y;
      for (size_t k = 0; !status && k < block; k++)
        *right &= to[k] == P * (P - 1) / 2 * 1000003 + P * (me * (int64_t)block + (int64_t)k);
      return status;
    default:
      status = tutti_allgather(comm, from, to, block, TUTTI_INT64);
      for (size_t k = 0; !status && k < all; k++)
        *right &= to[k] == (int64_t)(k / block) * 1000003 + (int64_t)k;
      return status;
  }
}

/* Makes calls until one fails, or a rank's time has passed. Sometimes two are in flight. */
static tutti_status calls(tutti_comm *comm, double limit, unsigned *n, bool *right) {
  static const size_t counts[] = {SHORT, 1, 5000, MOST, 100, 33, 65536, 3};
  const double until = seconds() + limit;
  int32_t more = 1, a[SHORT] = {1, 1, 1, 1}, b[SHORT];
  tutti_status status = TUTTI_OK;
  for (*n = 0; more && !status; ++*n) {
    tutti_request *r = NULL;
    if (*n % 3 == 0) status = tutti_allreduce_start(comm, a, b, SHORT, TUTTI_INT32, TUTTI_SUM, &r);
    if (!status) status = sum(comm, counts[*n % 8], *n % 2, right);
    if (r) {
      const tutti_status waited = tutti_request_wait(&r);
      if (!status) status = waited;
      for (int k = 0; !status && k < SHORT; k++) *right &= b[k] == tutti_comm_size(comm);
    }
    if (!status && *n % 4 == 0) status = tutti_barrier(comm);
    if (!status && *n % 2) status = move(comm, *n / 2, counts[*n % 7], *n / 16 % 2, right);
    more = seconds() < until;
    if (!status) status = tutti_allreduce(comm, &more, &more, 1, TUTTI_INT32, TUTTI_MIN);
  }
  return status;
}

static void say_plans(tutti_comm *comm, const char *when) {
  static const size_t counts[] = {SHORT, MOST};
  static const struct {
    const char *name;
    tutti_coll coll;
    size_t count;
  } others[] = {{"reduce", TUTTI_REDUCE, 1 << 14},
                {"broadcast", TUTTI_BROADCAST, 1 << 14},
                {"reduce-scatter", TUTTI_REDUCE_SCATTER, 64},
                {"all-gather", TUTTI_ALLGATHER, 64},
                /* larger than the part of an unclaimed sum that a session keeps */
                {"long-reduce-scatter", TUTTI_REDUCE_SCATTER, 1 << 18},
                {"long-all-gather", TUTTI_ALLGATHER, 1 << 18}};
  char plan[300];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!tutti_comm_plan(comm, others[i].coll, others[i].count, TUTTI_INT64, TUTTI_SUM, plan,
                         sizeof plan) &&
        tutti_comm_rank(comm) == 0)
      printf("%s %s %s\n", when, others[i].name, plan);
  for (int i = 0; i < 2; i++)
    if (!tutti_comm_plan(comm, TUTTI_ALLREDUCE, counts[i], TUTTI_INT64, TUTTI_SUM, plan,
                         sizeof plan) &&
        tutti_comm_rank(comm) == 0)
      printf("%s %zu %s\n", when, counts[i], plan);
}

int main(int argc, char **argv) {
  const double limit = argc < 2 ? 1 : strcmp(argv[1], "lost") == 0 ? LONGEST : atof(argv[1]);
  tutti_comm *comm, *out;
  unsigned n = 0;
  bool right = true;
  end_after(100);
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  const int me = tutti_comm_rank(comm);
  say_plans(comm, "plan");
  printf("ready\n");
  fflush(stdout);
  tutti_status status = calls(comm, limit, &n, &right);
  printf("rank %d: %u calls, %s: %s\n", me, n, right ? "right" : "WRONG",
         status ? tutti_error() : "no error");
  fflush(stdout);
  if (!status) say_plans(comm, "then");
  if (status ? tutti_comm_shrink(comm, &out) : tutti_comm_dup(comm, &out))
    return fprintf(stderr, "%s\n", tutti_error()), 1;
  tutti_comm_free(comm);
  comm = out;
  say_plans(comm, "second");
  status = calls(comm, A_WHILE, &n, &right);
  printf("rank %d went on as one of %d: %u calls, %s: %s\n", me, tutti_comm_size(comm), n,
         right ? "right" : "WRONG", status ? tutti_error() : "no error");
  fflush(stdout);
  return tutti_comm_free(comm) || start_end() || status || !right;
}
