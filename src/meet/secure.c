/* secure.c - connections between hosts: which of them use TLS, their secrets, and their data.
 *
 * Idea       The two ends of a connection share a secret derived from the job's key, so they need no certificates. A
 *            TLS 1.3 handshake with a pre-shared key proves to each end that the other knows the secret. A fresh
 *            Diffie-Hellman exchange keeps recorded data secret even if the key becomes known later. Connections
 *            within a host need no TLS (trust.c).
 * Invariant  A bootstrap uses TLS between hosts, unless the user allows unprotected connections (TUTTI_INSECURE=1).
 *            If TUTTI_TLS requests it, it uses TLS for all connections.
 * Source     RFC 8446, 2.2 and 4.2.9 (psk_dhe_ke).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "secure.h"

/* ---- which connections use TLS ---- */

bool tt_tls_all(void) {
  const char *asked = tt_env("TUTTI_TLS");
  return asked && strcmp(asked, "all") == 0;
}

tutti_status tt_tls_data(const char *network) {
  if (!tt_tls_all()) return TUTTI_OK;
  return tt_fail(
      TUTTI_ERR_UNSUPPORTED,
      "TUTTI_TLS=all: %.60s does not encrypt what ranks on several hosts send each other; "
      "TUTTI_NET=tls does, with TUTTI_KEY where an MPI starts the ranks",
      network);
}

tutti_status tt_tls_find(const tt_tls **tls) {
  const char *asked = tt_env("TUTTI_TLS");
  *tls = NULL;
  if (!asked) return TUTTI_OK;
  if (tt_tls_all()) return tt_tls_load(tls);
  return tt_fail(
      TUTTI_ERR_ARG,
      "TUTTI_TLS=%.40s: expected all, which encrypts everything that ranks send to other hosts",
      asked);
}

bool tt_tls_spared(int fd) {
  return !tt_tls_all() && (tt_is_here(fd) || tt_env_int("TUTTI_INSECURE", 0, 1, 0) == 1);
}

tutti_status tt_tls_between(int fd, const tt_tls **tls) {
  const tutti_status status = tt_tls_find(tls);
  if (status || *tls || tt_tls_spared(fd) || !tt_tls_load(tls)) return status;
  return tt_fail(TUTTI_ERR_SYSTEM,
                 "%.300s; ranks on several hosts need it, or, on a network that only you use, "
                 "TUTTI_INSECURE=1 on all of them, which allows connections without TLS",
                 tutti_error());
}

/* ---- secrets ---- */

void tt_tls_secret(const char key[TT_KEY], unsigned char secret[TT_TLS_SECRET]) {
  static const char what[] = "tutti tls 1";
  const tt_piece piece = {what, sizeof what};
  _Static_assert((int)TT_TLS_SECRET == (int)TT_DIGEST, "a secret is a digest");
  tt_hmac(key, TT_KEY, &piece, 1, secret);
}

/* Finds the key of the job. This is the key of the bootstrap if it has one, or the key in TUTTI_ID, or a key derived
 * from TUTTI_KEY. If none of them exists, returns an error if `keyed`, and otherwise sets the key to zeros. */
static tutti_status find_job_key(const tt_meeting *m, bool keyed, char key[TT_KEY]) {
  const char *id = tt_env("TUTTI_ID"), *text = tt_env("TUTTI_KEY");
  tt_rendezvous r;
  memcpy(key, m->key, TT_KEY);
  if (m->keyed) return TUTTI_OK;
  if (id) {
    const tutti_status status = tt_rendezvous_read(id, &r);
    if (!status) memcpy(key, r.key, TT_KEY);
    return status;
  }
  memset(key, 0, TT_KEY);
  if (!text && !keyed) return TUTTI_OK;
  if (!text)
    return tt_fail(TUTTI_ERR_ARG,
                   "the network needs a secret, and these ranks have none, because they met by a "
                   "store, a gather, PMIx or an MPI: set TUTTI_KEY to the same text on all ranks");
  unsigned char digest[TT_DIGEST];
  tt_key_look("TUTTI_KEY", text);
  const tt_piece piece = {text, strlen(text)};
  tt_hmac("tutti job 1", sizeof "tutti job 1", &piece, 1, digest);
  memcpy(key, digest, TT_KEY);
  return TUTTI_OK;
}

tutti_status tt_tls_job_secret(const tt_meeting *m, uint64_t id, bool keyed,
                               unsigned char secret[TT_TLS_SECRET]) {
  static const char what[] = "tutti data 1";
  const tt_piece pieces[] = {{what, sizeof what}, {&id, sizeof id}};
  char key[TT_KEY];
  const tutti_status status = find_job_key(m, keyed, key);
  if (!status) tt_hmac(key, TT_KEY, pieces, 2, secret);
  explicit_bzero(key, sizeof key);
  return status;
}

/* ---- one end of a connection ---- */

struct tt_secure {
  const tt_tls *tls;
  void *end;
  size_t ahead; /* bytes already sent that the caller will pass again */
};

ssize_t tt_secure_send(tt_secure *x, int fd, const void *bytes, size_t n) {
  if (!x) return send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (!n) return 0;
  if (!x->ahead) {
    const ssize_t left = x->tls->send(x->end, bytes, n);
    if (left <= 0) return left;
    x->ahead = (size_t)left;
  }
  const size_t taken = tt_min(x->ahead, n);
  x->ahead -= taken;
  return (ssize_t)taken;
}

ssize_t tt_secure_recv(tt_secure *x, int fd, void *bytes, size_t n) {
  return x ? x->tls->recv(x->end, bytes, n) : recv(fd, bytes, n, MSG_DONTWAIT);
}

size_t tt_secure_waiting(const tt_secure *x) {
  return x ? x->tls->waiting(x->end) : 0;
}

void tt_secure_drop(tt_secure **x) {
  if (*x) (*x)->tls->drop((*x)->end);
  free(*x);
  *x = NULL;
}

/* Takes over `end`. Returns NULL if out of memory. */
static tt_secure *secured(const tt_tls *tls, void *end) {
  tt_secure *x = end ? malloc(sizeof *x) : NULL;
  if (!x && end) tls->drop(end);
  if (x) *x = (tt_secure){tls, end, 0};
  return x;
}

tt_secure *tt_tls_call(const tt_tls *tls, int fd, const char *name,
                       const unsigned char secret[TT_TLS_SECRET], double until, int *how) {
  void *end = tls->call(fd, name, secret);
  *how = end ? tls->greet(end) : TT_TLS_CLOSED;
  while (*how == TT_TLS_READ || *how == TT_TLS_WRITE) {
    if (!tt_meet_ready(fd, *how == TT_TLS_READ ? POLLIN : POLLOUT, until, NULL)) break;
    *how = tls->greet(end);
  }
  if (end && *how != TT_TLS_DONE) {
    const int error = errno;
    tls->drop(end);
    errno = error;
    return NULL;
  }
  return secured(tls, end);
}

tt_secure *tt_tls_serve(const tt_tls *tls, int fd, tt_tls_find_fn *find, const void *ctx) {
  return secured(tls, tls->serve(fd, find, ctx));
}
