/* serve.c - the daemon: one thread waits for all connections, admits visitors, and runs sessions.
 *
 * Idea       On a new connection, both sides first prove that they know the key. Then the visitor requests a seat in a
 *            session; the first member's request creates the session. A session runs when its last member has arrived, and
 *            whenever a connection that it waits for becomes readable or writable. With an aggregator above, a session takes
 *            a seat there before it has members, and waits ABOVE seconds for the answer. If the one above is lost, the
 *            session ends LAST seconds later, so that ranks that lost their own aggregator can report that first.
 * Cost       One system call waits for all connections. A session that has work processes 64 pieces before the
 *            next session runs.
 * Invariant  Memory is bounded: by the number of sessions, by their sizes, and by TT_STRANGERS connections that have not
 *            proved they know the key. A job that arrives when the daemon is full is refused immediately.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator_daemon.h"
#include "listen.h"
#include "tutti_launch.h"

enum { TT_STRANGERS = 64, EVENTS = 64, LOOK_MS = 200 };
static const double INTRODUCTION = 5, PATIENCE = 1, LEAVE = 2, GATHERING = 60, ABOVE = 1,
                    AGAIN = 10, LAST = 0.4; /* s */

/* UPLINK: the connection to the aggregator above. */
typedef enum stage { HELLO, REQUEST, SEATED, UPLINK, LEAVING } stage;

typedef struct guest { /* a connection */
  int fd;
  tt_secure *secure;
  stage stage;
  double since; /* start of this stage, in seconds */
  tt_aggregator_hello hello;
  tt_aggregator_request request;
  unsigned char nonce[TT_DIGEST];
  char key[TT_KEY + 1]; /* of the session named in its hello */
  size_t have;          /* bytes received of the hello or the request */
  uint32_t events;
  tt_session *session;
  struct guest *following;
} guest;

typedef struct server {
  int listener, epoll;
  char key[TT_KEY + 1];
  bool open;           /* anyone can compute the key */
  const tt_tls *tls;   /* the TLS that guests must use; NULL if TLS is not requested */
  size_t memory, used; /* in bytes */
  int jobs, sessions, strangers;
  bool
      full; /* too many strangers, or out of descriptors; let_in is then called again without an event */
  const char *above; /* the aggregator above, as given by the user; NULL if none */
  char above_at[TT_ABOVES][TT_AGGREGATOR_WHERE]; /* its addresses, "ADDRESS:PORT", looked up once */
  double no_answer; /* time in seconds when it failed to answer; 0 if it answered */
  tt_session *first;
  guest *guests;
} server;

/* ---- connections ---- */

static void watch(const server *d, guest *g, uint32_t events) {
  struct epoll_event e = {.events = events, .data = {.ptr = g}};
  if (events == g->events) return;
  g->events = events;
  epoll_ctl(d->epoll, EPOLL_CTL_MOD, g->fd, &e);
}

static bool is_stranger(const guest *g) {
  return g->stage == HELLO || g->stage == REQUEST;
}

/* Closes a connection. If the guest may still have data to read, waits until the guest has closed its end. */
static void show_out(server *d, guest *g, bool reads) {
  if (is_stranger(g)) d->strangers--;
  g->stage = LEAVING;
  g->since = tt_seconds();
  g->session = NULL;
  if (g->fd < 0) return;
  if (reads && !shutdown(g->fd, SHUT_WR)) {
    watch(d, g, EPOLLIN);
    return;
  }
  close(g->fd);
  tt_secure_drop(&g->secure);
  g->fd = -1;
}

/* Discards a leaving guest's input. Closing with unread input could destroy data that the guest has not read yet. */
static void hear_out(server *d, guest *g) {
  char bytes[16384];
  ssize_t n;
  do n = recv(g->fd, bytes, sizeof bytes, MSG_DONTWAIT);
  while (n > 0);
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) show_out(d, g, false);
}

/* Registers a new connection with the event loop. On failure, closes the connection and returns NULL. */
static guest *watched(server *d, tt_connection from, stage at) {
  guest *g = calloc(1, sizeof *g);
  struct epoll_event e = {.events = EPOLLIN, .data = {.ptr = g}};
  if (!g || epoll_ctl(d->epoll, EPOLL_CTL_ADD, from.fd, &e)) {
    tt_secure_drop(&from.secure);
    close(from.fd);
    free(g);
    return NULL;
  }
  *g = (guest){.fd = from.fd,
               .secure = from.secure,
               .stage = at,
               .since = tt_seconds(),
               .events = EPOLLIN,
               .following = d->guests};
  return d->guests = g;
}

static guest *oldest_stranger(const server *d) {
  guest *oldest = NULL;
  for (guest *g = d->guests; g; g = g->following) oldest = is_stranger(g) ? g : oldest;
  return oldest;
}

/* Accepts new connections. If too many are unauthenticated, drops the oldest unauthenticated one after PATIENCE seconds. Until
 * then, later connections wait in the listener's queue, so that a flood of connections cannot push out a member. */
static void let_in(server *d) {
  const int one = 1;
  for (;;) {
    guest *oldest = d->strangers >= TT_STRANGERS ? oldest_stranger(d) : NULL;
    d->full = oldest && tt_seconds() - oldest->since < PATIENCE;
    if (d->full) return;
    const int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      d->full = errno != EAGAIN;
      return;
    }
    if (d->open && !tt_trusts(fd)) {
      close(fd);
      continue;
    }
    if (oldest) show_out(d, oldest, false);
    if (!watched(d, (tt_connection){.fd = fd}, HELLO)) continue;
    tt_aggregator_set_options(fd);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    d->strangers++;
  }
}

/* ---- sessions ---- */

static tt_session *find_session(const server *d, const tt_aggregator_seat *seat) {
  tt_session *s = d->first;
  while (s && memcmp(s->seat.session, seat->session, sizeof seat->session) != 0) s = s->following;
  return s;
}

/* Obtains a seat for the session at the aggregator above. On failure, returns false and writes the reason to *why. */
static bool join_above(server *d, tt_session *s, char *why, size_t size) {
  const tt_aggregator_seat seat = {.session = {s->seat.session[0], s->seat.session[1]},
                                   .member = s->seat.above,
                                   .members = s->seat.aboves};
  const double now = tt_seconds();
  char key[TT_KEY + 1];
  tt_connection to;
  if (!d->above) {
    snprintf(why, size, "it has no aggregator above it (--above), and the job has %u racks",
             seat.members);
    return false;
  }
  if (d->no_answer > 0 && now - d->no_answer < AGAIN) {
    snprintf(why, size, "the aggregator above it, %s, has not answered; last attempt %.0f s ago", d->above,
             now - d->no_answer);
    return false;
  }
  tt_aggregator_session_key(d->key, seat.session[0], key);
  tutti_status status = TUTTI_ERR_SYSTEM;
  for (int i = 0; i < TT_ABOVES && *d->above_at[i] && status == TUTTI_ERR_SYSTEM; i++)
    status = tt_aggregator_visit(d->above_at[i], &seat, d->open, key, ABOVE, &to);
  d->no_answer = status == TUTTI_ERR_TIMEOUT ? tt_seconds() : 0;
  if (status) {
    snprintf(why, size, "above it: %s", tutti_error());
    return false;
  }
  guest *g = watched(d, to, UPLINK);
  s->up = g ? tt_uplink_new(to, g) : NULL;
  if (g) g->session = s;
  if (!s->up) snprintf(why, size, "it is out of memory for the way to the aggregator above it");
  return s->up;
}

static void end_session(server *d, tt_session *s);

/* Returns the session that a seat belongs to, creating it if necessary. On failure, returns NULL and the reason in *why. */
static tt_session *session_of(server *d, const tt_aggregator_seat *seat, char *why, size_t size) {
  tt_session *s = find_session(d, seat);
  const size_t bytes = tt_session_bytes(seat);
  if (s && s->seat.members == seat->members && s->seat.above == seat->above &&
      s->seat.aboves == seat->aboves && s->member[seat->member].fd == -1 && !s->ending)
    return s;
  if (s) {
    snprintf(why, size, "member %u of %u does not fit into this session", seat->member,
             seat->members);
  } else if (d->sessions >= d->jobs) {
    snprintf(why, size, "it serves %d sessions already (--jobs)", d->sessions);
  } else if (bytes > d->memory - d->used || !(s = tt_session_new(seat))) {
    snprintf(why, size, "its memory is full: %zu of %zu MiB are in use (--memory)", d->used >> 20,
             d->memory >> 20);
  } else {
    s->since = tt_seconds();
    s->following = d->first;
    d->first = s;
    d->sessions++;
    d->used += bytes;
    if (!seat->aboves || join_above(d, s, why, size)) return s;
    end_session(d, s);
  }
  return NULL;
}

static uint32_t wanted(bool in, bool out) {
  return (in ? EPOLLIN : 0u) | (out ? EPOLLOUT : 0u);
}

/* Watches the connections that a session waits for. */
static void watch_members(const server *d, const tt_session *s) {
  for (uint32_t i = 0; i < s->seat.members; i++) {
    const tt_member *m = &s->member[i];
    if (m->fd >= 0)
      watch(d, m->owner,
            (m->sends_no_more ? 0u : EPOLLRDHUP) | wanted(m->in_wanted, m->out_wanted));
  }
  if (s->up && s->up->owner)
    watch(d, s->up->owner, EPOLLRDHUP | wanted(s->up->in_wanted, s->up->out_wanted));
}

static void end_session(server *d, tt_session *s) {
  tt_session **link = &d->first;
  while (*link != s) link = &(*link)->following;
  *link = s->following;
  for (guest *g = d->guests; g; g = g->following)
    if (g->session == s) show_out(d, g, g->fd >= 0);
  tt_log(1, "aggregator: a session of %u ended after %llu sums of %.3g MB", s->seat.members,
         (unsigned long long)s->turns, 1e-6 * (double)s->bytes);
  d->sessions--;
  d->used -= tt_session_bytes(&s->seat);
  tt_session_free(s);
}

/* Closes the connection to the aggregator above, after that connection has ended. */
static void leave_above(server *d, tt_uplink *u) {
  show_out(d, u->owner, false);
  u->owner = NULL;
  u->lost_since = tt_seconds();
}

static void go_on(server *d, tt_session *s) {
  tt_session_go_on(s);
  if (s->up && s->up->lost && s->up->owner) leave_above(d, s->up);
  if (s->over)
    end_session(d, s);
  else
    watch_members(d, s);
}

/* ---- introductions ---- */

/* Sends a short message without blocking. The socket's buffer has room for it, because little was sent before. */
static bool send_now(const guest *g, const void *bytes, size_t n) {
  return tt_secure_send(g->secure, g->fd, bytes, n) == (ssize_t)n;
}

static int find_session_secret(const void *daemon, const char *name,
                               unsigned char secret[TT_TLS_SECRET]) {
  const server *d = daemon;
  char key[TT_KEY + 1];
  uint64_t session;
  if (!tt_aggregator_tls_session(name, &session)) return 0;
  tt_aggregator_session_key(d->key, session, key);
  tt_tls_secret(key, secret);
  return 1;
}

/* Looks at the first byte from a guest, without consuming it, to find out whether the guest uses TLS. */
static void hear_first_byte(server *d, guest *g) {
  char byte;
  if (recv(g->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 1 || !tt_tls_begins(byte)) return;
  if (d->tls)
    g->secure = tt_tls_serve(d->tls, g->fd, find_session_secret, d);
  else if (send_now(g, "no TLS\r\n", 8)) /* a TLS client rejects this as an invalid record */
    show_out(d, g, true);
}

static void take_hello(server *d, guest *g) {
  const bool comes_plain = d->tls && !g->secure;
  tt_aggregator_challenge c = {
      .magic = TT_AGGREGATOR_MAGIC,
      .protocol = comes_plain ? TT_AGGREGATOR_TLS : TT_AGGREGATOR_PROTOCOL};
  const bool speaks = memcmp(g->hello.magic, TT_AGGREGATOR_MAGIC, sizeof c.magic) == 0;
  bool fine = speaks && !tt_nonce(g->nonce);
  memcpy(c.nonce, g->nonce, sizeof c.nonce);
  tt_aggregator_session_key(d->key, g->hello.session, g->key);
  tt_aggregator_prove(TT_CHALLENGES, g->key, &g->hello, g->nonce, NULL, 0, c.proof);
  fine = fine && send_now(g, &c, sizeof c);
  if (!fine || comes_plain || g->hello.protocol != TT_AGGREGATOR_PROTOCOL) {
    show_out(d, g, fine);
    return;
  }
  g->stage = REQUEST;
  g->have = 0;
}

static void take_request(server *d, guest *g) {
  const tt_aggregator_seat *seat = &g->request.seat;
  tt_aggregator_answer answer = {.status = TUTTI_OK};
  unsigned char proof[TT_DIGEST];
  tt_session *s = NULL;
  tt_aggregator_prove(TT_REQUESTS, g->key, &g->hello, g->nonce, seat,
                      sizeof g->request - sizeof proof, proof);
  if (!tt_digest_same(proof, g->request.proof) || seat->session[0] != g->hello.session) {
    show_out(d, g, false);
    return;
  }
  g->request.who[sizeof g->request.who - 1] = 0;
  if (seat->members < 2 || seat->members > TT_AGGREGATOR_MEMBERS || seat->member >= seat->members)
    snprintf(answer.why, sizeof answer.why, "member %u of %u", seat->member, seat->members);
  else if (seat->aboves && (seat->aboves < 2 || seat->above >= seat->aboves))
    snprintf(answer.why, sizeof answer.why, "rack %u of %u", seat->above, seat->aboves);
  else
    s = session_of(d, seat, answer.why, sizeof answer.why);
  answer.status = s ? TUTTI_OK : TUTTI_ERR_SYSTEM;
  tt_aggregator_prove(TT_ANSWERS, g->key, &g->hello, g->nonce, &answer.status,
                      sizeof answer - sizeof proof, answer.proof);
  const bool sent = send_now(g, &answer, sizeof answer);
  if (!s) {
    tt_log(1, "aggregator: %s is refused: %s", g->request.who, answer.why);
    show_out(d, g, sent);
    return;
  }
  tt_member *m = &s->member[seat->member];
  d->strangers--;
  g->stage = SEATED;
  g->session = s;
  m->fd = g->fd;
  m->secure = g->secure;
  m->owner = g;
  if (++s->here == s->seat.members)
    tt_log(1, "aggregator: a session of %u began; the last to come was %s", s->seat.members,
           g->request.who);
  go_on(d, s);
}

/* Reads the remainder of a hello or a request. */
static void listen_to(server *d, guest *g) {
  void *to = g->stage == HELLO ? (void *)&g->hello : (void *)&g->request;
  const size_t n = g->stage == HELLO ? sizeof g->hello : sizeof g->request;
  if (g->stage == HELLO && !g->have && !g->secure) hear_first_byte(d, g);
  if (g->stage == LEAVING) return;
  const ssize_t part = tt_secure_recv(g->secure, g->fd, (char *)to + g->have, n - g->have);
  if (part > 0) g->have += (size_t)part;
  if (part == 0 || (part < 0 && errno != EAGAIN && errno != EINTR))
    show_out(d, g, false);
  else if (g->have == n && g->stage == HELLO)
    take_hello(d, g);
  else if (g->have == n)
    take_request(d, g);
}

/* ---- the loop ---- */

/* Handles a member's closed connection. Data that the member contributed may still be unread. */
static void hear_end(server *d, guest *g, uint32_t events) {
  tt_session *s = g->session;
  const uint32_t i = g->request.seat.member;
  int unread = 0;
  if (!(events & (EPOLLHUP | EPOLLERR)) &&
      ((!ioctl(g->fd, FIONREAD, &unread) && unread > 0) || tt_secure_waiting(g->secure))) {
    s->member[i].sends_no_more = true;
    return;
  }
  tt_session_leave(s, i);
  show_out(d, g, false);
}

static void attend(server *d, guest *g, uint32_t events) {
  const uint32_t ended = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if (g->fd < 0) return; /* an earlier event closed the connection */
  if (g->stage == LEAVING) {
    hear_out(d, g);
  } else if (g->stage == UPLINK) {
    tt_session *s = g->session;
    s->up->lost |= (events & (EPOLLHUP | EPOLLERR)) || (events & EPOLLRDHUP && !s->up->in_wanted);
    go_on(d, s);
  } else if (g->stage != SEATED) {
    listen_to(d, g);
  } else {
    tt_session *s = g->session;
    if (events & ended && !s->member[g->request.seat.member].in_wanted) hear_end(d, g, events);
    go_on(d, s);
  }
}

/* Frees the connections that have been closed, and closes those that have taken too long. */
static void tidy(server *d) {
  const double now = tt_seconds();
  for (tt_session *s = d->first, *next; s; s = next) {
    next = s->following;
    if ((s->here < s->seat.members && now - s->since > GATHERING) ||
        (s->up && s->up->lost && now - s->up->lost_since > LAST))
      end_session(d, s);
  }
  for (guest **link = &d->guests, *g; (g = *link);) {
    if (is_stranger(g) && now - g->since > INTRODUCTION) show_out(d, g, false);
    if (g->stage == LEAVING && g->fd >= 0 && now - g->since > LEAVE) show_out(d, g, false);
    /* a session does not close a connection; it only reports that it has ended */
    if (g->stage == SEATED && g->session->member[g->request.seat.member].fd < 0)
      show_out(d, g, false);
    if (g->fd >= 0) {
      link = &g->following;
      continue;
    }
    *link = g->following;
    free(g);
  }
}

/* Continues the sessions that have more work to do. Returns true if any of them may still have work after that. */
static bool go_on_with_busy(server *d) {
  bool more = false;
  for (tt_session *s = d->first, *next; s; s = next) {
    next = s->following;
    if (!s->more) continue;
    more |= s->more;
    go_on(d, s);
  }
  return more;
}

static tutti_status serve(server *d) {
  struct epoll_event events[EVENTS];
  double asked = 0;
  for (bool more = false; !tt_interrupted(&asked);) {
    const int n = epoll_wait(d->epoll, events, EVENTS, more ? 0 : LOOK_MS);
    if (n < 0 && errno != EINTR)
      return tt_fail(TUTTI_ERR_SYSTEM, "the aggregator cannot wait: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
      if (events[i].data.ptr)
        attend(d, events[i].data.ptr, events[i].events);
      else
        let_in(d);
    }
    more = go_on_with_busy(d);
    tidy(d);
    if (d->full) let_in(d);
  }
  return TUTTI_OK;
}

/* ---- start and end ---- */

/* Closes the listener before the connections. When ranks can no longer connect, they conclude that the daemon has ended. */
static void close_all(server *d) {
  if (d->listener >= 0) close(d->listener);
  while (d->first) end_session(d, d->first);
  for (guest *g; (g = d->guests);) {
    d->guests = g->following;
    if (g->fd >= 0) close(g->fd);
    tt_secure_drop(&g->secure);
    free(g);
  }
  if (d->epoll >= 0) close(d->epoll);
}

tutti_status tutti_aggregator_serve(const tutti_aggregator *a) {
  tutti_status status = tt_args_given("tutti_aggregator_serve", "aggregator", a, NULL, NULL);
  if (!status) status = tt_size_check("tutti_aggregator_serve", "aggregator", a->size, sizeof *a);
  if (status) return status;
  if (a->port < 0 || a->port > 65535 || a->jobs < 0)
    return tt_fail(TUTTI_ERR_ARG, "tutti_aggregator_serve: port %d, %d sessions", a->port, a->jobs);
  server d = {.listener = -1, .epoll = -1, .above = a->above};
  if (d.above && (status = tt_aggregator_look_up(d.above, d.above_at))) return status;
  d.epoll = epoll_create1(EPOLL_CLOEXEC);
  int port = a->port;
  d.memory = a->memory ? a->memory : (size_t)256 << 20;
  d.jobs = a->jobs ? a->jobs : 64;
  tt_aggregator_key(a->key, d.key);
  d.open = !a->key && !tt_env("TUTTI_KEY");
  struct epoll_event e = {.events = EPOLLIN | EPOLLET};
  status = tt_tls_find(&d.tls);
  if (!status) status = tt_listen("the aggregator", &port, &d.listener);
  if (!status && (d.epoll < 0 || epoll_ctl(d.epoll, EPOLL_CTL_ADD, d.listener, &e)))
    status = tt_fail(TUTTI_ERR_SYSTEM, "the aggregator cannot wait: %s", strerror(errno));
  if (!status && a->ready) a->ready(a->ctx, port);
  if (!status) status = serve(&d);
  close_all(&d);
  return status;
}
