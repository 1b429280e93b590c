/* tune_aggregator.c - the model parameters of an aggregator, if the ranks use one
 * (TUTTI_AGGREGATOR).
 *
 * Idea       The time of a long sum, per byte and host, is that of the aggregator's link, or of the
 *            hosts' links if those are slower. An estimate needs whichever is slower. The time of a
 *            short sum, minus a message to the aggregator and one back, is the processing time of
 *            the aggregator.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "configure.h"
#include "tune.h"
#include "tutti_plan.h"

enum { REPEATS = 9, FEW = 1 << 18, MANY = 1 << 20 };

/* Measures the median time in seconds that the slowest rank needs for a sum of n floats. */
static tutti_status time_of(tutti_comm *comm, float *x, size_t n, int calls, double *seconds) {
  double each[REPEATS];
  tutti_status status = TUTTI_OK;
  for (int k = -1; k < REPEATS && !status; k++) {
    status = tutti_barrier(comm);
    const double from = cli_now();
    for (int i = 0; i < calls && !status; i++)
      status = tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_MAX);
    *seconds = (cli_now() - from) / calls;
    if (!status) status = tutti_allreduce(comm, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
    if (k >= 0) each[k] = *seconds;
  }
  cli_sort(each, REPEATS);
  *seconds = each[REPEATS / 2];
  return status;
}

/* Returns true if the aggregator sums these ranks' vectors. */
static bool has_one(tutti_comm *comm) {
  char plan[CLI_PLAN];
  return !tutti_comm_plan(comm, TUTTI_ALLREDUCE, MANY, TUTTI_FLOAT, TUTTI_MAX, plan, sizeof plan) &&
         strncmp(plan, "aggregate(", 10) == 0;
}

/* Returns the number of hosts. Two ranks are on the same host if they share memory, that is, if tutti_comm_apart is 0. */
static int hosts_of(tutti_comm *comm) {
  int hosts = 0;
  for (int r = 0; r < tutti_comm_size(comm); r++) {
    bool first = true;
    for (int before = 0; before < r && first; before++)
      first = tutti_comm_apart(comm, before, r, NULL) > 0;
    hosts += first;
  }
  return hosts;
}

static tutti_status measure(tutti_comm *comm, float *x, tune_result *r) {
  double few, many, least;
  tutti_status status = time_of(comm, x, FEW, 2, &few);
  if (!status) status = time_of(comm, x, MANY, 1, &many);
  if (!status) status = time_of(comm, x, 1, 50, &least);
  const double messages = 2 * r->message;
  if (status || tutti_comm_rank(comm) || many <= few) return status;
  const double beta = (many - few) / (sizeof *x * (double)(MANY - FEW)) / hosts_of(comm);
  tune_add(r, "aggregator.beta", beta, "s/B: a host's vector through the aggregator's link");
  tune_add(r, "aggregator.delay", least > messages ? least - messages : 0,
           "s: of a sum there, beyond a message each way");
  return TUTTI_OK;
}

/* Sets *named to the same value on all ranks. The environment variable may be set on only some of them. */
static tutti_status is_named(tutti_comm *comm, int32_t *named) {
  *named = tutti_setting("TUTTI_AGGREGATOR") != NULL;
  return tutti_allreduce(comm, named, named, 1, TUTTI_INT32, TUTTI_MAX);
}

tutti_status tune_aggregator(tutti_comm *comm, tune_result *r) {
  int32_t named = 0;
  tutti_status status = is_named(comm, &named);
  if (status || !named) return status;
  float *x = calloc(MANY, sizeof *x);
  status = x ? comm_set_algorithm(comm, "aggregate") : TUTTI_ERR_MEMORY;
  if (!status && has_one(comm)) status = measure(comm, x, r);
  const tutti_status after = x ? comm_set_algorithm(comm, NULL) : status;
  free(x);
  return status ? status : after;
}
