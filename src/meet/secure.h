/* secure.h - protection of the data on a connection between hosts.
 *
 * Idea       A connection between hosts uses TLS from its first byte (secure.c, and the library in tls/). Within a
 *            host it is plain.
 * Invariant  No byte is delivered before it is verified. After an invalid byte the connection is unusable.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SECURE_H
#define TT_SECURE_H

#include "meet.h"
#include "meet_line.h"
#include "tls_table.h"

typedef struct tt_secure tt_secure; /* one end of a connection; NULL: plain */

/* Like send(2) and recv(2) on a nonblocking socket. EBADMSG: data was changed, repeated or omitted in transit. After
 * EAGAIN, the next call to send must pass the same bytes, or the first of them. */
ssize_t tt_secure_send(tt_secure *x, int fd, const void *bytes, size_t n);
ssize_t tt_secure_recv(tt_secure *x, int fd, void *bytes, size_t n);
/* Returns the number of bytes that tt_secure_recv has buffered. Polling the socket does not report them. */
size_t tt_secure_waiting(const tt_secure *x);
void tt_secure_drop(tt_secure **x);

/* One end of a connection: its socket and its TLS state. */
typedef struct tt_connection {
  int fd;
  tt_secure *secure;
} tt_connection;

/* ---- TLS (secure.c, tls_open.c) ---- */

/* Finds the TLS library if TUTTI_TLS requests it; otherwise sets *tls to NULL. Returns TUTTI_ERR_ARG if the variable
 * has an unknown value, or TUTTI_ERR_SYSTEM if the library cannot be loaded. */
tutti_status tt_tls_find(const tt_tls **tls);
/* Loads the TLS library. Returns TUTTI_ERR_SYSTEM if it cannot be loaded. */
tutti_status tt_tls_load(const tt_tls **tls);
/* Returns true if TUTTI_TLS requests encrypted messages between ranks. */
bool tt_tls_all(void);
/* Called for a network that cannot encrypt: returns TUTTI_ERR_UNSUPPORTED if TUTTI_TLS requests encryption. network:
 * its name. */
tutti_status tt_tls_data(const char *network);
/* Returns true if a connection of the bootstrap may be plain: within a host, or if TUTTI_INSECURE=1 allows it. */
bool tt_tls_spared(int fd);
/* Finds the TLS library for the calling end of this connection; *tls is NULL if it may be plain. Returns
 * TUTTI_ERR_SYSTEM if TLS is needed and cannot be used. */
tutti_status tt_tls_between(int fd, const tt_tls **tls);
/* Computes the secret of one network of these ranks. It is derived from the job's key and from `id`, which one rank
 * has drawn and the bootstrap has distributed. If the ranks have no key, it is derived from `id` alone, or, with
 * `keyed`, the function returns TUTTI_ERR_ARG. */
tutti_status tt_tls_job_secret(const tt_meeting *m, uint64_t id, bool keyed,
                               unsigned char secret[TT_TLS_SECRET]);
/* Derives the TLS secret from a key. */
void tt_tls_secret(const char key[TT_KEY], unsigned char secret[TT_TLS_SECRET]);
/* Performs the handshake at the calling end, by which both ends prove that they know the secret of that name. until:
 * time limit, on the clock of tt_seconds. On failure returns NULL, with the reason in *how, a tt_tls_step:
 * TT_TLS_READ or TT_TLS_WRITE if time ran out, TT_TLS_DONE if out of memory. */
tt_secure *tt_tls_call(const tt_tls *tls, int fd, const char *name,
                       const unsigned char secret[TT_TLS_SECRET], double until, int *how);
/* Creates the serving end, which performs its part of the handshake while it receives. Returns NULL if out of
 * memory. */
tt_secure *tt_tls_serve(const tt_tls *tls, int fd, tt_tls_find_fn *find, const void *ctx);
#define TT_MEET_TLS "tutti meeting" /* the name of the secret */
/* Returns true if a connection with this first byte uses TLS. */
static inline bool tt_tls_begins(char byte) {
  return byte == 0x16; /* a record of type "handshake", RFC 8446, 5.1 */
}

#endif
