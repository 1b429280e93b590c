/* cipher_line.c - one connection of tutti's own network: messages as a stream of bytes, in records of TLS.
 *
 * Idea       A sender cuts the stream of its queue (a head, its bytes, a head, ...) into records of 16 KiB. A record that
 *            lies within one message is encrypted out of the program's memory; short messages are gathered into one. A
 *            receiver decrypts right into the memory of the receive that waits.
 * Cost       What TLS takes per byte, and a copy of the two ends of a long message, or of a short one.
 * Invariant  A record that TLS has begun is brought again, byte by byte the same, until it has left. Before a connection is
 *            given up, what its other end has sent is read.
 * Source     RFC 8446, 5.1 (records).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cipher.h"

enum {
  READS = 64, /* of one line, before others have their turn */
  LOOKS = 8   /* for the receive of a message whose head is here */
};

/* ---- a line ---- */

cipher_line *tt_cipher_line_new(cipher_world *w, int fd, cipher_state state, int process) {
  cipher_line *line = malloc(sizeof *line);
  if (!line) return NULL;
  memset(line, 0, offsetof(cipher_line, stage));
  line->source = (cipher_source){CIPHER_LINE, fd};
  line->world = w;
  line->state = state;
  line->process = process;
  line->since = tt_seconds();
  line->next = w->lines;
  w->lines = line;
  struct epoll_event e = {.events = EPOLLIN, .data.ptr = &line->source};
  epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &e);
  return line;
}

void tt_cipher_line_end(cipher_line *line) {
  if (line->state == CIPHER_OVER) return;
  if (line->state == CIPHER_HEARS) line->world->strangers--;
  if (line->waits) line->world->waiting--;
  line->waits = false;
  if (line->end) line->world->tls->drop(line->end);
  close(line->source.fd);
  line->end = NULL;
  line->source.fd = -1;
  line->state = CIPHER_OVER;
  line->world->over = true;
}

void tt_cipher_line_listen(cipher_line *line, bool reads, bool writes) {
  struct epoll_event e = {.events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u),
                          .data.ptr = &line->source};
  const int epoll = line->world->epoll, fd = line->source.fd;
  line->writes = writes;
  if (!reads && !writes)
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &e); /* it would report a hang-up */
  else if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &e) && errno == ENOENT)
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

/* ---- sending ---- */

static size_t size_of(const cipher_out *o) {
  return CIPHER_HEAD + o->head.bytes;
}

/* The next part of a message that lies in one place. */
static const char *part_of(const cipher_out *o, size_t sent, size_t *n) {
  const size_t at = sent < CIPHER_HEAD ? sent : sent - CIPHER_HEAD;
  *n = (sent < CIPHER_HEAD ? CIPHER_HEAD : o->head.bytes) - at;
  return (sent < CIPHER_HEAD ? (const char *)&o->head : o->bytes) + at;
}

/* Choose the next record: a part of one message where it lies, or several parts, gathered. */
static void next_record(cipher_line *line, const cipher_out *first) {
  size_t n, have = 0, sent = first->sent;
  line->record = part_of(first, sent, &n);
  line->record_bytes = tt_min(n, CIPHER_RECORD);
  if (n >= CIPHER_RECORD || (sent + n == size_of(first) && !first->next)) return;
  line->record = line->stage;
  for (const cipher_out *o = first; o && have < CIPHER_RECORD;) {
    const char *part = part_of(o, sent, &n);
    n = tt_min(n, CIPHER_RECORD - have);
    memcpy(line->stage + have, part, n);
    have += n;
    sent += n;
    if (sent < size_of(o)) continue;
    o = o->next;
    sent = 0;
  }
  line->record_bytes = have;
}

/* So many bytes of the queue have left. */
static void advance_queue(cipher_peer *p, size_t n) {
  while (n > 0) {
    cipher_out *o = p->first;
    const size_t part = tt_min(n, size_of(o) - o->sent);
    o->sent += part;
    n -= part;
    if (o->sent < size_of(o)) continue;
    p->first = o->next;
    if (!p->first) p->end = &p->first;
    if (o->slot)
      tt_cipher_left(o->slot);
    else
      free(o);
  }
}

/* What an error of a connection says of the process at its other end. n: what the call returned; errno. */
static cipher_fate fate_of(ssize_t n) {
  if (n >= 0) return CIPHER_DIED;
  if (errno == EBADMSG) return CIPHER_CHANGED;
  return errno == ETIMEDOUT || errno == EHOSTUNREACH || errno == ENETUNREACH ? CIPHER_SILENT
                                                                             : CIPHER_DIED;
}

/* The peer whose messages the line carries; NULL: none yet. */
static cipher_peer *peer_of(const cipher_line *line) {
  return line->state == CIPHER_OPEN ? line->world->peers[line->process] : NULL;
}

/* Hand records to TLS until the queue is empty, or -1 and errno. */
static int encrypt_queue(cipher_line *line) {
  cipher_peer *p = peer_of(line);
  while (line->record || (p && p->first)) {
    if (!line->record) next_record(line, p->first);
    const ssize_t n = line->world->tls->send(line->end, line->record, line->record_bytes);
    if (n <= 0) return -1;
    line->record = NULL;
    if (!line->greets) advance_queue(p, (size_t)n);
    line->greets = false;
  }
  return 0;
}

void tt_cipher_pump(cipher_line *line) {
  const tt_tls *tls = line->world->tls;
  if (line->state == CIPHER_OVER || line->broken) return;
  int more, waits;
  do {
    more = encrypt_queue(line);
    waits = more && errno != EAGAIN ? more : tls->flush(line->end);
  } while (more && !waits);
  if (waits && errno != EAGAIN) { /* once what has come is read, its process is lost */
    line->broken = fate_of(-1);
    line->unread = line->world->unread = true;
    return;
  }
  if (!waits != !line->waits) line->world->waiting += waits ? 1 : -1;
  line->waits = waits;
  const bool writes = more || waits;
  if (writes != line->writes) tt_cipher_line_listen(line, true, writes);
}

/* ---- receiving ---- */

/* The head of a message is here. False, and EAGAIN: its receive has not begun yet, but may soon. */
static bool begin_message(cipher_line *line) {
  cipher_head head;
  memcpy(&head, line->head, sizeof head);
  if (line->looks < LOOKS && !tt_cipher_awaited(line, &head)) {
    line->looks++;
    line->unread = line->world->unread = true;
    errno = EAGAIN;
    return false;
  }
  line->looks = 0;
  line->left = head.bytes;
  tt_cipher_begins(line, &head);
  if (!line->left) tt_cipher_ends(line);
  if (!line->left) line->have = 0;
  return true;
}

/* Some bytes of what comes next: what recv returned. */
static ssize_t read_some(cipher_line *line) {
  char waste[4096];
  const tt_tls *tls = line->world->tls;
  if (line->have < CIPHER_HEAD) {
    const ssize_t n = tls->recv(line->end, line->head + line->have, CIPHER_HEAD - line->have);
    if (n > 0) line->have += (size_t)n;
    if (n <= 0 || line->have < CIPHER_HEAD) return n;
    line->looks = 0;
    return begin_message(line) ? n : -1;
  }
  if (line->looks) return begin_message(line) ? CIPHER_HEAD : -1;
  const size_t room = tt_cipher_room(line);
  if (!room) return errno = EAGAIN, -1;
  const ssize_t n = line->to ? tls->recv(line->end, line->to, room)
                             : tls->recv(line->end, waste, tt_min(room, sizeof waste));
  if (n <= 0) return n;
  if (line->to) line->to += n;
  line->left -= (size_t)n;
  if (line->left) return n;
  tt_cipher_ends(line);
  line->have = 0;
  return n;
}

/* After a receive has its message, its caller has its turn: the next receive that it starts may be for what comes next,
 * which then needs no memory of its own. */
void tt_cipher_feed(cipher_line *line) {
  const unsigned before = line->received;
  line->unread = false;
  for (int i = 0; i < READS && line->received == before; i++) {
    if (line->state != CIPHER_OPEN || *line->world->failed) return;
    const ssize_t n = read_some(line);
    if (n > 0) continue;
    const bool empty = n < 0 && errno == EAGAIN;
    if (empty && (line->unread || !line->broken)) return;
    tt_cipher_lose(line->world, peer_of(line), empty ? line->broken : fate_of(n));
    return;
  }
  line->unread = line->world->unread = true;
}

/* ---- hello and welcome ---- */

void tt_cipher_greet(cipher_line *line, uint32_t magic) {
  const uint32_t says[4] = {magic, (uint32_t)line->world->rank, (uint32_t)line->process};
  _Static_assert(sizeof says == CIPHER_HEAD, "as long as a head");
  memcpy(line->stage, says, sizeof says);
  line->record = line->stage;
  line->record_bytes = sizeof says;
  line->greets = true;
  tt_cipher_pump(line);
}

int tt_cipher_heard(cipher_line *line, uint32_t magic, uint32_t *from) {
  const cipher_world *w = line->world;
  uint32_t says[4];
  while (line->have < CIPHER_HEAD) {
    const ssize_t n =
        w->tls->recv(line->end, line->head + line->have, CIPHER_HEAD - line->have);
    if (n < 0 && errno == EAGAIN) return -1;
    if (n <= 0) return 0;
    line->have += (size_t)n;
  }
  line->have = 0;
  memcpy(says, line->head, sizeof says);
  *from = says[1];
  return says[0] == magic && says[2] == (uint32_t)w->rank && *from < (uint32_t)w->ranks &&
         *from != (uint32_t)w->rank;
}
