/* tcp_line.c - one connection: messages as a byte stream, in records if TLS encrypts them.
 *
 * Idea       A queue is a stream of bytes: a head, its message, a head, and so on. Without TLS, one system call sends up to
 *            32 messages directly from the program's memory. With TLS, a sender cuts the stream into records of 16 KiB. A
 *            record that lies within a message is encrypted directly from the program's memory, and short messages are
 *            gathered into one record. A receiver reads or decrypts directly into the memory of the waiting receive.
 * Cost       Without TLS, two system calls per message. With TLS, its cost per byte, and a copy of both ends of a long
 *            message, or of a short message.
 * Invariant  A record that TLS has begun is passed to it again, with identical bytes, until it has left. Before a
 *            connection is given up, everything that its other end has sent is read.
 * Source     RFC 8446, 5.1 (records).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "tcp.h"

enum {
  READS = 64, /* reads from one line before other lines are served */
  LOOKS = 8,  /* attempts to find a receive for a message whose head has arrived */
  PARTS = 64  /* parts of messages in one system call */
};

/* ---- a line ---- */

tcp_line *tcp_line_new(tcp_world *w, int fd, tcp_state state, int process) {
  tcp_line *line = malloc(sizeof *line);
  if (!line) return NULL;
  memset(line, 0, offsetof(tcp_line, stage));
  line->source = (tcp_source){TCP_LINE, fd};
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

void tcp_line_end(tcp_line *line) {
  if (line->state == TCP_OVER) return;
  if (line->state == TCP_HEARS) line->world->strangers--;
  if (line->waits) line->world->waiting--;
  line->waits = false;
  if (line->end) line->world->tls->drop(line->end);
  close(line->source.fd);
  line->end = NULL;
  line->source.fd = -1;
  line->state = TCP_OVER;
  line->world->over = true;
}

void tcp_line_listen(tcp_line *line, bool reads, bool writes) {
  struct epoll_event e = {.events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u),
                          .data.ptr = &line->source};
  const int epoll = line->world->epoll, fd = line->source.fd;
  line->writes = writes;
  if (!reads && !writes)
    epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &e); /* otherwise epoll would report a hang-up */
  else if (epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &e) && errno == ENOENT)
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

/* ---- sending ---- */

static size_t size_of(const tcp_out *o) {
  return TCP_HEAD + o->head.bytes;
}

/* Returns the next contiguous part of a message. */
static const char *part_of(const tcp_out *o, size_t sent, size_t *n) {
  const size_t at = sent < TCP_HEAD ? sent : sent - TCP_HEAD;
  *n = (sent < TCP_HEAD ? TCP_HEAD : o->head.bytes) - at;
  return (sent < TCP_HEAD ? (const char *)&o->head : o->bytes) + at;
}

/* Chooses the bytes of the next record. The record is a part of one message, sent from where it is, or a copy of several
 * parts. */
static void next_record(tcp_line *line, const tcp_out *first) {
  size_t n, have = 0, sent = first->sent;
  line->record = part_of(first, sent, &n);
  line->record_bytes = tt_min(n, TCP_RECORD);
  if (n >= TCP_RECORD || (sent + n == size_of(first) && !first->next)) return;
  line->record = line->stage;
  for (const tcp_out *o = first; o && have < TCP_RECORD;) {
    const char *part = part_of(o, sent, &n);
    n = tt_min(n, TCP_RECORD - have);
    memcpy(line->stage + have, part, n);
    have += n;
    sent += n;
    if (sent < size_of(o)) continue;
    o = o->next;
    sent = 0;
  }
  line->record_bytes = have;
}

/* Removes n sent bytes from the queue. */
static void advance_queue(tcp_peer *p, size_t n) {
  while (n > 0) {
    tcp_out *o = p->first;
    const size_t part = tt_min(n, size_of(o) - o->sent);
    o->sent += part;
    n -= part;
    if (o->sent < size_of(o)) continue;
    p->first = o->next;
    if (!p->first) p->end = &p->first;
    if (o->slot)
      tcp_left(o->slot);
    else
      free(o);
  }
}

/* Determines what has happened to the process at the other end of a connection, from a failed call on the connection. n: the
 * return value of the call, which has set errno. */
static tcp_fate fate_of(ssize_t n) {
  if (n >= 0) return TCP_DIED;
  if (errno == EBADMSG) return TCP_CHANGED;
  return tcp_is_silence(errno) ? TCP_SILENT : TCP_DIED;
}

/* Returns the peer whose messages the line carries, or NULL. */
static tcp_peer *peer_of(const tcp_line *line) {
  return line->state == TCP_OPEN ? line->world->peers[line->process] : NULL;
}

/* Sends the queued messages directly from the program's memory. */
static ssize_t send_parts(tcp_line *line, const tcp_out *first) {
  struct iovec parts[PARTS];
  size_t n = 0, sent = first->sent;
  for (const tcp_out *o = first; o && n < PARTS; o = o->next, sent = 0)
    for (size_t part; sent < size_of(o) && n < PARTS; sent += part) {
      const char *bytes = part_of(o, sent, &part);
      parts[n++] = (struct iovec){(void *)(uintptr_t)bytes, part};
    }
  return tcp_plain_send(line->end, parts, n);
}

/* Passes the queued messages to the connection until the queue is empty. Returns 0, or -1 with errno. */
static int send_queue(tcp_line *line) {
  tcp_peer *p = peer_of(line);
  while (line->record || (p && p->first)) {
    const bool whole = line->record || line->world->encrypts;
    if (whole && !line->record) next_record(line, p->first);
    const ssize_t n = whole ? line->world->tls->send(line->end, line->record, line->record_bytes)
                            : send_parts(line, p->first);
    if (n <= 0) return -1;
    if (line->greets && (size_t)n < line->record_bytes) { /* only without TLS */
      line->record += n;
      line->record_bytes -= (size_t)n;
      continue;
    }
    line->record = NULL;
    if (!line->greets) advance_queue(p, (size_t)n);
    line->greets = false;
  }
  return 0;
}

void tcp_break(tcp_line *line, tcp_fate fate) {
  if (!line->broken) line->broken = fate;
  line->unread = line->world->unread = true;
}

void tcp_pump(tcp_line *line) {
  const tt_tls *tls = line->world->tls;
  if (line->state == TCP_OVER || line->broken) return;
  int more, waits;
  do {
    more = send_queue(line);
    waits = more && errno != EAGAIN ? more : tls->flush(line->end);
  } while (more && !waits);
  if (waits && errno != EAGAIN) {
    tcp_break(line, fate_of(-1));
    return;
  }
  if (!waits != !line->waits) line->world->waiting += waits ? 1 : -1;
  line->waits = waits;
  const bool writes = more || waits;
  if (writes != line->writes) tcp_line_listen(line, true, writes);
}

/* ---- receiving ---- */

/* Starts to receive a message whose head has arrived. If the matching receive has not been posted, but may be soon, returns
 * false and sets errno to EAGAIN. */
static bool begin_message(tcp_line *line) {
  kit_head head;
  memcpy(&head, line->head, sizeof head);
  if (line->looks < LOOKS && !tcp_awaited(line, &head)) {
    line->looks++;
    line->unread = line->world->unread = true;
    errno = EAGAIN;
    return false;
  }
  line->looks = 0;
  line->left = head.bytes;
  tcp_begins(line, &head);
  if (!line->left) tcp_ends(line);
  if (!line->left) line->have = 0;
  return true;
}

/* Reads some bytes. Returns the result of recv. */
static ssize_t read_some(tcp_line *line) {
  char waste[4096];
  const tt_tls *tls = line->world->tls;
  if (line->have < TCP_HEAD) {
    const ssize_t n = tls->recv(line->end, line->head + line->have, TCP_HEAD - line->have);
    if (n > 0) line->have += (size_t)n;
    if (n <= 0 || line->have < TCP_HEAD) return n;
    line->looks = 0;
    return begin_message(line) ? n : -1;
  }
  if (line->looks) return begin_message(line) ? TCP_HEAD : -1;
  const size_t room = tcp_room(line);
  if (!room) return errno = EAGAIN, -1;
  const ssize_t n = line->to ? tls->recv(line->end, line->to, room)
                             : tls->recv(line->end, waste, tt_min(room, sizeof waste));
  if (n <= 0) return n;
  if (line->to) line->to += n;
  line->left -= (size_t)n;
  if (line->left) return n;
  tcp_ends(line);
  line->have = 0;
  return n;
}

/* Reads data that has arrived. Stops when a receive is complete, so that the code that waits for it can run. That code may
 * post the receive for the data that follows, which then needs no separate memory. */
void tcp_feed(tcp_line *line) {
  const unsigned before = line->received;
  line->unread = false;
  for (int i = 0; i < READS && line->received == before; i++) {
    if (line->state != TCP_OPEN || *line->world->failed) return;
    const ssize_t n = read_some(line);
    if (n > 0) continue;
    const bool empty = n < 0 && errno == EAGAIN;
    if (empty && (line->unread || !line->broken)) return;
    tcp_lose(line->world, peer_of(line), empty ? line->broken : fate_of(n));
    return;
  }
  if (line->broken || line->world->tls->waiting(line->end))
    line->unread = line->world->unread = true;
}

/* ---- hello and welcome ---- */

void tcp_greet(tcp_line *line, uint32_t magic) {
  const uint32_t says[4] = {magic, (uint32_t)line->world->kit.rank, (uint32_t)line->process};
  _Static_assert(sizeof says == TCP_HEAD, "as long as a head");
  memcpy(line->stage, says, sizeof says);
  line->record = line->stage;
  line->record_bytes = sizeof says;
  line->greets = true;
  tcp_pump(line);
}

int tcp_heard(tcp_line *line, uint32_t magic, uint32_t *from) {
  const tcp_world *w = line->world;
  uint32_t says[4];
  while (line->have < TCP_HEAD) {
    const ssize_t n = w->tls->recv(line->end, line->head + line->have, TCP_HEAD - line->have);
    if (n < 0 && errno == EAGAIN) return -1;
    if (n <= 0) return 0;
    line->have += (size_t)n;
  }
  line->have = 0;
  memcpy(says, line->head, sizeof says);
  *from = says[1];
  return says[0] == magic && says[2] == (uint32_t)w->kit.rank && *from < (uint32_t)w->kit.ranks &&
         *from != (uint32_t)w->kit.rank;
}
