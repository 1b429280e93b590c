/* cusim_streams.c - streams of the simulated driver, and their threads.
 *
 * Idea       A stream is a queue of operations and a slot in the table of streams. The slot's
 *            thread runs them one after the other, each after a random delay. An operation records
 *            after how many operations of each other stream it may start: those before an event,
 *            those that the legacy default stream waits for, or those that wait for it.
 * Invariant  `issued` and `done` of a slot only grow; a stream ends when they are equal.
 * Source     NVIDIA's reference of the driver API, Stream synchronization behavior.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cusim.h"

/* This thread's default stream for each device. */
static _Thread_local CUstream of_thread[MOST_DEVICES];
static int next_slot;

double cusim_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* splitmix64 */
unsigned cusim_random(unsigned long long *state) {
  unsigned long long z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ z >> 31) >> 32);
}

/* ---- the thread of a slot ---- */

static bool may_start(const cusim_op *op) {
  if (op->stream->device->error) return true;
  for (int s = 0; s < MOST_STREAMS; s++)
    if (cusim.stream[s].done < op->after.at[s]) return false;
  return true;
}

/* Delays an operation. Half of the operations start immediately; one in 16 is very late. */
static void dawdle(cusim_stream *s) {
  const double mean = cusim.delay;
  const unsigned dice = cusim_random(&s->random);
  if (mean <= 0 || dice & 1) return;
  double seconds = mean * 2e-9 * (double)(cusim_random(&s->random) % 1000000000);
  if ((dice >> 1 & 15) == 0) seconds += 16 * mean;
  const struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
  pthread_mutex_unlock(&cusim.lock);
  nanosleep(&t, NULL);
  pthread_mutex_lock(&cusim.lock);
}

static void run(cusim_op *op) {
  cusim_stream *s = op->stream;
  cusim_join(&s->clock, &op->known);
  for (int i = 0; i < MOST_STREAMS; i++)
    if (op->after.at[i]) {
      /* For the stream of an event, only the operations before the event count. The event's clock is joined
       * separately. */
      if (!op->waits || i != op->record->slot) cusim_join(&s->clock, &cusim.stream[i].clock);
    }
  s->clock.at[s->slot] = op->seq;
  const CUresult wanted = cusim_op_error();
  if (wanted) {
    cusim_die(s->device, wanted, "%s fails on its stream, as the settings want it",
              cusim_name(op->call));
    return;
  }
  pthread_mutex_unlock(&cusim.lock);
  const CUresult why = op->run(op);
  pthread_mutex_lock(&cusim.lock);
  if (why && !s->device->error)
    cusim_die(s->device, why, "%s failed with %d", cusim_name(op->call), why);
}

static void end_op(cusim_op *op) {
  if (op->record && --op->record->refs == 0) free(op->record);
  free(op->staged);
  free(op);
}

static void *serve(void *self) {
  cusim_stream *s = self;
  pthread_mutex_lock(&cusim.lock);
  for (;;) {
    while (!s->first) pthread_cond_wait(&s->wake, &cusim.lock);
    cusim_op *op = s->first;
    while (!may_start(op)) pthread_cond_wait(&cusim.moved, &cusim.lock);
    dawdle(s);
    if (!s->device->error) run(op);
    s->first = op->next;
    if (!s->first) s->last = NULL;
    s->done = op->seq;
    end_op(op);
    if (!s->first && s->state == SLOT_CLOSING) s->state = SLOT_FREE;
    pthread_cond_broadcast(&cusim.moved);
  }
  return NULL;
}

/* ---- operations ---- */

cusim_op *cusim_op_new(int call, cusim_stream *s, CUresult (*fn)(cusim_op *op)) {
  cusim_op *op = calloc(1, sizeof *op);
  if (!op) return NULL;
  op->call = call;
  op->stream = s;
  op->run = fn;
  if (s->threaded) return op;
  pthread_t thread;
  if (pthread_create(&thread, NULL, serve, s)) {
    free(op);
    return NULL;
  }
  pthread_detach(thread);
  s->threaded = true;
  return op;
}

void cusim_issue(cusim_op *op) {
  cusim_stream *s = op->stream;
  const int legacy = s->device->legacy;
  op->seq = ++s->issued;
  op->known = cusim.host;
  for (int i = 0; i < MOST_STREAMS && s->slot == legacy; i++) {
    const cusim_stream *other = &cusim.stream[i];
    if (other != s && other->state != SLOT_FREE && other->device == s->device && other->blocking)
      op->after.at[i] = other->issued;
  }
  if (legacy >= 0 && s->slot != legacy && s->blocking)
    op->after.at[legacy] = cusim.stream[legacy].issued;
  if (s->last)
    s->last->next = op;
  else
    s->first = op;
  s->last = op;
  pthread_cond_signal(&s->wake);
}

void cusim_wait_for(cusim_stream *s, uint64_t seq) {
  while (s->done < seq) pthread_cond_wait(&cusim.moved, &cusim.lock);
  cusim_host_learns(s);
}

/* Prints which operations the context's streams are waiting for. */
static void tell_waiting(const cusim_device *d) {
  for (int i = 0; i < MOST_STREAMS; i++) {
    const cusim_stream *s = &cusim.stream[i];
    if (s->state == SLOT_FREE || s->device != d || !s->first) continue;
    cusim_say("  stream %d has not done %s (operation %llu, %s); %llu are queued behind it", i,
              cusim_name(s->first->call), (unsigned long long)s->first->seq,
              may_start(s->first) ? "at work" : "waits for another stream",
              (unsigned long long)(s->issued - s->first->seq));
  }
}

CUresult cusim_settle(cusim_device *d, int call, const cusim_stream *only) {
  uint64_t target[MOST_STREAMS];
  const double limit = cusim_now() + cusim.stuck;
  const struct timespec until = {(time_t)limit, (long)((limit - (double)(time_t)limit) * 1e9)};
  for (int i = 0; i < MOST_STREAMS; i++) {
    const cusim_stream *s = &cusim.stream[i];
    target[i] = s->state != SLOT_FREE && s->device == d && (!only || s == only) ? s->issued : 0;
  }
  for (int i = 0; i < MOST_STREAMS; i++) {
    if (!target[i]) continue;
    while (cusim.stream[i].done < target[i] && !d->error)
      if (pthread_cond_timedwait(&cusim.moved, &cusim.lock, &until) == ETIMEDOUT &&
          cusim.stream[i].done < target[i]) {
        cusim_say("%s has waited %g s for the device:", cusim_name(call), cusim.stuck);
        tell_waiting(d);
        return CUDA_ERROR_UNKNOWN;
      }
    cusim_host_learns(&cusim.stream[i]);
  }
  return d->error;
}

/* ---- streams ---- */

static CUstream handle_of(const cusim_stream *s) {
  return (CUstream)(uintptr_t)((uint64_t)s->generation << 20 | (uint64_t)(s->slot + 1) << 8);
}

/* Slots are used in rotation, so that a slot that has just become free is not reused immediately. */
static cusim_stream *new_stream(cusim_device *d, bool blocking) {
  for (int n = 0; n < MOST_STREAMS; n++) {
    cusim_stream *s = &cusim.stream[next_slot++ % MOST_STREAMS];
    if (s->state != SLOT_FREE) continue;
    s->state = SLOT_LIVE;
    s->device = d;
    s->blocking = blocking;
    s->generation++;
    return s;
  }
  return NULL;
}

cusim_stream *cusim_stream_anywhere(cusim_device *d, CUstream handle) {
  const uint64_t h = (uintptr_t)handle;
  if (!handle || handle == CU_STREAM_LEGACY) {
    cusim_stream *s = d->legacy < 0 ? new_stream(d, true) : &cusim.stream[d->legacy];
    if (s) d->legacy = s->slot;
    return s;
  }
  const bool own = handle == CU_STREAM_PER_THREAD;
  const uint64_t name = own ? (uintptr_t)of_thread[d->ordinal] : h, i = name >> 8 & 0xfff;
  cusim_stream *s = i >= 1 && i <= MOST_STREAMS ? &cusim.stream[i - 1] : NULL;
  if (s && s->state == SLOT_LIVE && (uintptr_t)handle_of(s) == name) return s;
  if (!own) return NULL;
  s = new_stream(d, true);
  if (s) of_thread[d->ordinal] = handle_of(s);
  return s;
}

cusim_stream *cusim_stream_of(cusim_device *d, CUstream handle) {
  cusim_stream *s = cusim_stream_anywhere(d, handle);
  return s && s->device == d ? s : NULL;
}

static void close_stream(cusim_stream *s) {
  s->state = s->first ? SLOT_CLOSING : SLOT_FREE;
}

void cusim_close_streams(cusim_device *d) {
  for (int i = 0; i < MOST_STREAMS; i++) {
    cusim_stream *s = &cusim.stream[i];
    if (s->state == SLOT_FREE || s->device != d) continue;
    while (s->first)
      pthread_cond_wait(&cusim.moved, &cusim.lock); /* the context may be dead or idle now */
    s->state = SLOT_FREE;
  }
}

static CUresult create_stream(int call, CUstream *stream, unsigned flags) {
  cusim_device *d;
  CUresult why = cusim_begin(call, &d);
  if (why) return why;
  if (!stream || flags & ~1u) return cusim_end(CUDA_ERROR_INVALID_VALUE);
  const cusim_stream *s = new_stream(d, !(flags & CU_STREAM_NON_BLOCKING));
  if (!s) return cusim_end(CUDA_ERROR_OUT_OF_MEMORY);
  *stream = handle_of(s);
  return cusim_end(CUDA_SUCCESS);
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return create_stream(CALL_cuStreamCreate, stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  (void)priority; /* any priority is accepted; the nearest one is used */
  return create_stream(CALL_cuStreamCreateWithPriority, stream, flags);
}

/* The stream finishes its work first. */
CUresult cuStreamDestroy_v2(CUstream stream) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuStreamDestroy, NULL);
  if (why) return why;
  d = cusim_current();
  if (!d) return cusim_end(CUDA_ERROR_INVALID_CONTEXT);
  cusim_stream *s = (uintptr_t)stream <= 2 ? NULL : cusim_stream_anywhere(d, stream);
  if (!s || s->slot == s->device->legacy) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  close_stream(s);
  return cusim_end(s->device->error);
}

CUresult cuStreamSynchronize(CUstream stream) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuStreamSynchronize, &d);
  if (why) return why;
  cusim_stream *s = cusim_stream_anywhere(d, stream);
  if (!s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  cusim_wait_for(s, s->issued);
  return cusim_end(s->device->error);
}

CUresult cuStreamQuery(CUstream stream) {
  cusim_device *d;
  CUresult why = cusim_begin(CALL_cuStreamQuery, &d);
  if (why) return why;
  cusim_stream *s = cusim_stream_anywhere(d, stream);
  if (!s) return cusim_end(CUDA_ERROR_INVALID_HANDLE);
  if (s->device->error) return cusim_end(s->device->error);
  if (s->done < s->issued) return cusim_end(CUDA_ERROR_NOT_READY);
  cusim_host_learns(s);
  return cusim_end(CUDA_SUCCESS);
}
