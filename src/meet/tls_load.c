/* tls_load.c - reads TUTTI_TLS, derives the secrets, and opens connections of the rendezvous over TLS.
 *
 * Idea       The two ends of a connection share a secret, which follows from the job's key, so they need no certificates.
 *            A TLS 1.3 handshake with a pre-shared key proves to each end that the other knows it. A fresh
 *            Diffie-Hellman exchange keeps recorded data secret if the key becomes known later.
 * Invariant  If TUTTI_TLS is set, all data of a bootstrap is sent over TLS.
 * Source     RFC 8446, 2.2 and 4.2.9 (psk_dhe_ke).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "secure.h"

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
  if (strcmp(asked, "meeting") == 0 || strcmp(asked, "all") == 0) return tt_tls_load(tls);
  return tt_fail(
      TUTTI_ERR_ARG,
      "TUTTI_TLS=%.40s: expected meeting, which encrypts the meeting and the way to aggregators, "
      "or all, which also encrypts what ranks on several hosts send each other",
      asked);
}

void tt_tls_secret(const char key[TT_KEY], unsigned char secret[TT_TLS_SECRET]) {
  static const char what[] = "tutti tls 1";
  const tt_piece piece = {what, sizeof what};
  _Static_assert((int)TT_TLS_SECRET == (int)TT_DIGEST, "a secret is a digest");
  tt_hmac(key, TT_KEY, &piece, 1, secret);
}

/* The job's key: the meeting's; or that of tutti run, where ranks and joiners meet through the ranks' own messages; or
 * TUTTI_KEY. Unless `keyed`, ranks without a key have zeros. */
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

/* ---- an end ---- */

typedef struct tls_end {
  tt_secure secure;
  const tt_tls *tls;
  void *end;
} tls_end;

static ssize_t send_tls(tt_secure *x, int fd, const void *bytes, size_t n) {
  const tls_end *e = (const tls_end *)x;
  (void)fd;
  return e->tls->send(e->end, bytes, n);
}

static ssize_t recv_tls(tt_secure *x, int fd, void *bytes, size_t n) {
  const tls_end *e = (const tls_end *)x;
  (void)fd;
  return e->tls->recv(e->end, bytes, n);
}

static size_t waiting_tls(const tt_secure *x) {
  const tls_end *e = (const tls_end *)x;
  return e->tls->waiting(e->end);
}

static void drop_tls(tt_secure *x) {
  tls_end *e = (tls_end *)x;
  e->tls->drop(e->end);
  free(e);
}

static const tt_secure_ops tls_ops = {
    .send = send_tls, .recv = recv_tls, .waiting = waiting_tls, .drop = drop_tls};

/* Takes the end over; NULL: out of memory. */
static tt_secure *secured(const tt_tls *tls, void *end) {
  tls_end *e = end ? malloc(sizeof *e) : NULL;
  if (!e && end) tls->drop(end);
  if (!e) return NULL;
  *e = (tls_end){{.ops = &tls_ops}, tls, end};
  return &e->secure;
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
