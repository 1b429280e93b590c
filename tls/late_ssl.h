/* late_ssl.h - the OpenSSL functions that openssl.c calls. They are looked up when TLS is first
 * used.
 *
 * Idea       libtutti_tls.so loads the system's OpenSSL 3 at run time, so it can be installed on systems without
 *            OpenSSL. In a file that includes this header, the names of these functions refer to entries of a table.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TLS_LATE_SSL_H
#define TLS_LATE_SSL_H

#include <dlfcn.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>

/* clang-format off */
#define SSL_FUNCTIONS(X) \
  X(BIO_clear_flags) X(BIO_free) X(BIO_get_data) X(BIO_get_new_index) X(BIO_meth_new) \
  X(BIO_meth_set_ctrl) X(BIO_meth_set_read) X(BIO_meth_set_write) X(BIO_new) X(BIO_set_data) \
  X(BIO_set_flags) X(BIO_set_init) X(BIO_test_flags) X(CRYPTO_free) X(CRYPTO_malloc) \
  X(CRYPTO_zalloc) X(ERR_clear_error) X(ERR_peek_error) X(OPENSSL_cleanse) X(OpenSSL_version) \
  X(SSL_CIPHER_find) X(SSL_CTX_ctrl) X(SSL_CTX_free) X(SSL_CTX_new) X(SSL_CTX_set_ciphersuites) \
  X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_psk_find_session_callback) \
  X(SSL_CTX_set_psk_use_session_callback) X(SSL_SESSION_free) X(SSL_SESSION_new) \
  X(SSL_SESSION_set1_master_key) X(SSL_SESSION_set_cipher) X(SSL_SESSION_set_protocol_version) \
  X(SSL_do_handshake) X(SSL_free) X(SSL_get_error) X(SSL_get_ex_data) X(SSL_new) X(SSL_pending) \
  X(SSL_read_ex) X(SSL_set_accept_state) X(SSL_set_bio) X(SSL_set_connect_state) \
  X(SSL_set_ex_data) X(SSL_write_ex) X(TLS_method)
/* clang-format on */

static struct {
#define X(name) __typeof__(&name) name;
  SSL_FUNCTIONS(X)
#undef X
} late;

/* Fills in the table of OpenSSL's functions. If this system does not have OpenSSL 3, or one of the functions is missing,
 * writes a sentence to `why` and returns 0. */
static int find_ssl(char *why, size_t size) {
  void *ssl = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!ssl) {
    snprintf(why, size, "it needs OpenSSL 3, which cannot be loaded: %.160s (Debian's package libssl3)",
             dlerror());
    return 0;
  }
#define X(name)                                                              \
  if (!(*(void **)&late.name = dlsym(ssl, #name))) {                         \
    snprintf(why, size, "this system's OpenSSL has no function %s", #name); \
    return 0;                                                                \
  }
  SSL_FUNCTIONS(X)
#undef X
  return 1;
}

#define BIO_clear_flags                       late.BIO_clear_flags
#define BIO_free                              late.BIO_free
#define BIO_get_data                          late.BIO_get_data
#define BIO_get_new_index                     late.BIO_get_new_index
#define BIO_meth_new                          late.BIO_meth_new
#define BIO_meth_set_ctrl                     late.BIO_meth_set_ctrl
#define BIO_meth_set_read                     late.BIO_meth_set_read
#define BIO_meth_set_write                    late.BIO_meth_set_write
#define BIO_new                               late.BIO_new
#define BIO_set_data                          late.BIO_set_data
#define BIO_set_flags                         late.BIO_set_flags
#define BIO_set_init                          late.BIO_set_init
#define BIO_test_flags                        late.BIO_test_flags
#define CRYPTO_free                           late.CRYPTO_free
#define CRYPTO_malloc                         late.CRYPTO_malloc
#define CRYPTO_zalloc                         late.CRYPTO_zalloc
#define ERR_clear_error                       late.ERR_clear_error
#define ERR_peek_error                        late.ERR_peek_error
#define OPENSSL_cleanse                       late.OPENSSL_cleanse
#define OpenSSL_version                       late.OpenSSL_version
#define SSL_CIPHER_find                       late.SSL_CIPHER_find
#define SSL_CTX_ctrl                          late.SSL_CTX_ctrl
#define SSL_CTX_free                          late.SSL_CTX_free
#define SSL_CTX_new                           late.SSL_CTX_new
#define SSL_CTX_set_ciphersuites              late.SSL_CTX_set_ciphersuites
#define SSL_CTX_set_num_tickets               late.SSL_CTX_set_num_tickets
#define SSL_CTX_set_psk_find_session_callback late.SSL_CTX_set_psk_find_session_callback
#define SSL_CTX_set_psk_use_session_callback  late.SSL_CTX_set_psk_use_session_callback
#define SSL_SESSION_free                      late.SSL_SESSION_free
#define SSL_SESSION_new                       late.SSL_SESSION_new
#define SSL_SESSION_set1_master_key           late.SSL_SESSION_set1_master_key
#define SSL_SESSION_set_cipher                late.SSL_SESSION_set_cipher
#define SSL_SESSION_set_protocol_version      late.SSL_SESSION_set_protocol_version
#define SSL_do_handshake                      late.SSL_do_handshake
#define SSL_free                              late.SSL_free
#define SSL_get_error                         late.SSL_get_error
#define SSL_get_ex_data                       late.SSL_get_ex_data
#define SSL_new                               late.SSL_new
#define SSL_pending                           late.SSL_pending
#define SSL_read_ex                           late.SSL_read_ex
#define SSL_set_accept_state                  late.SSL_set_accept_state
#define SSL_set_bio                           late.SSL_set_bio
#define SSL_set_connect_state                 late.SSL_set_connect_state
#define SSL_set_ex_data                       late.SSL_set_ex_data
#define SSL_write_ex                          late.SSL_write_ex
#define TLS_method                            late.TLS_method

#endif
