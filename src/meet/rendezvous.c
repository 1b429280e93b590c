/* rendezvous.c - the meeting point of the ranks: a thread that accepts connections, reads and
 * writes.
 *
 * Idea       In each round every peer sends the same number of bytes; when all have, each gets all
 *            of them. The messages are in meet_peers.c; sockets and timeouts are here.
 * Cost       P connections to one process, which sends P times the bytes of all in each round.
 * Invariant  From a peer that does not know the key, only a hello and a proof are read, for at most
 *            STRANGER seconds, from at most STRANGERS at a time: it can neither join nor stall a
 *            job. When a rank is missing after the first one's time limit, all are told which.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "meet_peers.h"

enum { STRANGERS = 64 };
static const double STRANGER = 5, FAREWELL = 5; /* s */

/* ---- connections ---- */

static tt_meet_peer *free_peer(tt_service *s) {
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].fd < 0) return &s->peers[i];
  const int before = s->npeers, n = 2 * before + 16;
  tt_meet_peer *more = realloc(s->peers, (size_t)n * sizeof *more);
  if (!more) return NULL;
  s->peers = more;
  for (int i = before; i < n; i++) more[i] = (tt_meet_peer){.fd = -1, .rank = -1};
  s->npeers = n;
  return &more[before];
}

static void welcome(tt_service *s) {
  const int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1;
  if (fd < 0) return;
  int strangers = 0;
  tt_meet_peer *oldest = NULL;
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || g->rank >= 0 || g->waits) continue;
    strangers++;
    if (!oldest || g->since < oldest->since) oldest = g;
  }
  if (strangers >= STRANGERS) tt_meet_peer_close(s, oldest);
  tt_meet_peer *g = free_peer(s);
  if (!g) {
    close(fd);
    return;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  *g = (tt_meet_peer){.fd = fd, .rank = -1, .since = tt_seconds(), .want = sizeof(tt_hello)};
  g->in = malloc(g->want);
  if (!g->in) tt_meet_peer_close(s, g);
}

void tt_meet_peer_close(tt_service *s, tt_meet_peer *g) {
  if (g->fd < 0) return;
  close(g->fd);
  free(g->in);
  if (g->rank >= 0) s->known--;
  *g = (tt_meet_peer){.fd = -1, .rank = -1};
}

/* ---- reading, writing ---- */

/* Drain the input of a peer that is to leave: closing with unread input could discard the reply. */
static void hear_out(tt_service *s, tt_meet_peer *g) {
  char words[4096];
  ssize_t n;
  do n = read(g->fd, words, sizeof words);
  while (n > 0);
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) tt_meet_peer_left(s, g);
}

static void read_peer(tt_service *s, tt_meet_peer *g, bool hung_up) {
  if (g->leaves) {
    hear_out(s, g);
    return;
  }
  if (g->want == g->have && hung_up) tt_meet_peer_left(s, g);
  while (g->fd >= 0 && g->want > g->have) {
    const ssize_t n = read(g->fd, g->in + g->have, g->want - g->have);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      tt_meet_peer_left(s, g);
      return;
    }
    g->have += (size_t)n;
    if (g->have == g->want) tt_meet_peer_said(s, g);
  }
}

static void write_peer(tt_service *s, tt_meet_peer *g) {
  while (g->fd >= 0 && g->sent < g->to_send) {
    const ssize_t n = send(g->fd, g->out + g->sent, g->to_send - g->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) {
      tt_meet_peer_left(s, g);
      return;
    }
    g->sent += (size_t)n;
  }
  if (g->fd >= 0 && g->leaves) shutdown(g->fd, SHUT_WR);
}

/* ---- timeouts ---- */

static void name_missing(tt_service *s) {
  char who[200] = "";
  size_t n = 0;
  int missing = 0;
  for (int r = 0; r < s->ranks; r++) {
    const int g = s->peer_of[r];
    if (g >= 0 && (s->round == 0 || s->peers[g].brought)) continue;
    if (missing++ < 10 && n < sizeof who - 16)
      n += (size_t)snprintf(who + n, sizeof who - n, "%s%d", missing > 1 ? ", " : "", r);
  }
  tt_service_fail(s, TUTTI_ERR_TIMEOUT,
                  "rank%s %s%s of %d did not come to the rendezvous within %.3g s "
                  "(TUTTI_CONNECT_TIMEOUT); %d came",
                  missing > 1 ? "s" : "", who, missing > 10 ? ", ..." : "", s->ranks, s->limit,
                  s->ranks - missing);
}

static void look_at_clock(tt_service *s) {
  const double now = tt_seconds();
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd >= 0 && g->rank < 0 && !g->waits && now - g->since > STRANGER)
      tt_meet_peer_close(s, g);
  }
  if (!s->over && s->ranks && now - s->first > s->limit) name_missing(s);
  if (s->over && now - s->first > s->limit + FAREWELL)
    for (int i = 0; i < s->npeers; i++)
      if (s->peers[i].rank >= 0) tt_meet_peer_close(s, &s->peers[i]);
}

/* ---- the service ---- */

static bool go_on(const tt_service *s) {
  if (!s->over) return true;
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].fd >= 0 && s->peers[i].rank >= 0) return true;
  if (s->failed <= 0 || tt_seconds() - s->failed > FAREWELL) return false;
  for (int r = 0; r < s->ranks; r++)
    if (s->peer_of[r] == TT_ABSENT) return true; /* it is to get the reason, too */
  return false;
}

static void wait_for_words(tt_service *s) {
  struct pollfd *fds = calloc((size_t)s->npeers + 1, sizeof *fds);
  if (!fds) {
    usleep(1000);
    return;
  }
  const int n = s->npeers;
  bool quiet = !s->ranks; /* no peer is here or expected */
  for (int i = 0; i < n; i++) {
    const tt_meet_peer *g = &s->peers[i];
    quiet &= g->fd < 0;
    fds[i].fd = g->fd;
    fds[i].events = (short)((g->leaves || g->want > g->have ? POLLIN : POLLRDHUP) |
                            (g->sent < g->to_send ? POLLOUT : 0));
  }
  fds[n] = (struct pollfd){.fd = s->listener, .events = POLLIN};
  if (poll(fds, (nfds_t)n + 1, quiet ? -1 : 200) > 0) {
    for (int i = 0; i < n; i++) {
      if (fds[i].fd != s->peers[i].fd || fds[i].fd < 0 || !fds[i].revents) continue;
      const bool hung_up = fds[i].revents & (POLLRDHUP | POLLHUP | POLLERR);
      if (hung_up || fds[i].revents & POLLIN) read_peer(s, &s->peers[i], hung_up);
    }
    if (fds[n].revents) welcome(s);
  }
  free(fds);
  for (int i = 0; i < s->npeers; i++) write_peer(s, &s->peers[i]);
}

static void *serve(void *service) {
  tt_service *s = service;
  do {
    if (!go_on(s)) tt_service_renew(s);
    wait_for_words(s);
    look_at_clock(s);
  } while (s->lasting || go_on(s));
  for (int i = 0; i < s->npeers; i++) tt_meet_peer_close(s, &s->peers[i]);
  close(s->listener);
  free(s->peers);
  free(s->peer_of);
  free(s->answer);
  free(s->before);
  free(s);
  return NULL;
}

/* A socket that listens on all addresses; -1 and errno. */
static int listen_on(int *port) {
  struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)*port)};
  struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = six.sin6_port};
  socklen_t n = sizeof six;
  const int off = 0, one = 1;
  int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool is_six = fd >= 0 && !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (!is_six && fd >= 0) close(fd);
  if (!is_six) fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  const struct sockaddr *at = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
  if (bind(fd, at, is_six ? sizeof six : sizeof four) || listen(fd, 1024) ||
      getsockname(fd, (struct sockaddr *)&six, &n)) {
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
  }
  *port = ntohs(six.sin6_port); /* the same offset in both */
  return fd;
}

tutti_status tt_rendezvous_serve(tt_rendezvous *r, bool lasting, pthread_t *thread) {
  sigset_t all, before;
  tutti_status status = tt_rendezvous_name(r);
  if (status) return status;
  tt_service *s = calloc(1, sizeof *s);
  if (!s) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a rendezvous");
  memcpy(s->key, r->key, TT_KEY);
  s->lasting = lasting;
  s->listener = listen_on(&r->port);
  if (s->listener < 0) {
    status = tt_fail(TUTTI_ERR_SYSTEM, "no rendezvous at port %d: %s%s", r->port, strerror(errno),
                     errno == EADDRINUSE ? " (another job's? TUTTI_PORT names another one)" : "");
    free(s);
    return status;
  }
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(thread, NULL, serve, s);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (!error) return TUTTI_OK;
  close(s->listener);
  free(s);
  return tt_fail(TUTTI_ERR_SYSTEM, "no thread for a rendezvous: %s", strerror(error));
}

void tt_rendezvous_end(pthread_t thread) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  t.tv_sec += (time_t)FAREWELL;
  if (pthread_timedjoin_np(thread, NULL, &t)) pthread_detach(thread);
}
