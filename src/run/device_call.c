/* device_call.c - runs calls on device vectors by means of host memory.
 *
 * Idea       A checked call is replaced by the same call on staging memory (device/staged.c), in place if the caller's call
 *            is. A plain collective starts while its input is still being copied, and its result is copied back in pieces;
 *            the engine does both. Lists and exact sums start when all input has arrived.
 * Order      A call is ordered after the work that was enqueued on the caller's stream before it. A blocking call returns
 *            when the result is on the device. A call of tutti_call.h returns immediately, and the stream waits for it.
 * Invariant  The plan is that of the same call on host memory, so the result has the same bits. No memory is pinned while a
 *            stream waits for tutti, because pinning may wait for the whole device.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>

#include "flight.h"

void tt_device_calls_free(tutti_comm *comm) {
  tt_stager_free(comm->flight->stager);
  comm->flight->stager = NULL;
}

/* ---- where the vectors of a call lie ---- */

typedef struct stretch { /* part of a vector, in bytes from its start */
  size_t from, to;
} stretch;

static size_t elements_before(const tt_call *c, const size_t *counts, uint32_t block) {
  if (!c->varied) return c->count * block;
  size_t n = 0;
  for (uint32_t r = 0; r < block; r++) n += counts[r];
  return n;
}

static stretch stretch_of(const tt_call *c, const size_t *counts, uint32_t lo, uint32_t hi) {
  const size_t element = tutti_type_size(c->type);
  if (lo == hi) return (stretch){0, 0};
  return (stretch){elements_before(c, counts, lo) * element,
                   elements_before(c, counts, hi) * element};
}

/* Determines which parts of its vectors a call reads and writes on this rank. Both parts may be empty. */
static void stretches_of(const tutti_comm *comm, const tt_call *c, stretch *src, stretch *dst) {
  const tt_sched like = tt_call_outline(comm, c);
  uint32_t lo, hi;
  tt_coll_src(&like, &lo, &hi);
  *src = stretch_of(c, c->counts, lo, hi);
  tt_coll_dst(&like, &lo, &hi);
  *dst = stretch_of(c, c->recv_counts ? c->recv_counts : c->counts, lo, hi);
}

size_t tt_call_bytes(const tutti_comm *comm, const tt_call *call) {
  stretch src, dst;
  stretches_of(comm, call, &src, &dst);
  return src.to - src.from + dst.to - dst.from;
}

bool tt_call_on_device(const tt_call *c) {
  return tt_device() && (tt_on_device(c->src, NULL) || tt_on_device(c->dst, NULL));
}

/* Reserves staging memory for a call. `sum` is NULL unless the call is an allreduce of one vector, which the devices may sum. */
static tutti_status stage(tutti_comm *comm, const char *function, int number, const tt_call *sum,
                          const tt_staged_part *parts, size_t n, size_t bytes, char **host,
                          tt_staged **staged) {
  tt_flight *f = comm->flight;
  if (!f->stager) f->stager = tt_stager_new(comm->wire);
  if (!f->stager) return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", function);
  if (!tt_stager_ready(f->stager, number, bytes, sum ? (int)sum->type : -1,
                       sum ? (int)tt_near_op(comm->wire, sum->op) : 0)) {
    const tutti_status status = tt_streams_wait(comm, function);
    if (status) return status;
    tt_long_wait wait = tt_long_wait_begin(function);
    while (tt_device_holds()) {
      if (tt_progress(comm)) continue;
      tt_long_wait_for(&wait, "streams of other communicators, which wait for calls");
      sched_yield();
    }
    tt_long_wait_end(&wait);
  }
  const tutti_status status = tt_staged_new(f->stager, number, parts, n, bytes, host, staged);
  if (!status && sum) tt_staged_compile(*staged, sum->type, tt_near_op(comm->wire, sum->op));
  return status;
}

tutti_status tt_device_call(tutti_comm *comm, const char *function, const tt_call *call,
                            bool in_place, tt_call *hosted, tt_staged **staged) {
  stretch src, dst;
  int number = 0;
  stretches_of(comm, call, &src, &dst);
  const bool in = src.to > src.from && tt_on_device(call->src, &number);
  const bool out = dst.to > dst.from && tt_on_device(call->dst, &number);
  *staged = NULL;
  if (!in && !out) return TUTTI_OK;
  const size_t apart =
      in_place || !in ? 0 : tt_round_up(src.to, 4096); /* offset of the result's vector */
  const tt_staged_part parts[] = {
      {in ? call->src : NULL, NULL, src.from, src.to - src.from},
      {NULL, out ? call->dst : NULL, apart + dst.from, dst.to - dst.from}};
  const size_t bytes = tt_max(in ? src.to : 0, out ? apart + dst.to : 0);
  char *host;
  const tt_call *sum = call->coll == TUTTI_ALLREDUCE ? call : NULL;
  const tutti_status status = stage(comm, function, number, sum, parts, 2, bytes, &host, staged);
  if (status) return status;
  if (in) hosted->src = host + parts[0].at;
  if (out) hosted->dst = host + parts[1].at;
  hosted->staged = *staged;
  return TUTTI_OK;
}

/* ---- lists ---- */

void tt_device_list_free(tt_list *hosted) {
  free((void *)(uintptr_t)hosted->srcs);
}

/* Returns true if any buffer of the list is in device memory. Sets *number to the number of the device. */
static bool list_on_device(const tt_list *list, int *number) {
  for (size_t i = 0; i < list->n; i++)
    if (list->counts[i] &&
        (tt_on_device(list->srcs[i], number) || tt_on_device(list->dsts[i], number)))
      return true;
  return false;
}

/* Fills in `parts` for the buffers in a list that are on the device. Returns their total staging size, in bytes. */
static size_t lay_out(const tt_list *list, tt_staged_part *parts) {
  const size_t element = tutti_type_size(list->type);
  size_t at = 0;
  for (size_t i = 0; i < list->n; i++) {
    const size_t bytes = list->counts[i] * element;
    const bool in = bytes && tt_on_device(list->srcs[i], NULL);
    const bool out = bytes && tt_on_device(list->dsts[i], NULL);
    parts[2 * i] = (tt_staged_part){in ? list->srcs[i] : NULL, NULL, at, bytes};
    if (list->srcs[i] != list->dsts[i] && in) at += tt_round_up(bytes, 64);
    parts[2 * i + 1] = (tt_staged_part){NULL, out ? list->dsts[i] : NULL, at, bytes};
    if (in || out) at += tt_round_up(bytes, 64);
  }
  return at;
}

tutti_status tt_device_list(tutti_comm *comm, const char *function, const tt_list *list,
                            tt_list *hosted, tt_staged **staged) {
  int number = 0;
  *staged = NULL;
  *hosted = *list;
  if (!tt_device() || !list_on_device(list, &number)) {
    hosted->srcs = NULL; /* nothing to free */
    return TUTTI_OK;
  }
  tt_staged_part *parts = calloc(2 * list->n, sizeof *parts);
  const void **srcs = calloc(2 * list->n, sizeof *srcs);
  void **dsts = (void **)(uintptr_t)(srcs + list->n);
  char *host = NULL;
  tutti_status status = TUTTI_OK;
  if (!parts || !srcs)
    status = tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for %zu buffers", function, list->n);
  if (!status)
    status = stage(comm, function, number, NULL, parts, 2 * list->n, lay_out(list, parts), &host,
                   staged);
  for (size_t i = 0; i < list->n && !status; i++) {
    srcs[i] = parts[2 * i].in ? host + parts[2 * i].at : list->srcs[i];
    dsts[i] = parts[2 * i + 1].out ? host + parts[2 * i + 1].at : list->dsts[i];
  }
  free(parts);
  if (status) free(srcs), srcs = NULL;
  hosted->srcs = srcs;
  hosted->dsts = dsts;
  return status;
}

/* ---- a run ---- */

/* Returns true if the request can start before all of its input has been copied from the device. This excludes scaled vectors,
 * which are multiplied when the operation starts. */
static bool comes_in_pieces(const tutti_request *r) {
  const tt_user_op *user = tt_op_user(r->call.op);
  return r->ops == &tt_collective_ops && !(user && !user->fn);
}

/* Waits for copies between the device and the host. If `input`, waits until all input has arrived; otherwise, until the final
 * result is on the device. Drives the communicator while the input arrives, because the stream may wait for an earlier call. */
static tutti_status await_device(tutti_request *r, bool input) {
  tutti_status status = TUTTI_OK;
  tt_long_wait wait = tt_long_wait_begin("");
  while (!status && !(input && r->comm->broken) &&
         (input ? tt_staged_landed(r->staged) != UINT64_MAX : !tt_staged_over(r->staged))) {
    const bool moved = tt_staged_progress(r->staged, &status);
    if (moved || status || (input && tt_progress(r->comm))) {
      tt_long_wait_end(&wait);
      wait = tt_long_wait_begin("");
      continue;
    }
    if (input) tt_watch_peers(r->comm);
    status = tt_report_device(r->comm, &r->call, &wait);
    sched_yield();
  }
  tt_long_wait_end(&wait);
  return status;
}

void tt_device_begin(tutti_request *r) {
  r->comm->flight->on_devices++;
  r->comm->flight->stuck = false;
  if (comes_in_pieces(r)) tt_staged_offers(r->staged, tt_kernels_pay(r->comm, &r->call, &r->plan));
  tutti_status status = tt_staged_begin(r->staged, r->stream, r->detached);
  if (!status && !comes_in_pieces(r)) status = await_device(r, true);
  if (status) tt_break_by_error(r->comm, status);
}

tutti_status tt_device_end(tutti_request *r, tutti_status status) {
  if (!status && !comes_in_pieces(r)) {
    tt_staged_final(r->staged, tt_staged_goes(r->staged));
    status = await_device(r, false);
    if (status) tt_break_by_error(r->comm, status);
  }
  const tutti_status early = tt_staged_release(r->staged);
  if (early && !status) tt_break_by_error(r->comm, status = early);
  if (!tt_staged_end(r->staged, status ? tt_comm_timeout(r->comm) : 0))
    tt_log(0, "rank %d: the device may still use the vectors of a call that has failed",
           r->comm->rank);
  r->comm->flight->on_devices--;
  return status;
}
