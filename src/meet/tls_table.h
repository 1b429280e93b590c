/* tls_table.h - functions of the library libtutti_tls.so for libtutti: ends of TLS connections.
 *
 * Idea       libtutti depends on libc alone. If TUTTI_TLS asks for TLS, it loads this library by name. Both ends know a
 *            secret that has a name (a pre-shared key of TLS 1.3). The calling end sends the name.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TLS_TABLE_H
#define TT_TLS_TABLE_H

#include <stddef.h>
#include <sys/types.h>

enum { TT_TLS_SECRET = 32 /* bytes */, TT_TLS_NAME = 64 /* characters */ };

/* Of a handshake. */
typedef enum tt_tls_step {
  TT_TLS_DONE,
  TT_TLS_READ,   /* wait until the socket can be read */
  TT_TLS_WRITE,  /* ... or written */
  TT_TLS_CLOSED, /* the other end has closed the connection */
  TT_TLS_KEY,    /* the other end has a different secret, or no secret of that name */
  TT_TLS_FOREIGN /* the other end does not speak TLS 1.3 */
} tt_tls_step;

/* Fills in the secret of that name; returns 0: no such name is known. */
typedef int tt_tls_find_fn(const void *ctx, const char *name, unsigned char secret[TT_TLS_SECRET]);

/* An end belongs to one thread at a time. Its socket is nonblocking, and stays the caller's. */
typedef struct tt_tls {
  size_t size;      /* of this struct */
  const char *name; /* "OpenSSL 3.0.19" */
  void *(*call)(int fd, const char *name,
                const unsigned char secret[TT_TLS_SECRET]);      /* NULL: out of memory */
  void *(*serve)(int fd, tt_tls_find_fn *find, const void *ctx); /* NULL: out of memory */
  int (*greet)(void *end); /* on the calling end, until TT_TLS_DONE; a tt_tls_step */
  /* As send(2) and recv(2), with EBADMSG for data that TLS rejects. After EAGAIN send must be called with the same bytes;
   * it may then return more than n: as many as the call before brought. recv: 0: the end. */
  ssize_t (*send)(void *end, const void *bytes, size_t n);
  ssize_t (*recv)(void *end, void *bytes, size_t n);
  size_t (*waiting)(void *end); /* bytes that recv has without the socket */
  /* For many long messages: later calls of send and recv pass several records per system call. Bytes that send has taken
   * may wait in this process until flush returns 0; -1 and errno as send. False: out of memory. */
  int (*bulk)(void *end);
  int (*flush)(void *end);
  void (*drop)(void *end);
} tt_tls;

/* The library exports `const tt_tls *tutti_tls_of(void)`. If TLS cannot be used, all functions are NULL, and `name` is the reason. */
#define TT_TLS_OF "tutti_tls_of"

#endif
