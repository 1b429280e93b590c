/* id.c - the id of a rendezvous, "HOST[,HOST...]:PORT:KEY", and proofs of its key.
 *
 * Idea       The id lists all addresses of a host, because only the reader can find out which of them it can reach.
 *            The key proves that a process belongs to the job.
 * Proof      Challenge and response: each side computes a keyed digest of all that both sides have sent so far,
 *            including the nonces, and of a string for its own role.
 * Invariant  The rendezvous proves itself first, so a process that has taken its port learns nothing from the ranks
 *            that connect. A proof is useless for any other pair of nonces, and for the other role.
 * Source     ISO/IEC 9798-4, mutual authentication by a keyed check function in three passes.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "meet_service.h"
#include "reach.h"
#include "tutti_launch.h"

static tutti_status id_syntax_error(const char *text, const char *why) {
  return tt_fail(TUTTI_ERR_ARG, "'%.80s' is not the id of a rendezvous (HOST:PORT:KEY): %s", text, why);
}

/* Parses one host in the text of an id, and drops the brackets around an IPv6 address. Returns the end of the host
 * in the text, or NULL if the host is malformed. */
static const char *read_host(const char *at, const char *end, char *host) {
  const char *last = memchr(at, ',', (size_t)(end - at));
  if (!last) last = end;
  const char *from = *at == '[' ? at + 1 : at, *to = *at == '[' ? last - 1 : last;
  if (to <= from || to - from > 63 || (*at == '[' && *to != ']')) return NULL;
  memcpy(host, from, (size_t)(to - from));
  host[to - from] = 0;
  return last;
}

tutti_status tt_rendezvous_read(const char *text, tt_rendezvous *r) {
  const char *key = strrchr(text, ':'), *port = key;
  while (port > text && *--port != ':') continue;
  if (!key || port == text) return id_syntax_error(text, "it lacks a part");
  char *end;
  const long number = strtol(port + 1, &end, 10);
  *r = (tt_rendezvous){.port = (int)number};
  if (end != key || number < 1 || number > 65535)
    return id_syntax_error(text, "the port is not a number from 1 to 65535");
  if (strlen(key + 1) != TT_KEY) return id_syntax_error(text, "the key has not 32 characters");
  memcpy(r->key, key + 1, TT_KEY);
  for (const char *at = text - 1; at < port;) {
    if (r->hosts == TT_HOSTS) return id_syntax_error(text, "there are more than 8 hosts");
    at = read_host(at + 1, port, r->host[r->hosts++]);
    if (!at) return id_syntax_error(text, "there is a host without a name");
  }
  return TUTTI_OK;
}

void tt_rendezvous_write(const tt_rendezvous *r, tutti_id *id) {
  size_t n = 0;
  memset(id, 0, sizeof *id);
  for (int i = 0; i < r->hosts && n + 80 < sizeof id->text; i++) {
    const bool six = strchr(r->host[i], ':');
    n += (size_t)snprintf(id->text + n, sizeof id->text - n, "%s%s%s%s", i ? "," : "",
                          six ? "[" : "", r->host[i], six ? "]" : "");
  }
  snprintf(id->text + n, sizeof id->text - n, ":%d:%s", r->port, r->key);
}

/* ---- proofs ---- */

tutti_status tt_nonce(unsigned char nonce[TT_DIGEST]) {
  if (getrandom(nonce, TT_DIGEST, 0) == TT_DIGEST) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_SYSTEM, "no random numbers for a rendezvous");
}

void tt_prove_key(tt_side_of side, const char key[TT_KEY], const tt_hello *hello,
                  const unsigned char nonce[TT_DIGEST], unsigned char proof[TT_DIGEST]) {
  static const char roles[2][16] = {
      [TT_RENDEZVOUS] = "tutti meeting 3", [TT_VISITOR] = "tutti visitor 3"};
  const tt_piece pieces[] = {
      {roles[side], sizeof roles[side]}, {hello, sizeof *hello}, {nonce, TT_DIGEST}};
  tt_hmac(key, TT_KEY, pieces, 3, proof);
}

/* ---- the id of this process ---- */

void tt_rendezvous_key(tt_rendezvous *r, const unsigned char bits[TT_KEY / 2]) {
  for (int i = 0; i < TT_KEY / 2; i++) snprintf(r->key + 2 * i, 3, "%02x", bits[i]);
}

static void take_names(const char *names, tt_rendezvous *r) {
  for (const char *end; *names && r->hosts < TT_HOSTS; names = *end ? end + 1 : end) {
    end = names + strcspn(names, ",");
    snprintf(r->host[r->hosts], sizeof r->host[0], "%.*s", (int)tt_min((size_t)(end - names), 63),
             names);
    tt_reach_strip(r->host[r->hosts]);
    if (*r->host[r->hosts]) r->hosts++;
  }
}

void tt_addresses_here(tt_rendezvous *r) {
  struct sockaddr_storage asked;
  struct ifaddrs *all = NULL;
  if (r->hosts < TT_HOSTS && !tt_interface(&asked, r->host[r->hosts]) && *r->host[r->hosts]) {
    r->hosts++;
    return;
  }
  if (getifaddrs(&all)) all = NULL;
  for (tt_reach_kind reach = TT_REACH_4; reach <= TT_REACH_LINK; reach++) {
    if (reach == TT_REACH_LINK && r->hosts) break; /* prefer addresses that work on all links */
    for (struct ifaddrs *a = all; a && r->hosts < TT_HOSTS; a = a->ifa_next)
      if (tt_reach_of(a) == reach) r->hosts += tt_address_text(a->ifa_addr, r->host[r->hosts]);
  }
  if (all) freeifaddrs(all);
  if (!r->hosts) snprintf(r->host[r->hosts++], sizeof r->host[0], "127.0.0.1");
}

tutti_status tt_rendezvous_name(tt_rendezvous *r) {
  const char *names = tt_env("TUTTI_ADDR");
  if (!r->hosts && names) take_names(names, r);
  if (!r->hosts) tt_addresses_here(r);
  if (*r->key) return TUTTI_OK;
  unsigned char bits[TT_KEY / 2];
  if (getrandom(bits, sizeof bits, 0) != sizeof bits)
    return tt_fail(TUTTI_ERR_SYSTEM, "no random numbers for the key of a rendezvous");
  tt_rendezvous_key(r, bits);
  return TUTTI_OK;
}

/* Opens a rendezvous. ranks: number of ranks at the start of the job if the rendezvous outlasts the first bootstrap;
 * 0 if it ends with the first bootstrap. */
static tutti_status open_rendezvous(const char *function, int ranks, int joiners,
                                    tutti_id *id) {
  tutti_status status = tt_args_given(function, "id", id, NULL, NULL);
  if (status) return status;
  tt_rendezvous r = {.port = (int)tt_env_int("TUTTI_PORT", 0, 65535, 0), .ranks = ranks, .joiners = joiners};
  pthread_t thread;
  if ((status = tt_rendezvous_serve(&r, ranks > 0, &thread))) return status;
  pthread_detach(thread);
  tt_rendezvous_write(&r, id);
  return TUTTI_OK;
}

tutti_status tutti_unique_id(tutti_id *id) {
  return open_rendezvous("tutti_unique_id", 0, 0, id);
}

tutti_status tutti_unique_id_lasting(tutti_id *id) {
  return open_rendezvous("tutti_unique_id_lasting", 1, 0, id);
}

tutti_status tutti_unique_id_growing(int ranks, int newcomers, tutti_id *id) {
  if (newcomers < 1 || ranks < 1 || ranks > TT_MEET_RANKS)
    return tt_fail(TUTTI_ERR_ARG, "tutti_unique_id_growing: %d ranks and %d joiners; at most %d ranks can be served",
                   ranks, newcomers, TT_MEET_RANKS);
  return open_rendezvous("tutti_unique_id_growing", ranks, newcomers, id);
}
