/* mp_card.c - vectors in device memory: in stream order, with the same bits as on the host, in lists and
 * buckets, and refused where they are not supported.
 *
 * Usage      TUTTI_CUDA_LIBRARY names a simulated driver (tests/gpu/); otherwise a GPU is needed, and without one
 *            everything is skipped.
 * Ranks: none; tests/sh/gpu.sh runs it
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_of.h"
#include "card.h"
#include "lists.h"
#include "seconds.h"
#include "start.h"
#include "tutti_plan.h"

static tutti_comm *comm;
static int rank, ranks, failed, tests;

/* Every rank checks; rank 0 prints the result. */
static void judge(const char *name, bool good, const char *why) {
  unsigned char all = good;
  if (!good) printf("# rank %d: %s: %s (%s)\n", rank, name, why, tutti_error());
  if (tutti_allreduce(comm, &all, &all, 1, TUTTI_UINT8, TUTTI_MIN)) all = 0;
  if (!all) failed++;
  tests++;
  if (rank == 0) printf("%s - %s\n", all ? "ok" : "not ok", name);
  fflush(stdout);
}

static uint64_t draw(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 20;
}

/* ---- streams ---- */

enum { ROUNDS = 12 };

/* Each round fills the input, sums, and copies the result away, in stream order: no rank waits before the end. */
static bool in_order(size_t count, bool in_place) {
  void *stream = card_stream();
  unsigned char *src = card_alloc(count), *dst = in_place ? src : card_alloc(count);
  unsigned char *got = malloc(count);
  bool good = stream && src && dst && got;
  for (int i = 0; i < ROUNDS && good; i++) {
    good = card_fill(src, (unsigned char)(rank + i), count, stream);
    good = good && !tutti_call_on_stream(
                       comm, CALL(ALLREDUCE, .src = src, .dst = dst, .count = count,
                                  .type = TUTTI_UINT8, .op = TUTTI_SUM, .stream = stream));
    if (in_place || i % 3 == 0) good = good && card_get(got, dst, count, stream);
    const unsigned char want = (unsigned char)(ranks * (ranks - 1) / 2 + ranks * i);
    for (size_t k = 0; k < count && good && (in_place || i % 3 == 0); k++) good = got[k] == want;
  }
  if (tutti_stream_wait(comm)) good = false;
  card_free(src);
  if (!in_place) card_free(dst);
  free(got);
  return good;
}

/* Calls on two streams, all in flight simultaneously. */
static bool on_two_streams(void) {
  enum { CALLS = 20, COUNT = 3000 };
  void *stream[2] = {card_stream(), card_stream()};
  unsigned char *x[CALLS], got[COUNT];
  bool good = stream[0] && stream[1];
  for (int i = 0; i < CALLS; i++) good &= (x[i] = card_alloc(COUNT)) != NULL;
  for (int i = 0; i < CALLS && good; i++) {
    good = card_fill(x[i], (unsigned char)(i + 1), COUNT, stream[i % 2]);
    good = good && !tutti_call_on_stream(
                       comm, CALL(ALLREDUCE, .src = x[i], .dst = x[i], .count = COUNT,
                                  .type = TUTTI_UINT8, .op = TUTTI_SUM, .stream = stream[i % 2]));
  }
  for (int i = 0; i < CALLS && good; i++) {
    good = card_get(got, x[i], COUNT, stream[i % 2]);
    for (int k = 0; k < COUNT && good; k++) good = got[k] == (unsigned char)(ranks * (i + 1));
  }
  if (tutti_stream_wait(comm)) good = false;
  for (int i = 0; i < CALLS; i++) card_free(x[i]);
  return good;
}

/* ---- the same bits as on the host ---- */

typedef struct vectors {
  size_t bytes;
  unsigned char *host, *want, *got, *src, *dst;
} vectors;

static bool take(vectors *v, size_t bytes) {
  *v = (vectors){.bytes = bytes,
                 .host = malloc(bytes),
                 .want = malloc(bytes),
                 .got = malloc(bytes),
                 .src = card_alloc(bytes),
                 .dst = card_alloc(bytes)};
  return v->host && v->want && v->got && v->src && v->dst;
}

static void give(vectors *v) {
  free(v->host);
  free(v->want);
  free(v->got);
  card_free(v->src);
  card_free(v->dst);
}

/* Floats between 1 and 2 in either sign, as bits; integers anything. */
static void fill(tutti_type type, unsigned char *x, size_t bytes, uint64_t seed) {
  for (size_t i = 0; i + 4 <= bytes; i += 4) {
    const uint32_t u = (uint32_t)draw(&seed);
    uint32_t bits = u;
    if (type == TUTTI_FLOAT) bits = (u & 0x807fffff) | (u & 3u ? 0x3f800000 : 0x41000000);
    if (type == TUTTI_DOUBLE) bits = i % 8 ? (u & 0x800fffff) | 0x3ff00000 : u;
    if (type == TUTTI_BFLOAT16) bits = (u & 0x807f807f) | 0x3f803f80;
    if (type == TUTTI_FLOAT16) bits = (u & 0x83ff83ff) | 0x3c003c00;
    memcpy(x + i, &bits, 4);
  }
}

static bool same_bits(tutti_type type, tutti_op op, size_t count, bool in_place) {
  vectors v;
  const size_t bytes = count * tutti_type_size(type);
  bool good = take(&v, bytes);
  fill(type, v.host, bytes, (uint64_t)rank * 977 + count);
  memcpy(v.want, v.host, bytes);
  unsigned char *dst = in_place ? v.src : v.dst;
  good = good && !tutti_allreduce(comm, in_place ? v.want : v.host, v.want, count, type, op);
  good = good && card_put(v.src, v.host, bytes, NULL);
  good = good && !tutti_allreduce(comm, v.src, dst, count, type, op);
  good = good && card_get(v.got, dst, bytes, NULL) && !memcmp(v.got, v.want, bytes);
  if (!in_place)
    good = good && card_get(v.got, v.src, bytes, NULL) && !memcmp(v.got, v.host, bytes);
  give(&v);
  return good;
}

static void compare_bits(void) {
  static const size_t sizes[] = {1, 7, 1000, 5000, 70001, 300000, 1000003}; /* the last two once */
  static const tutti_type types[] = {TUTTI_FLOAT, TUTTI_DOUBLE, TUTTI_BFLOAT16, TUTTI_FLOAT16,
                                     TUTTI_INT32, TUTTI_INT8,   TUTTI_UINT64};
  static const tutti_op ops[] = {TUTTI_SUM, TUTTI_MAX, TUTTI_AVG, TUTTI_PROD};
  const char *contract = getenv("TUTTI_CONTRACT");
  const bool exact = contract && !strcmp(contract, "exact");
  char name[100];
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      bool good = true;
      if (ops[o] == TUTTI_PROD && exact && types[t] >= TUTTI_FLOAT16 && types[t] <= TUTTI_DOUBLE)
        continue; /* ops that this contract refuses */
      for (size_t s = 0; s < sizeof sizes / sizeof *sizes - (t || o ? 2 : 0) && good; s++)
        for (int in_place = 0; in_place < 2 && good; in_place++)
          good = same_bits(types[t], ops[o], sizes[s], in_place);
      snprintf(name, sizeof name, "%s of %s on the card has the bits of the host",
               tutti_op_name(ops[o]), tutti_type_name(types[t]));
      judge(name, good, "other bits");
    }
}

/* ---- memory that is allocated and freed ---- */

/* New vectors for each call, of varying sizes, so that addresses are reused. */
static bool with_new_memory(void) {
  uint64_t state = 5;
  bool good = true;
  for (int i = 0; i < 40 && good; i++) {
    const size_t count = 1 + draw(&state) % 200000;
    vectors v;
    good = take(&v, 4 * count);
    for (size_t k = 0; k < count; k++) ((int32_t *)(void *)v.host)[k] = (int32_t)k + rank + i;
    good = good && card_put(v.src, v.host, v.bytes, NULL);
    good = good && !tutti_allreduce(comm, v.src, v.dst, count, TUTTI_INT32, TUTTI_SUM);
    good = good && card_get(v.got, v.dst, v.bytes, NULL);
    for (size_t k = 0; k < count && good; k++)
      good = ((int32_t *)(void *)v.got)[k] == ranks * ((int32_t)k + i) + ranks * (ranks - 1) / 2;
    give(&v);
  }
  return good;
}

/* Some ranks' vectors are on the device, the others' on the host; `i` selects which. */
static bool mixed(int i, size_t count) {
  const bool card = (rank + i) % 3 != 0;
  vectors v;
  bool good = take(&v, 4 * count);
  int32_t *host = (int32_t *)(void *)v.host, *got = (int32_t *)(void *)v.got;
  for (size_t k = 0; k < count && good; k++) host[k] = (int32_t)k + rank + i;
  good = good && card_put(v.src, v.host, v.bytes, NULL);
  good = good && !tutti_allreduce(comm, card ? v.src : v.host, card ? v.dst : v.got, count,
                                  TUTTI_INT32, TUTTI_SUM);
  if (card) good = good && card_get(v.got, v.dst, v.bytes, NULL);
  for (size_t k = 0; k < count && good; k++)
    good = got[k] == ranks * ((int32_t)k + i) + ranks * (ranks - 1) / 2;
  give(&v);
  return good;
}

static bool mixed_calls(void) {
  bool good = true;
  for (int i = 0; i < 12; i++) good = mixed(i, i % 2 ? 3000 : 100000) && good;
  return good;
}

/* ---- lists, buckets, refusals ---- */

static bool in_lists(void) {
  enum { BUFFERS = 9 };
  static const size_t counts[BUFFERS] = {3, 0, 100, 70000, 5, 1, 8191, 300001, 12};
  const void *srcs[BUFFERS];
  void *dsts[BUFFERS];
  int32_t *host = malloc(4 * 300001), *mine[BUFFERS];
  bool good = host != NULL;
  for (int i = 0; i < BUFFERS && good; i++) {
    const bool card = i != 2; /* one buffer is on the host */
    mine[i] = card ? card_alloc(4 * counts[i] + 4) : malloc(4 * counts[i] + 4);
    for (size_t k = 0; k < counts[i]; k++) host[k] = (int32_t)k + rank;
    if (card)
      good = mine[i] && card_put(mine[i], host, 4 * counts[i], NULL);
    else
      memcpy(mine[i], host, 4 * counts[i]);
    srcs[i] = dsts[i] = mine[i];
  }
  good = good && !allreduce_many(comm, BUFFERS, srcs, dsts, counts, TUTTI_INT32, TUTTI_SUM);
  for (int i = 0; i < BUFFERS && good; i++) {
    if (i == 2)
      memcpy(host, mine[i], 4 * counts[i]);
    else
      good = card_get(host, mine[i], 4 * counts[i], NULL);
    for (size_t k = 0; k < counts[i] && good; k++)
      good = host[k] == ranks * (int32_t)k + ranks * (ranks - 1) / 2;
  }
  for (int i = 0; i < BUFFERS; i++)
    if (i == 2)
      free(mine[i]);
    else
      card_free(mine[i]);
  free(host);
  return good;
}

static bool in_buckets(void) {
  enum { COUNT = 50000 };
  float *card = card_alloc(4 * COUNT), *host = malloc(4 * COUNT);
  const tutti_tensor tensors[] = {{card, COUNT / 2, TUTTI_FLOAT},
                                  {card + COUNT / 2, COUNT / 2, TUTTI_FLOAT}};
  tutti_buckets_config config = {.size = sizeof config, .bf16 = 1};
  tutti_buckets *b = NULL;
  bool good = card && host;
  if (tutti_buckets_create(comm, 2, tensors, &config, &b) != TUTTI_ERR_UNSUPPORTED) good = false;
  if (tutti_buckets_create(comm, 2, tensors, NULL, &b)) return false;
  for (int step = 0; step < 3 && good; step++) {
    for (int k = 0; k < COUNT; k++) host[k] = (float)(k % 100 + rank + step);
    good = card_put(card, host, 4 * COUNT, NULL);
    good = good && !tutti_bucket_ready(b, 1) && !tutti_bucket_ready(b, 0);
    good = good && !tutti_buckets_wait(b) && card_get(host, card, 4 * COUNT, NULL);
    for (int k = 0; k < COUNT && good; k++)
      good = host[k] == (float)(k % 100 + step) + (float)(ranks - 1) / 2; /* buckets average */
  }
  tutti_buckets_free(b);
  card_free(card);
  free(host);
  return good;
}

static bool refused(void) {
  float host[4] = {0}, *card = card_alloc(sizeof host);
  tutti_request *r = NULL;
  bool good = card != NULL;
  good = tutti_send(comm, card, 4, TUTTI_FLOAT, 0, 0) == TUTTI_ERR_UNSUPPORTED && good;
  good =
      tutti_recv_start(comm, card, 4, TUTTI_FLOAT, 0, 0, NULL, &r) == TUTTI_ERR_UNSUPPORTED && good;
  good = tutti_reduce_local(card, host, host, 4, TUTTI_FLOAT, TUTTI_SUM) == TUTTI_ERR_UNSUPPORTED &&
         good;
  good = tutti_call_on_stream(comm, CALL(ALLREDUCE, .src = host, .dst = host, .count = 4,
                                         .type = TUTTI_FLOAT, .op = TUTTI_SUM, .stream = NULL)) ==
             TUTTI_ERR_ARG &&
         good;
  good = tutti_allreduce(comm, card, (char *)card + 4, 3, TUTTI_FLOAT, TUTTI_SUM) ==
             TUTTI_ERR_OVERLAP &&
         good;
  card_free(card);
  return good;
}

/* Checks the explanation for vectors in device memory; *kernels: whether kernels on the device sum them. */
static bool explained(tutti_coll coll, size_t count, bool *kernels) {
  char *words = NULL, *json = NULL;
  bool good = !tutti_comm_explain(comm, coll, count, TUTTI_FLOAT, TUTTI_SUM, 0, &words) &&
              !tutti_comm_explain(comm, coll, count, TUTTI_FLOAT, TUTTI_SUM, 1, &json);
  *kernels = good && strstr(words, "): kernels sum th");
  const bool host = good && strstr(words, "): through the host");
  const char *way = good ? strstr(json, "\"way\": \"") : NULL;
  good = good && *kernels != host && way && !strncmp(way + 8, *kernels ? "kernels" : "host", 4);
  free(words);
  free(json);
  return good;
}

/* Called when the abilities of the devices are known. WAY: the way that this run expects; unset: any. */
static bool ways(void) {
  const char *wanted = getenv("WAY");
  bool kernels, copied, gathered;
  const bool good = explained(TUTTI_ALLREDUCE, 100000, &kernels) &&
                    explained(TUTTI_ALLREDUCE, 1, &copied) &&
                    explained(TUTTI_ALLGATHER, 1000, &gathered);
  return good && !copied && !gathered && (!wanted || kernels == !strcmp(wanted, "kernels"));
}

int main(void) {
  char why[200], name[100];
  end_after(120);
  if (start_comm(&comm)) return fprintf(stderr, "%s\n", tutti_error()), 1;
  rank = tutti_comm_rank(comm);
  ranks = tutti_comm_size(comm);
  unsigned char all = card_open(rank, why, sizeof why);
  if (tutti_allreduce(comm, &all, &all, 1, TUTTI_UINT8, TUTTI_MIN)) return 1;
  if (!all) {
    if (rank == 0) printf("ok - vectors on a card # SKIP %s\n1..1\n", why);
    tutti_comm_free(comm);
    return 0;
  }
  static const size_t sizes[] = {1, 100, 5000, 100000, 600000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int in_place = 0; in_place < 2; in_place++) {
      snprintf(name, sizeof name, "%zu bytes%s in the order of a stream", sizes[i],
               in_place ? " in place" : "");
      judge(name, in_order(sizes[i], in_place), "not in order");
    }
  judge("overlapping calls on two streams", on_two_streams(), "wrong");
  if (!getenv("BRIEF")) compare_bits();
  judge("new memory for each call", with_new_memory(), "wrong");
  judge("vectors of some ranks on the card, of others on the host", mixed_calls(), "wrong");
  judge("a list of buffers on the card, one on the host", in_lists(), "wrong");
  judge("tensors on the card in buckets", in_buckets(), "wrong");
  judge("calls that take no device vectors refuse them", refused(), "not refused");
  judge("the way of device vectors is explained", ways(), "another way");
  if (tutti_comm_free(comm)) failed++;
  if (rank == 0) printf("1..%d\n", tests);
  return failed || start_end();
}
