/* tls_table.h - the functions that libtutti_tls.so provides to libtutti: ends of TLS connections.
 *
 * Idea       libtutti depends only on libc. If TUTTI_TLS requests TLS, or a connection needs it, libtutti loads this
 *            library by name. Both ends know a named secret (a pre-shared key of TLS 1.3). The calling end sends the
 *            name.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TLS_TABLE_H
#define TT_TLS_TABLE_H

#include <stddef.h>
#include <sys/types.h>

enum { TT_TLS_SECRET = 32 /* bytes */, TT_TLS_NAME = 64 /* characters */ };

/* The state of a handshake. */
typedef enum tt_tls_step {
  TT_TLS_DONE,
  TT_TLS_READ,   /* wait until the socket is readable */
  TT_TLS_WRITE,  /* wait until the socket is writable */
  TT_TLS_CLOSED, /* the other end has closed the connection */
  TT_TLS_KEY,    /* the other end has a different secret, or none of that name */
  TT_TLS_FOREIGN /* the other end does not speak TLS 1.3 */
} tt_tls_step;

/* Writes the secret called `name` to `secret`. Returns 0 if the name is unknown. */
typedef int tt_tls_find_fn(const void *ctx, const char *name, unsigned char secret[TT_TLS_SECRET]);

/* Functions of a TLS library. One end of a connection must be used by one thread at a time. The socket is
 * nonblocking, and is closed by the caller. */
typedef struct tt_tls {
  size_t size;      /* of this struct */
  const char *name; /* "OpenSSL 3.0.19" */
  void *(*call)(int fd, const char *name,
                const unsigned char secret[TT_TLS_SECRET]);      /* returns NULL if out of memory */
  void *(*serve)(int fd, tt_tls_find_fn *find, const void *ctx); /* returns NULL if out of memory */
  int (*greet)(void *end); /* for the calling end: call until TT_TLS_DONE; returns a tt_tls_step */
  /* These functions work like send(2) and recv(2), but fail with EBADMSG if TLS rejects the data. After EAGAIN, send
   * must be called again with the same bytes. It may then return a number greater than n: the size passed in the
   * earlier call. recv returns 0 at the end of the connection. */
  ssize_t (*send)(void *end, const void *bytes, size_t n);
  ssize_t (*recv)(void *end, void *bytes, size_t n);
  size_t (*waiting)(void *end); /* bytes that recv can return without the socket */
  /* bulk makes send and recv pass several records per system call, for many long messages. It returns false if out
   * of memory. Bytes that send has accepted may then remain in this process until flush returns 0. If flush cannot
   * send all of them, it returns -1 with errno as for send. */
  int (*bulk)(void *end);
  int (*flush)(void *end);
  void (*drop)(void *end);
} tt_tls;

/* Name of the function that a TLS library exports: `const tt_tls *tutti_tls_of(void)`. If TLS cannot be used, all
 * function pointers in the table are NULL, and `name` contains the reason. */
#define TT_TLS_OF "tutti_tls_of"

#endif
