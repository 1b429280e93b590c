/* openssl.c - TLS 1.3 connections with OpenSSL, for libtutti (tls_table.h). Each side of a
 * connection is an `end`.
 *
 * Idea       Both ends know a secret, so the handshake needs no certificates: it uses the secret as an external
 *            pre-shared key, together with an elliptic-curve exchange (psk_dhe_ke).
 * Cost       The handshake takes one round trip and two curve multiplications at each end, about 0.2 ms. Afterwards each
 *            byte is encrypted with AES-GCM and copied. A bulk end has buffers of 128 KiB, and makes one eighth of the
 *            system calls: OpenSSL itself makes two to read a record, and one to write it.
 * Invariant  Connections use only TLS 1.3, and only a secret that both ends know; tickets and resumption are disabled. No
 *            call waits or raises SIGPIPE.
 * Source     RFC 8446; SSL_CTX_set_psk_use_session_callback(3), SSL_CTX_set_psk_find_session_callback(3).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include "late_ssl.h"
#include "tls_table.h"

enum { RECORD = 16 << 10, BULK = 4 * (RECORD + 64) };
static const char SUITES[] = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";

typedef struct end {
  SSL *ssl;
  int fd, broken;
  int ended;      /* the other end has closed the connection */
  size_t leaving; /* bytes of a send that returned EAGAIN */
  /* Buffers for bytes that were received from the socket, and for bytes to be sent. They are NULL unless this is a bulk
   * end. */
  char *in, *out;
  size_t in_at, in_have, out_at, out_have;
  /* The calling end uses the secret and its name. The serving end uses the function that looks up secrets. */
  char name[TT_TLS_NAME];
  unsigned char secret[TT_TLS_SECRET];
  tt_tls_find_fn *find;
  const void *ctx;
} end;

static SSL_CTX *context; /* shared by all ends; NULL if OpenSSL cannot be set up */
static char about[300];  /* OpenSSL's version, or the reason why the context is missing */
static BIO_METHOD *socket_method;

/* ---- transport: sockets without SIGPIPE ---- */

/* Sends all buffered bytes. Returns 0 if all were sent; otherwise returns -1 and sets errno, to EAGAIN if the socket is
 * full. */
static int flush_out(void *self) {
  end *e = self;
  while (e->out_at < e->out_have) {
    const ssize_t n =
        send(e->fd, e->out + e->out_at, e->out_have - e->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    e->out_at += (size_t)n;
  }
  e->out_at = e->out_have = 0;
  return 0;
}

static int socket_moved(BIO *b, ssize_t n) {
  BIO_clear_retry_flags(b);
  if (n >= 0) return (int)n;
  if (errno == EAGAIN || errno == EINTR) BIO_set_flags(b, BIO_FLAGS_SHOULD_RETRY);
  return -1;
}

/* Like send(2), for a bulk end: buffers as many bytes as fit. */
static ssize_t gather_out(end *e, const char *bytes, size_t n) {
  if (e->out_have == BULK && flush_out(e)) return -1;
  const size_t room = BULK - e->out_have, part = n < room ? n : room;
  memcpy(e->out + e->out_have, bytes, part);
  e->out_have += part;
  return (ssize_t)part;
}

/* Like recv(2), for a bulk end. */
static ssize_t take_in(end *e, char *bytes, size_t n) {
  if (e->in_at == e->in_have) {
    const ssize_t come = recv(e->fd, e->in, BULK, MSG_DONTWAIT);
    if (come <= 0) return come;
    e->in_at = 0;
    e->in_have = (size_t)come;
  }
  const size_t left = e->in_have - e->in_at, part = n < left ? n : left;
  memcpy(bytes, e->in + e->in_at, part);
  e->in_at += part;
  return (ssize_t)part;
}

static int write_socket(BIO *b, const char *bytes, int n) {
  end *e = BIO_get_data(b);
  const int moved =
      socket_moved(b, e->out ? gather_out(e, bytes, (size_t)n)
                             : send(e->fd, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT));
  if (moved < 0 && BIO_should_retry(b)) BIO_set_retry_write(b);
  return moved;
}

static int read_socket(BIO *b, char *bytes, int n) {
  end *e = BIO_get_data(b);
  const int moved = socket_moved(b, e->in ? take_in(e, bytes, (size_t)n)
                                          : recv(e->fd, bytes, (size_t)n, MSG_DONTWAIT));
  if (moved < 0 && BIO_should_retry(b)) BIO_set_retry_read(b);
  e->ended |= moved == 0;
  return moved;
}

/* Implements BIO_flush. OpenSSL calls it at the end of each flight of a handshake, and after an alert. */
static long control_socket(BIO *b, int command, long number, void *at) {
  end *e = BIO_get_data(b);
  (void)number, (void)at;
  if (command != BIO_CTRL_FLUSH) return 0;
  BIO_clear_retry_flags(b);
  if (!flush_out(e)) return 1;
  if (errno == EAGAIN) BIO_set_retry_write(b);
  return -1;
}

/* ---- secrets ---- */

/* Returns a TLS session with this secret, as if an earlier session were resumed. Returns NULL if out of memory. */
static SSL_SESSION *session_of(SSL *ssl, const unsigned char secret[TT_TLS_SECRET]) {
  static const unsigned char first_suite[] = {0x13, 0x01};
  SSL_SESSION *s = SSL_SESSION_new();
  const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, first_suite);
  if (s && suite && SSL_SESSION_set1_master_key(s, secret, TT_TLS_SECRET) &&
      SSL_SESSION_set_cipher(s, suite) && SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION))
    return s;
  SSL_SESSION_free(s);
  return NULL;
}

static int use_secret(SSL *ssl, const EVP_MD *md, const unsigned char **name, size_t *n,
                      SSL_SESSION **session) {
  const end *e = SSL_get_app_data(ssl);
  (void)md; /* all suites use the same digest */
  *session = session_of(ssl, e->secret);
  *name = (const unsigned char *)e->name;
  *n = strlen(e->name);
  return *session != NULL;
}

/* Looks up the secret with this name. If it does not exist, OpenSSL continues the handshake with certificates, and the
 * handshake fails because this end has no certificate. */
static int find_secret(SSL *ssl, const unsigned char *name, size_t n, SSL_SESSION **session) {
  const end *e = SSL_get_app_data(ssl);
  char text[TT_TLS_NAME];
  unsigned char secret[TT_TLS_SECRET];
  *session = NULL;
  if (n >= sizeof text) return 1;
  memcpy(text, name, n);
  text[n] = 0;
  if (!e->find(e->ctx, text, secret)) return 1;
  *session = session_of(ssl, secret);
  OPENSSL_cleanse(secret, sizeof secret);
  return *session != NULL;
}

/* ---- ends of connections ---- */

static void drop_end(void *self) {
  end *e = self;
  SSL_free(e->ssl);
  OPENSSL_free(e->in);
  OPENSSL_free(e->out);
  OPENSSL_cleanse(e, sizeof *e);
  OPENSSL_free(e);
}

static end *new_end(int fd) {
  end *e = OPENSSL_zalloc(sizeof *e);
  BIO *b = e ? BIO_new(socket_method) : NULL;
  if (b) e->ssl = SSL_new(context);
  if (!b || !e->ssl) {
    BIO_free(b);
    OPENSSL_free(e);
    return NULL;
  }
  e->fd = fd;
  BIO_set_data(b, e);
  BIO_set_init(b, 1);
  SSL_set_bio(e->ssl, b, b);
  SSL_set_app_data(e->ssl, e);
  return e;
}

static void *call_end(int fd, const char *name, const unsigned char secret[TT_TLS_SECRET]) {
  end *e = strlen(name) < TT_TLS_NAME ? new_end(fd) : NULL;
  if (!e) return NULL;
  strcpy(e->name, name);
  memcpy(e->secret, secret, TT_TLS_SECRET);
  SSL_set_connect_state(e->ssl);
  return e;
}

static void *serve_end(int fd, tt_tls_find_fn *find, const void *ctx) {
  end *e = new_end(fd);
  if (!e) return NULL;
  e->find = find;
  e->ctx = ctx;
  SSL_set_accept_state(e->ssl);
  return e;
}

static int shake_hands(void *self) {
  end *e = self;
  ERR_clear_error();
  const int done = SSL_do_handshake(e->ssl), error = SSL_get_error(e->ssl, done);
  if (done == 1) return TT_TLS_DONE;
  if (error == SSL_ERROR_WANT_READ) return TT_TLS_READ;
  if (error == SSL_ERROR_WANT_WRITE) return TT_TLS_WRITE;
  if (error != SSL_ERROR_SSL || e->ended) return TT_TLS_CLOSED;
  switch (ERR_GET_REASON(ERR_peek_error())) {
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:     /* it has a different secret with this name */
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE: /* it has no secret with this name, and no certificate
                                                 either */
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
    case SSL_R_TLSV1_ALERT_UNKNOWN_PSK_IDENTITY: return TT_TLS_KEY;
    default: return TT_TLS_FOREIGN;
  }
}

/* Returns the result of an OpenSSL call that transferred nothing. An error of the socket ends only one direction, because a
 * socket that can no longer be written may still have unread data. An error of the protocol ends both directions. */
static ssize_t nothing(end *e, int returned) {
  const int error = errno, why = SSL_get_error(e->ssl, returned);
  if (why == SSL_ERROR_ZERO_RETURN || e->ended) return 0;
  if (why == SSL_ERROR_SYSCALL) return errno = error, -1;
  errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EAGAIN : EBADMSG;
  if (errno == EBADMSG) e->broken = errno;
  return -1;
}

static ssize_t send_bytes(void *self, const void *bytes, size_t n) {
  end *e = self;
  size_t sent = 0;
  if (e->broken) return errno = e->broken, -1;
  ERR_clear_error();
  /* while a record is being sent, only its length matters */
  const size_t want = e->leaving ? e->leaving : n < RECORD ? n : RECORD;
  const int done = SSL_write_ex(e->ssl, bytes, want, &sent);
  e->leaving = done == 1 ? 0 : want;
  return done == 1 ? (ssize_t)sent : nothing(e, done);
}

static ssize_t recv_bytes(void *self, void *bytes, size_t n) {
  end *e = self;
  size_t come = 0;
  if (e->broken) return errno = e->broken, -1;
  ERR_clear_error();
  const int done = SSL_read_ex(e->ssl, bytes, n, &come);
  return done == 1 ? (ssize_t)come : nothing(e, done);
}

static size_t pending(void *self) {
  const end *e = self;
  return (size_t)SSL_pending(e->ssl) + e->in_have - e->in_at;
}

static int make_bulk(void *self) {
  end *e = self;
  if (!e->in) e->in = OPENSSL_malloc(BULK);
  if (!e->out) e->out = OPENSSL_malloc(BULK);
  return e->in && e->out;
}

/* ---- the library ---- */

static void set_up(void) {
  if (!find_ssl(about, sizeof about)) return;
  snprintf(about, sizeof about, "OpenSSL cannot be set up");
  socket_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tutti socket");
  SSL_CTX *c = SSL_CTX_new(TLS_method());
  if (!socket_method || !c || !SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) ||
      !SSL_CTX_set_ciphersuites(c, SUITES)) {
    SSL_CTX_free(c);
    return;
  }
  BIO_meth_set_write(socket_method, write_socket);
  BIO_meth_set_read(socket_method, read_socket);
  BIO_meth_set_ctrl(socket_method, control_socket);
  SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_psk_use_session_callback(c, use_secret);
  SSL_CTX_set_psk_find_session_callback(c, find_secret);
  snprintf(about, sizeof about, "%s", OpenSSL_version(OPENSSL_VERSION));
  context = c;
}

__attribute__((visibility("default"))) const tt_tls *tutti_tls_of(void);

const tt_tls *tutti_tls_of(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  static const tt_tls table = {.size = sizeof table,
                               .name = about,
                               .call = call_end,
                               .serve = serve_end,
                               .greet = shake_hands,
                               .send = send_bytes,
                               .recv = recv_bytes,
                               .waiting = pending,
                               .bulk = make_bulk,
                               .flush = flush_out,
                               .drop = drop_end};
  static const tt_tls none = {.size = sizeof none, .name = about};
  pthread_once(&once, set_up);
  return context ? &table : &none;
}
