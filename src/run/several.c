/* several.c - waits for several requests (tutti_wait_all, tutti_wait_any), and reports errors of a communicator.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "flight.h"

static tutti_status check_array(const char *function, size_t n, tutti_request **requests) {
  const tutti_status status = tt_alive();
  if (status || requests || !n) return status;
  return tt_fail(TUTTI_ERR_ARG, "%s: requests is NULL", function);
}

/* Continues after an error unless it is an interrupt, so that no buffer is in use when the function returns. */
tutti_status tutti_wait_all(size_t n, tutti_request **requests) {
  tutti_status status = check_array("tutti_wait_all", n, requests), first = TUTTI_OK;
  char why[TT_WHY + 200];
  if (status) return status;
  for (size_t i = 0; i < n; i++) {
    status = tutti_request_wait(&requests[i]);
    if (status == TUTTI_ERR_INTERRUPTED) return status;
    if (status && !first) snprintf(why, sizeof why, "%s", tutti_error());
    if (status && !first) first = status;
  }
  return first ? tt_fail(first, "%s", why) : TUTTI_OK;
}

typedef struct any {
  size_t n, done; /* done == n: none yet */
  tutti_request **requests;
} any;

static bool test_any(void *ctx, unsigned turn, tutti_status *status) {
  any *a = ctx;
  (void)turn;
  bool active = false;
  for (size_t i = 0; i < a->n; i++) {
    int done = 0;
    const tutti_request *r = a->requests[i];
    if (!r || r->state == TT_IDLE) continue;
    active = true;
    *status = tutti_request_test(&a->requests[i], &done);
    if (!done && !*status) continue;
    a->done = i;
    return true;
  }
  return !active;
}

tutti_status tutti_wait_any(size_t n, tutti_request **requests, size_t *index) {
  static const char who[] = "tutti_wait_any";
  tutti_status status = check_array(who, n, requests);
  if (!status && !index) status = tt_fail(TUTTI_ERR_ARG, "%s: index is NULL", who);
  if (status) return status;
  any a = {.n = n, .done = n, .requests = requests};
  status = tt_wait_until(who, test_any, &a);
  *index = a.done;
  return status;
}

/* Reports nothing while a thread is inside a call, because that thread gets the failure from the call. */
tutti_status tutti_comm_async_error(tutti_comm *comm) {
  tutti_status status = tt_args_given("tutti_comm_async_error", "comm", comm, NULL, NULL);
  int held;
  if (status || !tt_comm_hold(comm, TT_DRIVER, &held)) return status;
  if (!comm->broken) tt_progress(comm);
  for (int r = 0; r < comm->ranks && !comm->broken && !status; r++)
    if (r != comm->rank && !comm->wire->peer->alive(comm->wire, r))
      status = tt_fail(TUTTI_ERR_PEER_LOST, "rank %d (pid %ld) is gone; a call that needs it will fail", r,
                       comm->wire->peer->pid(comm->wire, r));
  if (comm->broken) status = tt_fail(comm->broken, "%s", comm->why);
  tt_comm_leave(comm);
  return status;
}
