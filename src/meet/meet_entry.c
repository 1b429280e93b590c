/* meet_entry.c - authentication of peers, and their admission to a bootstrap.
 *
 * Idea       A peer first sends a hello with its rank and the number of ranks; then both sides prove that they know
 *            the key (id.c). A rank of this host sends its proof together with the hello, and is then a member. An
 *            agent of another host uses TLS (secure.h). A peer that returns before the others have left waits until
 *            they have.
 * Invariant  A peer without the key cannot take part and learns nothing about the job.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "meet_service.h"
#include "secure.h"

/* ---- TLS ---- */

static int find_secret(const void *service, const char *name, unsigned char secret[TT_TLS_SECRET]) {
  const tt_service *s = service;
  if (strcmp(name, TT_MEET_TLS) != 0) return 0;
  tt_tls_secret(s->key, secret);
  return 1;
}

void tt_entry_first_byte(tt_service *s, tt_meet_peer *g) {
  const tt_tls *tls;
  char byte;
  if (recv(g->fd, &byte, 1, MSG_PEEK) != 1 || !tt_tls_begins(byte)) return;
  if (!tt_tls_load(&tls)) {
    g->secure = tt_tls_serve(tls, g->fd, find_secret, s);
    return;
  }
  s->other_tls =
      "; a process came with TLS, which this one lacks: install OpenSSL 3 (Debian's package "
      "libssl3)";
  tt_meet_peer_refuse(
      g, "this rendezvous does not speak TLS"); /* the agent's TLS sees an invalid record */
}

/* Refuses an agent that has connected without TLS although TLS is required. */
static void refuse_plain(tt_service *s, tt_meet_peer *g) {
  s->other_tls =
      "; a process connected without TLS: TUTTI_TLS and TUTTI_INSECURE must be the same on all "
      "ranks";
  tt_meet_peer_refuse(
      g,
      "this rank connected without TLS, but the rendezvous requires TLS between hosts: TUTTI_TLS "
      "and TUTTI_INSECURE must be the same on all ranks");
}

/* ---- admission ---- */

static bool init_from_first_hello(tt_service *s, const tt_hello *h) {
  s->row = calloc(h->ranks, sizeof *s->row);
  if (!s->row) return false;
  s->ranks = (int)h->ranks;
  s->wait = tt_long_wait_begin("the rendezvous");
  s->limit = h->limit_ms / 1e3;
  return true;
}

/* Finds another member that runs on this host and claims the same rank. Returns NULL if not found. */
static const tt_meet_peer *local_rank(const tt_service *s, const tt_meet_peer *g) {
  for (int i = 0; i < s->npeers; i++) {
    const tt_meet_peer *x = &s->peers[i];
    if (x != g && x->fd >= 0 && x->local && x->state == TT_MEMBER && x->hello.rank == g->hello.rank)
      return x;
  }
  return NULL;
}

static void become_member(tt_service *s, tt_meet_peer *g) {
  g->state = TT_MEMBER;
  s->members += g->local;
  s->locals += g->local;
  if (s->locals < s->most_locals || s->local < 0) return;
  close(s->local); /* the next rank of this host becomes another agent */
  s->local = -1;
}

void tt_entry_join(tt_service *s, tt_meet_peer *g) {
  const tt_hello *h = &g->hello;
  const bool fits = !s->ranks || h->ranks == (uint32_t)s->ranks;
  const bool came = s->ranks && fits && s->row && s->row[h->rank];
  const tt_meet_peer *twin = g->local ? local_rank(s, g) : NULL;
  if (s->lasting && s->ranks && (s->round > 0 || (came && s->over)))
    g->state = TT_WAITS;
  else if (s->over && (s->agent || s->failed > 0) && fits && !came && s->round == 0)
    tt_meet_peer_part(g, &s->why);
  else if (s->over || s->round > 0)
    tt_meet_peer_refuse(g,
                        "rank %u (%s) is too late: the job of this id has begun, or has failed",
                        h->rank, h->who);
  else if (!fits)
    tt_meet_peer_refuse(
        g,
        "rank %u (%s) says that there are %u ranks, and those that came before it, %d: are "
        "there two jobs with one id?",
        h->rank, h->who, h->ranks, s->ranks);
  else if (came || twin)
    tt_meet_peer_refuse(g, "rank %u (%s) is there already (%s): are there two jobs with one id?",
                        h->rank, h->who, twin ? twin->hello.who : "on another host");
  else if (!s->ranks && !init_from_first_hello(s, h))
    tt_meet_peer_refuse(g, "the rendezvous is out of memory");
  else
    become_member(s, g);
}

/* Sends data immediately. This cannot block, because at most a challenge has been sent on the connection before. */
static bool send_now(tt_meet_peer *g, const void *bytes, size_t n) {
  return tt_secure_send(g->secure, g->fd, bytes, n) == (ssize_t)n;
}

static void challenge(tt_service *s, tt_meet_peer *g) {
  tt_challenge c = {.magic = TT_MEET_MAGIC};
  if (tt_nonce(g->nonce)) {
    tt_meet_peer_close(s, g);
    return;
  }
  memcpy(c.nonce, g->nonce, sizeof c.nonce);
  tt_prove_key(TT_RENDEZVOUS, s->key, &g->hello, g->nonce, c.proof);
  g->state = TT_CHALLENGED;
  g->have = 0;
  g->want = TT_DIGEST;
  if (!send_now(g, &c, sizeof c)) tt_meet_peer_close(s, g);
}

void tt_entry_hello(tt_service *s, tt_meet_peer *g) {
  tt_hello *h = &g->hello;
  memcpy(h, g->in, sizeof *h);
  if (memcmp(h->magic, TT_MEET_MAGIC, sizeof h->magic) != 0)
    tt_meet_peer_close(s, g);
  else if (!g->local && !g->secure && !tt_tls_spared(g->fd))
    refuse_plain(s, g);
  else if (h->protocol < TT_MEET_PROVES)
    tt_meet_peer_refuse(
        g,
        "this rank speaks version %u of the rendezvous, which is of version %d: all ranks need "
        "one version of tutti",
        h->protocol, TT_MEET_PROTOCOL);
  else if (g->local)
    tt_entry_proof(s, g, (const unsigned char *)g->in + sizeof *h);
  else
    challenge(s, g);
}

/* Notifies all ranks that a rank with the right key uses another version of the protocol. */
static void tell_of_version(tt_service *s, tt_meet_peer *g) {
  const tt_hello *h = &g->hello;
  if (!s->ranks) init_from_first_hello(s, h);
  tt_service_fail(s, TUTTI_ERR_SYSTEM,
                  "rank %u (%s) speaks version %u of the rendezvous, which is of version %d: all "
                  "ranks need one version of tutti",
                  h->rank, h->who, h->protocol, TT_MEET_PROTOCOL);
  tt_meet_peer_part(g, &s->why);
}

void tt_entry_proof(tt_service *s, tt_meet_peer *g, const unsigned char proof[TT_DIGEST]) {
  tt_hello *h = &g->hello;
  unsigned char right[TT_DIGEST];
  tt_prove_key(TT_VISITOR, s->key, h, g->nonce, right);
  const bool knows = tt_digest_same(right, proof);
  const bool full = g->local && s->locals >= s->most_locals;
  const bool greet = h->protocol == TT_MEET_PROTOCOL;
  h->who[sizeof h->who - 1] = 0;
  g->have = 0;
  g->proves = g->local;
  g->want = sizeof(tt_meet_frame);
  g->knows = knows;
  if (!knows || full || (greet && !g->local && !send_now(g, TT_MEET_MAGIC, sizeof h->magic)))
    tt_meet_peer_close(s, g);
  else if (!h->ranks && greet && !g->local)
    tt_room_enter(s, g);
  else if (h->ranks < 1 || h->ranks > TT_MEET_RANKS || h->rank >= h->ranks)
    tt_meet_peer_refuse(g, "rank %u of %u (%s)", h->rank, h->ranks, h->who);
  else if (!greet)
    tell_of_version(s, g);
  else
    tt_entry_join(s, g);
}
