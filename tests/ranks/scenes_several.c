/* scenes_several.c - several calls or requests at a time: groups, tutti_wait_all and _any; and what one call alone brings.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "call_of.h"
#include "cover.h"
#include "scenes.h"

enum { MOST = 64, LONG = 5000 };

/* ---- groups ---- */

typedef struct round {
  int32_t a[7], b[LONG], root;
  float f, spread[MOST * MOST];
  int64_t from_left, to_right;
} round_data;

static void fill(round_data *d, int me, int i) {
  for (int k = 0; k < 7; k++) d->a[k] = me + k + i;
  for (int k = 0; k < LONG; k++) d->b[k] = me * k + i;
  d->root = me == 0 ? 40 + i : -1;
  d->f = (float)(me + 1);
  memset(d->spread, 0, sizeof d->spread);
  for (int k = 0; k <= me; k++) d->spread[me * (me + 1) / 2 + k] = (float)(me + i);
  d->to_right = me + 1000 * i;
}

/* Rank r has r + 1 elements. */
static tutti_status all_kinds(tutti_comm *comm, round_data *d, size_t *counts) {
  const int me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  for (int r = 0; r < P; r++) counts[r] = (size_t)r + 1;
  tutti_status status = tutti_recv(comm, &d->from_left, 1, TUTTI_INT64, (me + P - 1) % P, 0, NULL);
  if (!status) status = tutti_allreduce(comm, d->a, d->a, 7, TUTTI_INT32, TUTTI_SUM);
  if (!status) status = tutti_allreduce(comm, d->b, d->b, LONG, TUTTI_INT32, TUTTI_SUM);
  if (!status) status = tutti_allreduce(comm, &d->f, &d->f, 1, TUTTI_FLOAT32, TUTTI_MAX);
  if (!status) status = tutti_broadcast(comm, &d->root, &d->root, 1, TUTTI_INT32, 0);
  if (!status)
    status = tutti_allgatherv(comm, d->spread + me * (me + 1) / 2, d->spread, counts, TUTTI_FLOAT32);
  if (!status) status = tutti_send(comm, &d->to_right, 1, TUTTI_INT64, (me + 1) % P, 0);
  memset(counts, 0xff, MOST * sizeof *counts); /* the group has a copy */
  return status ? status : tutti_barrier(comm);
}

static bool is_right(const round_data *d, int me, int P, int i) {
  const int all = P * (P - 1) / 2;
  bool ok = d->root == 40 + i && d->f == (float)P && d->from_left == (me + P - 1) % P + 1000 * i;
  for (int k = 0; k < 7; k++) ok &= d->a[k] == all + P * (k + i);
  for (int k = 0; k < LONG; k++) ok &= d->b[k] == all * k + P * i;
  for (int r = 0; r < P; r++)
    for (int k = 0; k <= r; k++) ok &= d->spread[r * (r + 1) / 2 + k] == (float)(r + i);
  return CHECK(ok);
}

bool scene_groups(tutti_comm *base, uint64_t seed) {
  static _Thread_local round_data d;
  static _Thread_local size_t counts[MOST];
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  bool ok = P <= MOST;
  for (int i = 0; i < 6 && ok; i++) {
    tutti_request *r = NULL;
    fill(&d, me, i);
    ok = CHECK(!tutti_group_begin(base)) && CHECK(!all_kinds(base, &d, counts)) &&
         CHECK(d.a[0] == me + i); /* nothing has run */
    ok = ok && CHECK(!tutti_group_end(base, i % 2 ? &r : NULL)) && CHECK(!tutti_request_wait(&r)) &&
         is_right(&d, me, P, i);
  }
  return ok && (seed || true);
}

bool scene_wrong_groups(tutti_comm *base, uint64_t seed) {
  tutti_request *r = NULL;
  tutti_comm *comm;
  float x[8] = {1};
  tutti_config config = {.size = sizeof config};
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  (void)seed;
  ok = ok && ERROR(tutti_group_end(comm, NULL), TUTTI_ERR_STATE, "tutti_group_end|no group") &&
       CHECK(!tutti_group_begin(comm)) && ERROR(tutti_group_begin(comm), TUTTI_ERR_STATE, "is open") &&
       ERROR(tutti_barrier_start(comm, &r), TUTTI_ERR_STATE, "tutti_barrier_start|in a group") &&
       ERROR(tutti_allreduce(comm, x, NULL, 8, TUTTI_FLOAT32, TUTTI_SUM), TUTTI_ERR_ARG, "dst is NULL") &&
       ERROR(tutti_comm_free(comm), TUTTI_ERR_STATE, "a group is open") &&
       CHECK(!tutti_group_end(comm, NULL)); /* an empty one */
  ok = ok && CHECK(!tutti_group_begin(comm)) &&
       CHECK(!tutti_allreduce(comm, x, x, 8, TUTTI_FLOAT32, TUTTI_SUM)) &&
       CHECK(!tutti_allreduce(comm, x + 4, x + 4, 4, TUTTI_FLOAT32, TUTTI_SUM)) &&
       ERROR(tutti_group_end(comm, NULL), TUTTI_ERR_OVERLAP, "another buffer") && CHECK(x[0] == 1) &&
       CHECK(!tutti_barrier(comm));
  ok = ok && CHECK(!tutti_group_begin(comm)) && CHECK(!tutti_barrier(comm)) &&
       CHECK(!tutti_barrier(base)); /* none aborts before all are here */
  tutti_comm_abort(comm, "on purpose");
  ok = ok && ERROR(tutti_group_end(comm, NULL), TUTTI_ERR_ABORTED, "on purpose") &&
       ERROR(tutti_comm_async_error(comm), TUTTI_ERR_ABORTED, "on purpose") &&
       ERROR(tutti_comm_configure(comm, &config), TUTTI_ERR_ABORTED, "on purpose") &&
       CHECK(!tutti_comm_config(comm, &config)) && CHECK(config.contract);
  return CHECK(!tutti_comm_free(comm)) && ok && CHECK(!tutti_comm_async_error(base));
}

/* ---- several requests ---- */

bool scene_several(tutti_comm *base, uint64_t seed) {
  enum { N = 9 };
  uint32_t x[N];
  tutti_request *r[N + 1] = {NULL}, *persistent;
  bool seen[N] = {false}, ok = true;
  const uint32_t P = (uint32_t)tutti_comm_size(base);
  size_t which = 99;
  ok = CHECK(!tutti_wait_all(N + 1, r)) && CHECK(!tutti_wait_all(0, NULL)) &&
       CHECK(!tutti_wait_any(N + 1, r, &which)) && CHECK(which == N + 1) &&
       ERROR(tutti_wait_any(1, r, NULL), TUTTI_ERR_ARG, "index is NULL") &&
       ERROR(tutti_wait_all(1, NULL), TUTTI_ERR_ARG, "requests is NULL");
  for (uint32_t i = 0; i < N && ok; i++) {
    x[i] = i + (uint32_t)seed;
    ok = CHECK(!tutti_allreduce_start(base, &x[i], &x[i], 1, TUTTI_UINT32, TUTTI_SUM, &r[i]));
  }
  for (int i = 0; i < N / 2 && ok; i++) {
    ok = CHECK(!tutti_wait_any(N + 1, r, &which)) && CHECK(which < N) && CHECK(!r[which]) && CHECK(!seen[which]) &&
         CHECK(x[which] == P * ((uint32_t)which + (uint32_t)seed));
    if (ok) seen[which] = true;
  }
  ok = ok && CHECK(!tutti_wait_all(N + 1, r));
  for (uint32_t i = 0; i < N && ok; i++) ok = CHECK(!r[i]) && CHECK(x[i] == P * (i + (uint32_t)seed));
  ok = ok && CHECK(!tutti_call_init(base, CALL(BARRIER, .n = 0), &persistent));
  ok = ok && CHECK(!tutti_wait_any(1, &persistent, &which)) && CHECK(which == 1) && /* idle */
       CHECK(!tutti_request_start(persistent)) && CHECK(!tutti_wait_any(1, &persistent, &which)) &&
       CHECK(which == 0) && CHECK(!tutti_request_free(&persistent));
  return ok;
}

/* The first error is returned, and all have ended. */
bool scene_several_fail(tutti_comm *base, uint64_t seed) {
  tutti_comm *comm;
  tutti_request *r[3];
  uint32_t x[3] = {1, 1, 1};
  (void)seed;
  if (tutti_comm_size(base) < 2) return true; /* a rank cannot wait for itself */
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  ok = ok && CHECK(!tutti_allreduce_start(base, &x[0], &x[0], 1, TUTTI_UINT32, TUTTI_SUM, &r[0]));
  for (int i = 1; i < 3 && ok; i++)
    ok = CHECK(!tutti_recv_start(comm, &x[i], 1, TUTTI_UINT32,
                                 (tutti_comm_rank(comm) + 1) % tutti_comm_size(comm), 0, NULL,
                                 &r[i]));
  ok = ok && CHECK(!tutti_barrier(base)); /* none aborts before all have started */
  tutti_comm_abort(comm, "enough");
  ok = ok && ERROR(tutti_wait_all(3, r), TUTTI_ERR_ABORTED, "enough") && CHECK(!r[0] && !r[1] && !r[2]) &&
       CHECK(x[0] == (uint32_t)tutti_comm_size(base));
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- an algorithm for one call ---- */

static tutti_status by(tutti_comm *comm, const char *algorithm, float *x) {
  tutti_request *r;
  const tutti_status status = tutti_call_start(
      comm,
      CALL(ALLREDUCE, .src = x, .dst = x, .count = 9, .type = TUTTI_FLOAT32, .op = TUTTI_SUM, .algorithm = algorithm), &r);
  return status ? status : tutti_request_wait(&r);
}

bool scene_own_algorithm(tutti_comm *base, uint64_t seed) {
  static const char *const algorithms[] = {"fold(ring)", "doubling:0-64k;naive", "^doubling", "naive", ""};
  const int P = tutti_comm_size(base), me = tutti_comm_rank(base);
  tutti_request *again;
  tutti_comm *comm;
  float x[9], y[9];
  bool ok = true;
  (void)seed;
  for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms && ok; a++) {
    for (int k = 0; k < 9; k++) x[k] = (float)(me + k);
    ok = CHECK(!by(base, algorithms[a], x));
    for (int k = 0; k < 9 && ok; k++) ok = CHECK(x[k] == (float)(P * k + P * (P - 1) / 2));
  }
  ok = ok && CHECK(!tutti_call_init(base,
                                    CALL(ALLREDUCE, .src = x, .dst = y, .count = 9, .type = TUTTI_FLOAT32,
                                         .op = TUTTI_SUM, .algorithm = "fold(ring)"),
                                    &again));
  for (int i = 0; i < 3 && ok; i++) {
    for (int k = 0; k < 9; k++) x[k] = (float)(me + k + i);
    ok = CHECK(!tutti_request_start(again)) && CHECK(!tutti_request_wait(&again)) &&
         CHECK(y[8] == (float)(P * (8 + i) + P * (P - 1) / 2));
  }
  ok = ok && CHECK(!tutti_request_free(&again));
  if (P < 2) return ok;
  const tutti_config named = {.size = sizeof named, .name = "odd"};
  ok = ok && CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!tutti_comm_configure(comm, &named));
  tutti_status status = ok ? by(comm, me ? "naive" : "doubling", x) : TUTTI_OK;
  for (int i = 0; i < 3 && !status; i++) status = tutti_barrier(comm);
  return ok && ERROR(status, TUTTI_ERR_MISMATCH, "communicator 'odd': |other settings") && CHECK(!tutti_barrier(base)) &&
         CHECK(!tutti_comm_free(comm));
}
