/* meet_line.c - the calling end of a bootstrap connection: connecting, proving the key, receiving.
 *
 * Invariant  It gives up when the time limit of the bootstrap has passed, with a little more time for the answer.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "meet_line.h"

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

#include "listen.h"
#include "reach.h"
#include "secure.h"

enum { SLICE_MS = 20 };
static const char WHO[] = "tutti_comm_create";
static const double ONE_TRY = 2, GRACE = 5; /* in seconds */

tt_meet_line tt_meet_line_new(const tt_rendezvous *r, int rank, int ranks, double limit) {
  tt_meet_line l = {.fd = -1,
                    .until = tt_seconds() + limit,
                    .open = r->open,
                    .hello = {.magic = TT_MEET_MAGIC,
                              .protocol = TT_MEET_PROTOCOL,
                              .rank = (uint32_t)rank,
                              .ranks = (uint32_t)ranks,
                              .limit_ms = (uint32_t)tt_min(1e3 * limit, 4e9)}};
  char name[65] = "";
  gethostname(name, sizeof name - 1);
  snprintf(l.hello.who, sizeof l.hello.who, "%s, pid %ld", name, (long)getpid());
  memcpy(l.key, r->key, TT_KEY);
  return l;
}

/* ---- connecting ---- */

bool tt_meet_ready(int fd, short events, double until, tt_long_wait *wait) {
  double asked = 0;
  for (;;) {
    struct pollfd p = {.fd = fd, .events = events};
    const double left = until - tt_seconds();
    double most = tt_may_be_interrupted() ? SLICE_MS : 2e9;
    if (wait) {
      tt_long_wait_for(wait, "the ranks that it meets");
      most = tt_min(most, 1e3 * tt_long_wait_due(wait));
    }
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

/* Connects to a single address. Returns -1 with errno on failure. */
static int try_address(const struct addrinfo *a, double until) {
  const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1;
  if (fd < 0) return -1;
  int error = 0;
  socklen_t n = sizeof error;
  if (connect(fd, a->ai_addr, a->ai_addrlen)) error = errno;
  if (error == EINPROGRESS) {
    error = 0;
    if (!tt_meet_ready(fd, POLLOUT, until, NULL))
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

/* Connects to a link-local address that has no zone, by trying one link of this host after the other. */
static int try_links(const struct addrinfo *a, unsigned *link, double until) {
  struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)a->ai_addr;
  unsigned links[TT_LINKS];
  const int n = tt_reach_links(*link, links);
  int fd = -1;
  errno = ENETUNREACH;
  for (int k = 0; k < n && fd < 0; k++) {
    const double limit = tt_seconds() + ONE_TRY;
    six->sin6_scope_id = links[k];
    fd = try_address(a, limit < until ? limit : until);
    if (fd >= 0) *link = links[k];
    if (errno == ECANCELED) break;
  }
  return fd;
}

static bool lacks_link(const struct addrinfo *a) {
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)a->ai_addr;
  return a->ai_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr) && !six->sin6_scope_id;
}

/* Looks up the addresses of a host. If the host's name contains a zone that does not exist on this host, ignores the zone. */
static int addresses_of(const char *host, int port, struct addrinfo **all) {
  const struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
  char number[12], bare[NI_MAXHOST];
  snprintf(number, sizeof number, "%d", port);
  snprintf(bare, sizeof bare, "%s", host);
  tt_reach_strip(bare);
  const int error = getaddrinfo(host, number, &hint, all);
  return error && strchr(host, '%') ? getaddrinfo(bare, number, &hint, all) : error;
}

int tt_meet_connect(const char *host, int port, unsigned *link, double until, char *why,
                    size_t size) {
  struct addrinfo *all;
  const int error = addresses_of(host, port, &all);
  int fd = -1;
  if (error) {
    snprintf(why, size, "%s", error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
    return -1;
  }
  for (struct addrinfo *a = all; a && fd < 0; a = a->ai_next) {
    const double limit = tt_seconds() + ONE_TRY;
    const bool each = lacks_link(a);
    fd = each ? try_links(a, link, until) : try_address(a, limit < until ? limit : until);
    if (fd >= 0 && !each) *link = tt_link_of(a->ai_addr);
    if (fd < 0) snprintf(why, size, "%s", strerror(errno));
  }
  freeaddrinfo(all);
  return fd;
}

tutti_status tt_meet_dial(tt_meet_line *l, const tt_rendezvous *r) {
  double asked = 0;
  char why[100] = "";
  for (useconds_t pause = 2000;; pause = pause < 50000 ? 2 * pause : 100000) {
    for (int i = 0; i < r->hosts && l->fd < 0; i++) {
      l->fd = tt_meet_connect(r->host[i], r->port, &l->link, l->until, why, sizeof why);
      if (l->fd >= 0 || i == 0) tt_port_text(r->host[i], r->port, l->at, sizeof l->at);
    }
    if (l->fd >= 0) return TUTTI_OK;
    if (errno == ECANCELED || tt_interrupted(&asked)) return tt_say_interrupted(WHO);
    if (tt_seconds() + 1e-6 * pause > l->until) break;
    usleep(pause);
  }
  return tt_fail(TUTTI_ERR_TIMEOUT,
                 "rank %u could not reach the rendezvous at %s%s: %s; does the process that opened "
                 "it run, and is the id right?",
                 l->hello.rank, l->at, r->hosts > 1 ? " or its other addresses" : "", why);
}

/* ---- bytes ---- */

static tutti_status broken(const tt_meet_line *l, const char *what) {
  if (l->agent && l->gone)
    return tt_fail(TUTTI_ERR_PEER_LOST,
                   "rank %u: process %d, which connects the ranks of this host with the others, has ended",
                   l->hello.rank, l->agent);
  return tt_fail(errno == ETIMEDOUT ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_SYSTEM,
                 "rank %u: the rendezvous at %s %s", l->hello.rank, l->at, what);
}

bool tt_meet_send(tt_meet_line *l, const void *bytes, size_t n) {
  for (const char *at = bytes; n;) {
    const ssize_t part = tt_secure_send(l->secure, l->fd, at, n);
    if (part > 0) at += part, n -= (size_t)part;
    if (part < 0 && errno == EAGAIN && tt_meet_ready(l->fd, POLLOUT, l->until + GRACE, NULL))
      continue;
    if (part < 0 && errno == EINTR) continue;
    if (part < 0) return false;
  }
  return true;
}

tutti_status tt_meet_send_frame(tt_meet_line *l, int kind, const void *head, size_t n,
                                const void *bytes, size_t more) {
  const tt_meet_frame frame = {(uint32_t)kind, (uint32_t)(n + more)};
  char *all = malloc(sizeof frame + n + more);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", n + more);
  memcpy(all, &frame, sizeof frame);
  if (n) memcpy(all + sizeof frame, head, n);
  if (more) memcpy(all + sizeof frame + n, bytes, more);
  tt_meet_send(l, all, sizeof frame + n + more);
  free(all);
  return TUTTI_OK;
}

static tutti_status unheard(const tt_meet_line *l, bool silent) {
  return tt_fail(
      silent ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_SYSTEM,
      "rank %u: the program that listens at %s %s: is it another job's rendezvous, or another "
      "program? TUTTI_PORT names another port",
      l->hello.rank, l->at,
      silent ? "does not answer as a rendezvous does" : "has closed the connection");
}

static tutti_status changed(const tt_meet_line *l) {
  return tt_fail(
      TUTTI_ERR_SYSTEM,
      "rank %u: bytes from the rendezvous at %s were changed or repeated on their way, so this rank has ended the bootstrap: somebody between the hosts tampers with packets",
      l->hello.rank, l->at);
}

static tutti_status receive(tt_meet_line *l, void *bytes, size_t n, double until,
                            tt_long_wait *wait) {
  for (char *at = bytes; n;) {
    const ssize_t part = tt_secure_recv(l->secure, l->fd, at, n);
    if (part > 0) at += part, n -= (size_t)part;
    if (part > 0 || (part < 0 && errno == EINTR)) continue;
    if (part < 0 && errno == EAGAIN && tt_meet_ready(l->fd, POLLIN, until, wait)) continue;
    if (part < 0 && errno == ECANCELED) return tt_say_interrupted(WHO);
    if (part < 0 && errno == EBADMSG) return changed(l);
    l->gone = part == 0 || errno != ETIMEDOUT;
    if (!l->greeted && !l->agent) return unheard(l, !l->gone);
    if (!l->gone) return broken(l, "does not answer");
    errno = 0;
    return broken(l,
                  "has closed the connection: is it the one of this id, and does its process "
                  "still run?");
  }
  return TUTTI_OK;
}

/* A rank waits for other ranks only in this function, because their data arrives in a reply from the agent of this
 * rank or from the rendezvous. */
tutti_status tt_meet_recv(tt_meet_line *l, void *bytes, size_t n, double until) {
  tt_long_wait wait = tt_long_wait_begin(WHO);
  const tutti_status status = receive(l, bytes, n, until, &wait);
  tt_long_wait_end(&wait);
  return status;
}

/* ---- the handshake ---- */

/* Returns the error for an untrusted listener. */
static tutti_status distrusts(const tt_meet_line *l) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %u: what listens at %s is on another host, or another user's, and anybody "
                 "can compute the "
                 "key of this job: set TUTTI_KEY to the same secret on all ranks, or, on a network "
                 "that only you "
                 "use, TUTTI_INSECURE=1",
                 l->hello.rank, l->at);
}

/* Returns the error for a listener that closed the connection before the kernel showed whose it is. */
static tutti_status left_unknown(const tt_meet_line *l) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %u: what listens at %s has closed the connection. If it is another user's, "
                 "set TUTTI_KEY to the same secret on all ranks, or, on a network that only you "
                 "use, TUTTI_INSECURE=1; if it is another program, TUTTI_PORT names another port",
                 l->hello.rank, l->at);
}

tutti_status tt_meet_unknowing(const tt_meet_line *l) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "rank %u: the process that listens at %s does not know this job's key: it is "
                 "another job's rendezvous, or somebody has taken the port; TUTTI_PORT names "
                 "another port, and TUTTI_KEY has to be the same on all ranks",
                 l->hello.rank, l->at);
}

tutti_status tt_meet_foreign(const tt_meet_line *l) {
  return tt_fail(
      TUTTI_ERR_SYSTEM,
      "rank %u: the program that answers at %s is not a rendezvous of this version of tutti; if it "
      "is another program, set TUTTI_PORT to another port",
      l->hello.rank, l->at);
}

tutti_status tt_meet_sentence(tt_meet_line *l, const tt_reply *reply, double until) {
  char text[400];
  const bool is_known = reply->status < 0 && reply->status >= TUTTI_ERR_UNSUPPORTED;
  if (!is_known || !reply->bytes || reply->bytes > sizeof text) return tt_meet_foreign(l);
  const tutti_status status = tt_meet_recv(l, text, reply->bytes, until);
  if (status) return status;
  text[reply->bytes - 1] = 0;
  return tt_fail((tutti_status)reply->status, "%s", text);
}

/* Reads either the magic number or a reply with the reason for a refusal. */
static tutti_status read_magic(tt_meet_line *l, double until) {
  tt_reply reply;
  const tutti_status status = tt_meet_recv(l, &reply, sizeof reply, until);
  if (status || memcmp(&reply, TT_MEET_MAGIC, sizeof reply) == 0) return status;
  return tt_meet_sentence(l, &reply, until);
}

/* Starts TLS, if the connection is between hosts. All later data is then sent through TLS. */
static tutti_status begin_tls(tt_meet_line *l, double until) {
  const tt_tls *tls;
  unsigned char secret[TT_TLS_SECRET];
  int how;
  const tutti_status status = tt_tls_between(l->fd, &tls);
  if (status) return tt_fail(status, "rank %u: %s", l->hello.rank, tutti_error());
  if (!tls) return TUTTI_OK;
  tt_tls_secret(l->key, secret);
  l->secure = tt_tls_call(tls, l->fd, TT_MEET_TLS, secret, until, &how);
  if (l->secure) return TUTTI_OK;
  if (how == TT_TLS_KEY) return tt_meet_unknowing(l);
  if (how == TT_TLS_DONE) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for TLS");
  if (how == TT_TLS_FOREIGN)
    return tt_fail(
        TUTTI_ERR_SYSTEM,
        "rank %u: the program that listens at %s does not speak TLS: it needs OpenSSL 3 there, "
        "too (Debian's package libssl3); or is it another program? TUTTI_PORT names another port",
        l->hello.rank, l->at);
  l->gone = how == TT_TLS_CLOSED;
  return unheard(l, !l->gone);
}

tutti_status tt_meet_prove(tt_meet_line *l, double patience) {
  const double now = tt_seconds();
  const double most = l->until < now + patience ? l->until : now + patience;
  const double until = most > now + ONE_TRY ? most : now + ONE_TRY;
  tt_challenge c;
  unsigned char proof[TT_DIGEST];
  const tt_trust trust = l->open ? tt_trust_of(l->fd) : TT_TRUSTED;
  if (trust == TT_UNTRUSTED) return distrusts(l);
  tutti_status status = begin_tls(l, until);
  if (!status) status = tt_nonce(l->hello.nonce);
  if (!status) tt_meet_send(l, &l->hello, sizeof l->hello); /* on failure, read its reason first */
  if (!status) status = read_magic(l, until);
  if (!status) status = tt_meet_recv(l, c.nonce, sizeof c - sizeof c.magic, until);
  if (status) return l->gone && trust == TT_NOT_KNOWN ? left_unknown(l) : status;
  if (trust == TT_NOT_KNOWN && !tt_trusts(l->fd)) return distrusts(l); /* now it has accepted */
  tt_prove_key(TT_RENDEZVOUS, l->key, &l->hello, c.nonce, proof);
  if (!tt_digest_same(proof, c.proof)) return tt_meet_unknowing(l);
  tt_prove_key(TT_VISITOR, l->key, &l->hello, c.nonce, proof);
  tt_meet_send(l, proof, sizeof proof);
  status = read_magic(l, until);
  l->greeted = !status;
  return status;
}
