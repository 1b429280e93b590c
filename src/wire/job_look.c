/* job_look.c - reads a job's shared memory from outside.
 *
 * Idea       all is copied out of the file by pread, which neither stops the ranks nor makes pages,
 *            nor faults where the file ends; only copies are looked at.
 * Invariant  nothing in it is trusted: a number counts only if it can be meant, a place only if
 *            it lies where such a place may lie. A call record counts if two copies, taken one
 *            after the other, are alike.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "job_look.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROOMS = 1 << 14 }; /* of all ranks together */

#define AHEAD offsetof(tt_room, board) /* of a room: what is looked at */

typedef struct reader {
  int fd, ranks, founders, rooms;
  uint64_t stride;
  tt_room *first, *second; /* copies of AHEAD bytes */
} reader;

/* each rooms: order: the command that looks from outside checks it */

static bool take(const reader *r, uint64_t at, void *to, size_t n) {
  return pread(r->fd, to, n, (off_t)at) == (ssize_t)n;
}

static uint32_t word(const atomic_uint *at) {
  return atomic_load_explicit(at, memory_order_relaxed);
}

/* ---- a room ---- */

/* Letters as they are, and nothing that a terminal would obey. */
static void copy_words(char *to, const char *from, size_t size) {
  size_t n = strnlen(from, size - 1);
  for (size_t i = 0; i < n; i++) to[i] = (char)(from[i] < 32 || from[i] > 126 ? '?' : from[i]);
  to[n] = 0;
}

static void take_calls(const reader *r, tt_look_room *l) {
  for (uint32_t back = TT_RECORDS; back-- > 0;) {
    const uint32_t seq = l->newest - 1 - back, place = seq % TT_RECORDS;
    const tt_call_record *a = &r->first->records[place], *b = &r->second->records[place];
    if (l->newest < back + 2 || word(&a->seq) != seq || memcmp(a, b, sizeof *a) != 0) continue;
    const uint32_t kind = word(&a->kind);
    l->calls[l->ncalls++] =
        (tt_record){.stamp = {seq, word(&a->hash)},
                    .coll = kind >> 24,
                    .type = kind >> 16 & 0xff,
                    .op = kind & 0xffff,
                    .root = word(&a->root),
                    .count = atomic_load_explicit(&a->count, memory_order_relaxed)};
  }
}

static void take_wait(const tt_shown *s, tt_look_room *l) {
  l->waits_in = word(&s->waits_in);
  l->waits_at = word(&s->waits_at);
  l->waits_for = word(&s->waits_for);
  l->waits_near = word(&s->waits_near);
  l->message = word(&s->message);
  l->type = word(&s->type);
  l->count = atomic_load_explicit(&s->count, memory_order_relaxed);
  l->since = atomic_load_explicit(&s->since, memory_order_relaxed);
  l->seen = atomic_load_explicit(&s->seen, memory_order_relaxed);
  l->waits = l->since && l->waits_for < (uint32_t)l->ranks;
}

static bool take_room(const reader *r, int rank, uint64_t at, tt_look_room *l) {
  const uint64_t lo = r->stride * (uint64_t)rank;
  if (at % alignof(tt_room) || at < lo + sizeof(tt_head) || at > lo + r->stride - sizeof(tt_room))
    return false;
  if (!take(r, at, r->first, AHEAD) || !take(r, at, r->second, AHEAD)) return false;
  const tt_room *room = r->second;
  const tt_shown *s = &room->shown;
  if (s->ranks < 1 || s->ranks > 1 << 24 || s->rank >= s->ranks) return false;
  l->home = s->home;
  l->ranks = (int)s->ranks;
  l->rank = (int)s->rank;
  l->newest = word(&room->newest);
  l->over = word(&s->over);
  take_calls(r, l);
  take_wait(s, l);
  l->aborted = (tutti_status)atomic_load_explicit(&room->aborted, memory_order_relaxed);
  if (l->aborted) copy_words(l->reason, room->reason, sizeof l->reason);
  return true;
}

/* ---- a rank, a job ---- */

static tutti_status take_rank(reader *r, int rank, tt_look_rank *l) {
  alignas(tt_head) char bytes[sizeof(tt_head)];
  const tt_head *head = (const tt_head *)(const void *)bytes;
  uint64_t began;
  int n = 0;
  if (!take(r, r->stride * (uint64_t)rank, bytes, sizeof bytes) || head->pid <= 0) return TUTTI_OK;
  l->pid = head->pid;
  l->state = tt_process_state(l->pid, &began);
  if (began != head->started) l->state = 0; /* another one has its number */
  for (int i = 0; i < TT_ROOMS; i++) n += atomic_load(&head->rooms[i]) != 0;
  l->hides = n == TT_ROOMS;
  l->met = word(&head->rooms_made) > 0;
  if (n > MOST_ROOMS - r->rooms) l->hides = true, n = MOST_ROOMS - r->rooms;
  l->rooms = calloc((size_t)n + 1, sizeof *l->rooms);
  if (!l->rooms) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job of %d ranks", r->ranks);
  for (int i = 0; i < TT_ROOMS && l->nrooms < n; i++) {
    const uint64_t at = atomic_load(&head->rooms[i]);
    if (at && take_room(r, rank, at, &l->rooms[l->nrooms])) l->nrooms++;
  }
  r->rooms += l->nrooms;
  return TUTTI_OK;
}

static tutti_status read_plate(reader *r) {
  uint64_t plate[TT_PLATE_WORDS];
  struct stat st;
  if (fstat(r->fd, &st) != 0 || !take(r, offsetof(tt_head, plate), plate, sizeof plate) ||
      plate[0] != TT_PLATE)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "its shared memory is not of a tutti job, or of one of an "
                   "older version");
  if (plate[1] >> 32 != TT_LAYOUT)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "its shared memory is of another version of tutti than this one (layout %u, "
                   "not %d)",
                   (unsigned)(plate[1] >> 32), TT_LAYOUT);
  r->ranks = (int)(uint32_t)plate[1];
  r->founders = (int)(uint32_t)plate[2];
  const uint64_t size = (uint64_t)st.st_size;
  if (r->ranks < 1 || r->ranks > 1 << 17 || r->founders < 1 || r->founders > r->ranks ||
      size % (uint64_t)r->ranks || size / (uint64_t)r->ranks % 4096 ||
      size / (uint64_t)r->ranks < 1 << 20)
    return tt_fail(TUTTI_ERR_SYSTEM, "its shared memory says things that cannot be");
  r->stride = size / (uint64_t)r->ranks;
  return TUTTI_OK;
}

tutti_status tt_job_look(int fd, tt_look *look) {
  reader r = {.fd = fd};
  *look = (tt_look){.ranks = 0};
  tutti_status status = read_plate(&r);
  if (status) return status;
  r.first = aligned_alloc(alignof(tt_room), tt_round_up(AHEAD, alignof(tt_room)));
  r.second = aligned_alloc(alignof(tt_room), tt_round_up(AHEAD, alignof(tt_room)));
  look->rank = calloc((size_t)r.ranks, sizeof *look->rank);
  if (!r.first || !r.second || !look->rank)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job of %d ranks", r.ranks);
  else
    look->ranks = r.ranks;
  for (int i = 0; i < look->ranks && !status; i++) status = take_rank(&r, i, &look->rank[i]);
  while (look->ranks > r.founders && !look->rank[look->ranks - 1].pid) look->ranks--;
  free(r.first);
  free(r.second);
  return status;
}

void tt_look_free(tt_look *look) {
  for (int i = 0; i < look->ranks; i++) free(look->rank[i].rooms);
  free(look->rank);
  *look = (tt_look){.ranks = 0};
}

const tt_record *tt_look_call(const tt_look_room *room, uint32_t seq) {
  for (int i = 0; i < room->ncalls; i++)
    if (room->calls[i].stamp.seq == seq) return &room->calls[i];
  return NULL;
}
