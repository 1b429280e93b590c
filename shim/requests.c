/* requests.c - MPI's calls that complete requests, where some are persistent collectives.
 *
 * Idea       what the program has of such a request never changes; behind it stands, while it
 *            is active, a request that MPI knows. These calls put that in its place, let MPI
 *            do what it does, and look whether it is complete.
 * MPICH      4.0 asserts in MPI_Waitall that a generalized request is complete if another one is
 *            MPI_REQUEST_NULL: it never sees the two together.
 * Cost       none but a look, as long as there is no persistent collective, and, for MPI_Waitall,
 *            none that is under way.
 * SPDX-License-Identifier: BSD-3-Clause */
#pragma GCC visibility push(default)
#include <mpi.h>
#pragma GCC visibility pop

#include <stdlib.h>

#include "async.h"

static bool any(void) {
  return atomic_load_explicit(&async_persistent, memory_order_relaxed) > 0;
}

/* The requests that MPI knows, in place of the program's. */
typedef struct stand_in {
  int n;
  MPI_Request *theirs, *known, few[32];
} stand_in;

/* What MPI knows for what the program has. */
static MPI_Request known_for(MPI_Request theirs) {
  const MPI_Request *active = async_active(theirs);
  return active ? *active : theirs;
}

static bool put_in(stand_in *s, int n, MPI_Request *theirs) {
  s->n = n > 0 && theirs ? n : 0;
  s->theirs = theirs;
  s->known = s->n <= 32 ? s->few : malloc((size_t)s->n * sizeof *s->known);
  if (!s->known) return false;
  for (int i = 0; i < s->n; i++) s->known[i] = known_for(theirs[i]);
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

/* MPI_name(parameters), where `n` requests are those at `array`. */
#define COMPLETES(name, member, parameters, plain, n, array, with) \
  int MPI_##name parameters {                                      \
    stand_in s;                                                    \
    if (!any()) return next()->member plain;                       \
    if (!put_in(&s, n, array)) return no_memory();                 \
    MPI_Request *known = s.known;                                  \
    return take_out(&s, next()->member with);                      \
  }                                                                \
  ALSO_PMPI(name)

/* clang-format off */
COMPLETES(Wait, net.Wait, (MPI_Request *requests, MPI_Status *status),
          (requests, status), 1, requests, (known, status))
COMPLETES(Waitany, Waitany, (int n, MPI_Request *requests, int *which, MPI_Status *status),
          (n, requests, which, status), n, requests, (n, known, which, status))
COMPLETES(Waitsome, Waitsome,
          (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
          (n, requests, done, which, statuses), n, requests, (n, known, done, which, statuses))
COMPLETES(Test, Test, (MPI_Request *requests, int *done, MPI_Status *status),
          (requests, done, status), 1, requests, (known, done, status))
COMPLETES(Testall, Testall, (int n, MPI_Request *requests, int *done, MPI_Status *statuses),
          (n, requests, done, statuses), n, requests, (n, known, done, statuses))
COMPLETES(Testany, Testany,
          (int n, MPI_Request *requests, int *which, int *done, MPI_Status *status),
          (n, requests, which, done, status), n, requests, (n, known, which, done, status))
COMPLETES(Testsome, net.Testsome,
          (int n, MPI_Request *requests, int *done, int *which, MPI_Status *statuses),
          (n, requests, done, which, statuses), n, requests, (n, known, done, which, statuses))
/* clang-format on */

/* Waits for those that are not MPI_REQUEST_NULL, moved to the front; then all go back. */
static int wait_for_all(stand_in *s, MPI_Status *statuses) {
  int live = 0;
  const bool told = statuses != MPI_STATUSES_IGNORE;
  for (int i = 0; i < s->n; i++)
    if (s->known[i] != MPI_REQUEST_NULL) s->known[live++] = s->known[i];
  const int code = next()->Waitall(live, s->known, statuses);
  if (live == s->n) return code;
  for (int i = s->n - 1; i >= 0; i--) {
    const bool was = known_for(s->theirs[i]) != MPI_REQUEST_NULL;
    s->known[i] = was ? s->known[--live] : MPI_REQUEST_NULL;
    if (told && was) statuses[i] = statuses[live];
    if (!told || was) continue;
    MPI_Request none = MPI_REQUEST_NULL;
    next()->net.Wait(&none, &statuses[i]);
    statuses[i].MPI_ERROR = MPI_SUCCESS;
  }
  return code;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
  stand_in s;
  if (n <= 0 || !requests || (!any() && !async_under_way()))
    return next()->Waitall(n, requests, statuses);
  if (!put_in(&s, n, requests)) return no_memory();
  return take_out(&s, wait_for_all(&s, statuses));
}
ALSO_PMPI(Waitall)

int MPI_Request_get_status(MPI_Request request, int *done, MPI_Status *status) {
  return next()->Request_get_status(any() ? known_for(request) : request, done, status);
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
  if (!any() || !request || !async_active(*request)) return next()->Request_free(request);
  async_free(*request);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}
ALSO_PMPI(Request_free)

/* MPICH looks first, and then takes in what came; MPI's own collectives take it in, but tutti's
 * need not. So what MPI_Win_complete has sent before one of these may be seen by the second look. */
int MPI_Win_test(MPI_Win win, int *done) {
  const int code = next()->Win_test(win, done);
  return code == MPI_SUCCESS && !*done ? next()->Win_test(win, done) : code;
}
ALSO_PMPI(Win_test)
