/* tcp_plain.c - plain TCP connections, with the same functions as TLS (tls_table.h).
 *
 * Idea       Both ends prove that they know the job's secret before any message is sent. The caller sends a nonce, the
 *            other end its own nonce and a proof, and the caller its proof. A proof is an HMAC of both nonces and of the
 *            side. The listening side proves first, so a stranger learns nothing from a caller.
 * Cost       One additional round trip, compared with a connection without proofs. After that, one system call per read:
 *            a short read also fetches the data that follows, up to 9 KiB, and a long one the head of the next message.
 * Invariant  The serving end returns no bytes before the caller has proved that it knows the secret. Later messages
 *            are neither encrypted nor authenticated.
 * Source     ISO/IEC 9798-4, mutual authentication in three passes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "hmac.h"
#include "tcp.h"

enum {
  NONCE = 24,
  AHEAD = 9 << 10, /* in bytes */
  HEADS = 64       /* fits the head of a message, a heading that precedes a long message, and the
                      head of that message */
};
static const char MAGIC[8] = "tutti t1";

typedef struct opening { /* the first message of each side */
  char magic[sizeof MAGIC];
  unsigned char nonce[NONCE];
} opening;

typedef struct reply {
  opening opening;
  unsigned char proof[TT_DIGEST];
} reply;

typedef enum stage { OPENS, AWAITS, PROVES, PROVEN } stage;

typedef struct plain {
  int fd;
  stage stage;
  bool full; /* the socket did not accept all of the last send */
  unsigned char secret[TT_TLS_SECRET];
  opening mine; /* the caller's opening: sent by the calling end, received by the serving end */
  unsigned char expected[TT_DIGEST]; /* for the serving end: the caller's proof */
  size_t moved;                      /* bytes sent or received in this stage */
  union {
    reply reply;
    unsigned char proof[TT_DIGEST];
  } bytes;
  size_t at, have; /* the range of `ahead` that was read ahead and not consumed yet */
  char ahead[AHEAD];
} plain;

static plain *new_plain(int fd) {
  plain *e = malloc(sizeof *e);
  if (!e) return NULL;
  memset(e, 0, offsetof(plain, ahead));
  e->fd = fd;
  return e;
}

static void draw_opening(opening *o) {
  memcpy(o->magic, MAGIC, sizeof MAGIC);
  for (size_t i = 0; i < NONCE; i += sizeof(uint64_t)) {
    const uint64_t word = tt_random();
    memcpy(o->nonce + i, &word, sizeof word);
  }
}

static void *call_plain(int fd, const char *name, const unsigned char secret[TT_TLS_SECRET]) {
  plain *e = new_plain(fd);
  (void)name;
  if (!e) return NULL;
  memcpy(e->secret, secret, sizeof e->secret);
  draw_opening(&e->mine);
  return e;
}

static void *serve_plain(int fd, tt_tls_find_fn *find, const void *ctx) {
  plain *e = new_plain(fd);
  if (e) find(ctx, TCP_SECRET_NAME, e->secret);
  return e;
}

static void drop_plain(void *self) {
  plain *e = self;
  explicit_bzero(e->secret, sizeof e->secret);
  free(e);
}

/* ---- the proofs ---- */

static void prove(const plain *e, char side, const opening *caller, const opening *server,
                  unsigned char proof[TT_DIGEST]) {
  const tt_piece pieces[] = {{&side, 1}, {caller, sizeof *caller}, {server, sizeof *server}};
  tt_hmac(e->secret, sizeof e->secret, pieces, 3, proof);
}

/* Sends or receives n bytes, in several calls if necessary. Returns 1 if all bytes were moved, 0 if the socket is not ready,
 * and -1 if the other end has closed the connection or an error occurred. */
static int move_all(plain *e, bool sends, void *bytes, size_t n) {
  while (e->moved < n) {
    char *at = (char *)bytes + e->moved;
    const ssize_t moved = sends ? send(e->fd, at, n - e->moved, MSG_NOSIGNAL | MSG_DONTWAIT)
                                : recv(e->fd, at, n - e->moved, MSG_DONTWAIT);
    if (moved < 0 && errno == EINTR) continue;
    if (moved < 0 && errno == EAGAIN) return 0;
    if (moved <= 0) return -1;
    e->moved += (size_t)moved;
  }
  e->moved = 0;
  return 1;
}

/* Returns true if the first n bytes received from the other end are the beginning of a valid opening. */
static bool begins_right(const opening *o, size_t n) {
  return memcmp(o->magic, MAGIC, tt_min(n, sizeof MAGIC)) == 0;
}

/* Checks as much of the server's reply as has arrived. `whole` is true if the reply is complete. Returns a tt_tls_step. */
static int check_reply(plain *e, bool whole) {
  const reply its = e->bytes.reply;
  unsigned char expected[TT_DIGEST];
  if (!begins_right(&its.opening, whole ? sizeof its : e->moved)) return TT_TLS_FOREIGN;
  if (!whole) return TT_TLS_READ;
  prove(e, 's', &e->mine, &its.opening, expected);
  if (!tt_digest_same(expected, its.proof)) return TT_TLS_KEY;
  prove(e, 'c', &e->mine, &its.opening, e->bytes.proof);
  e->stage = PROVES;
  return TT_TLS_DONE;
}

static int greet_plain(void *self) {
  plain *e = self;
  int moved = 1, checked;
  if (e->stage == OPENS && (moved = move_all(e, true, &e->mine, sizeof e->mine)) == 1)
    e->stage = AWAITS;
  if (e->stage == AWAITS && (moved = move_all(e, false, &e->bytes, sizeof(reply))) >= 0 &&
      (checked = check_reply(e, moved)) != TT_TLS_DONE)
    return checked;
  if (e->stage == PROVES && (moved = move_all(e, true, &e->bytes, TT_DIGEST)) == 1)
    e->stage = PROVEN;
  if (e->stage == PROVEN) return TT_TLS_DONE;
  return moved < 0 ? TT_TLS_CLOSED : TT_TLS_WRITE;
}

/* Advances the server's side of a handshake. Returns 1 if the caller has proved that it knows the secret, and 0 if the
 * connection has ended. Otherwise returns -1 and sets errno to EAGAIN (the socket is not ready) or EBADMSG (the opening or
 * the proof is wrong). */
static int hear_caller(plain *e) {
  int moved = 1;
  if (e->stage == OPENS) {
    moved = move_all(e, false, &e->mine, sizeof e->mine);
    if (moved >= 0 && !begins_right(&e->mine, moved ? sizeof e->mine : e->moved))
      return errno = EBADMSG, -1;
    if (moved == 1) {
      draw_opening(&e->bytes.reply.opening);
      prove(e, 's', &e->mine, &e->bytes.reply.opening, e->bytes.reply.proof);
      prove(e, 'c', &e->mine, &e->bytes.reply.opening, e->expected);
      e->stage = PROVES;
    }
  }
  if (e->stage == PROVES && (moved = move_all(e, true, &e->bytes, sizeof(reply))) == 1)
    e->stage = AWAITS;
  if (e->stage == AWAITS && (moved = move_all(e, false, &e->bytes, TT_DIGEST)) == 1) {
    if (!tt_digest_same(e->expected, e->bytes.proof)) return errno = EBADMSG, -1;
    e->stage = PROVEN;
  }
  if (moved < 0) return 0;
  return e->stage == PROVEN ? 1 : (errno = EAGAIN, -1);
}

/* ---- messages ---- */

static ssize_t recv_plain(void *self, void *bytes, size_t n) {
  plain *e = self;
  const int proven = e->stage == PROVEN ? 1 : hear_caller(e);
  if (proven <= 0) return proven;
  if (e->at < e->have) {
    const size_t part = tt_min(n, e->have - e->at);
    memcpy(bytes, e->ahead + e->at, part);
    e->at += part;
    return (ssize_t)part;
  }
  const struct iovec to[] = {{bytes, n}, {e->ahead, n < AHEAD ? AHEAD : HEADS}};
  const ssize_t come = readv(e->fd, to, 2);
  if (come <= (ssize_t)n) return come;
  e->at = 0;
  e->have = (size_t)come - n;
  return (ssize_t)n;
}

static size_t waiting_plain(void *self) {
  const plain *e = self;
  return e->have - e->at;
}

ssize_t tcp_plain_send(void *self, struct iovec *parts, size_t n) {
  plain *e = self;
  const struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
  const ssize_t sent = sendmsg(e->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  e->full = sent < 0 && errno == EAGAIN;
  return sent;
}

static ssize_t send_plain(void *self, const void *bytes, size_t n) {
  struct iovec all = {(void *)(uintptr_t)bytes, n};
  return tcp_plain_send(self, &all, 1);
}

/* Reports whether the socket is full, which the caller needs to know. There is nothing to flush, because a plain connection
 * has no buffer for sending. */
static int flush_plain(void *self) {
  const plain *e = self;
  return e->full ? (errno = EAGAIN, -1) : 0;
}

static int bulk_plain(void *self) {
  (void)self;
  return 1;
}

const tt_tls *tcp_plain(void) {
  static const tt_tls table = {.size = sizeof table,
                               .name = "TCP",
                               .call = call_plain,
                               .serve = serve_plain,
                               .greet = greet_plain,
                               .send = send_plain,
                               .recv = recv_plain,
                               .waiting = waiting_plain,
                               .bulk = bulk_plain,
                               .flush = flush_plain,
                               .drop = drop_plain};
  return &table;
}
