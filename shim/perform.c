/* perform.c - calls tutti, and handles its failures.
 *
 * Idea       MPI permits some calls that tutti rejects immediately: with unaligned buffers, or with
 *            buffers that overlap in a way that an MPI happens to accept. Such a call is repeated
 *            with copies; the other ranks see no difference.
 * Invariant  A call that fails is never passed to the MPI, because some rank may have started it. All
 *            ranks get an error, and every later call on the communicator returns one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve.h"

static tutti_status call(state *s, const work *w, const void *src, void *dst) {
  switch (w->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(s->comm, src, dst, w->count, w->type, w->op);
    case TUTTI_REDUCE: return tutti_reduce(s->comm, src, dst, w->count, w->type, w->op, w->root);
    case TUTTI_REDUCE_SCATTER:
      if (w->counts) return tutti_reduce_scatterv(s->comm, src, dst, w->counts, w->type, w->op);
      return tutti_reduce_scatter(s->comm, src, dst, w->count, w->type, w->op);
    case TUTTI_ALLGATHER:
      if (w->counts) return tutti_allgatherv(s->comm, src, dst, w->counts, w->type);
      return tutti_allgather(s->comm, src, dst, w->count, w->type);
    case TUTTI_BROADCAST: return tutti_broadcast(s->comm, src, dst, w->count, w->type, w->root);
    case TUTTI_GATHER: return tutti_gather(s->comm, src, dst, w->count, w->type, w->root);
    case TUTTI_SCATTER: return tutti_scatter(s->comm, src, dst, w->count, w->type, w->root);
    case TUTTI_ALLTOALL:
      if (w->counts) return tutti_alltoallv(s->comm, src, w->counts, dst, w->recv_counts, w->type);
      return tutti_alltoall(s->comm, src, dst, w->count, w->type);
    case TUTTI_SCAN: return tutti_scan(s->comm, src, dst, w->count, w->type, w->op);
    case TUTTI_EXSCAN: return tutti_exscan(s->comm, src, dst, w->count, w->type, w->op);
    default: return tutti_barrier(s->comm);
  }
}

static tutti_status call_with_copies(state *s, const work *w) {
  const size_t before_dst = (w->src_bytes + 63) / 64 * 64;
  char *copy = aligned_alloc(64, before_dst + (w->dst_bytes + 63) / 64 * 64 + 64);
  if (!copy) return TUTTI_ERR_MEMORY;
  if (w->src_bytes) memcpy(copy, w->src, w->src_bytes);
  const tutti_status status = call(s, w, copy, copy + before_dst);
  if (!status && w->dst_bytes) memcpy(w->dst, copy + before_dst, w->dst_bytes);
  free(copy);
  return status;
}

/* Returns an MPI error code in an error class of the shim. The text of the code is the last error message. */
static int error_code(const char *sentence) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static int code = MPI_ERR_OTHER;
  char text[MPI_MAX_ERROR_STRING];
  int class;
  snprintf(text, sizeof text, "tutti: %.230s", sentence);
  pthread_mutex_lock(&lock);
  if (code == MPI_ERR_OTHER && next()->Add_error_class(&class) == MPI_SUCCESS) {
    next()->Add_error_string(class, "tutti: a collective failed");
    if (next()->Add_error_code(class, &code)) code = MPI_ERR_OTHER;
  }
  if (code != MPI_ERR_OTHER) next()->Add_error_string(code, text);
  const int of_text = code;
  pthread_mutex_unlock(&lock);
  return of_text;
}

/* Returns true if the MPI will end the job on an error. */
static bool is_fatal(MPI_Comm comm) {
  MPI_Errhandler handler;
  if (next()->Comm_get_errhandler(comm, &handler)) return false;
  bool fatal = handler == MPI_ERRORS_ARE_FATAL;
#ifdef MPI_ERRORS_ABORT
  fatal |= handler == MPI_ERRORS_ABORT;
#endif
  next()->Errhandler_free(&handler);
  return fatal;
}

/* Prints the reason why a call failed. The MPI's message may be lost, because all ranks end as soon as the first one does. */
static void say_why(const state *s, const char *sentence) {
  char line[480];
  const int n = snprintf(line, sizeof line, "tutti: rank %d: %s\n", s->rank, sentence);
  for (int at = 0, wrote = 1; at < n && wrote > 0; at += wrote)
    wrote = (int)write(STDERR_FILENO, line + at, (size_t)(n - at));
}

answer serve_fail(state *s, const char *sentence) {
  char kept[400];
  snprintf(kept, sizeof kept, "%s", sentence);
  if (state_serves(s)) tutti_comm_abort(s->comm, kept); /* the other ranks may be making it now */
  report_failure(kept);
  if (is_fatal(s->mpi)) say_why(s, kept);
  const int code = error_code(kept);
  next()->Comm_call_errhandler(s->mpi, code);
  return (answer){WHY_SERVED, code, NULL};
}

answer serve_fail_mpi(state *s, int error) {
  char text[MPI_MAX_ERROR_STRING] = "", sentence[MPI_MAX_ERROR_STRING + 60];
  int length;
  next()->net.Error_string(error, text, &length);
  snprintf(sentence, sizeof sentence, "the MPI cannot pack or unpack: %s", text);
  return serve_fail(s, sentence);
}

/* These functions return the kind and the size of a call (see contest.h). Both are the same on all ranks. */
static tutti_coll kind_of(const work *w) {
  return w->function == SHIM_Gatherv    ? TUTTI_GATHER
         : w->function == SHIM_Scatterv ? TUTTI_SCATTER
                                        : w->coll;
}

static size_t size_of(const work *w, size_t bytes) {
  if (w->recv_counts) return SIZE_MAX;
  return w->coll == TUTTI_GATHER || w->coll == TUTTI_SCATTER ? w->count : bytes;
}

answer serve_run(state *s, const work *w) {
  if (state_only_asks()) return (answer){WHY_SERVED, MPI_SUCCESS, NULL};
  if (!state_serves(s)) return hand_on(s->why);
  const size_t bytes = w->src_bytes > w->dst_bytes ? w->src_bytes : w->dst_bytes;
  turn *t = s->form
                ? NULL
                : turns_find(&s->turns, s->ranks, kind_of(w), size_of(w, bytes), w->type, w->op);
  const bool mpis = t && turn_is_mpis(t);
  if (t && t->settled) turn_count(t), t = NULL;
  const uint64_t since = report_wanted ? report_now() : 0;
  if (t) turn_begin(t, s->comm, w->function);
  if (mpis) return (answer){WHY_FASTER, MPI_SUCCESS, t};
  tutti_status status = call(s, w, w->src, w->dst);
  if (status == TUTTI_ERR_ARG || status == TUTTI_ERR_OVERLAP) status = call_with_copies(s, w);
  if (t) t->until = report_now();
  if (status == TUTTI_ERR_UNSUPPORTED) return hand_on(WHY_NO_PLAN);
  if (status) return serve_fail(s, tutti_error());
  if (report_wanted) {
    const size_t element = tutti_type_size(w->type);
    const shim_function f = w->function + (unsigned)s->form; /* the forms of a function are
                                                                consecutive */
    const served_call c = {.function = f,
                           .coll = w->coll,
                           .plans = !w->counts,
                           .count = w->count,
                           .bytes = bytes,
                           .type = element ? w->type : TUTTI_UINT8,
                           .op = w->op};
    report_served(s->comm, &s->last[f], &c, since);
  }
  return (answer){WHY_SERVED, MPI_SUCCESS, t};
}
