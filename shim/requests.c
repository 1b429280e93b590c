/* requests.c - the MPI calls that complete requests, including those of persistent collectives.
 *
 * Idea       The program's handle of a persistent collective never changes; while the request is
 *            active, an inner request represents it. These calls substitute the inner requests,
 *            call MPI, and record which requests have completed.
 * Waiting    A thread that waits for certain collectives performs them, unless another thread has already started them
 *            (async.h). While one is in progress, waiting alternates between testing and yielding the core: the collective's
 *            thread may need the core, and MPICH spins. (In addition, MPI_Waitall of MPICH 4.0 asserts that a generalized
 *            request is complete if another request is MPI_REQUEST_NULL.)
 * Cost       One atomic load, as long as no collective is persistent or in progress.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <stdlib.h>

#include "async.h"

static bool any(void) {
  return atomic_load_explicit(&async_persistent, memory_order_relaxed) > 0;
}

/* The inner requests, which replace the program's. */
typedef struct stand_in {
  int n;
  MPI_Request *theirs, *known, few[32];
} stand_in;

static bool put_in(stand_in *s, int n, MPI_Request *theirs) {
  s->n = n > 0 && theirs ? n : 0;
  s->theirs = theirs;
  s->known = s->n <= 32 ? s->few : malloc((size_t)s->n * sizeof *s->known);
  if (!s->known) return false;
  for (int i = 0; i < s->n; i++) {
    const MPI_Request *active = async_active(theirs[i]);
    s->known[i] = active ? *active : theirs[i];
  }
  return true;
}

static int no_memory(void) {
  next()->Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  return MPI_ERR_NO_MEM;
}

static int take_out(stand_in *s, int code) {
  for (int i = 0; i < s->n; i++) {
    MPI_Request *active = async_active(s->theirs[i]);
    *(active ? active : &s->theirs[i]) = s->known[i];
  }
  if (s->known != s->few) free(s->known);
  return code;
}

/* ---- waiting ---- */

/* Waits for requests. Calls the MPI's own function `call` if possible; otherwise repeats `test` until `done` is true. */
#define WAIT(call, test, done)                                           \
  int code;                                                              \
  if (!async_under_way()) return call;                                   \
  for (int vain = 0; !(code = test) && !(done); vain++) async_nap(vain); \
  return code

static int wait_one(MPI_Request *requests, MPI_Status *status) {
  int done = 0;
  if (async_under_way()) async_perform(1, requests);
  WAIT(next()->net.Wait(requests, status), next()->Test(requests, &done, status), done);
}

static int wait_all(int n, MPI_Request *requests, MPI_Status *statuses) {
  int done = 0;
  if (async_under_way()) async_perform(n, requests);
  WAIT(next()->Waitall(n, requests, statuses), next()->Testall(n, requests, &done, statuses), done);
}

static int wait_any(int n, MPI_Request *requests, int *which, MPI_Status *status) {
  int done = 0;
  WAIT(next()->Waitany(n, requests, which, status),
       next()->Testany(n, requests, which, &done, status), done);
}

static int wait_some(int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses) {
  WAIT(next()->Waitsome(n, requests, done, which, statuses),
       next()->net.Testsome(n, requests, done, which, statuses), *done);
}

/* ---- the MPI functions ---- */

/* Defines the function MPI_name(parameters). `call` completes the `n` requests in `array`. */
#define COMPLETES(name, call, parameters, plain, n, array, with) \
  int MPI_##name parameters {                                    \
    stand_in s;                                                  \
    if (!any()) return call plain;                               \
    if (!put_in(&s, n, array)) return no_memory();               \
    MPI_Request *known = s.known;                                \
    return take_out(&s, call with);                              \
  }                                                              \
  ALSO_PMPI(name)

/* clang-format off */
COMPLETES(Wait, wait_one, (MPI_Request *requests, MPI_Status *status),
          (requests, status), 1, requests, (known, status))
COMPLETES(Waitall, wait_all, (int n, MPI_Request *requests, MPI_Status *statuses),
          (n, requests, statuses), n, requests, (n, known, statuses))
COMPLETES(Waitany, wait_any, (int n, MPI_Request *requests, int *which, MPI_Status *status),
          (n, requests, which, status), n, requests, (n, known, which, status))
COMPLETES(Waitsome, wait_some,
          (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
          (n, requests, done, which, statuses), n, requests, (n, known, done, which, statuses))
COMPLETES(Test, next()->Test, (MPI_Request *requests, int *done, MPI_Status *status),
          (requests, done, status), 1, requests, (known, done, status))
COMPLETES(Testall, next()->Testall, (int n, MPI_Request *requests, int *done, MPI_Status *statuses),
          (n, requests, done, statuses), n, requests, (n, known, done, statuses))
COMPLETES(Testany, next()->Testany,
          (int n, MPI_Request *requests, int *which, int *done, MPI_Status *status),
          (n, requests, which, done, status), n, requests, (n, known, which, done, status))
COMPLETES(Testsome, next()->net.Testsome,
          (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
          (n, requests, done, which, statuses), n, requests, (n, known, done, which, statuses))
/* clang-format on */

int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status) {
  const MPI_Request *active = any() ? async_active(request) : NULL;
  return next()->Request_get_status(active ? *active : request, done, status);
}
ALSO_PMPI(Request_get_status)

int MPI_Start(MPI_Request *request) {
  if (any() && request && async_active(*request)) return async_restart(*request);
  return next()->Start(request);
}
ALSO_PMPI(Start)

int MPI_Startall(int n, MPI_Request *requests) {
  int code = MPI_SUCCESS;
  if (!any() || !requests) return next()->Startall(n, requests);
  for (int i = 0; i < n && code == MPI_SUCCESS; i++) code = MPI_Start(&requests[i]);
  return code;
}
ALSO_PMPI(Startall)

int MPI_Request_free(MPI_Request *request) {
  if (request && async_in_progress(*request)) {
    next()->Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_REQUEST);
    return MPI_ERR_REQUEST;
  }
  if (!any() || !request || !async_active(*request)) return next()->Request_free(request);
  async_free(*request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
ALSO_PMPI(Request_free)

/* Tests twice. MPICH's function tests first and then makes progress. The MPI's collectives make progress, but tutti's may
 * not, so the second test may see messages that MPI_Win_complete sent before such a collective. */
int MPI_Win_test(MPI_Win win, int *done) {
  const int code = next()->Win_test(win, done);
  return code == MPI_SUCCESS && !*done ? next()->Win_test(win, done) : code;
}
ALSO_PMPI(Win_test)
