/* visit.c - a rank at a rendezvous: the client of rendezvous.c.
 *
 * Invariant  It gives up when the meeting's limit, and a little more for the answer, has passed
 *            since its start.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet.h"

enum { SLICE_MS = 20 };
static const char WHO[] = "tutti_comm_create";
static const double ONE_TRY = 2, GRACE = 5, GREETING = 20; /* s */

typedef struct visit {
  int fd;
  double until;
  char at[100]; /* for error messages */
  tt_hello hello;
  char key[TT_KEY];
  bool met, greeted; /* both know the key; the rendezvous has confirmed it */
} visit;

/* ---- connecting ---- */

/* False, and errno: not ready in time; ECANCELED: the caller was interrupted. */
static bool poll_until_ready(int fd, short events, double until) {
  const double most = tt_may_be_interrupted() ? SLICE_MS : 2e9;
  double asked = 0;
  for (;;) {
    struct pollfd p = {.fd = fd, .events = events};
    const double left = until - tt_seconds();
    const int n = poll(&p, 1, left <= 0 ? 0 : (int)tt_min(1e3 * left, most) + 1);
    if (n > 0) return true;
    if (tt_interrupted(&asked)) {
      errno = ECANCELED;
      return false;
    }
    if (n == 0 && tt_seconds() >= until) errno = ETIMEDOUT;
    if (n == 0 && errno == ETIMEDOUT && tt_seconds() >= until) return false;
    if (n < 0 && errno != EINTR) return false;
  }
}

/* A connection to one address, or -1 and errno. */
static int try_address(const struct addrinfo *a, double until) {
  const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
  if (fd < 0) return -1;
  int error = 0;
  socklen_t n = sizeof error;
  if (connect(fd, a->ai_addr, a->ai_addrlen)) error = errno;
  if (error == EINPROGRESS) {
    error = 0;
    if (!poll_until_ready(fd, POLLOUT, until))
      error = errno;
    else
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
  }
  if (!error) {
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
  }
  close(fd);
  errno = error;
  return -1;
}

int tt_meet_connect(const char *host, int port, double until, char *why, size_t size) {
  char number[12];
  struct addrinfo *all, hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  snprintf(number, sizeof number, "%d", port);
  const int error = getaddrinfo(host, number, &hint, &all);
  int fd = -1;
  if (error) {
    snprintf(why, size, "%s", error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    return -1;
  }
  for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
    const double limit = tt_seconds() + ONE_TRY;
    fd = try_address(a, limit < until ? limit : until);
    if (fd < 0) snprintf(why, size, "%s", strerror(errno));
  }
  freeaddrinfo(all);
  return fd;
}

/* Retry until one of its addresses answers or the limit passes: it may not be open yet. */
static tutti_status go(visit *v, const tt_rendezvous *r) {
  double asked = 0;
  char why[100] = "";
  for (useconds_t pause = 2000;; pause = pause < 50000 ? 2 * pause : 100000) {
    for (int i = 0; i < r->hosts && v->fd < 0; i++) {
      v->fd = tt_meet_connect(r->host[i], r->port, v->until, why, sizeof why);
      if (v->fd >= 0 || i == 0) snprintf(v->at, sizeof v->at, "%s:%d", r->host[i], r->port);
    }
    if (v->fd >= 0) return TUTTI_OK;
    if (errno == ECANCELED || tt_interrupted(&asked)) return tt_say_interrupted(WHO);
    if (tt_seconds() + 1e-6 * pause > v->until) break;
    usleep(pause);
  }
  return tt_fail(TUTTI_ERR_TIMEOUT,
                 "rank %u could not reach the rendezvous at %s%s: %s; does the process that opened "
                 "it run, and is the id right?",
                 v->hello.rank, v->at, r->hosts > 1 ? " or its other addresses" : "", why);
}

/* ---- protocol ---- */

static tutti_status broken(const visit *v, const char *what) {
  return tt_fail(errno == ETIMEDOUT ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_SYSTEM,
                 "rank %u: the rendezvous at %s %s", v->hello.rank, v->at, what);
}

static tutti_status send_fully(visit *v, const void *bytes, size_t n) {
  for (const char *at = bytes; n;) {
    const ssize_t part = send(v->fd, at, n, MSG_NOSIGNAL);
    if (part > 0) at += part, n -= (size_t)part;
    if (part < 0 && errno == EAGAIN && poll_until_ready(v->fd, POLLOUT, v->until + GRACE)) continue;
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return TUTTI_ERR_SYSTEM; /* it may have sent the reason */
  }
  return TUTTI_OK;
}

static tutti_status unheard(const visit *v, bool silent) {
  return tt_fail(
      silent ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_SYSTEM,
      "rank %u: the program that listens at %s %s: is it another job's rendezvous, or another "
      "program? TUTTI_PORT names another port",
      v->hello.rank, v->at,
      silent ? "does not answer as a rendezvous does" : "has closed the connection");
}

static tutti_status recv_fully(visit *v, void *bytes, size_t n, double until) {
  for (char *at = bytes; n;) {
    const ssize_t part = read(v->fd, at, n);
    if (part > 0) at += part, n -= (size_t)part;
    if (part > 0 || (part < 0 && errno == EINTR)) continue;
    if (part < 0 && errno == EAGAIN && poll_until_ready(v->fd, POLLIN, until)) continue;
    if (part < 0 && errno == ECANCELED) return tt_say_interrupted(WHO);
    if (!v->greeted) return unheard(v, part < 0 && errno == ETIMEDOUT);
    if (part < 0 && errno == ETIMEDOUT) return broken(v, "does not answer");
    errno = 0;
    return broken(v,
                  "has closed the connection: is it the one of this id, and does its process "
                  "still run?");
  }
  return TUTTI_OK;
}

static tutti_status foreign(const visit *v) {
  return tt_fail(
      TUTTI_ERR_SYSTEM,
      "rank %u: what answers at %s is no rendezvous of this version of tutti: is it another "
      "program? TUTTI_PORT names another port",
      v->hello.rank, v->at);
}

/* Read the message of a reply with an error status; both become this rank's error. */
static tutti_status take_sentence(visit *v, const tt_reply *reply, double until) {
  char text[400];
  const bool is_known = reply->status < 0 && reply->status >= TUTTI_ERR_UNSUPPORTED;
  if (!is_known || !reply->bytes || reply->bytes > sizeof text) return foreign(v);
  const tutti_status status = recv_fully(v, text, reply->bytes, until);
  if (status) return status;
  text[reply->bytes - 1] = 0;
  return tt_fail((tutti_status)reply->status, "%s", text);
}

/* Read the magic, or a reply with the reason for a refusal. */
static tutti_status read_magic(visit *v, double until) {
  tt_reply reply;
  const tutti_status status = recv_fully(v, &reply, sizeof reply, until);
  if (status || memcmp(&reply, TT_MEET_MAGIC, sizeof reply) == 0) return status;
  return take_sentence(v, &reply, until);
}

/* Each side proves that it knows the key; this side does so only after the other has. */
static tutti_status mutual_handshake(visit *v) {
  const double now = tt_seconds();
  const double until = tt_max(now + ONE_TRY, tt_min(v->until, now + GREETING));
  tt_challenge c;
  unsigned char proof[TT_DIGEST];
  send_fully(v, &v->hello, sizeof v->hello); /* on failure, read its reason first */
  tutti_status status = read_magic(v, until);
  if (!status) status = recv_fully(v, c.nonce, sizeof c - sizeof c.magic, until);
  if (status) return status;
  tt_prove_key(TT_RENDEZVOUS, v->key, &v->hello, c.nonce, proof);
  if (!tt_digest_same(proof, c.proof))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "rank %u: the process that listens at %s does not know this job's key: it is "
                   "another job's rendezvous, or somebody has taken the port; TUTTI_PORT names "
                   "another port, and TUTTI_KEY has to be the same on all ranks",
                   v->hello.rank, v->at);
  tt_prove_key(TT_VISITOR, v->key, &v->hello, c.nonce, proof);
  v->met = true;
  send_fully(v, proof, sizeof proof);
  return TUTTI_OK;
}

static tutti_status receive_gathered(visit *v, void *all, size_t bytes) {
  const double now = tt_seconds(), until = v->until + GRACE;
  tt_reply reply;
  tutti_status status = TUTTI_OK;
  if (!v->greeted) status = read_magic(v, tt_max(now + ONE_TRY, tt_min(v->until, now + GREETING)));
  v->greeted = !status;
  if (!status) status = recv_fully(v, &reply, sizeof reply, until);
  if (status) return status;
  if (reply.status) return take_sentence(v, &reply, until);
  return reply.bytes == bytes ? recv_fully(v, all, bytes, until) : foreign(v);
}

static tutti_status gather_at_rendezvous(tt_meeting *m, const void *mine, void *all, size_t bytes) {
  visit *v = m->self;
  const uint32_t n = (uint32_t)bytes;
  const tutti_status status = v->met ? TUTTI_OK : mutual_handshake(v);
  if (status) return status;
  if (!send_fully(v, &n, sizeof n)) send_fully(v, mine, bytes);
  return receive_gathered(v, all, bytes * (size_t)m->ranks); /* on failure, read its reason first */
}

static void end_visit(tt_meeting *m) {
  visit *v = m->self;
  if (v && v->fd >= 0) close(v->fd);
  free(v);
  m->self = NULL;
}

tutti_status tt_meet_visit(const tt_rendezvous *r, int rank, int ranks, double limit,
                           tt_meeting *m) {
  visit *v = calloc(1, sizeof *v);
  if (!v) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a rendezvous");
  *m = (tt_meeting){.rank = rank,
                    .ranks = ranks,
                    .limit = limit,
                    .gather = gather_at_rendezvous,
                    .end = end_visit,
                    .self = v};
  *v = (visit){.fd = -1,
               .until = tt_seconds() + limit,
               .hello = {.magic = TT_MEET_MAGIC,
                         .protocol = TT_MEET_PROTOCOL,
                         .rank = (uint32_t)rank,
                         .ranks = (uint32_t)ranks,
                         .limit_ms = (uint32_t)tt_min(1e3 * limit, 4e9)}};
  char host[65] = "";
  gethostname(host, sizeof host - 1);
  snprintf(v->hello.who, sizeof v->hello.who, "%s, pid %ld", host, (long)getpid());
  memcpy(v->key, r->key, TT_KEY);
  tutti_status status = tt_nonce(v->hello.nonce);
  if (!status) status = go(v, r);
  if (status) end_visit(m);
  return status;
}
