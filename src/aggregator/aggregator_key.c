/* aggregator_key.c - how a job and an aggregator prove to each other that they know the key.
 *
 * Idea       The key is a digest of a text that both have, TUTTI_KEY. Without a text, anyone can compute the key: it
 *            then keeps out other programs, but no user. Each rank of a job derives the key of a communicator's sessions
 *            from it and from a number that the first rank draws. Only that number is transmitted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregator.h"

static void write_digits(const unsigned char digest[TT_DIGEST], char key[TT_KEY + 1]) {
  for (int i = 0; i < TT_KEY / 2; i++) snprintf(key + 2 * i, 3, "%02x", digest[i]);
}

void tt_aggregator_key(const char *text, char key[TT_KEY + 1]) {
  static const char what[] = "tutti aggregator";
  unsigned char digest[TT_DIGEST];
  tt_sha256 s;
  const char *name = text ? "the key given to tutti_aggregator_serve" : "TUTTI_KEY";
  if (!text) text = tt_env("TUTTI_KEY");
  if (text && *text) tt_key_look(name, text);
  tt_sha256_begin(&s);
  tt_sha256_add(&s, what, sizeof what);
  if (text) tt_sha256_add(&s, text, strlen(text));
  tt_sha256_end(&s, digest);
  write_digits(digest, key);
}

void tt_aggregator_session_key(const char key[TT_KEY + 1], uint64_t session,
                               char of_session[TT_KEY + 1]) {
  static const char what[] = "tutti session 1";
  unsigned char digest[TT_DIGEST];
  const tt_piece pieces[] = {{what, sizeof what}, {&session, sizeof session}};
  tt_hmac(key, TT_KEY, pieces, 2, digest);
  write_digits(digest, of_session);
}

void tt_aggregator_prove(tt_aggregator_word word, const char key[TT_KEY],
                         const tt_aggregator_hello *hello, const unsigned char nonce[TT_DIGEST],
                         const void *text, size_t n, unsigned char proof[TT_DIGEST]) {
  static const char words[3][20] = {[TT_CHALLENGES] = "tutti aggregator 2",
                                    [TT_REQUESTS] = "tutti summand 2",
                                    [TT_ANSWERS] = "tutti answer 2"};
  const tt_piece pieces[] = {
      {words[word], sizeof words[word]}, {hello, sizeof *hello}, {nonce, TT_DIGEST}, {text, n}};
  tt_hmac(key, TT_KEY, pieces, 4, proof);
}

static const char TLS_NAME[] = "tutti session ";

void tt_aggregator_tls_name(uint64_t session, char name[TT_TLS_NAME]) {
  snprintf(name, TT_TLS_NAME, "%s%016" PRIx64, TLS_NAME, session);
}

bool tt_aggregator_tls_session(const char *name, uint64_t *session) {
  char right[TT_TLS_NAME];
  if (strncmp(name, TLS_NAME, sizeof TLS_NAME - 1) != 0) return false;
  *session = strtoull(name + sizeof TLS_NAME - 1, NULL, 16);
  tt_aggregator_tls_name(*session, right);
  return strcmp(name, right) == 0;
}

tutti_status tt_aggregator_read(const char *text, char host[64], int *port) {
  const bool six = *text == '[';
  const char *from = six ? text + 1 : text, *end = six ? strchr(from, ']') : strchr(from, ':');
  if (!six && end && strchr(end + 1, ':')) end = NULL; /* an IPv6 address without brackets */
  const size_t n = end ? (size_t)(end - from) : strlen(from);
  const char *rest = end ? end + six : from + n;
  *port = TT_AGGREGATOR_PORT;
  bool fits = n > 0 && n < 64 && (end || !six) && !memchr(from, ',', n);
  if (fits && *rest == ':') {
    char *last;
    const long number = strtol(rest + 1, &last, 10);
    fits = last != rest + 1 && !*last && number >= 1 && number <= 65535;
    *port = (int)number;
  } else {
    fits &= !*rest;
  }
  if (!fits)
    return tt_fail(TUTTI_ERR_ARG,
                   "'%.80s' is not the address of an aggregator: expected HOST, HOST:PORT or "
                   "[ADDRESS]:PORT",
                   text);
  snprintf(host, 64, "%.*s", (int)n, from);
  return TUTTI_OK;
}
