/* abi_messages.c - messages and requests of the test's libmpi_abi.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "translate.h"

/* ---- one status: filled by MPICH in its own form ---- */

#define WITH_STATUS(call)                   \
  MPI_Status theirs = {0};                  \
  if (status) to_status(status, &theirs);   \
  const int code = call;                    \
  if (status) from_status(&theirs, status); \
  return code

ENTRY(Send, const void *buffer, int n, ABI_Datatype type, int peer, int tag, ABI_Comm comm) {
  return CALL(Send, buffer, n, to(type), to_rank(peer), to_tag(tag), to(comm));
}
ENTRY(Ssend, const void *buffer, int n, ABI_Datatype type, int peer, int tag, ABI_Comm comm) {
  return CALL(Ssend, buffer, n, to(type), to_rank(peer), to_tag(tag), to(comm));
}
ENTRY(Recv, void *buffer, int n, ABI_Datatype type, int peer, int tag, ABI_Comm comm,
      ABI_Status *status) {
  WITH_STATUS(CALL(Recv, buffer, n, to(type), to_rank(peer), to_tag(tag), to(comm), &theirs));
}
ENTRY(Sendrecv, const void *out, int nout, ABI_Datatype outtype, int target, int outtag, void *in,
      int nin, ABI_Datatype intype, int source, int intag, ABI_Comm comm, ABI_Status *status) {
  WITH_STATUS(CALL(Sendrecv, out, nout, to(outtype), to_rank(target), to_tag(outtag), in, nin,
                   to(intype), to_rank(source), to_tag(intag), to(comm), &theirs));
}
ENTRY(Iprobe, int peer, int tag, ABI_Comm comm, int *flag, ABI_Status *status) {
  WITH_STATUS(CALL(Iprobe, to_rank(peer), to_tag(tag), to(comm), flag, &theirs));
}
ENTRY(Get_count, const ABI_Status *status, ABI_Datatype type, int *n) {
  MPI_Status theirs;
  to_status(status, &theirs);
  return CALL(Get_count, &theirs, to(type), n);
}
ENTRY(Status_set_elements, ABI_Status *status, ABI_Datatype type, int n) {
  WITH_STATUS(CALL(Status_set_elements, &theirs, to(type), n));
}
ENTRY(Status_set_cancelled, ABI_Status *status, int flag) {
  WITH_STATUS(CALL(Status_set_cancelled, &theirs, flag));
}

/* ---- begin ---- */

#define BEGIN(name, ...)                            \
  MPI_Request begun = MPI_REQUEST_NULL;             \
  const int code = CALL(name, __VA_ARGS__, &begun); \
  if (code == ABI_SUCCESS) *request = from(begun);  \
  return code

#define MESSAGE(name, constant)                                                                  \
  ENTRY(name, constant void *buffer, int n, ABI_Datatype type, int peer, int tag, ABI_Comm comm, \
        ABI_Request *request) {                                                                  \
    BEGIN(name, buffer, n, to(type), to_rank(peer), to_tag(tag), to(comm));                      \
  }
MESSAGE(Isend, const)
MESSAGE(Issend, const)
MESSAGE(Irecv, )
MESSAGE(Send_init, const)
MESSAGE(Recv_init, )

/* ---- complete: requests are converted to MPICH's form, and back ---- */

#define WITH_REQUEST(call)          \
  MPI_Request inner = to(*request); \
  const int result = call;          \
  *request = from(inner);           \
  return result

static int wait_or_test(MPI_Request *inner, int *flag, ABI_Status *status) {
  WITH_STATUS(flag ? CALL(Test, inner, flag, &theirs) : CALL(Wait, inner, &theirs));
}
ENTRY(Start, ABI_Request *request) {
  WITH_REQUEST(CALL(Start, &inner));
}
ENTRY(Cancel, ABI_Request *request) {
  WITH_REQUEST(CALL(Cancel, &inner));
}
ENTRY(Request_free, ABI_Request *request) {
  WITH_REQUEST(CALL(Request_free, &inner));
}
ENTRY(Wait, ABI_Request *request, ABI_Status *status) {
  WITH_REQUEST(wait_or_test(&inner, NULL, status));
}
ENTRY(Test, ABI_Request *request, int *flag, ABI_Status *status) {
  WITH_REQUEST(wait_or_test(&inner, flag, status));
}
ENTRY(Request_get_status, ABI_Request request, int *flag, ABI_Status *status) {
  WITH_STATUS(CALL(Request_get_status, to(request), flag, &theirs));
}

typedef struct set {
  int n, nstatuses; /* nstatuses: 0 if the program ignores them */
  ABI_Request *ours;
  ABI_Status *statuses;
  MPI_Request *theirs;
  MPI_Status *of_theirs;
} set;

static set open_set(int n, ABI_Request *requests, ABI_Status *statuses, int nstatuses) {
  set s = {n,        statuses ? nstatuses : 0,     requests,
           statuses, room(n, sizeof(MPI_Request)), room(nstatuses, sizeof(MPI_Status))};
  for (int i = 0; i < n; i++) s.theirs[i] = to(requests[i]);
  for (int i = 0; i < s.nstatuses; i++) to_status(&statuses[i], &s.of_theirs[i]);
  return s;
}

static int close_set(set *s, int code) {
  for (int i = 0; i < s->n; i++) s->ours[i] = from(s->theirs[i]);
  for (int i = 0; i < s->nstatuses; i++) from_status(&s->of_theirs[i], &s->statuses[i]);
  free(s->theirs);
  free(s->of_theirs);
  return code;
}

ENTRY(Startall, int n, ABI_Request requests[]) {
  set s = open_set(n, requests, NULL, 0);
  return close_set(&s, CALL(Startall, n, s.theirs));
}
ENTRY(Waitall, int n, ABI_Request requests[], ABI_Status *statuses) {
  set s = open_set(n, requests, statuses, n);
  return close_set(&s, CALL(Waitall, n, s.theirs, s.of_theirs));
}
ENTRY(Testall, int n, ABI_Request requests[], int *flag, ABI_Status *statuses) {
  set s = open_set(n, requests, statuses, n);
  return close_set(&s, CALL(Testall, n, s.theirs, flag, s.of_theirs));
}
ENTRY(Waitany, int n, ABI_Request requests[], int *index, ABI_Status *status) {
  set s = open_set(n, requests, status, 1);
  return close_set(&s, CALL(Waitany, n, s.theirs, index, s.of_theirs));
}
ENTRY(Testany, int n, ABI_Request requests[], int *index, int *flag, ABI_Status *status) {
  set s = open_set(n, requests, status, 1);
  return close_set(&s, CALL(Testany, n, s.theirs, index, flag, s.of_theirs));
}
ENTRY(Waitsome, int n, ABI_Request requests[], int *done, int indices[], ABI_Status *statuses) {
  set s = open_set(n, requests, statuses, n);
  return close_set(&s, CALL(Waitsome, n, s.theirs, done, indices, s.of_theirs));
}
ENTRY(Testsome, int n, ABI_Request requests[], int *done, int indices[], ABI_Status *statuses) {
  set s = open_set(n, requests, statuses, n);
  return close_set(&s, CALL(Testsome, n, s.theirs, done, indices, s.of_theirs));
}
ENTRY(Grequest_complete, ABI_Request request) {
  return CALL(Grequest_complete, to(request));
}
