/* scenes_message.c - messages between two ranks: around the ring, to all simultaneously, to the rank itself,
 * while collectives run; and errors.
 *
 * Invariant  (seed, a, b, k) determine the content of the k-th message from a to b.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "core.h"
#include "cover.h"
#include "scenes.h"

static uint32_t value(uint64_t seed, int from, int to, int k, size_t i) {
  return (uint32_t)cover_mix(seed + (uint64_t)((from * 64 + to) * 256 + k) + (uint64_t)i * 0x10001);
}

typedef struct sent_message {
  tutti_comm *comm;
  tutti_request *request;
  int peer, k;
  bool sends, exported; /* exported: from tutti_mem_alloc */
  size_t n;
  uint32_t *x;
} sent_message;

static bool make(sent_message *p, tutti_comm *comm, uint64_t seed, int peer, int k, size_t n,
                 bool sends) {
  const int me = tutti_comm_rank(comm);
  void *memory = NULL;
  *p = (sent_message){.comm = comm, .peer = peer, .k = k, .sends = sends, .n = n};
  p->exported = cover_mix(seed + (uint64_t)k) & 1;
  if (p->exported)
    tutti_mem_alloc(comm, (n + 1) * sizeof *p->x, &memory);
  else
    memory = malloc((n + 1) * sizeof *p->x);
  if (!CHECK(memory != NULL)) return false;
  p->x = memory;
  memset(p->x, 0xee, (n + 1) * sizeof *p->x);
  for (size_t i = 0; sends && i < n; i++) p->x[i] = value(seed, me, peer, k, i);
  return true;
}

static bool start(sent_message *p) {
  return CHECK(
      !(p->sends
            ? tutti_send_start(p->comm, p->x, p->n, TUTTI_UINT32, p->peer, 0, &p->request)
            : tutti_recv_start(p->comm, p->x, p->n, TUTTI_UINT32, p->peer, 0, NULL, &p->request)));
}

/* Completes a message by wait or by tests, checks its content, and frees its memory. */
static bool finish(sent_message *p, uint64_t seed, bool test) {
  const int me = tutti_comm_rank(p->comm);
  int done = 0;
  bool ok = true;
  while (ok && test && !done) ok = CHECK(!tutti_request_test(&p->request, &done));
  ok = ok && CHECK(!tutti_request_wait(&p->request)) && CHECK(!p->request);
  const int from = p->sends ? me : p->peer, to = p->sends ? p->peer : me;
  for (size_t i = 0; ok && i < p->n; i++) ok = CHECK(p->x[i] == value(seed, from, to, p->k, i));
  ok = ok && CHECK(p->x[p->n] == 0xeeeeeeee);
  if (p->exported)
    tutti_mem_free(p->comm, p->x);
  else
    free(p->x);
  return ok;
}

static const size_t sizes[] = {0, 1, 19, 20, 21, 24, 25, 300, 5000, 70001, 300001};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* To the right and to the left simultaneously. With blocking calls, odd ranks use the opposite order. */
bool scene_ring(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  for (int k = 0; k < SIZES && ok; k++) {
    const int right = (me + 1) % P, left = (me + P - 1) % P, second = P > 2 ? 0 : SIZES;
    sent_message p[4];
    ok = make(&p[0], comm, seed, left, k, sizes[k], false) &&
         make(&p[1], comm, seed, right, k, sizes[k], true) &&
         make(&p[2], comm, seed, right, k + second, sizes[SIZES - 1 - k], false) &&
         make(&p[3], comm, seed, left, k + second, sizes[SIZES - 1 - k], true);
    for (int i = 0; i < 4 && ok; i++) ok = start(&p[(k + me) % 2 ? i : i ^ 1]);
    for (int i = 0; i < 4 && ok; i++) ok = finish(&p[(i + me) % 4], seed, k % 2);
  }
  for (int k = 0; k < SIZES && ok && P > 1; k++) {
    const int peer = me ^ 1;
    sent_message p[2];
    if (peer >= P) break;
    ok = make(&p[0], comm, seed, peer, k, sizes[k], me % 2 == 0) &&
         make(&p[1], comm, seed, peer, k, sizes[k], me % 2 == 1);
    for (int i = 0; i < 2 && ok; i++) {
      const sent_message *q = &p[i];
      ok = CHECK(!(q->sends ? tutti_send(comm, q->x, q->n, TUTTI_UINT32, peer, 0)
                            : tutti_recv(comm, q->x, q->n, TUTTI_UINT32, peer, 0, NULL))) &&
           finish(&p[i], seed, false);
    }
  }
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* Many messages to each rank, including itself, and collectives between them, all in flight;
 * completed in each rank's own order. */
bool scene_many_messages(tutti_comm *base, uint64_t seed) {
  enum { EACH = 12, COLLS = 10 };
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base), n = 2 * EACH * P;
  sent_message *p = calloc((size_t)n, sizeof *p);
  tutti_request *r[COLLS];
  uint32_t x[COLLS], y[COLLS];
  tutti_comm *comm;
  bool ok = CHECK(p != NULL) && CHECK(!tutti_comm_dup(base, &comm));
  int made = 0, colls = 0;
  uint64_t order = cover_mix(seed + (uint64_t)me);
  for (int k = 0; k < EACH && ok; k++)
    for (int i = 0; i < P && ok; i++) {
      const int peer = (i + me) % P;
      const size_t there = cover_mix(seed + (uint64_t)((me * 64 + peer) * 64 + k)) % 3000;
      const size_t here = cover_mix(seed + (uint64_t)((peer * 64 + me) * 64 + k)) % 3000;
      const int first = (int)(order >> (k + i) & 1);
      ok = make(&p[made + first], comm, seed, peer, k, there, true) &&
           make(&p[made + 1 - first], comm, seed, peer, k, here, false) && start(&p[made]) &&
           start(&p[made + 1]);
      made += 2;
      if (i > 0 || colls == COLLS) continue;
      x[colls] = (uint32_t)(me + k);
      ok = ok && CHECK(!tutti_allreduce_start(comm, &x[colls], &y[colls], 1, TUTTI_UINT32,
                                              TUTTI_MAX, &r[colls]));
      colls++;
    }
  for (int i = 0; i < made && ok; i++) { /* 7 and n may have a common divisor: the rest is completed afterwards */
    const int at = (int)((order + (uint64_t)i) % (uint64_t)made);
    ok = finish(&p[at], seed, i % 3 == 0);
    if (i == made / 2)
      for (int c = colls - 1; c >= 0 && ok; c--)
        ok = CHECK(!tutti_request_wait(&r[c])) && CHECK(y[c] == (uint32_t)(P - 1 + c));
  }
  ok = ok && CHECK(!tutti_barrier(comm));
  free(p);
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* Persistent messages, and a sender that exits before its message is received. */
bool scene_messages_of_one(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  const int right = (me + 1) % P, left = (me + P - 1) % P;
  uint32_t out[8], in[8] = {0};
  tutti_request *s, *r;
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) &&
            CHECK(!tutti_recv_init(comm, in, 8, TUTTI_UINT32, left, 0, NULL, &r)) &&
            CHECK(!tutti_send_init(comm, out, 8, TUTTI_UINT32, right, 0, &s));
  for (int k = 0; k < 40 && ok; k++) {
    for (size_t i = 0; i < 8; i++) out[i] = value(seed, me, right, k, i);
    ok = CHECK(!tutti_request_start(r)) && CHECK(!tutti_request_start(s)) &&
         CHECK(!tutti_request_wait(&s)) && CHECK(!tutti_request_wait(&r));
    for (size_t i = 0; i < 8 && ok; i++) ok = CHECK(in[i] == value(seed, left, me, k, i));
  }
  ok = ok && CHECK(!tutti_request_free(&s)) && CHECK(!tutti_request_free(&r));
  if (P > 1 && ok && me == 0) ok = CHECK(!tutti_send(comm, out, 8, TUTTI_UINT32, 1, 0));
  if (me == 0) ok = CHECK(!tutti_comm_free(comm)) && ok;
  ok = CHECK(!tutti_barrier(base)) && ok;
  if (me == 1 && ok) ok = CHECK(!tutti_recv(comm, in, 8, TUTTI_UINT32, 0, 0, NULL));
  for (size_t i = 0; i < 8 && me == 1 && ok; i++) ok = CHECK(in[i] == value(seed, 0, 1, 39, i));
  return (me == 0 || CHECK(!tutti_comm_free(comm))) && ok;
}

/* Every rank sends every rank, itself included, messages with other tags, and receives them in another order, so that most
 * come early; some by their tag from any rank, some with any tag. */
bool scene_tags(tutti_comm *base, uint64_t seed) {
  enum { EACH = 9 };
  static const size_t lengths[EACH] = {1, 0, 70001, 20, 300, 5000, 21, 300001, 3};
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base), n = EACH * P;
  sent_message *out = calloc((size_t)n, sizeof *out), *in = calloc((size_t)n, sizeof *in);
  tutti_received *got = calloc((size_t)n, sizeof *got);
  tutti_comm *comm;
  bool ok = CHECK(out && in && got) && CHECK(!tutti_comm_dup(base, &comm));
  for (int i = 0; i < n && ok; i++) { /* tags say the sender and the number */
    const int to = (me + i) % P, k = i / P;
    ok = make(&out[i], comm, seed, to, k, lengths[k], true) &&
         CHECK(!tutti_send_start(comm, out[i].x, out[i].n, TUTTI_UINT32, to, EACH * me + k,
                                 &out[i].request));
  }
  for (int i = 0; i < n && ok; i++) {
    const int j = (i * 7 + (int)(seed % (uint64_t)n)) % n, at = n % 7 ? j : i, from = at % P,
              k = at / P;
    const int source = k % 2 ? TUTTI_ANY_SOURCE : from;
    ok = make(&in[i], comm, seed, from, k, lengths[k], false) &&
         CHECK(!tutti_recv_start(comm, in[i].x, in[i].n, TUTTI_UINT32, source, EACH * from + k,
                                 &got[i], &in[i].request)) &&
         (i % 4 || finish(&in[i], seed, i % 8));
    if (ok && i % 4 == 0) in[i].x = NULL;
  }
  for (int i = 0; i < n && ok; i++) {
    if (in[i].x) ok = finish(&in[i], seed, i % 3 == 0);
    ok = ok && CHECK(got[i].source == in[i].peer) &&
         CHECK(got[i].tag == EACH * in[i].peer + in[i].k) && CHECK(got[i].count == in[i].n) &&
         finish(&out[i], seed, false);
  }
  free(out);
  free(in);
  free(got);
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* Receives with any tag take messages in the order of sending; those from any rank take one of each; one without a message is
 * taken back, and takes none after that. */
bool scene_any(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  uint32_t x[4] = {(uint32_t)seed}, y[8] = {0}, from = 0;
  tutti_received got;
  tutti_request *s[5], *none;
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) &&
            CHECK(!tutti_recv_start(comm, y, 8, TUTTI_UINT32, TUTTI_ANY_SOURCE, TUTTI_ANY_TAG, NULL,
                                    &none)) &&
            CHECK(!tutti_request_free(&none)) && CHECK(!none) && CHECK(!tutti_barrier(comm));
  for (int k = 0; k < 4 && ok; k++)
    ok = CHECK(!tutti_send_start(comm, x, (size_t)k, TUTTI_UINT32, (me + 1) % P, 5 - k, &s[k]));
  for (int k = 0; k < 4 && ok; k++)
    ok = CHECK(!tutti_recv(comm, y, 8, TUTTI_UINT32, (me + P - 1) % P, TUTTI_ANY_TAG, &got)) &&
         CHECK(got.tag == 5 - k) && CHECK(got.count == (size_t)k) &&
         CHECK(got.source == (me + P - 1) % P);
  for (int k = 0; k < 4 && ok; k++) ok = CHECK(!tutti_request_wait(&s[k]));
  ok = ok && CHECK(!tutti_send_start(comm, x, 1, TUTTI_UINT32, 0, 77, &s[4]));
  for (int r = 0; r < P && me == 0 && ok; r++) {
    ok = CHECK(!tutti_recv(comm, y, 1, TUTTI_UINT32, TUTTI_ANY_SOURCE, 77, &got)) &&
         CHECK(!(from >> got.source & 1));
    from |= 1u << got.source;
  }
  ok = ok && CHECK(!tutti_request_wait(&s[4])) &&
       ERROR(tutti_recv(comm, y, 1, TUTTI_UINT32, 0, -3, NULL), TUTTI_ERR_ARG,
             "the tag is -3|TUTTI_ANY_TAG") &&
       ERROR(tutti_send(comm, y, 1, TUTTI_UINT32, 0, TUTTI_ANY_TAG), TUTTI_ERR_ARG,
             "the tag is -1; it must be 0 or more");
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* A rank sends to itself: the first of the two calls must be non-blocking. */
bool scene_oneself(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base);
  uint32_t x = (uint32_t)seed, y = 0, big[5000] = {7}, copy[5000] = {0};
  tutti_comm *comm;
  tutti_request *r, *s;
  bool ok =
      CHECK(!tutti_comm_dup(base, &comm)) &&
      ERROR(tutti_send(comm, &x, 1, TUTTI_UINT32, me, 0), TUTTI_ERR_STATE, "wait for ever") &&
      ERROR(tutti_recv(comm, &x, 1, TUTTI_UINT32, me, 0, NULL), TUTTI_ERR_STATE, "wait for ever") &&
      CHECK(!tutti_recv_start(comm, &y, 1, TUTTI_UINT32, me, 0, NULL, &r)) &&
      ERROR(tutti_request_wait(&r), TUTTI_ERR_STATE, "itself|wait for ever") &&
      ERROR(tutti_recv(comm, &y, 1, TUTTI_UINT32, me, 0, NULL), TUTTI_ERR_STATE, "wait for ever") &&
      CHECK(!tutti_send(comm, &x, 1, TUTTI_UINT32, me, 0)) && CHECK(!tutti_request_wait(&r)) &&
      CHECK(x == y);
  ok = ok && CHECK(!tutti_send_start(comm, big, 5000, TUTTI_UINT32, me, 0, &s)) &&
       CHECK(!tutti_recv_start(comm, copy, 5000, TUTTI_UINT32, me, 0, NULL, &r)) &&
       CHECK(!tutti_request_wait(&s)) && CHECK(!tutti_request_wait(&r)) && CHECK(copy[0] == 7);
  ok = CHECK(!tutti_barrier(base)) && ok;
  if (ok && me == 0)
    ok = CHECK(!tutti_send_start(comm, &x, 1, TUTTI_UINT32, me, 0, &s)) &&
         ERROR(tutti_recv(comm, &y, 1, TUTTI_FLOAT, me, 0, NULL), TUTTI_ERR_MISMATCH,
               "sent are 1 uint32, and the receive has room for 1 float") &&
         ERROR(tutti_request_wait(&s), TUTTI_ERR_MISMATCH, "sent are 1 uint32");
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* No room for what was sent, or another type: the receiver gets the error, and then all ranks. */
static bool one_mismatch(tutti_comm *base, int way, int from, int to) {
  static const char *const words[] = {
      "with tag 0: sent are 3 float, and the receive has room for 2 float",
      "sent are 3 float, and the receive has room for 3 int32",
      "sent are 9000 float, and the receive has room for 0 float"};
  static const size_t sent[] = {3, 3, 9000}, got[] = {2, 3, 0};
  const int me = tutti_comm_rank(base);
  static float x[9000], y[9000];
  tutti_status status = TUTTI_OK;
  tutti_request *r = NULL;
  tutti_comm *comm;
  bool ok = CHECK(!tutti_comm_dup(base, &comm));
  if (me == from) {
    status = tutti_send_start(comm, x, sent[way], TUTTI_FLOAT, to, 0, &r);
    if (!status) tutti_request_wait(&r); /* already sent, or not */
  }
  if (me == to) {
    status = tutti_recv(comm, y, got[way], way == 1 ? TUTTI_INT32 : TUTTI_FLOAT, from, 0, NULL);
    ok = ERROR(status, TUTTI_ERR_MISMATCH, words[way]) && ok;
  }
  status = tutti_barrier(comm);
  ok = ERROR(status, TUTTI_ERR_MISMATCH, words[way]) && ok;
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}

bool scene_wrong_messages(tutti_comm *base, uint64_t seed) {
  const int P = tutti_comm_size(base), me = tutti_comm_rank(base);
  const int from = (int)(cover_mix(seed) % (uint64_t)P), to = (from + 1) % P;
  char words[80];
  tutti_comm *comm;
  tutti_request *r[20];
  uint32_t x[20];
  bool ok = true;
  if (P == 1) return true;
  for (int way = 0; way < 3 && ok; way++) ok = one_mismatch(base, way, from, to);
  /* an abort ends all waits */
  ok = ok && CHECK(!tutti_comm_dup(base, &comm));
  if (ok && me == from) {
    usleep(50000);
    ok = CHECK(!tutti_comm_abort(comm, "no post today"));
  } else if (ok) {
    tutti_status status = TUTTI_OK; /* a slow rank may detect the abort before it waits */
    int n = 0;
    while (n < 20 &&
           !(status = tutti_recv_start(comm, &x[n], 1, TUTTI_UINT32, from, 0, NULL, &r[n])))
      n++;
    ok = n == 20 || ERROR(status, TUTTI_ERR_ABORTED, "no post today");
    for (int i = n - 1; i >= 0 && ok; i--)
      ok = ERROR(tutti_request_wait(&r[i]), TUTTI_ERR_ABORTED, "no post today") && CHECK(!r[i]);
  }
  ok = CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
  /* the error names the rank that does not send */
  ok = ok && CHECK(!tutti_comm_dup(base, &comm));
  snprintf(words, sizeof words, "for rank %d (pid|to send 1 uint32 with tag 0: the timeout is 1 s",
           from);
  if (ok && me == to) {
    ok = CHECK(!comm_set_timeout(comm, 1)) &&
         ERROR(tutti_recv(comm, x, 1, TUTTI_UINT32, from, 0, NULL), TUTTI_ERR_TIMEOUT, words);
  }
  if (me != to) usleep(1200000);
  return CHECK(!tutti_barrier(base)) && CHECK(!tutti_comm_free(comm)) && ok;
}
