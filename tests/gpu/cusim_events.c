/* cusim_events.c - events of the simulated driver.
 *
 * Idea       Recording an event creates a record: the stream, the operation's number, and, once the
 *            stream has reached it, the clock of everything before it. A waiting stream uses the
 *            record that the event had when the wait was issued, so recording the event again does
 *            not affect streams that are already waiting.
 * Source     NVIDIA's reference of the driver API, Event Management.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "cusim.h"

typedef struct event {
  unsigned flags;
  cusim_record *last; /* NULL if never recorded */
} event;

static void let_go(cusim_record *r) {
  if (r && --r->refs == 0) free(r);
}

static bool is_over(const cusim_record *r) {
  return !r || cusim.stream[r->slot].done >= r->seq;
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuEventCreate, &d);
  if (why) return why;
  if (!handle || flags & ~(1u | CU_EVENT_DISABLE_TIMING))
    return cusim_end(CUDA_ERROR_INVALID_VALUE);
  event *e = calloc(1, sizeof *e);
  void *name = e ? cusim_handle_new(IS_EVENT, d, e) : NULL;
  if (!name) {
    free(e);
    return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  e->flags = flags;
  *handle = name;
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent handle) {
  CUresult why = cusim_begin(CALL_cuEventDestroy, NULL);
  if (why) return why;
  event *e = cusim_handle_get(IS_EVENT, handle, NULL);
  if (!e) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  cusim_handle_drop(handle);
  let_go(e->last);
  free(e);
  return cusim_end(CUDA_SUCCESS);
}

static CUresult pass_record(cusim_op *op) {
  pthread_mutex_lock(&cusim.lock);
  op->record->clock = op->stream->clock;
  op->record->when = cusim_now();
  pthread_mutex_unlock(&cusim.lock);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent handle, CUstream stream) {
  cusim_device *d, *of;
  CUresult why = cusim_begin(CALL_cuEventRecord, &d);
  if (why) return why;
  event *e = cusim_handle_get(IS_EVENT, handle, &of);
  cusim_stream *s = cusim_stream_anywhere(d, stream);
  if (!e || !s || s->device != of) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  cusim_op *op = cusim_op_new(CALL_cuEventRecord, s, pass_record);
  cusim_record *r = op ? calloc(1, sizeof *r) : NULL;
  if (!r) {
    free(op);
    return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  op->record = r;
  cusim_issue(op);
  r->refs = 2; /* references by the operation and by the event */
  r->slot = s->slot;
  r->seq = op->seq;
  let_go(e->last);
  e->last = r;
  return cusim_end(CUDA_SUCCESS);
}

static CUresult pass_wait(cusim_op *op) {
  pthread_mutex_lock(&cusim.lock);
  cusim_join(&op->stream->clock, &op->record->clock);
  pthread_mutex_unlock(&cusim.lock);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuStreamWaitEvent, &d);
  if (why) return why;
  const event *e = cusim_handle_get(IS_EVENT, handle, NULL);
  cusim_stream *s = cusim_stream_anywhere(d, stream);
  if (flags) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (!e || !s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (!e->last) return cusim_end(CUDA_SUCCESS);
  cusim_op *op = cusim_op_new(CALL_cuStreamWaitEvent, s, pass_wait);
  if (!op) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  op->record = e->last;
  op->waits = true;
  op->record->refs++;
  if (op->record->slot != s->slot) op->after.at[op->record->slot] = op->record->seq;
  cusim_issue(op);
  return cusim_end(CUDA_SUCCESS);
}

/* Records that the host knows everything that precedes a completed event. */
static void learn_record(const cusim_record *r) {
  if (r) cusim_join(&cusim.host, &r->clock);
}

CUresult cuEventQuery(CUevent handle) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuEventQuery, NULL);
  if (why) return why;
  const event *e = cusim_handle_get(IS_EVENT, handle, &d);
  if (!e) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (d->error) return cusim_end(d->error);
  if (!is_over(e->last)) return cusim_end(CUDA_ERROR_NOT_READY);
  learn_record(e->last);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuEventSynchronize(CUevent handle) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuEventSynchronize, NULL);
  if (why) return why;
  const event *e = cusim_handle_get(IS_EVENT, handle, &d);
  if (!e) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  cusim_record *r = e->last;
  if (r) {
    r->refs++;
    while (!is_over(r)) pthread_cond_wait(&cusim.moved, &cusim.lock);
    learn_record(r);
    let_go(r);
  }
  return cusim_end(d->error);
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
  CUresult why = cusim_begin(CALL_cuEventElapsedTime, NULL);
  if (why) return why;
  const event *a = cusim_handle_get(IS_EVENT, from, NULL),
              *b = cusim_handle_get(IS_EVENT, to, NULL);
  if (!a || !b || !a->last || !b->last || (a->flags | b->flags) & CU_EVENT_DISABLE_TIMING)
    return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (!is_over(a->last) || !is_over(b->last)) return cusim_end(CUDA_ERROR_NOT_READY);
  *ms = (float)(1e3 * (b->last->when - a->last->when));
  return cusim_end(CUDA_SUCCESS);
}
