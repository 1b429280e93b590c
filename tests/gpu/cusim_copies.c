/* cusim_copies.c - copies, and all other stream operations of the simulated driver except events and kernels: setting
 * bytes, waiting for words and writing them, and host functions.
 *
 * Idea       Addresses are looked up twice: when the operation is issued, and when it runs. They may be freed in between.
 * Strict     A copy from pageable memory reads the bytes during the call; a copy to pageable memory returns when it is done.
 * Invariant  An operation takes references to the allocations that it accesses, and records the accessed bytes,
 *            before it accesses them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cusim.h"

/* Returns the allocation of these bytes. If the context must not access them, the context becomes unusable. */
static cusim_alloc *reach_or_die(int call, cusim_device *d, uint64_t at, uint64_t bytes) {
  const char *why = "";
  cusim_alloc *a = cusim_reach(d, at, bytes, &why);
  if (!a)
    cusim_die(d, CUDA_ERROR_ILLEGAL_ADDRESS, "%s: %llu bytes at %#llx: %s", cusim_name(call),
              (unsigned long long)bytes, (unsigned long long)at, why);
  return a;
}

/* Returns the stored bytes of a live allocation. */
static unsigned char *bytes_of(const cusim_alloc *a, uint64_t at) {
  return a->host + (at - a->at);
}

/* Determines the ranges of a copy, sorted and disjoint. */
static size_t ranges_of(const cusim_op *op, cusim_range r[2]) {
  size_t n = 0;
  if (!op->from_pageable && op->from) r[n++] = (cusim_range){op->from, op->from + op->bytes, false};
  if (!op->to_pageable) r[n++] = (cusim_range){op->to, op->to + op->bytes, true};
  if (n < 2) return n;
  if (r[0].from < r[1].to &&
      r[1].from < r[0].to) { /* counts only the bytes read that are not written */
    if (r[0].from < r[1].from)
      r[0].to = r[1].from;
    else
      r[0].from = r[1].to;
    if (r[0].from >= r[0].to) r[0] = r[--n];
  }
  if (n == 2 && r[1].from < r[0].from) {
    const cusim_range first = r[1];
    r[1] = r[0], r[0] = first;
  }
  return n;
}

/* Copies bytes, or sets them if the operation has no source. */
static CUresult move_bytes(cusim_op *op) {
  cusim_device *d = op->stream->device;
  cusim_alloc *to = NULL, *from = NULL;
  const bool reads = op->from && !op->from_pageable;
  const unsigned char *source =
      op->staged ? op->staged : (const unsigned char *)(uintptr_t)op->from;
  unsigned char *target = (unsigned char *)(uintptr_t)op->to;
  cusim_range ranges[2];
  pthread_mutex_lock(&cusim.lock);
  CUresult why = CUDA_SUCCESS;
  if (!op->to_pageable && !(to = reach_or_die(op->call, d, op->to, op->bytes))) why = d->error;
  if (!why && reads && !(from = reach_or_die(op->call, d, op->from, op->bytes))) why = d->error;
  if (!why) why = cusim_note(op, ranges, ranges_of(op, ranges));
  if (!why && to) to->users++, target = bytes_of(to, op->to);
  if (!why && from) from->users++, source = bytes_of(from, op->from);
  pthread_mutex_unlock(&cusim.lock);
  if (why) return why;
  if (op->from)
    memmove(target, source, op->bytes);
  else
    memset(target, (int)op->value, op->bytes);
  pthread_mutex_lock(&cusim.lock);
  if (to) cusim_release(to);
  if (from) cusim_release(from);
  pthread_mutex_unlock(&cusim.lock);
  return CUDA_SUCCESS;
}

/* Determines whether this host memory is pageable. Returns an error if it is device memory, or only partly pinned. */
static CUresult look_at_host(int call, uint64_t at, uint64_t bytes, bool *pageable) {
  const cusim_alloc *a = cusim_find(at);
  *pageable = !a;
  if (a ? a->kind != KIND_DEVICE && a->kind != KIND_IPC && bytes <= a->bytes - (at - a->at)
        : at && !cusim_device_range(at))
    return CUDA_SUCCESS;
  cusim_say("%s: %llu bytes at %#llx are not memory of the host, or pinned in part only",
            cusim_name(call), (unsigned long long)bytes, (unsigned long long)at);
  return CUDA_ERROR_INVALID_VALUE;
}

typedef enum way { H_TO_D, D_TO_H, D_TO_D } way;

static CUresult issue_copy(int call, cusim_device *d, way w, uint64_t to, uint64_t from,
                           size_t bytes, cusim_stream *s, bool waits) {
  CUresult why = CUDA_SUCCESS;
  bool to_pageable = false, from_pageable = false;
  if (!s) return CUDA_ERROR_INVALID_HANDLE;
  if (w == D_TO_H) why = look_at_host(call, to, bytes, &to_pageable);
  if (w == H_TO_D) why = look_at_host(call, from, bytes, &from_pageable);
  if (why) return why;
  if ((w != D_TO_H && !reach_or_die(call, d, to, bytes)) ||
      (w != H_TO_D && !reach_or_die(call, d, from, bytes)))
    return d->error;
  cusim_op *op = cusim_op_new(call, s, move_bytes);
  void *staged = op && from_pageable && !waits ? malloc(bytes + 1) : NULL;
  if (!op || (from_pageable && !waits && !staged)) {
    free(op);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (staged) memcpy(staged, (const void *)(uintptr_t)from, bytes);
  op->to = to, op->from = from, op->bytes = bytes;
  op->to_pageable = to_pageable, op->from_pageable = from_pageable;
  op->staged = staged;
  cusim_issue(op);
  if (waits)
    cusim_wait_for(s, s->issued);
  else if (to_pageable)
    return cusim_settle(d, call, s);
  return d->error;
}

static CUresult copy_now(int call, way w, uint64_t to, uint64_t from, size_t bytes) {
  cusim_device *d;
  CUresult why = cusim_begin(call, &d);
  if (why) return why;
  return cusim_end(issue_copy(call, d, w, to, from, bytes, cusim_stream_of(d, NULL), true));
}

static CUresult copy_later(int call, way w, uint64_t to, uint64_t from, size_t bytes,
                           CUstream stream) {
  cusim_device *d;
  CUresult why = cusim_begin(call, &d);
  if (why) return why;
  return cusim_end(issue_copy(call, d, w, to, from, bytes, cusim_stream_of(d, stream), false));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy_now(CALL_cuMemcpyDtoH, D_TO_H, (uintptr_t)to, from, bytes);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy_now(CALL_cuMemcpyHtoD, H_TO_D, to, (uintptr_t)from, bytes);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_later(CALL_cuMemcpyDtoHAsync, D_TO_H, (uintptr_t)to, from, bytes, stream);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copy_later(CALL_cuMemcpyHtoDAsync, H_TO_D, to, (uintptr_t)from, bytes, stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy_later(CALL_cuMemcpyDtoDAsync, D_TO_D, to, from, bytes, stream);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuMemsetD8Async, &d);
  if (why) return why;
  cusim_stream *s = cusim_stream_of(d, stream);
  if (!s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (!reach_or_die(CALL_cuMemsetD8Async, d, to, bytes)) return cusim_end(d->error);
  cusim_op *op = cusim_op_new(CALL_cuMemsetD8Async, s, move_bytes);
  if (!op) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  op->to = to, op->bytes = bytes, op->value = value;
  cusim_issue(op);
  return cusim_end(CUDA_SUCCESS);
}

/* ---- words ---- */

/* Polls the word, with sleeps of up to half a millisecond. Everything that the host knows at the end of the wait
 * precedes the stream's later operations. */
static CUresult wait_for_word(cusim_op *op) {
  cusim_device *d = op->stream->device;
  CUresult why = CUDA_SUCCESS;
  useconds_t pause = 10;
  for (bool over = false; !over;) {
    pthread_mutex_lock(&cusim.lock);
    const cusim_alloc *a = d->error ? NULL : reach_or_die(op->call, d, op->to, 4);
    if (a) {
      const uint32_t word =
          __atomic_load_n((const uint32_t *)(const void *)bytes_of(a, op->to), __ATOMIC_ACQUIRE);
      over = op->flags == CU_STREAM_WAIT_VALUE_EQ ? word == op->value
                                                  : (int32_t)(word - op->value) >= 0;
      if (over) cusim_join(&op->stream->clock, &cusim.host);
    } else {
      why = d->error;
      over = true;
    }
    pthread_mutex_unlock(&cusim.lock);
    if (over) break;
    usleep(pause);
    if (pause < 500) pause *= 2;
  }
  return why;
}

static CUresult write_word(cusim_op *op) {
  cusim_device *d = op->stream->device;
  pthread_mutex_lock(&cusim.lock);
  const cusim_alloc *a = reach_or_die(op->call, d, op->to, 4);
  if (a) {
    cusim_host_learns(op->stream);
    __atomic_store_n((uint32_t *)(void *)bytes_of(a, op->to), op->value, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&cusim.lock);
  return a ? CUDA_SUCCESS : d->error;
}

static CUresult issue_word(int call, CUstream stream, uint64_t at, uint32_t value, unsigned flags,
                           unsigned most, CUresult (*fn)(cusim_op *op)) {
  cusim_device *d;
  CUresult why = cusim_begin(call, &d);
  if (why) return why;
  cusim_stream *s = cusim_stream_of(d, stream);
  if (!s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (at % 4 || flags > most) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  if (!reach_or_die(call, d, at, 4)) return cusim_end(d->error);
  cusim_op *op = cusim_op_new(call, s, fn);
  if (!op) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  op->to = at, op->value = value, op->flags = flags;
  cusim_issue(op);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned flags) {
  return issue_word(CALL_cuStreamWaitValue32, stream, at, value, flags, CU_STREAM_WAIT_VALUE_EQ,
                    wait_for_word);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned flags) {
  return issue_word(CALL_cuStreamWriteValue32, stream, at, value, flags, 0, write_word);
}

/* ---- host functions ---- */

static CUresult call_host(cusim_op *op) {
  pthread_mutex_lock(&cusim.lock);
  cusim_host_learns(op->stream);
  pthread_mutex_unlock(&cusim.lock);
  cusim_in_host_fn = true;
  op->fn(op->data);
  cusim_in_host_fn = false;
  pthread_mutex_lock(&cusim.lock);
  cusim_join(&op->stream->clock, &cusim.host); /* it may have waited for the host */
  pthread_mutex_unlock(&cusim.lock);
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuLaunchHostFunc, &d);
  if (why) return why;
  cusim_stream *s = cusim_stream_of(d, stream);
  if (!s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (!fn) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  cusim_op *op = cusim_op_new(CALL_cuLaunchHostFunc, s, call_host);
  if (!op) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  op->fn = fn, op->data = data;
  cusim_issue(op);
  return cusim_end(CUDA_SUCCESS);
}
