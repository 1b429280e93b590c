/* aggregator_visit.c - a rank connects to an aggregator. This is the client of serve.c.
 *
 * Invariant  The rank gives up when the limit has passed. It proves that it knows the key only after the
 *            daemon has done so.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aggregator.h"
#include "listen.h"
#include "long_wait.h"

static const double QUEUE = 1.6e-3; /* longest queue on a host's link, in seconds */
/* Minimum and maximum size of a connection's buffer, in bytes. The minimum holds a few packets of the largest size that the
 * system makes. Most systems allow the maximum. */
static const double LEAST_BUFFER = 32 << 10, MOST_BUFFER = 200 << 10;

typedef struct visit {
  int fd;
  tt_secure *secure;
  double until;
  const char *where;
} visit;

static bool await(const visit *v, short events) {
  struct pollfd p = {.fd = v->fd, .events = events};
  const double left = v->until - tt_seconds();
  return left > 0 && poll(&p, 1, (int)(1e3 * left) + 1) >= 0;
}

static tutti_status no_answer(const visit *v, bool late) {
  return tt_fail(late ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_SYSTEM, "what listens at %s %s", v->where,
                 late ? "does not answer as an aggregator does"
                      : "has closed the connection: without TUTTI_KEY an aggregator serves its own "
                        "user on its own host");
}

static tutti_status send_whole(const visit *v, const void *bytes, size_t n) {
  for (const char *at = bytes; n;) {
    const ssize_t part = tt_secure_send(v->secure, v->fd, at, n);
    if (part > 0) at += part, n -= (size_t)part;
    if (part >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return no_answer(v, false);
    if (!await(v, POLLOUT)) return no_answer(v, true);
  }
  return TUTTI_OK;
}

static tutti_status recv_whole(const visit *v, void *bytes, size_t n) {
  for (char *at = bytes; n;) {
    const ssize_t part = tt_secure_recv(v->secure, v->fd, at, n);
    if (part > 0) at += part, n -= (size_t)part;
    if (part > 0 || (part < 0 && errno == EINTR)) continue;
    if (part == 0 || errno != EAGAIN) return no_answer(v, false);
    if (!await(v, POLLIN)) return no_answer(v, true);
  }
  return TUTTI_OK;
}

static tutti_status other_key(const visit *v) {
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "the aggregator at %s has another key: TUTTI_KEY has to be "
                 "the same in its environment and in the job's",
                 v->where);
}

/* Switches the connection to TLS, if TUTTI_TLS requests TLS. */
static tutti_status begin_tls_there(visit *v, uint64_t session, const char key[TT_KEY + 1]) {
  const tt_tls *tls;
  char name[TT_TLS_NAME];
  unsigned char secret[TT_TLS_SECRET];
  int how;
  const tutti_status status = tt_tls_find(&tls);
  if (status || !tls) return status;
  tt_aggregator_tls_name(session, name);
  tt_tls_secret(key, secret);
  v->secure = tt_tls_call(tls, v->fd, name, secret, v->until, &how);
  if (v->secure) return TUTTI_OK;
  if (how == TT_TLS_KEY) return other_key(v);
  if (how == TT_TLS_FOREIGN)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the aggregator at %s does not speak TLS: TUTTI_TLS has to be the same in its "
                   "environment and in the job's",
                   v->where);
  if (how == TT_TLS_DONE) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for TLS");
  return no_answer(v, how != TT_TLS_CLOSED);
}

static tutti_status read_challenge(const visit *v, tt_aggregator_challenge *c) {
  const tutti_status status = recv_whole(v, c, sizeof *c);
  if (status) return status;
  const bool speaks = memcmp(c->magic, TT_AGGREGATOR_MAGIC, sizeof c->magic) == 0;
  if (speaks && c->protocol == TT_AGGREGATOR_TLS)
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the aggregator at %s speaks TLS only: TUTTI_TLS has to be the same in its "
                   "environment and in the job's",
                   v->where);
  if (speaks && c->protocol == TT_AGGREGATOR_PROTOCOL) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the program that listens at %s is not an aggregator of this version of tutti",
                 v->where);
}

static tutti_status read_answer(const visit *v, const char key[TT_KEY + 1],
                                const tt_aggregator_hello *hello,
                                const tt_aggregator_challenge *c) {
  tt_aggregator_answer answer;
  unsigned char proof[TT_DIGEST];
  const tutti_status status = recv_whole(v, &answer, sizeof answer);
  if (status) return status;
  tt_aggregator_prove(TT_ANSWERS, key, hello, c->nonce, &answer.status,
                      sizeof answer - sizeof proof, proof);
  if (!tt_digest_same(proof, answer.proof))
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "the answer of the aggregator at %s was changed on its way: somebody between it "
                   "and this host changes packets",
                   v->where);
  answer.why[sizeof answer.why - 1] = 0;
  if (!answer.status) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "the aggregator at %s refuses: %s", v->where, answer.why);
}

static tutti_status distrusts(const visit *v) {
  return tt_fail(
      TUTTI_ERR_SYSTEM,
      "the aggregator at %s is on another host, or another user's: set TUTTI_KEY to the same "
      "secret in its environment and in the job's, or, on a network that only you use, "
      "TUTTI_INSECURE=1",
      v->where);
}

/* unsure: whether the daemon is trusted is known once it has answered. */
static tutti_status take_seat(visit *v, const tt_aggregator_seat *seat, const char key[TT_KEY + 1],
                              bool unsure) {
  char host[65] = "";
  tt_aggregator_hello hello = {.magic = TT_AGGREGATOR_MAGIC,
                               .protocol = TT_AGGREGATOR_PROTOCOL,
                               .session = seat->session[0]};
  tt_aggregator_challenge c;
  tt_aggregator_request request = {.seat = *seat};
  unsigned char proof[TT_DIGEST];
  gethostname(host, sizeof host - 1);
  snprintf(request.who, sizeof request.who, "%s, pid %ld", host, (long)getpid());
  tutti_status status = begin_tls_there(v, seat->session[0], key);
  if (!status) status = tt_nonce(hello.nonce);
  if (!status) status = send_whole(v, &hello, sizeof hello);
  if (!status) status = read_challenge(v, &c);
  if (unsure && !tt_trusts(v->fd)) status = distrusts(v);
  if (status) return status;
  tt_aggregator_prove(TT_CHALLENGES, key, &hello, c.nonce, NULL, 0, proof);
  if (!tt_digest_same(proof, c.proof)) return other_key(v);
  tt_aggregator_prove(TT_REQUESTS, key, &hello, c.nonce, &request.seat,
                      sizeof request - sizeof proof, request.proof);
  status = send_whole(v, &request, sizeof request);
  return status ? status : read_answer(v, key, &hello, &c);
}

void tt_aggregator_set_options(int fd) {
  static const char control[] = "cubic";
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control, sizeof control - 1);
}

void tt_aggregator_queue(int fd, double beta) {
  const double bytes = beta > 0 ? QUEUE / beta : 0;
  const int most = (int)bytes;
  if (bytes >= LEAST_BUFFER && bytes <= MOST_BUFFER)
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
}

void tt_aggregator_pace(int fd, double rate) {
  const uint32_t most = rate > 0 && rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
  setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &most, sizeof most);
}

/* Enables TCP keepalive, so that the kernel detects the failure of the host while no data is being sent. While data is being
 * sent, aggregator_wire.c detects such a failure. */
static void watch_silence(int fd) {
  const int silence = (int)tt_env_int("TUTTI_SILENCE", 0, 86400, 30), one = 1, count = 3;
  const int idle = silence > count ? silence / count : 1;
  if (!silence) return;
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

tutti_status tt_aggregator_look_up(const char *where, char at[TT_ABOVES][TT_AGGREGATOR_WHERE]) {
  const struct addrinfo hint = {.ai_socktype = SOCK_STREAM};
  char host[64], address[TT_ADDRESS];
  int port, n = 0;
  struct addrinfo *all;
  const tutti_status status = tt_aggregator_read(where, host, &port);
  if (status) return status;
  const int error = getaddrinfo(host, NULL, &hint, &all);
  if (error)
    return tt_fail(TUTTI_ERR_SYSTEM, "the aggregator above, %s, is not found: %s", where,
                   error == EAI_SYSTEM ? strerror(errno) : gai_strerror(error));
  for (const struct addrinfo *a = all; a && n < TT_ABOVES; a = a->ai_next)
    if (tt_address_text(a->ai_addr, address))
      tt_port_text(address, port, at[n++], TT_AGGREGATOR_WHERE);
  freeaddrinfo(all);
  return TUTTI_OK;
}

tutti_status tt_aggregator_visit(const char *where, const tt_aggregator_seat *seat, bool open,
                                 const char key[TT_KEY + 1], double limit, tt_connection *to) {
  char host[64], why[100] = "";
  int port;
  unsigned link = 0;
  visit v = {.fd = -1, .until = tt_seconds() + limit, .where = where};
  tt_long_wait wait = tt_long_wait_begin("making a communicator");
  tutti_status status = tt_aggregator_read(where, host, &port);
  if (status) return status;
  tt_long_wait_show(&wait, "the aggregator at %s", where);
  v.fd = tt_meet_connect(host, port, &link, v.until, why, sizeof why);
  if (v.fd < 0) {
    tt_long_wait_end(&wait);
    return tt_fail(TUTTI_ERR_SYSTEM, "no aggregator at %s: %s", where, why);
  }
  tt_aggregator_set_options(v.fd);
  watch_silence(v.fd);
  const tt_trust trust = open ? tt_trust_of(v.fd) : TT_TRUSTED;
  if (trust == TT_UNTRUSTED)
    status = distrusts(&v);
  else
    status = take_seat(&v, seat, key, trust == TT_NOT_KNOWN);
  tt_long_wait_end(&wait);
  if (status) {
    tt_secure_drop(&v.secure);
    close(v.fd);
  } else {
    *to = (tt_connection){v.fd, v.secure};
  }
  return status;
}
