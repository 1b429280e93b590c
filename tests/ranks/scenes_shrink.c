/* scenes_shrink.c - shrinking although no rank died: after an abort and without one, twice, and with a late
 * rank. For deaths see mp_deaths.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "scenes.h"

/* Checks that comm is as large as the base, and sums right. */
static bool in_order(tutti_comm *comm, tutti_comm *base) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  static const size_t counts[] = {1, 700, 50000};
  uint64_t *x = malloc(2 * 50000 * sizeof *x), *y = x + 50000;
  bool ok =
      CHECK(x != NULL) && CHECK(tutti_comm_rank(comm) == me) && CHECK(tutti_comm_size(comm) == P);
  for (size_t i = 0; ok && i < sizeof counts / sizeof *counts; i++) {
    const uint64_t P64 = (uint64_t)(P - comm_helpers(comm));
    for (size_t k = 0; k < counts[i]; k++) x[k] = (uint64_t)me + k;
    ok = CHECK(!tutti_allreduce(comm, x, y, counts[i], TUTTI_UINT64, TUTTI_SUM));
    for (size_t k = 0; ok && (uint64_t)me < P64 && k < counts[i]; k++)
      ok = CHECK(y[k] == P64 * (P64 - 1) / 2 + P64 * k);
  }
  free(x);
  return ok;
}

/* Over a network: one error message. Otherwise the caller frees *out. */
static bool can_shrink(tutti_comm *comm, tutti_comm **out, bool *ok) {
  const tutti_status status = tutti_comm_shrink(comm, out);
  if (status == TUTTI_ERR_UNSUPPORTED)
    *ok = ERROR(status, TUTTI_ERR_UNSUPPORTED, "tutti_comm_shrink|MPI|tutti_comm_from_mpi");
  else
    *ok = CHECK(!status);
  return !status;
}

/* No rank can join. Growing by zero is the same as shrinking. */
static bool grow(tutti_comm *comm, tutti_comm *base, bool can) {
  tutti_comm *out = comm;
  bool ok = ERROR(tutti_comm_grow(NULL, 0, &out), TUTTI_ERR_ARG, "tutti_comm_grow|comm is NULL") &&
            ERROR(tutti_comm_grow(comm, 0, NULL), TUTTI_ERR_ARG, "out is NULL") &&
            ERROR(tutti_comm_grow(comm, -1, &out), TUTTI_ERR_ARG, "-1 joiners") &&
            ERROR(tutti_comm_grow(comm, 1, &out), TUTTI_ERR_UNSUPPORTED,
                  can ? "tutti_comm_grow" : "tutti_comm_grow|MPI|tutti_comm_from_mpi") &&
            CHECK(!out) && CHECK(tutti_comm_newcomers(comm) == 0);
  if (!can || !ok) return ok;
  return CHECK(!tutti_comm_grow(comm, 0, &out)) && in_order(out, base) &&
         CHECK(tutti_comm_newcomers(out) == 0) && CHECK(!tutti_comm_free(out));
}

bool scene_shrink(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  const int who = (int)(seed % (uint64_t)P);
  uint32_t x = 1, y = 0;
  tutti_comm *comm, *healthy = NULL, *once = NULL, *twice = NULL;
  tutti_request *r = NULL;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_helpers(comm, P > 1 ? 1 : 0)) &&
            ERROR(tutti_comm_shrink(NULL, &once), TUTTI_ERR_ARG, "comm is NULL") &&
            ERROR(tutti_comm_shrink(comm, NULL), TUTTI_ERR_ARG, "out is NULL");
  const bool can = can_shrink(comm, &healthy, &ok);
  ok = grow(comm, base, can) && ok;
  if (!can) return CHECK(!tutti_comm_free(comm)) && ok;
  ok = ok && CHECK(comm_helpers(healthy) == comm_helpers(comm)) && in_order(comm, base) &&
       in_order(healthy, base);
  if (me != who) ok = CHECK(!tutti_allreduce_start(comm, &x, &y, 1, TUTTI_UINT32, TUTTI_SUM, &r));
  if (me == who) tutti_comm_abort(comm, "on purpose");
  ok = ok && CHECK(!tutti_comm_shrink(comm, &once)) && CHECK(!tutti_comm_shrink(comm, &twice)) &&
       in_order(twice, base) && in_order(once, base);
  if (P > 1 && r) ok = ERROR(tutti_request_wait(&r), TUTTI_ERR_ABORTED, "on purpose") && ok;
  ok = ERROR(tutti_barrier(comm), TUTTI_ERR_ABORTED, "on purpose") && ok;
  ok = CHECK(!tutti_comm_free(comm)) && CHECK(!tutti_comm_free(once)) && ok;
  tutti_comm_abort(twice, "once more"); /* and of the shrunk one */
  ok = CHECK(!tutti_comm_shrink(twice, &once)) && CHECK(!tutti_comm_free(twice)) &&
       in_order(once, base) && ok;
  return CHECK(!tutti_comm_free(once)) && CHECK(!tutti_comm_free(healthy)) && ok;
}

/* A live rank that does not take part is named to all ranks, including itself, and is excluded permanently. */
bool scene_shrink_late(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  const int late = (int)(seed % (uint64_t)P);
  tutti_comm *comm, *out = NULL;
  char words[100];
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  if (P == 1 || !can_shrink(comm, &out, &ok)) {
    tutti_comm_free(out);
    return CHECK(!tutti_comm_free(comm)) && ok;
  }
  snprintf(words, sizeof words, "gave up waiting for rank %d (pid|TUTTI_TIMEOUT", late);
  ok = CHECK(!tutti_comm_free(out)) && CHECK(!tutti_barrier(base)) && ok;
  if (me == late)
    usleep(3500000); /* over messages, if it would coordinate, the others give up after 2 s */
  else
    ok = CHECK(!comm_set_timeout(comm, 1)) && ok;
  ok = ERROR(tutti_comm_shrink(comm, &out), TUTTI_ERR_TIMEOUT, words) && CHECK(!out) && ok;
  ok = CHECK(!comm_set_timeout(comm, 0)) && ok;
  ok = CHECK(!tutti_barrier(base)) && ok; /* comm itself is usable */
  ok = in_order(comm, base) && ERROR(tutti_comm_shrink(comm, &out), TUTTI_ERR_TIMEOUT, words) && ok;
  return CHECK(!tutti_comm_free(comm)) && ok;
}
