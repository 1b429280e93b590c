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

/* These functions work like send(2) and recv(2) on a nonblocking socket. They fail with EBADMSG if data was changed, repeated
 * or omitted in transit. After EAGAIN, the next call to tt_secure_send must pass the same bytes, or the first of them. */
ssize_t tt_secure_send(tt_secure *x, int fd, const void *bytes, size_t n);
ssize_t tt_secure_recv(tt_secure *x, int fd, void *bytes, size_t n);
/* Returns the number of bytes that tt_secure_recv has already buffered. A poll of the socket does not report these bytes. */
size_t tt_secure_waiting(const tt_secure *x);
void tt_secure_drop(tt_secure **x);

/* One end of a connection, which consists of a socket and its TLS state. */
typedef struct tt_connection {
  int fd;
  tt_secure *secure;
} tt_connection;

/* ---- TLS (secure.c, tls_open.c) ---- */

/* Finds the TLS library if TUTTI_TLS requests it, and otherwise sets *tls to NULL. Returns TUTTI_ERR_ARG if the
 * value of TUTTI_TLS is unknown, or TUTTI_ERR_SYSTEM if the library cannot be loaded. */
tutti_status tt_tls_find(const tt_tls **tls);
/* Loads the TLS library. Returns TUTTI_ERR_SYSTEM if it cannot be loaded. */
tutti_status tt_tls_load(const tt_tls **tls);
/* Returns true if TUTTI_TLS requests encrypted messages between ranks. */
bool tt_tls_all(void);
/* Called for a network that cannot encrypt messages. Returns TUTTI_ERR_UNSUPPORTED if TUTTI_TLS requests encryption.
 * network: name of the network. */
tutti_status tt_tls_data(const char *network);
/* Returns true if this connection of the bootstrap may do without TLS: within a host, or if TUTTI_INSECURE=1 is set. */
bool tt_tls_spared(int fd);
/* Finds the TLS library for the end that opens this connection. Sets *tls to NULL if the connection may do without
 * TLS. Returns TUTTI_ERR_SYSTEM if TLS is required and cannot be used. */
tutti_status tt_tls_between(int fd, const tt_tls **tls);
/* Computes the secret for one network of the job, from the job's key and the number `id`, which one rank has drawn
 * at random and the bootstrap has distributed. If the ranks have no key, returns TUTTI_ERR_ARG if `keyed`, and
 * otherwise computes the secret from `id` alone. */
tutti_status tt_tls_job_secret(const tt_meeting *m, uint64_t id, bool keyed,
                               unsigned char secret[TT_TLS_SECRET]);
/* Derives the TLS secret from a key. */
void tt_tls_secret(const char key[TT_KEY], unsigned char secret[TT_TLS_SECRET]);
/* Performs the TLS handshake at the end that has opened the connection. In the handshake both ends prove that they know
 * the secret called `name`. until: time limit on the clock of tt_seconds. On failure returns NULL and sets *how to the
 * reason, a tt_tls_step: TT_TLS_READ or TT_TLS_WRITE if the time has run out, TT_TLS_DONE if out of memory. */
tt_secure *tt_tls_call(const tt_tls *tls, int fd, const char *name,
                       const unsigned char secret[TT_TLS_SECRET], double until, int *how);
/* Creates the TLS state for the end that has accepted the connection. The handshake takes place while this end
 * receives. Returns NULL if out of memory. */
tt_secure *tt_tls_serve(const tt_tls *tls, int fd, tt_tls_find_fn *find, const void *ctx);
#define TT_MEET_TLS "tutti meeting" /* the name of the secret */
/* Returns true if a connection that starts with this byte uses TLS. */
static inline bool tt_tls_begins(char byte) {
  return byte == 0x16; /* a record of type "handshake", RFC 8446, 5.1 */
}

#endif
