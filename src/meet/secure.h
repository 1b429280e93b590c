/* secure.h - what protects the bytes of a connection between hosts.
 *
 * Idea       Between hosts a connection is TLS's from its first byte (secure.c, and the library of tls/). Within a host it is plain.
 * Invariant  No byte is handed out before it is verified. After one that is wrong the connection is of no use.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SECURE_H
#define TT_SECURE_H

#include "meet.h"
#include "meet_line.h"
#include "tls_table.h"

typedef struct tt_secure tt_secure; /* of one end of a connection; NULL: it is plain */

/* As send(2) and recv(2) do on a nonblocking socket. EBADMSG: bytes were changed, repeated or left out on the way.
 * After EAGAIN, pass the same bytes in the next call to send, or the first of them. */
ssize_t tt_secure_send(tt_secure *x, int fd, const void *bytes, size_t n);
ssize_t tt_secure_recv(tt_secure *x, int fd, void *bytes, size_t n);
/* Bytes that tt_secure_recv has buffered; poll on the socket does not report them. */
size_t tt_secure_waiting(const tt_secure *x);
void tt_secure_drop(tt_secure **x);

/* A connection's end, where both travel together. */
typedef struct tt_connection {
  int fd;
  tt_secure *secure;
} tt_connection;

/* ---- TLS (secure.c, tls_open.c) ---- */

/* What TUTTI_TLS asks for; *tls NULL: nothing. TUTTI_ERR_ARG: an unknown word; TUTTI_ERR_SYSTEM: the library cannot be
 * loaded. */
tutti_status tt_tls_find(const tt_tls **tls);
/* The library. TUTTI_ERR_SYSTEM: it cannot be loaded. */
tutti_status tt_tls_load(const tt_tls **tls);
/* Does TUTTI_TLS ask for encrypted messages between ranks? */
bool tt_tls_all(void);
/* ... and this network has none: TUTTI_ERR_UNSUPPORTED. `network`: its name. */
tutti_status tt_tls_data(const char *network);
/* May a bootstrap's connection be plain: within a host, or if TUTTI_INSECURE=1 allows it? */
bool tt_tls_spared(int fd);
/* For its calling end; *tls NULL: it may be plain. TUTTI_ERR_SYSTEM: TLS cannot be used. */
tutti_status tt_tls_between(int fd, const tt_tls **tls);
/* The secret of one network of the ranks of this meeting. It is derived from the job's key and from `id`, which one rank
 * has drawn and the bootstrap has distributed. If the ranks have no key, it is derived from `id` alone, or, if `keyed`,
 * it is TUTTI_ERR_ARG. */
tutti_status tt_tls_job_secret(const tt_meeting *m, uint64_t id, bool keyed,
                               unsigned char secret[TT_TLS_SECRET]);
/* The secret of TLS that follows from a key. */
void tt_tls_secret(const char key[TT_KEY], unsigned char secret[TT_TLS_SECRET]);
/* The calling end: proves to know the secret of that name, as the other end does, before `until`, on tt_seconds' clock.
 * *how: a tt_tls_step, if not TT_TLS_DONE: why not; TT_TLS_READ: too late. NULL unless it is done. */
tt_secure *tt_tls_call(const tt_tls *tls, int fd, const char *name,
                       const unsigned char secret[TT_TLS_SECRET], double until, int *how);
/* The serving end; its part of the handshake takes place while it receives. NULL: out of memory. */
tt_secure *tt_tls_serve(const tt_tls *tls, int fd, tt_tls_find_fn *find, const void *ctx);
#define TT_MEET_TLS "tutti meeting" /* the name of the secret */
/* Does a first byte begin TLS? */
static inline bool tt_tls_begins(char byte) {
  return byte == 0x16; /* a record of type "handshake", RFC 8446, 5.1 */
}

#endif
