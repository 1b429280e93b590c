/* tcp_call.c - the connections of the network over sockets. Two processes share one connection,
 * made at first use.
 *
 * Idea       A process calls another when it first needs it. The first message, a hello, names both; a welcome confirms
 *            that the connection carries messages. If both call simultaneously, the call of the process with the lower
 *            number is kept: that process holds back the other's call, and the process with the higher number sends a
 *            welcome and drops its own call. If the lower one's call fails, it welcomes the call that it has held back.
 * Invariant  A connection receives no welcome, and carries no message, before both ends have proved to each other that
 *            they know the job's secret. A process that is not inside a tutti call does not answer a hello, so a hello
 *            may wait; only connecting has a limit (TUTTI_SILENCE).
 * Cost       Three messages in each direction before the first one. Two descriptors for each process in use; one of them
 *            is a watch.
 * Watch      The connection never carries data, so the kernels probe each other, even while a process is stopped
 *            or its messages wait. The process at the other end never accepts the connection.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tcp.h"

enum { STRANGERS = 64, GIVEN_UP = 3 };
static const double ADDRESS_S = 3; /* time limit for one of several addresses, in seconds */

/* ---- the watch of a host ---- */

static void watch_peer(tcp_world *w, tcp_peer *p, const kit_place *at) {
  const tcp_address *its = tcp_address_of(w, p->process);
  if (!w->silence || !its->watch || p->watch.fd >= 0 || kit_same_host(&its->home, &w->own.home))
    return;
  p->watch.fd = kit_dial(at, its->watch, w->silence);
  struct epoll_event e = {.events = EPOLLOUT | EPOLLET, .data.ptr = &p->watch};
  if (p->watch.fd >= 0) epoll_ctl(w->epoll, EPOLL_CTL_ADD, p->watch.fd, &e);
}

void tcp_hear_watch(tcp_world *w, tcp_peer *p, unsigned events) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(p->watch.fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (!error && !(events & (EPOLLERR | EPOLLHUP))) {
    p->stands = true;
    return;
  }
  close(p->watch.fd);
  p->watch.fd = -1;
  if (!p->stands || !tcp_is_silence(error)) return;
  if (p->line)
    tcp_break(p->line, TCP_SILENT);
  else
    tcp_lose(w, p, TCP_SILENT);
}

/* ---- a connection that carries messages ---- */

static void end_line(tcp_line **line) {
  if (*line) tcp_line_end(*line);
  *line = NULL;
}

/* Selects this line to carry all messages to and from the peer. Closes the peer's other lines. */
static void adopt(tcp_peer *p, tcp_line *line) {
  const kit_place at = tcp_far_end(line);
  if (p->call != line) end_line(&p->call);
  if (p->held != line) end_line(&p->held);
  p->call = p->held = NULL;
  p->line = line;
  line->state = TCP_OPEN;
  line->unread = line->world->unread = true; /* the connection may have buffered bytes */
  tcp_line_listen(line, true, false);
  tcp_found(line->world, &at);
  watch_peer(line->world, p, &at);
}

static void welcome(tcp_peer *p, tcp_line *line) {
  adopt(p, line);
  tcp_greet(line, TCP_WELCOME);
}

/* ---- calls ---- */

static void cannot_call(tcp_world *w, tcp_peer *p) {
  const int error = p->error;
  const bool gone = error == ECONNREFUSED || error == ECONNRESET || error == EPIPE;
  if (p->held)
    welcome(p, p->held);
  else
    tcp_lose(w, p, gone ? TCP_DIED : TCP_APART);
}

/* Calls a process at its next address. */
static void call_next(tcp_world *w, tcp_peer *p) {
  const tcp_address *its = tcp_address_of(w, p->process);
  kit_place at;
  end_line(&p->call);
  while (!p->call && kit_place_at(&w->own.home, &w->links, &its->home, p->tried, &at)) {
    p->tried++;
    const int fd = kit_dial(&at, its->port, 0);
    if (fd < 0) p->error = errno;
    if (fd >= 0 && !(p->call = tcp_line_new(w, fd, TCP_CONNECTS, p->process))) {
      p->error = ENOMEM;
      close(fd);
    }
  }
  if (p->call)
    tcp_line_listen(p->call, false, true);
  else
    cannot_call(w, p);
}

void tcp_connect(tcp_world *w, tcp_peer *p) {
  if (!p->line && !p->call && !p->fate) call_next(w, p);
}

/* Handles a connection that the other end has closed before it sent its welcome. Either the process has ended, or too many
 * unauthenticated callers are connected to it. */
static void call_again(tcp_world *w, tcp_peer *p) {
  p->error = ECONNRESET;
  if (++p->given_up < GIVEN_UP) p->tried = 0;
  call_next(w, p);
}

static void shake_hands(tcp_line *line, tcp_peer *p) {
  tcp_world *w = line->world;
  const int how = w->tls->greet(line->end);
  switch (how) {
    case TT_TLS_READ: tcp_line_listen(line, true, false); return;
    case TT_TLS_WRITE: tcp_line_listen(line, false, true); return;
    case TT_TLS_CLOSED: call_again(w, p); return;
    case TT_TLS_DONE:
      line->state = TCP_ASKS;
      tcp_line_listen(line, true, false);
      tcp_greet(line, TCP_HELLO);
      return;
    default: /* another program, or a process of another job */
      p->error = how == TT_TLS_KEY ? EKEYREJECTED : EPROTO;
      call_next(w, p);
  }
}

static void connected(tcp_line *line, tcp_peer *p) {
  socklen_t size = sizeof p->error;
  getsockopt(line->source.fd, SOL_SOCKET, SO_ERROR, &p->error, &size);
  if (!p->error) {
    line->end = line->world->tls->call(line->source.fd, TCP_SECRET_NAME, line->world->secret);
    if (!line->end || !line->world->tls->bulk(line->end)) p->error = ENOMEM;
  }
  line->state = TCP_SHAKES;
  if (p->error)
    call_next(line->world, p);
  else
    shake_hands(line, p);
}

static void await_welcome(tcp_line *line, tcp_peer *p) {
  uint32_t from;
  tcp_pump(line);
  const int heard = tcp_heard(line, TCP_WELCOME, &from);
  if (heard < 0) return;
  if (!heard || (int)from != line->process) {
    call_again(line->world, p);
    return;
  }
  adopt(p, line);
  tcp_pump(line);
}

void tcp_check_calls(tcp_world *w) {
  const double now = tt_seconds();
  for (tcp_line *line = w->lines, *next; line; line = next) {
    next = line->next;
    if (line->state != TCP_CONNECTS) continue;
    tcp_peer *p = w->peers[line->process];
    kit_place next_one;
    const bool more = kit_place_at(&w->own.home, &w->links, &tcp_address_of(w, p->process)->home,
                                   p->tried, &next_one);
    const double limit = more ? ADDRESS_S : w->silence;
    if (limit <= 0 || now - line->since < limit) continue;
    p->error = ETIMEDOUT;
    call_next(w, p);
  }
}

/* ---- being called ---- */

static int find_secret(const void *world, const char *name, unsigned char secret[TT_TLS_SECRET]) {
  const tcp_world *w = world;
  if (strcmp(name, TCP_SECRET_NAME) != 0) return 0;
  memcpy(secret, w->secret, TT_TLS_SECRET);
  return 1;
}

/* Makes room for a new caller by closing the oldest connection that has not been authenticated yet. */
static void drop_stranger(tcp_world *w) {
  tcp_line *oldest = NULL;
  for (tcp_line *line = w->lines; line; line = line->next)
    if (line->state == TCP_HEARS) oldest = line; /* new lines are inserted at the front */
  if (oldest) tcp_line_end(oldest);
}

static void begin_to_hear(tcp_world *w, int fd) {
  const int one = 1;
  if (w->strangers >= STRANGERS + w->kit.ranks) drop_stranger(w);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  tcp_line *line = tcp_line_new(w, fd, TCP_HEARS, -1);
  if (!line) {
    close(fd);
    return;
  }
  w->strangers++;
  line->end = w->tls->serve(fd, find_secret, w);
  if (!line->end || !w->tls->bulk(line->end)) tcp_line_end(line);
}

void tcp_accept(tcp_world *w) {
  for (;;) {
    const int fd = accept4(w->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
      begin_to_hear(w, fd);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      snprintf(w->failed, sizeof w->failed, "a rank's call cannot be accepted: %s",
               strerror(errno));
      return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

static void arrived(tcp_line *line) {
  tcp_world *w = line->world;
  tcp_peer *p = tcp_use(w, line->process);
  if (!p || p->fate || p->line) { /* the process is lost, or this is a second connection */
    tcp_line_end(line);
  } else if (p->call && w->kit.rank < line->process) {
    end_line(&p->held);
    p->held = line;
    line->state = TCP_HELD;
    tcp_line_listen(line, false, false);
  } else {
    welcome(p, line);
  }
}

static void hear_stranger(tcp_line *line) {
  uint32_t from;
  const int heard = tcp_heard(line, TCP_HELLO, &from);
  if (heard < 0) return;
  if (!heard) {
    tcp_line_end(line);
    return;
  }
  line->world->strangers--;
  line->state = TCP_HELD;
  line->process = (int)from;
  arrived(line);
}

void tcp_advance(tcp_line *line) {
  tcp_peer *p = line->process >= 0 ? line->world->peers[line->process] : NULL;
  switch (line->state) {
    case TCP_CONNECTS: connected(line, p); break;
    case TCP_SHAKES: shake_hands(line, p); break;
    case TCP_ASKS: await_welcome(line, p); break;
    case TCP_HEARS: hear_stranger(line); break;
    default: break;
  }
}
