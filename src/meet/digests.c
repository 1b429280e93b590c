/* digests.c - a connection whose bytes carry digests, so that a change between its ends is noticed; and the functions
 * that all secured connections have in common.
 *
 * Idea       Bytes travel in records: their number, a digest, the bytes. The digest is an HMAC-SHA-256 of the record's
 *            number in its direction, and of the bytes and their number. Its key follows from the job's key, the nonces of
 *            both ends, and the direction.
 * Cost       36 bytes per record of up to 16 KiB, and a SHA-256 of all bytes at each end. Two buffers of a record.
 * Invariant  A record is handed out once, whole and in its turn: one that is changed, repeated, left out, or of another
 *            connection or direction has a wrong digest, and ends the connection.
 * Source     RFC 2104 (HMAC); RFC 8446, 5.3 (the number of a record is digested, and does not travel).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "secure.h"

/* ---- all secured connections ---- */

ssize_t tt_secure_send(tt_secure *x, int fd, const void *bytes, size_t n) {
  if (!x) return send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (!n) return 0;
  if (!x->ahead) {
    const ssize_t left = x->ops->send(x, fd, bytes, n);
    if (left <= 0) return left;
    x->ahead = (size_t)left;
  }
  const size_t taken = tt_min(x->ahead, n);
  x->ahead -= taken;
  return (ssize_t)taken;
}

ssize_t tt_secure_recv(tt_secure *x, int fd, void *bytes, size_t n) {
  return x ? x->ops->recv(x, fd, bytes, n) : recv(fd, bytes, n, MSG_DONTWAIT);
}

size_t tt_secure_waiting(const tt_secure *x) {
  return x ? x->ops->waiting(x) : 0;
}

void tt_secure_drop(tt_secure **x) {
  if (*x) (*x)->ops->drop(*x);
  *x = NULL;
}

/* ---- digests ---- */

enum { RECORD = 16 << 10 };

typedef struct record {
  uint32_t bytes;
  unsigned char digest[TT_DIGEST];
  char text[RECORD];
} record;
enum { HEAD = offsetof(record, text) };

typedef struct way { /* of records in one direction */
  unsigned char key[TT_DIGEST];
  uint64_t number; /* records before */
  size_t at,
      to; /* out: bytes of the record that have left, all of it; in: bytes of its text handed out, that came */
  record record;
} way;

typedef struct digests {
  tt_secure secure;
  bool broken;
  way out, in;
} digests;

static void digest_of(const way *w, unsigned char digest[TT_DIGEST]) {
  const tt_piece pieces[] = {{&w->number, sizeof w->number},
                             {&w->record.bytes, sizeof w->record.bytes},
                             {w->record.text, w->record.bytes}};
  tt_hmac(w->key, sizeof w->key, pieces, 3, digest);
}

static ssize_t send_record(tt_secure *x, int fd, const void *bytes, size_t n) {
  way *w = &((digests *)x)->out;
  if (!w->to) {
    w->record.bytes = (uint32_t)tt_min(n, RECORD);
    memcpy(w->record.text, bytes, w->record.bytes);
    digest_of(w, w->record.digest);
    w->number++;
    w->at = 0;
    w->to = HEAD + w->record.bytes;
  }
  while (w->at < w->to) {
    const ssize_t part =
        send(fd, (const char *)&w->record + w->at, w->to - w->at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return part;
    w->at += (size_t)part;
  }
  w->to = 0;
  return (ssize_t)w->record.bytes;
}

/* 1: the first `want` bytes of the record have arrived. Otherwise as recv(2). */
static ssize_t fill_record(way *w, int fd, size_t want) {
  while (w->at < want) {
    const ssize_t part = recv(fd, (char *)&w->record + w->at, want - w->at, MSG_DONTWAIT);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return part;
    w->at += (size_t)part;
  }
  return 1;
}

/* 1: a record has arrived, unchanged. Otherwise as recv(2). */
static ssize_t recv_record(digests *d, int fd) {
  way *w = &d->in;
  unsigned char right[TT_DIGEST];
  ssize_t come = fill_record(w, fd, HEAD);
  if (come <= 0) return come;
  d->broken = !w->record.bytes || w->record.bytes > RECORD;
  if (!d->broken) {
    come = fill_record(w, fd, HEAD + w->record.bytes);
    if (come <= 0) return come;
    digest_of(w, right);
    d->broken = !tt_digest_same(right, w->record.digest);
    w->number++;
  }
  errno = EBADMSG;
  return d->broken ? -1 : 1;
}

static ssize_t recv_text(tt_secure *x, int fd, void *bytes, size_t n) {
  digests *d = (digests *)x;
  way *w = &d->in;
  if (!w->to) { /* no part of a record is left */
    const ssize_t whole = d->broken ? (errno = EBADMSG, -1) : recv_record(d, fd);
    if (whole <= 0) return whole;
    w->at = 0;
    w->to = w->record.bytes;
  }
  const size_t part = tt_min(n, w->to - w->at);
  memcpy(bytes, w->record.text + w->at, part);
  w->at += part;
  if (w->at == w->to) w->at = w->to = 0;
  return (ssize_t)part;
}

static size_t record_waiting(const tt_secure *x) {
  const way *w = &((const digests *)x)->in;
  return w->to ? w->to - w->at : 0;
}

static void drop_digests(tt_secure *x) {
  digests *d = (digests *)x;
  explicit_bzero(d->out.key, sizeof d->out.key);
  explicit_bzero(d->in.key, sizeof d->in.key);
  free(d);
}

static const tt_secure_ops digest_ops = {
    .send = send_record, .recv = recv_text, .waiting = record_waiting, .drop = drop_digests};

static void direction_key(tt_side_of sender, const char key[TT_KEY], const tt_hello *hello,
                          const unsigned char nonce[TT_DIGEST], unsigned char digest[TT_DIGEST]) {
  static const char ways[2][16] = {
      [TT_RENDEZVOUS] = "tutti downward", [TT_VISITOR] = "tutti upward"};
  const tt_piece pieces[] = {
      {ways[sender], sizeof ways[sender]}, {hello, sizeof *hello}, {nonce, TT_DIGEST}};
  tt_hmac(key, TT_KEY, pieces, 3, digest);
}

tt_secure *tt_digests_new(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                          const unsigned char nonce[TT_DIGEST]) {
  digests *d = malloc(sizeof *d);
  if (!d) return NULL;
  d->secure = (tt_secure){.ops = &digest_ops};
  d->broken = false;
  d->out.number = d->in.number = 0;
  d->out.at = d->out.to = d->in.at = d->in.to = 0;
  direction_key(side, key, hello, nonce, d->out.key);
  direction_key(side == TT_VISITOR ? TT_RENDEZVOUS : TT_VISITOR, key, hello, nonce, d->in.key);
  return &d->secure;
}
