/* cusim_races.c - finds operations on the same bytes that are not ordered, no matter which of them
 * happens to run first.
 *
 * Idea       Vector clocks. An operation's clock counts the preceding operations in each stream:
 *            those in its own stream, those before the events that the stream has waited for, and
 *            those that the host knew to be complete when it issued the operation. Every operation
 *            records the bytes that it reads and writes. If an earlier operation has recorded some
 *            of the same bytes, and at least one of the two writes them, the later one's clock must
 *            include the earlier one.
 * Invariant  The host knows that an operation is complete if it waited for it, queried it with
 *            success, or was notified by a stream (a host function, a word written by the stream).
 *            All threads of the process share this knowledge. A reported race is therefore real,
 *            unless a kernel itself notifies the host.
 * Limit      Only the last 16,384 operations that the host does not know to be complete are
 *            checked. Operations of other processes are not checked.
 * Source     Mattern, Virtual time and global states of distributed systems, 1989.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cusim.h"

enum { MOST_NOTES = 16384, PRUNE = 64 };

typedef struct note {
  int slot, call;
  uint64_t seq;
  size_t n;
  cusim_range *ranges; /* sorted */
} note;

static note *notes;
static size_t nnotes, noted;

void cusim_join(cusim_clock *clock, const cusim_clock *other) {
  for (int s = 0; s < MOST_STREAMS; s++)
    if (clock->at[s] < other->at[s]) clock->at[s] = other->at[s];
}

void cusim_host_learns(const cusim_stream *s) {
  const uint64_t own = cusim.host.at[s->slot];
  cusim_join(&cusim.host, &s->clock);
  cusim.host.at[s->slot] = s->done > own ? s->done : own; /* without the running operation */
}

/* Forgets operations that precede all future ones. */
static void prune(void) {
  cusim_clock floor = cusim.host;
  for (int s = 0; s < MOST_STREAMS; s++)
    for (int i = 0; i < MOST_STREAMS && cusim.stream[s].first; i++)
      if (cusim.stream[s].first->known.at[i] < floor.at[i])
        floor.at[i] = cusim.stream[s].first->known.at[i];
  size_t kept = 0, excess = nnotes > MOST_NOTES - PRUNE ? nnotes - (MOST_NOTES - PRUNE) : 0;
  for (size_t i = 0; i < nnotes; i++)
    if (i < excess || notes[i].seq <= floor.at[notes[i].slot])
      free(notes[i].ranges);
    else
      notes[kept++] = notes[i];
  nnotes = kept;
}

/* Returns the first bytes of list a that conflict with list b, or NULL. Both lists are sorted. */
static const cusim_range *conflict(const cusim_range *a, size_t na, const cusim_range *b,
                                   size_t nb) {
  for (size_t i = 0, j = 0; i < na && j < nb;) {
    if (a[i].from < b[j].to && b[j].from < a[i].to && (a[i].writes || b[j].writes)) return &a[i];
    if (a[i].to < b[j].to)
      i++;
    else
      j++;
  }
  return NULL;
}

CUresult cusim_note(const cusim_op *op, const cusim_range *ranges, size_t n) {
  const cusim_stream *s = op->stream;
  for (size_t i = 0; i < nnotes; i++) {
    const note *e = &notes[i];
    if (e->slot == s->slot || e->seq <= s->clock.at[e->slot]) continue;
    const cusim_range *r = conflict(ranges, n, e->ranges, e->n);
    if (r)
      return cusim_die(
          s->device, CUDA_ERROR_ILLEGAL_STATE,
          "a race: nothing orders %s (operation %llu of stream %d) before %s (operation %llu of "
          "stream %d), which %s the same bytes near %#llx",
          cusim_name(e->call), (unsigned long long)e->seq, e->slot, cusim_name(op->call),
          (unsigned long long)op->seq, s->slot, r->writes ? "writes" : "reads",
          (unsigned long long)r->from);
  }
  if (!notes) notes = malloc(MOST_NOTES * sizeof *notes);
  if (noted++ % PRUNE == 0 || nnotes == MOST_NOTES) prune();
  cusim_range *copy = malloc((n + 1) * sizeof *copy);
  if (!notes || !copy) {
    free(copy);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (n) memcpy(copy, ranges, n * sizeof *copy);
  notes[nnotes++] = (note){s->slot, op->call, op->seq, n, copy};
  return CUDA_SUCCESS;
}
