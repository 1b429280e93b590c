/* staged_sum.c - a device names a call's vectors, maps those of other ranks, and sums them.
 *
 * Idea       engine/fast/device_sum.c decides together with the other ranks. This file calls the functions of the
 *            device's table.
 * Invariant  Nothing is mapped while a stream waits for tutti, because mapping may wait for that stream.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <string.h>

#include "staged.h"

tt_reach tt_staged_reach(const tt_staged *s) {
  return s->stager->reach;
}

void tt_staged_reaches(tt_staged *s, bool reaches, int devices) {
  s->stager->reach = reaches ? TT_REACHES : TT_REACHES_NOT;
  s->stager->devices = devices;
}

void tt_staged_offers(tt_staged *s, bool kernels) {
  s->offers = kernels;
}

enum { ASKED = 2 };
bool tt_staged_learns(tt_staged *s) {
  return s->stager->reach == TT_REACHES_UNKNOWN && s->stager->asked++ < ASKED;
}

const void *tt_staged_src(const tt_staged *s) {
  return s->part[0].in;
}

void *tt_staged_dst(const tt_staged *s) {
  return s->part[1].out;
}

void tt_staged_compile(tt_staged *s, tutti_type type, tutti_op op) {
  const tutti_device *d = tt_device();
  if (op < TUTTI_OP_COUNT && !s->stager->sums[type][op])
    s->stager->sums[type][op] = d->sums(d->self, type, op) == 1 ? 1 : -1;
}

bool tt_staged_sums(tt_staged *s, tutti_type type, tutti_op op, int n) {
  const tutti_device *d = tt_device();
  if (!s->offers || n < 2 || n > TT_SUMMED_MOST || s->n != 2 || !s->part[0].in || !s->part[1].out)
    return false;
  if (op >= TUTTI_OP_COUNT || s->stager->sums[type][op] <= 0) return false;
  if (!s->named)
    s->named = !d->name_of(d->self, s->part[0].in, &s->src) &&
               !d->name_of(d->self, s->part[1].out, &s->dst);
  return s->named;
}

bool tt_staged_names(const tt_staged *s, tutti_device_name *src, tutti_device_name *dst) {
  *src = s->src;
  *dst = s->dst;
  return s->named;
}

/* ---- other ranks' memory ---- */

static bool knows(const tt_stager *s, int number, const tutti_device_name *name) {
  for (unsigned i = 0; i < TT_KNOWN && i < s->nknown; i++)
    if (s->known[i].process == name->process && s->known[i].id == name->id &&
        s->known[i].number == number)
      return true;
  return false;
}

void *tt_staged_map(tt_staged *staged, const tutti_device_name *name, bool *later) {
  tt_stager *s = staged->stager;
  const tutti_device *d = tt_device();
  const int number = staged->lane->number;
  const bool known = knows(s, number, name);
  *later = !known && tt_device_holds();
  void *at = *later ? NULL : d->map(d->self, number, name);
  if (!at || known) return at;
  s->known[s->nknown % TT_KNOWN].process = name->process;
  s->known[s->nknown % TT_KNOWN].id = name->id;
  s->known[s->nknown++ % TT_KNOWN].number = number;
  return at;
}

/* ---- the sum ---- */

bool tt_staged_undecided(const tt_staged *s) {
  return s->undecided;
}

void tt_staged_decided(tt_staged *s) {
  s->undecided = false;
}

bool tt_staged_ready(tt_staged *s, tutti_status *status) {
  const int reached = tt_device()->reached(s->lane->lane, TUTTI_DEVICE_OUT, s->ready);
  if (reached < 0) *status = tt_staged_refused("the caller's stream");
  return reached > 0;
}

tutti_status tt_staged_sum(tt_staged *s, void *const *to, int nto, const void *const *from, int n,
                           size_t count, tutti_type type, tutti_op op) {
  const tutti_device *d = tt_device();
  unsigned long long ticket;
  int reached = 0;
  if (d->sum(s->lane->lane, to, nto, from, n, count, type, op) ||
      d->mark(s->lane->lane, TUTTI_DEVICE_OUT, &ticket))
    return tt_staged_refused("a sum");
  while (!(reached = d->reached(s->lane->lane, TUTTI_DEVICE_OUT, ticket))) sched_yield();
  return reached < 0 ? tt_staged_refused("a sum") : TUTTI_OK;
}

void tt_staged_done(tt_staged *s) {
  s->over = true;
}

/* ---- partial sums ---- */

void tt_staged_keeps_input(tt_staged *s) {
  s->coming.asked = s->landed = s->in;
}

bool tt_staged_bring(tt_staged *s, size_t at, size_t n, tutti_status *status) {
  const tutti_device *d = tt_device();
  const tt_staged_part *dst = &s->part[1];
  const unsigned k = (s->first + s->under_way) % TT_AHEAD;
  if (s->under_way == TT_AHEAD) return false;
  if ((n && d->copy(s->lane->lane, TUTTI_DEVICE_IN, s->buffer->memory + dst->at + at,
                    (const char *)dst->out + at, n)) ||
      d->mark(s->lane->lane, TUTTI_DEVICE_IN, &s->ahead[k].ticket)) {
    *status = tt_staged_refused("a copy from the device");
    return false;
  }
  s->ahead[k].asked = s->in;
  s->under_way++;
  return true;
}

uint32_t tt_staged_under_way(const tt_staged *s) {
  return s->under_way;
}
