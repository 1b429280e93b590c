/* session.c - a session: sums the members' vectors, turn after turn.
 *
 * Idea       In a turn, every member states which bytes of a vector it contributes and which it wants. The session
 *            reads the next piece from each contributor in the order of the members, directly from the connection,
 *            and adds it up. A member that is ahead is held back by TCP's flow control. Sums are written to a ring,
 *            and sent from there to each member that wants them as fast as the member reads. In an allreduce, all
 *            members contribute and want the whole vector. In a broadcast, only the root contributes it. In an
 *            all-gather, each member contributes a block.
 * Cost       Each byte is read once, added once, and sent once per member. Memory: the ring and two pieces,
 *            for vectors of any size. With an aggregator above, pieces of the members' sum are sent there,
 *            and the returned sums are written to the ring.
 * Invariant  Operands are added in the order of the members, so the bits do not depend on the order of arrival. A
 *            sum stays in the ring until every member that wants it has received it; if the ring is full, nothing
 *            is read. No contribution begins or ends within a piece.
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

/* PIECES: number of pieces in a vector. The first sum is sent when 1/16 of the vector has been summed. */
enum { LEAST_PIECE = 4096, PIECES = 16 };

size_t tt_session_bytes(const tt_aggregator_seat *seat) {
  return sizeof(tt_session) + seat->members * sizeof(tt_member) + 2 * (size_t)TT_AGGREGATOR_PIECE +
         TT_AGGREGATOR_RING + (seat->aboves ? tt_uplink_bytes() : 0);
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
  free(s->up);
  free(s);
}

/* ---- the ring ---- */

/* Returns the number of bytes of the ring that every connected member has received. */
static uint64_t taken_by_all(const tt_session *s) {
  uint64_t least = s->made;
  for (uint32_t i = 0; i < s->seat.members; i++)
    if (s->member[i].fd >= 0 && s->member[i].out < least) least = s->member[i].out;
  return least;
}

static bool has_room(const tt_session *s, size_t n) {
  return s->made + n - taken_by_all(s) <= TT_AGGREGATOR_RING;
}

/* Appends bytes to the ring. The caller has checked that there is room; without room, the session ends instead. */
static void put(tt_session *s, const void *bytes, size_t n) {
  s->over |= !has_room(s, n);
  if (s->over) return;
  const size_t at = s->made % TT_AGGREGATOR_RING, first = tt_min(n, TT_AGGREGATOR_RING - at);
  memcpy(s->ring + at, bytes, first);
  memcpy(s->ring, (const char *)bytes + first, n - first);
  s->made += n;
}

/* Starts the next turn in the ring. */
static void put_sum_head(tt_session *s, tutti_status status) {
  const size_t t = s->answered++ % TT_SESSION_TURNS;
  const uint64_t bytes = status ? 0 : s->up ? s->wants.bytes : s->head.bytes;
  s->turn[t].begin = s->made;
  s->turn[t].end = s->made + sizeof(tt_aggregator_sum) + bytes;
  s->turn[t].at = s->up ? s->wants.at : 0;
  const tt_aggregator_sum sum = {
      .status = (int32_t)status, .seq = s->head.stamp.seq, .bytes = status ? 0 : s->head.bytes};
  put(s, &sum, sizeof sum);
}

/* Returns the number of bytes in the ring that can be sent to a member now. Skips bytes that this member does not want. */
static size_t wanted_now(const tt_session *s, tt_member *m) {
  while (m->turn < s->answered) {
    const size_t t = m->turn % TT_SESSION_TURNS;
    const tt_stretch *wants = &m->wants[t];
    const uint64_t bytes = s->turn[t].begin + sizeof(tt_aggregator_sum);
    const uint64_t from = bytes + (wants->bytes ? wants->at - s->turn[t].at : 0);
    const uint64_t to = tt_min(from + wants->bytes, s->turn[t].end);
    if (m->out < bytes) return (size_t)(bytes - m->out);
    if (m->out < from) m->out = tt_min(from, s->made);
    if (m->out >= from && m->out < to) return (size_t)(tt_min(to, s->made) - m->out);
    if (m->out >= to) m->out = tt_min(s->turn[t].end, s->made);
    if (m->out < s->turn[t].end) return 0;
    m->turn++;
  }
  return 0;
}

/* Sends a member the sums that it wants, as far as they are ready and the socket accepts them. */
static void serve_member(tt_session *s, uint32_t i) {
  tt_member *m = &s->member[i];
  m->out_wanted = false;
  for (size_t n; m->fd >= 0 && (n = wanted_now(s, m)) > 0;) {
    const size_t at = m->out % TT_AGGREGATOR_RING;
    const ssize_t part =
        tt_secure_send(m->secure, m->fd, s->ring + at, tt_min(n, TT_AGGREGATOR_RING - at));
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

/* Reads n bytes from the member that is to be read next. Returns false if the bytes have not all arrived yet. */
static bool read_next(tt_session *s, void *to, size_t n) {
  tt_member *m = &s->member[s->next];
  m->in_wanted = false;
  while (s->have < n && m->fd >= 0) {
    const ssize_t part = tt_secure_recv(m->secure, m->fd, (char *)to + s->have, n - s->have);
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

/* Ends a turn because members made different calls, or because a member sent invalid data. All members are notified. */
static void refuse_turn(tt_session *s) {
  put_sum_head(s, TUTTI_ERR_MISMATCH);
  s->ending = true;
}

static bool is_within(const tt_stretch *x, const tt_aggregator_head *h, size_t element) {
  return x->at <= h->bytes && x->bytes <= h->bytes - x->at && x->at % element == 0 &&
         x->bytes % element == 0;
}

/* Extends a range so that it covers another one. */
static void cover(tt_stretch *all, const tt_stretch *more) {
  if (!more->bytes) return;
  const uint64_t to = tt_max(all->bytes ? all->at + all->bytes : 0, more->at + more->bytes);
  all->at = all->bytes ? tt_min(all->at, more->at) : more->at;
  all->bytes = to - all->at;
}

static bool is_sensible(const tt_session *s) {
  const tt_aggregator_head *h = &s->head;
  if (h->type >= TUTTI_TYPE_COUNT || h->op >= TUTTI_OP_COUNT || h->data == 0 ||
      h->data > INT32_MAX || h->bytes == 0)
    return false;
  const size_t element = tutti_type_size((tutti_type)h->type);
  for (uint32_t i = 0; i < s->seat.members; i++)
    if (!is_within(&s->member[i].gives, h, element) ||
        !is_within(&s->member[i].wants[s->answered % TT_SESSION_TURNS], h, element))
      return false;
  return h->bytes % element == 0 && (s->up || s->gives.bytes == h->bytes);
}

/* Returns true if every member has a free slot for the range that it wants in the next turn. */
static bool has_place(const tt_session *s) {
  for (uint32_t i = 0; i < s->seat.members; i++)
    if (s->member[i].fd >= 0 && s->answered - s->member[i].turn >= TT_SESSION_TURNS) return false;
  return true;
}

static bool read_heads(tt_session *s) {
  for (; s->next < s->seat.members; s->next++) {
    tt_aggregator_head *to = s->next ? &s->other : &s->head;
    if (!read_next(s, to, sizeof *to)) return false;
    if (!s->next) s->gives = s->wants = (tt_stretch){0, 0};
    s->member[s->next].gives = to->gives;
    s->member[s->next].wants[s->answered % TT_SESSION_TURNS] = to->wants;
    cover(&s->gives, &to->gives);
    cover(&s->wants, &to->wants);
    if (s->next && memcmp(&s->head, &s->other, offsetof(tt_aggregator_head, gives)) != 0) {
      refuse_turn(s);
      return false;
    }
  }
  const tt_aggregator_head *h = &s->head;
  if (!is_sensible(s) || tt_reducer_init(&s->reducer, (tutti_type)h->type, (tutti_op)h->op)) {
    refuse_turn(s);
    return false;
  }
  const size_t element = s->reducer.element;
  s->at = s->gives.at;
  s->piece = tt_min(tt_max((size_t)(h->bytes / PIECES), LEAST_PIECE), TT_AGGREGATOR_PIECE);
  s->piece = s->piece / element * element;
  return true;
}

static bool gives_here(const tt_session *s, const tt_member *m) {
  return m->gives.at <= s->at && s->at - m->gives.at < m->gives.bytes;
}

static uint64_t end_of_gifts(const tt_session *s) {
  return s->gives.at + s->gives.bytes;
}

/* Returns the size of the next piece, in bytes. */
static size_t next_piece(const tt_session *s) {
  uint64_t n = tt_min((uint64_t)s->piece, end_of_gifts(s) - s->at);
  for (uint32_t i = 0; i < s->seat.members; i++) {
    const tt_stretch *x = &s->member[i].gives;
    if (gives_here(s, &s->member[i]))
      n = tt_min(n, x->at + x->bytes - s->at);
    else if (x->at > s->at && x->bytes)
      n = tt_min(n, x->at - s->at);
  }
  return (size_t)n;
}

/* Adds a piece from the next member that contributes to it. Returns false if the piece has not fully arrived. */
static bool add_giver(tt_session *s, size_t n) {
  if (!read_next(s, s->givers ? s->operand : s->sum, n)) return false;
  const void *const in[] = {s->sum, s->operand};
  if (s->givers++) tt_reduce(&s->reducer, s->sum, in, 2, n / s->reducer.element);
  return true;
}

/* Sums the next piece over all members that contribute to it. Returns false if some member's part has not fully arrived. */
static bool sum_piece(tt_session *s) {
  const size_t n = next_piece(s), count = n / s->reducer.element;
  for (; s->next < s->seat.members; s->next++)
    if (gives_here(s, &s->member[s->next]) && !add_giver(s, n)) return false;
  if (!s->givers) { /* the members' heads described another vector */
    s->over = true;
    return false;
  }
  if (s->head.op == TUTTI_AVG && s->head.data > 1 && !s->up)
    tt_scale(s->reducer.type, s->sum, count, (int)s->head.data);
  if (s->up)
    tt_uplink_put(s->up, s->sum, n);
  else
    put(s, s->sum, n);
  s->next = s->givers = 0;
  s->at += n;
  s->bytes += n;
  return true;
}

/* ---- with an aggregator above ---- */

static void ask_above(tt_session *s) {
  tt_aggregator_head head = s->head;
  head.gives = s->gives;
  head.wants = s->wants;
  s->up->head = 0;
  s->up->back = 0;
  tt_uplink_put(s->up, &head, sizeof head);
}

/* Reads the head of an answer from the aggregator above. Returns false if the head has not fully arrived, or if the ring has
 * no room for the heads that are sent to the members. */
static bool hear_above(tt_session *s) {
  tt_uplink *u = s->up;
  if (!has_room(s, sizeof u->answer)) return false;
  u->head += tt_uplink_read(u, (char *)&u->answer + u->head, sizeof u->answer - u->head);
  if (u->head < sizeof u->answer) return false;
  if (u->answer.status) {
    refuse_turn(s);
    s->stage = TT_HEADS;
  } else if (u->answer.seq != s->head.stamp.seq || u->answer.bytes != s->head.bytes) {
    s->over = true;
  } else {
    put_sum_head(s, TUTTI_OK);
  }
  return true;
}

/* Reads sums into the ring. Returns true if any arrived. */
static bool take_above(tt_session *s) {
  const size_t at = s->made % TT_AGGREGATOR_RING;
  const uint64_t room = TT_AGGREGATOR_RING - (s->made - taken_by_all(s));
  uint64_t n = tt_min(s->wants.bytes - s->up->back, (uint64_t)(TT_AGGREGATOR_RING - at));
  n = tt_min(n, room);
  if (!n) return false;
  const size_t come = tt_uplink_read(s->up, s->ring + at, (size_t)n);
  s->made += come;
  s->up->back += come;
  return come;
}

/* Sends pieces to the aggregator above, and receives their sums at the same time. Returns true if it made progress. */
static bool pass_on(tt_session *s) {
  tt_uplink *u = s->up;
  bool moved = tt_uplink_send(u);
  u->in_wanted = false;
  if (s->at < end_of_gifts(s) && tt_uplink_room(u) >= s->piece) moved |= sum_piece(s);
  if (u->head < sizeof u->answer) moved |= hear_above(s);
  if (s->stage == TT_HEADS) return true; /* the turn was refused */
  if (u->head == sizeof u->answer && take_above(s)) {
    moved = true;
    serve_all(s);
  }
  if (s->over || u->lost) return false;
  if (s->at < end_of_gifts(s) || u->to || u->head < sizeof u->answer || u->back < s->wants.bytes)
    return moved;
  s->turns++;
  s->stage = TT_HEADS;
  return true;
}

/* Does one step. Returns false if nothing can be done now. */
static bool step(tt_session *s) {
  switch (s->stage) {
    case TT_HEADS:
      if (s->ending || !has_place(s) || !has_room(s, sizeof(tt_aggregator_sum)) || !read_heads(s))
        return false;
      s->next = 0;
      s->stage = s->up ? TT_SUMS : TT_ANSWER;
      if (s->up) ask_above(s);
      return true;
    case TT_ANSWER: /* the room was checked before the heads were read */
      put_sum_head(s, TUTTI_OK);
      s->stage = TT_SUMS;
      return true;
    default:
      if (s->up) return pass_on(s);
      if (!has_room(s, s->piece) || !sum_piece(s)) return false;
      serve_all(s);
      if (s->at < s->head.bytes) return true;
      s->turns++;
      s->stage = TT_HEADS;
      return true;
  }
}

static bool has_all(const tt_session *s) {
  return taken_by_all(s) == s->made;
}

enum { GULP = 64 }; /* number of steps after which other sessions run */

void tt_session_go_on(tt_session *s) {
  int steps = 0;
  s->more = false;
  if (s->here < s->seat.members || s->over) return;
  if (s->up && s->up->lost) {
    for (uint32_t i = 0; i < s->seat.members; i++) s->member[i].in_wanted = false;
    serve_all(s);
    return;
  }
  serve_all(s);
  while (steps < GULP && step(s)) steps++;
  s->more = steps == GULP;
  serve_all(s);
  if (s->ending && s->stage == TT_HEADS && has_all(s)) s->over = true;
}

/* Returns true if the session has already read all data that a member contributes to the current turn. */
static bool has_given(const tt_session *s, uint32_t i) {
  const tt_member *m = &s->member[i];
  if (s->stage == TT_HEADS) return !s->next && !s->have;
  const uint64_t read = s->stage == TT_SUMS && i < s->next ? s->at + next_piece(s) : s->at;
  return read >= m->gives.at + m->gives.bytes;
}

void tt_session_leave(tt_session *s, uint32_t i) {
  tt_member *m = &s->member[i];
  m->in_wanted = m->out_wanted = false;
  s->ending = true;
  /* without its bytes, the others cannot receive their sum; unsent sums are useless */
  if (!has_given(s, i) || s->here < s->seat.members) s->over = true;
  m->fd = -2;
}
