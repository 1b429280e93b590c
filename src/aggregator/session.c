/* session.c - the sums of some members, turn after turn.
 *
 * Idea       In a turn every member sends a head and as many bytes; all get their sum. The session reads the
 *            next piece of one member after the other, in their order, straight from its connection,
 *            and adds it up. A member that is ahead waits in its connection's buffers: TCP holds it
 *            back. Sums go into a ring, and from there to each member as fast as it takes them.
 * Cost       each byte is read once, added once and sent once per member. Memory: the ring and two pieces,
 *            whatever the vectors.
 * Invariant  operands are added in the order of the members, so the bits do not depend on who comes first. A
 *            sum waits in the ring until every member has got it; if there is no room, nothing is
 *            read.
 * Source     Graham et al., SHARP, 2016; Sapio et al., SwitchML, NSDI 2021 (slots used in order, for
 *            bounded memory).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator_daemon.h"

enum { LEAST_PIECE = 4096, PIECES = 16 }; /* of a vector: the first sum leaves after 1/16 of it */

size_t tt_session_bytes(uint32_t members) {
  return sizeof(tt_session) + members * sizeof(tt_member) + 2 * (size_t)TT_AGGREGATOR_PIECE +
         TT_AGGREGATOR_RING;
}

tt_session *tt_session_new(const tt_aggregator_seat *seat) {
  tt_session *s = calloc(1, sizeof *s + seat->members * sizeof *s->member);
  if (!s) return NULL;
  s->seat = *seat;
  for (uint32_t i = 0; i < seat->members; i++) s->member[i].fd = -1;
  s->sum = aligned_alloc(64, TT_AGGREGATOR_PIECE);
  s->operand = aligned_alloc(64, TT_AGGREGATOR_PIECE);
  s->ring = malloc(TT_AGGREGATOR_RING);
  if (s->sum && s->operand && s->ring) return s;
  tt_session_free(s);
  return NULL;
}

void tt_session_free(tt_session *s) {
  if (!s) return;
  free(s->sum);
  free(s->operand);
  free(s->ring);
  free(s);
}

/* ---- the ring ---- */

/* The bytes that all members which are there have got. */
static uint64_t taken_by_all(const tt_session *s) {
  uint64_t least = s->made;
  for (uint32_t i = 0; i < s->seat.members; i++)
    if (s->member[i].fd >= 0 && s->member[i].out < least) least = s->member[i].out;
  return least;
}

static bool has_room(const tt_session *s, size_t n) {
  return s->made + n - taken_by_all(s) <= TT_AGGREGATOR_RING;
}

static void put(tt_session *s, const void *bytes, size_t n) {
  const size_t at = s->made % TT_AGGREGATOR_RING, first = tt_min(n, TT_AGGREGATOR_RING - at);
  memcpy(s->ring + at, bytes, first);
  memcpy(s->ring, (const char *)bytes + first, n - first);
  s->made += n;
}

static void put_sum_head(tt_session *s, tutti_status status) {
  const tt_aggregator_sum sum = {.status = (int32_t)status,
                                 .seq = s->head.stamp.seq,
                                 .bytes = status ? 0 : s->head.bytes,
                                 .got = s->head.got};
  put(s, &sum, sizeof sum);
}

/* Sends a member what it has not got yet. */
static void serve_member(tt_session *s, uint32_t i) {
  tt_member *m = &s->member[i];
  m->out_wanted = false;
  while (m->fd >= 0 && m->out < s->made) {
    const size_t at = m->out % TT_AGGREGATOR_RING;
    const size_t n = tt_min((size_t)(s->made - m->out), TT_AGGREGATOR_RING - at);
    const ssize_t part = send(m->fd, s->ring + at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part > 0) m->out += (uint64_t)part;
    if (part > 0 || (part < 0 && errno == EINTR)) continue;
    if (part < 0 && errno != EAGAIN)
      tt_session_leave(s, i);
    else
      m->out_wanted = true;
    return;
  }
}

static void serve_all(tt_session *s) {
  for (uint32_t i = 0; i < s->seat.members; i++) serve_member(s, i);
}

/* ---- reading ---- */

/* Reads n bytes of the next member; false: they are not all there. */
static bool read_next(tt_session *s, void *to, size_t n) {
  tt_member *m = &s->member[s->next];
  m->in_wanted = false;
  while (s->have < n && m->fd >= 0) {
    const ssize_t part = recv(m->fd, (char *)to + s->have, n - s->have, MSG_DONTWAIT);
    if (part > 0) s->have += (size_t)part;
    if (part > 0 || (part < 0 && errno == EINTR)) continue;
    if (part < 0 && errno == EAGAIN)
      m->in_wanted = true;
    else
      tt_session_leave(s, s->next);
    return false;
  }
  if (s->have < n) return false;
  s->have = 0;
  return true;
}

/* Members made different calls, or what they send makes no sense. All are told. */
static void refuse_turn(tt_session *s) {
  put_sum_head(s, TUTTI_ERR_MISMATCH);
  s->ending = true;
}

static bool is_sensible(const tt_aggregator_head *h) {
  return h->type < TUTTI_TYPE_COUNT && h->op < TUTTI_OP_COUNT && h->data > 0 &&
         h->data <= INT32_MAX && h->bytes > 0 &&
         h->bytes % tutti_type_size((tutti_type)h->type) == 0;
}

static bool read_heads(tt_session *s) {
  for (; s->next < s->seat.members; s->next++) {
    tt_aggregator_head *to = s->next ? &s->other : &s->head;
    if (!read_next(s, to, sizeof *to)) return false;
    if (s->next && memcmp(&s->head, &s->other, offsetof(tt_aggregator_head, got)) != 0) {
      refuse_turn(s);
      return false;
    }
    if (s->next && s->other.got < s->head.got) s->head.got = s->other.got;
  }
  const tt_aggregator_head *h = &s->head;
  if (!is_sensible(h) || tt_reducer_init(&s->reducer, (tutti_type)h->type, (tutti_op)h->op)) {
    refuse_turn(s);
    return false;
  }
  const size_t element = s->reducer.element;
  s->left = h->bytes;
  s->piece = tt_min(tt_max((size_t)(h->bytes / PIECES), LEAST_PIECE), TT_AGGREGATOR_PIECE);
  s->piece = s->piece / element * element;
  return true;
}

/* Adds up the next piece of all members. */
static bool sum_piece(tt_session *s) {
  const size_t n = tt_min(s->piece, (size_t)tt_min(s->left, SIZE_MAX));
  const size_t count = n / s->reducer.element;
  for (; s->next < s->seat.members; s->next++) {
    if (!read_next(s, s->next ? s->operand : s->sum, n)) return false;
    const void *const in[] = {s->sum, s->operand};
    if (s->next) tt_reduce(&s->reducer, s->sum, in, 2, count);
  }
  if (s->head.op == TUTTI_AVG && s->head.data > 1)
    tt_scale(s->reducer.type, s->sum, count, (int)s->head.data);
  put(s, s->sum, n);
  s->next = 0;
  s->left -= n;
  s->bytes += n;
  return true;
}

/* One step; false: nothing can be done now. */
static bool step(tt_session *s) {
  switch (s->stage) {
    case TT_HEADS:
      if (s->ending || !read_heads(s)) return false;
      s->next = 0;
      s->stage = TT_ANSWER;
      return true;
    case TT_ANSWER:
      if (!has_room(s, sizeof(tt_aggregator_sum))) return false;
      put_sum_head(s, TUTTI_OK);
      s->stage = TT_SUMS;
      return true;
    default:
      if (!has_room(s, s->piece) || !sum_piece(s)) return false;
      serve_all(s);
      if (s->left) return true;
      s->turns++;
      s->stage = TT_HEADS;
      return true;
  }
}

static bool has_all(const tt_session *s) {
  return taken_by_all(s) == s->made;
}

enum { GULP = 64 }; /* steps after which other sessions get their turn */

void tt_session_go_on(tt_session *s) {
  int steps = 0;
  s->more = false;
  if (s->here < s->seat.members || s->over) return;
  serve_all(s);
  while (steps < GULP && step(s)) steps++;
  s->more = steps == GULP;
  serve_all(s);
  if (s->ending && has_all(s)) s->over = true;
}

void tt_session_leave(tt_session *s, uint32_t i) {
  tt_member *m = &s->member[i];
  m->fd = -2;
  m->in_wanted = m->out_wanted = false;
  s->ending = true;
  /* in the middle of a turn the others cannot get their sum; what they have not been sent is worthless */
  const bool begun = s->stage != TT_HEADS || s->next || s->have;
  if (begun || s->here < s->seat.members) s->over = true;
}
