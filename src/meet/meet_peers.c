/* meet_peers.c - the messages between a rendezvous and its peers.
 *
 * Idea       A peer first sends a hello: its rank, and the number of ranks; both sides prove that
 *            they know the key (id.c). In each round a peer sends a number of bytes and these
 *            bytes; when all peers have sent theirs, all get the bytes of all. A peer that returns
 *            before the others have left waits until they have.
 * Invariant  A peer without the key takes no part and learns nothing of the job. A peer that sends
 *            an impossible value gets an error message that no other peer gets, unless the job
 *            cannot do without it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "meet_peers.h"

/* ---- replies ---- */

static void queue_reply(tt_meet_peer *g, const char *bytes, size_t n) {
  g->out = bytes;
  g->sent = 0;
  g->to_send = n;
}

/* A newly allocated message and its length with its header; NULL: out of memory. */
static char *__attribute__((format(printf, 2, 0)))
sentence(tutti_status status, const char *format, va_list ap, size_t *bytes) {
  char text[400];
  vsnprintf(text, sizeof text, format, ap);
  const tt_reply head = {.status = (int32_t)status, .bytes = (uint32_t)strlen(text) + 1};
  char *all = malloc(sizeof head + head.bytes);
  *bytes = sizeof head + head.bytes;
  if (!all) return NULL;
  memcpy(all, &head, sizeof head);
  memcpy(all + sizeof head, text, head.bytes);
  return all;
}

void tt_service_fail(tt_service *s, tutti_status status, const char *format, ...) {
  va_list ap;
  if (s->over) return;
  free(s->before);
  s->before = s->answer; /* some peers may still be receiving it */
  va_start(ap, format);
  s->answer = sentence(status, format, ap, &s->answer_bytes);
  va_end(ap);
  s->over = true;
  s->failed = status == TUTTI_ERR_TIMEOUT ? 0 : tt_seconds(); /* after a timeout no more peers are
                                                                 expected */
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (g->fd < 0 || g->rank < 0) continue;
    if (s->answer && g->sent == g->to_send) queue_reply(g, s->answer, s->answer_bytes);
    g->leaves = true;
  }
}

/* Sends an error to this peer only; the peer owns the text. */
static void refuse_peer(tt_meet_peer *g, const char *format, ...) {
  size_t n;
  va_list ap;
  free(g->in);
  va_start(ap, format);
  g->in = sentence(TUTTI_ERR_SYSTEM, format, ap, &n);
  va_end(ap);
  g->have = g->want = 0;
  if (g->in) queue_reply(g, g->in, n);
  g->leaves = true;
}

/* ---- new peers ---- */

static bool expect_input(tt_service *s, tt_meet_peer *g, size_t bytes) {
  char *in = realloc(g->in, bytes);
  if (!in) {
    tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory");
    return false;
  }
  g->in = in;
  g->have = 0;
  g->want = bytes;
  return true;
}

static bool init_from_first_hello(tt_service *s, const tt_hello *h) {
  s->peer_of = malloc(h->ranks * sizeof *s->peer_of);
  if (!s->peer_of) return false;
  for (uint32_t r = 0; r < h->ranks; r++) s->peer_of[r] = TT_ABSENT;
  s->ranks = (int)h->ranks;
  s->first = tt_seconds();
  s->limit = h->limit_ms / 1e3;
  return true;
}

/* Add the peer to the meeting, or queue the reason why the meeting has failed. */
static void sit_down(tt_service *s, tt_meet_peer *g) {
  const tt_hello *h = &g->hello;
  if (!expect_input(s, g, sizeof(uint32_t))) return;
  g->rank = (int)h->rank;
  s->peer_of[g->rank] = (int)(g - s->peers);
  s->known++;
  if (s->over) {
    if (s->answer) queue_reply(g, s->answer, s->answer_bytes);
    g->leaves = true;
  } else if (h->protocol != TT_MEET_PROTOCOL) {
    tt_service_fail(s, TUTTI_ERR_SYSTEM,
                    "rank %u (%s) speaks version %u of the rendezvous, which is of version %d: all "
                    "ranks need one version of tutti",
                    h->rank, h->who, h->protocol, TT_MEET_PROTOCOL);
  }
}

static void assign_rank(tt_service *s, tt_meet_peer *g) {
  const tt_hello *h = &g->hello;
  const bool fits = h->ranks == (uint32_t)s->ranks;
  const int place = fits ? s->peer_of[h->rank] : TT_ABSENT;
  if (s->lasting && s->ranks && place == TT_LEFT)
    g->waits = true;
  else if (s->over && !(s->failed > 0 && fits && place == TT_ABSENT))
    refuse_peer(g, "rank %u (%s) comes too late: the job of this id has begun, or has failed",
                h->rank, h->who);
  else if (s->ranks && !fits)
    refuse_peer(g,
                "rank %u (%s) says that there are %u ranks, and those that came before it, %d: are "
                "there two jobs with one id?",
                h->rank, h->who, h->ranks, s->ranks);
  else if (s->ranks && place >= 0)
    refuse_peer(g, "rank %u (%s) is there already (%s): are there two jobs with one id?", h->rank,
                h->who, s->peers[place].hello.who);
  else if (!s->ranks && !init_from_first_hello(s, h))
    refuse_peer(g, "the rendezvous is out of memory");
  else
    sit_down(s, g);
}

/* Cannot block: so far nothing but a challenge has been sent. */
static bool send_now(tt_meet_peer *g, const void *bytes, size_t n) {
  return send(g->fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static void challenge(tt_service *s, tt_meet_peer *g) {
  tt_challenge c = {.magic = TT_MEET_MAGIC};
  if (tt_nonce(g->nonce)) {
    tt_meet_peer_close(s, g);
    return;
  }
  memcpy(c.nonce, g->nonce, sizeof c.nonce);
  tt_prove_key(TT_RENDEZVOUS, s->key, &g->hello, g->nonce, c.proof);
  g->challenged = true;
  g->have = 0;
  g->want = TT_DIGEST;
  if (!send_now(g, &c, sizeof c)) tt_meet_peer_close(s, g);
}

static void take_hello(tt_service *s, tt_meet_peer *g) {
  tt_hello *h = &g->hello;
  memcpy(h, g->in, sizeof *h);
  if (memcmp(h->magic, TT_MEET_MAGIC, sizeof h->magic) != 0)
    tt_meet_peer_close(s, g);
  else if (h->protocol < TT_MEET_PROVES)
    refuse_peer(
        g,
        "this rank speaks version %u of the rendezvous, which is of version %d: all ranks need "
        "one version of tutti",
        h->protocol, TT_MEET_PROTOCOL);
  else
    challenge(s, g);
}

static void take_proof(tt_service *s, tt_meet_peer *g) {
  tt_hello *h = &g->hello;
  unsigned char proof[TT_DIGEST];
  tt_prove_key(TT_VISITOR, s->key, h, g->nonce, proof);
  const bool knows = tt_digest_same(proof, (const unsigned char *)g->in);
  g->have = g->want = 0;
  h->who[sizeof h->who - 1] = 0;
  const bool greet = h->protocol == TT_MEET_PROTOCOL;
  if (!knows || (greet && !send_now(g, TT_MEET_MAGIC, sizeof h->magic)))
    tt_meet_peer_close(s, g);
  else if (h->ranks < 1 || h->ranks > 1 << 20 || h->rank >= h->ranks)
    refuse_peer(g, "rank %u of %u (%s)", h->rank, h->ranks, h->who);
  else
    assign_rank(s, g);
}

void tt_service_renew(tt_service *s) {
  for (int i = 0; i < s->npeers; i++)
    if (s->peers[i].rank >= 0) tt_meet_peer_close(s, &s->peers[i]);
  free(s->peer_of);
  free(s->answer);
  free(s->before);
  s->peer_of = NULL;
  s->answer = s->before = NULL;
  s->ranks = s->known = s->round = s->brought = s->gone = 0;
  s->bytes = 0;
  s->failed = 0;
  s->over = false;
  for (int i = 0; i < s->npeers; i++) {
    tt_meet_peer *g = &s->peers[i];
    if (!g->waits) continue;
    g->waits = false;
    assign_rank(s, g);
  }
}

/* ---- rounds ---- */

/* All peers have sent their contributions. */
static void answer_round(tt_service *s) {
  const uint64_t all = (uint64_t)s->bytes * (uint64_t)s->ranks;
  const tt_reply head = {.bytes = (uint32_t)all};
  char *text = all >> 32 ? NULL : malloc(sizeof head + (size_t)all);
  if (!text) {
    tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory for %d times %u bytes",
                    s->ranks, s->bytes);
    return;
  }
  memcpy(text, &head, sizeof head);
  for (int r = 0; r < s->ranks; r++)
    memcpy(text + sizeof head + (size_t)r * s->bytes, s->peers[s->peer_of[r]].in + sizeof(uint32_t),
           s->bytes);
  free(s->answer); /* the previous answer: a peer that has contributed has received it */
  s->answer = text;
  s->answer_bytes = sizeof head + (size_t)all;
  s->round++;
  s->brought = 0;
  s->bytes = 0;
  for (int r = 0; r < s->ranks; r++) {
    tt_meet_peer *g = &s->peers[s->peer_of[r]];
    g->brought = false;
    queue_reply(g, s->answer, s->answer_bytes);
    if (!expect_input(s, g, sizeof(uint32_t))) return;
  }
}

static void accept_contribution(tt_service *s, tt_meet_peer *g) {
  uint32_t bytes;
  memcpy(&bytes, g->in, sizeof bytes);
  if (g->want == sizeof bytes) { /* the number of bytes */
    if (bytes < 1 || bytes > TT_MEET_MOST || (s->bytes && bytes != s->bytes)) {
      tt_service_fail(
          s, TUTTI_ERR_SYSTEM,
          "rank %d (%s) brings %u bytes, where others bring %u: is it another version of tutti?",
          g->rank, g->hello.who, bytes, s->bytes);
      return;
    }
    s->bytes = bytes;
    char *in = realloc(g->in, sizeof bytes + bytes);
    if (in) {
      g->in = in;
      g->want += bytes;
    } else {
      tt_service_fail(s, TUTTI_ERR_MEMORY, "the rendezvous is out of memory");
    }
    return;
  }
  g->brought = true;
  if (++s->brought == s->ranks)
    answer_round(s);
  else if (s->gone)
    tt_service_fail(s, TUTTI_ERR_PEER_LOST, "%s left before all ranks had met", s->left);
}

void tt_meet_peer_said(tt_service *s, tt_meet_peer *g) {
  if (g->rank < 0)
    (g->challenged ? take_proof : take_hello)(s, g);
  else if (!s->over)
    accept_contribution(s, g);
}

/* Between rounds all peers may leave: then the meeting is over without an error. */
void tt_meet_peer_left(tt_service *s, tt_meet_peer *g) {
  const int rank = g->rank;
  const bool early = rank >= 0 && !s->over && (s->round == 0 || s->brought || g->have);
  if (rank >= 0) s->peer_of[rank] = TT_LEFT;
  if (rank >= 0 && !s->gone) snprintf(s->left, sizeof s->left, "rank %d (%s)", rank, g->hello.who);
  tt_meet_peer_close(s, g);
  if (rank >= 0 && !s->over && ++s->gone == s->ranks) s->over = true;
  if (early) tt_service_fail(s, TUTTI_ERR_PEER_LOST, "%s left before all ranks had met", s->left);
}
