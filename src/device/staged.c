/* staged.c - moves a call's vectors between a device and the host.
 *
 * Idea       Each direction is a queue of copies, and each copy to the host has a ticket. Several copies are in flight, so
 *            that the bus is never idle, and data can be summed as soon as they have arrived. A result is copied back as
 *            soon as it is final, one piece at a time.
 * Cost       About 5 us of a core per copy, so a piece is an eighth of the vector, between 256 KiB and 4 MiB.
 * Invariant  In each direction, pieces are copied in order.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "staged.h"

enum { LEAST = 256 << 10, MOST = 4 << 20 };

tutti_status tt_staged_refused(const char *what) {
  const tutti_device *d = tt_device();
  return tt_fail(TUTTI_ERR_SYSTEM, "%s: %s: %.200s", d->name, what, d->error(d->self));
}

static void add_up(tt_staged *s) {
  for (size_t i = 0; i < s->n; i++) {
    if (s->part[i].in) s->in += s->part[i].bytes;
    if (s->part[i].out) s->out += s->part[i].bytes;
  }
  const uint64_t eighth = tt_max(s->in, s->out) / 8;
  s->piece = tt_round_up(tt_min(tt_max(eighth, (uint64_t)LEAST), (uint64_t)MOST), 4096);
}

tutti_status tt_staged_new(tt_stager *stager, int number, const tt_staged_part *parts, size_t n,
                           size_t bytes, char **host, tt_staged **staged) {
  tt_staged *s = calloc(1, sizeof *s + n * sizeof *parts);
  if (!s) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a call on device memory");
  s->stager = stager;
  s->n = n;
  memcpy(s->part, parts, n * sizeof *parts);
  add_up(s);
  tutti_status status = tt_stager_take_lane(stager, number, &s->lane);
  if (!status) status = tt_stager_take(stager, bytes, &s->buffer);
  if (status) {
    tt_staged_free(s);
    return status;
  }
  *host = s->buffer->memory;
  *staged = s;
  return TUTTI_OK;
}

void tt_staged_free(tt_staged *s) {
  if (!s) return;
  tt_staged_end(s, 0);
  if (!s->stager->lost) { /* otherwise nothing is reused */
    tt_stager_give(s->buffer);
    tt_stager_give_lane(s->lane);
  }
  free(s);
}

/* ---- copies ---- */

/* Finds the next piece to copy in one direction, of at most `most` bytes, and sets *part. Returns the length of the piece, or 0
 * if everything has been copied. */
static size_t next_copy(const tt_staged *s, tt_way *w, tutti_device_way dir, uint64_t most,
                        const tt_staged_part **part) {
  for (; w->part < s->n; w->part++, w->at = 0) {
    *part = &s->part[w->part];
    const bool goes = dir == TUTTI_DEVICE_IN ? (*part)->in != NULL : (*part)->out != NULL;
    if (goes && w->at < (*part)->bytes)
      return (size_t)tt_min(tt_min((uint64_t)s->piece, (uint64_t)((*part)->bytes - w->at)), most);
  }
  return 0;
}

static void copied(tt_way *w, size_t bytes) {
  w->at += bytes;
  w->asked += bytes;
}

/* Requests a copy of the next piece of the input. */
static tutti_status ask(tt_staged *s) {
  const tutti_device *d = tt_device();
  const tt_staged_part *part = NULL;
  const size_t n = next_copy(s, &s->coming, TUTTI_DEVICE_IN, UINT64_MAX, &part);
  const size_t at = s->coming.at;
  const unsigned k = (s->first + s->under_way) % TT_AHEAD;
  if (!n) return TUTTI_OK;
  if (d->copy(s->lane->lane, TUTTI_DEVICE_IN, s->buffer->memory + part->at + at,
              (const char *)part->in + at, n) ||
      d->mark(s->lane->lane, TUTTI_DEVICE_IN, &s->ahead[k].ticket))
    return tt_staged_refused("a copy from the device");
  copied(&s->coming, n);
  s->ahead[k].asked = s->coming.asked;
  s->under_way++;
  return TUTTI_OK;
}

/* Copies final results back to the device, in whole pieces. Only the last piece may be shorter. */
static tutti_status send_back(tt_staged *s) {
  const tutti_device *d = tt_device();
  while (s->going.asked < s->final) {
    const tt_staged_part *part = NULL;
    const uint64_t ready = s->final - s->going.asked;
    const size_t n = next_copy(s, &s->going, TUTTI_DEVICE_OUT, ready, &part);
    const size_t at = s->going.at;
    if (n < s->piece && n == ready && s->final < s->out) return TUTTI_OK; /* incomplete piece */
    if (d->copy(s->lane->lane, TUTTI_DEVICE_OUT, (char *)part->out + at,
                s->buffer->memory + part->at + at, n))
      return tt_staged_refused("a copy to the device");
    copied(&s->going, n);
  }
  if (!s->out || s->going.asked < s->out || s->marked) return TUTTI_OK;
  if (d->mark(s->lane->lane, TUTTI_DEVICE_OUT, &s->last_out))
    return tt_staged_refused("a copy to the device");
  s->marked = true;
  return TUTTI_OK;
}

/* ---- a run ---- */

int tt_device_holds(void) {
  return atomic_load_explicit(&tt_process.device_holds, memory_order_relaxed);
}

tutti_status tt_staged_begin(tt_staged *s, void *stream, bool holds) {
  const tutti_device *d = tt_device();
  s->coming = s->going = (tt_way){0};
  s->landed = s->final = 0;
  s->first = s->under_way = 0;
  s->marked = s->over = s->fetched = false;
  s->first_batch = s->nbatches = 0;
  s->active = true;
  s->holds = holds;
  s->undecided = holds && s->offers && s->stager->reach == TT_REACHES;
  s->stream = stream;
  if (d->after(s->lane->lane, stream) || d->mark(s->lane->lane, TUTTI_DEVICE_OUT, &s->ready))
    return tt_staged_refused("its stream");
  return s->undecided ? TUTTI_OK : tt_staged_hold(s);
}

tutti_status tt_staged_hold(tt_staged *s) {
  if (!s->holds || s->hold) return TUTTI_OK;
  if (tt_device()->hold(s->lane->lane, s->stream, &s->hold)) return tt_staged_refused("its stream");
  atomic_fetch_add_explicit(&tt_process.device_holds, 1, memory_order_relaxed);
  return TUTTI_OK;
}

/* Records which copies have completed, and requests further copies. */
static bool take_in(tt_staged *s, tutti_status *status) {
  const tutti_device *d = tt_device();
  bool moved = false;
  while (s->under_way) {
    const int reached = d->reached(s->lane->lane, TUTTI_DEVICE_IN, s->ahead[s->first].ticket);
    if (reached < 0) *status = tt_staged_refused("a copy from the device");
    if (reached <= 0) break;
    s->landed = s->ahead[s->first].asked;
    s->first = (s->first + 1) % TT_AHEAD;
    s->under_way--;
    moved = true;
  }
  while (!*status && s->under_way < TT_AHEAD && s->coming.asked < s->in) *status = ask(s);
  return moved;
}

bool tt_staged_progress(tt_staged *s, tutti_status *status) {
  const uint64_t gone = s->going.asked;
  bool moved = take_in(s, status);
  if (!*status && !s->over && !s->fetched) *status = send_back(s);
  moved |= s->going.asked != gone;
  if (*status || s->over || s->fetched || s->going.asked < s->out) return moved;
  const tutti_device *d = tt_device();
  const int reached = s->out ? d->reached(s->lane->lane, TUTTI_DEVICE_OUT, s->last_out) : 1;
  if (reached < 0) *status = tt_staged_refused("a copy to the device");
  if (reached > 0) s->over = moved = true;
  return moved;
}

uint64_t tt_staged_landed(const tt_staged *s) {
  return s->landed < s->in ? s->landed : UINT64_MAX;
}

uint64_t tt_staged_came(const tt_staged *s) {
  return s->landed;
}

uint64_t tt_staged_goes(const tt_staged *s) {
  return s->out;
}

void tt_staged_final(tt_staged *s, uint64_t bytes) {
  bytes = tt_min(bytes, s->out);
  if (bytes > s->final) s->final = bytes;
}

bool tt_staged_over(const tt_staged *s) {
  return s->over;
}

tutti_status tt_staged_release(tt_staged *s) {
  if (!s->hold) return TUTTI_OK;
  const int early = tt_device()->release(s->lane->lane, s->hold);
  s->hold = NULL;
  atomic_fetch_sub_explicit(&tt_process.device_holds, 1, memory_order_relaxed);
  return early ? tt_staged_refused("its stream") : TUTTI_OK;
}

/* Waits until the device has finished all work in a queue. Returns false on timeout, and true if the device has failed. */
static bool drain(const tt_staged *s, tutti_device_way queue, double until) {
  const tutti_device *d = tt_device();
  unsigned long long ticket;
  if (d->mark(s->lane->lane, queue, &ticket)) return true;
  while (d->reached(s->lane->lane, queue, ticket) == 0) {
    if (until > 0 && tt_seconds() > until) return false;
    sched_yield();
  }
  return true;
}

bool tt_staged_end(tt_staged *s, double seconds) {
  const double until = seconds > 0 ? tt_seconds() + seconds : 0;
  bool done = true;
  if (!s->active) return true;
  tt_staged_release(s);
  /* with a limit, drain even if no bytes were copied, because closing the lane waits for earlier work */
  if (s->under_way || until > 0) done = drain(s, TUTTI_DEVICE_IN, until);
  if (done && (((s->going.asked || s->fetched) && !s->over) || until > 0))
    done = drain(s, TUTTI_DEVICE_OUT, until);
  s->stager->lost |= !done;
  s->under_way = 0;
  s->active = false;
  return done;
}
