/* scenes_bucket.c - tensors in buckets: any numbers, lengths and types, ready in a different order on every
 * rank and in every step, with every way of waiting, in the caller's memory and in the library's; and refused
 * calls.
 *
 * Idea       the right result is that of a plain allreduce of each tensor, bit for bit: with these
 *            data the order of additions does not matter, or the contract is exact.
 *            Results sent as bf16 are compared with a bound, and over many steps with a tight one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"
#include "rounding.h"
#include "scenes.h"

enum { MOST = 60, GUARD = 16 };

typedef struct row {        /* of the table of cases */
  size_t n, longest, bytes; /* tensors, elements; bytes of a bucket (0: by cost estimate) */
  int types;                /* number of types used */
  int sum, learn, thread, exact;
} row;

static const row table[] = {
    {0, 1, 0, 1, 0, 0, 0, 0},           {1, 1, 0, 1, 0, 0, 0, 0},
    {1, 50000, 0, 1, 0, 1, 0, 0},       {7, 9, 1, 1, 0, 0, 0, 0}, /* a bucket each */
    {40, 300, 4096, 1, 0, 0, 0, 0},     {40, 300, 0, 1, 1, 1, 0, 0},
    {40, 300, 1 << 30, 3, 0, 0, 0, 0}, /* a bucket per type */
    {MOST, 3000, 8192, 6, 0, 1, 0, 0},  {MOST, 3000, 0, 6, 1, 0, 1, 0},
    {20, 40000, 100000, 2, 0, 1, 1, 0}, {12, 5000, 3000, 1, 0, 1, 0, 1},
};
static const tutti_type types[] = {TUTTI_FLOAT,   TUTTI_DOUBLE, TUTTI_BFLOAT16,
                                   TUTTI_FLOAT16, TUTTI_INT32,  TUTTI_COMPLEX_FLOAT};

typedef struct model {
  size_t n;
  tutti_tensor t[MOST];
  void *plain[MOST]; /* result of a plain allreduce */
  cover_case like;
  bool done[MOST];
  bool provided; /* by the library */
} model;

static size_t bytes_of(const model *m, size_t i) {
  return m->t[i].count * tutti_type_size(m->t[i].type);
}

static bool make(model *m, tutti_comm *comm, const row *r, bool provided, uint64_t seed) {
  *m = (model){.n = r->n,
               .provided = provided,
               .like = {.ranks = tutti_comm_size(comm), .coll = TUTTI_ALLREDUCE}};
  m->like.op = r->sum ? TUTTI_SUM : TUTTI_AVG;
  m->like.rough = r->exact;
  for (size_t i = 0; i < m->n; i++) {
    const uint64_t u = cover_mix(seed ^ (i + 1) << 24);
    tutti_tensor *t = &m->t[i];
    t->type = types[u % (uint64_t)r->types];
    t->count =
        i % 9 == 5 ? 0 : (size_t)(u >> 8) % (u >> 40 & 3 ? 1 + r->longest / 8 : r->longest + 1);
    t->data = provided ? NULL : malloc(bytes_of(m, i) + GUARD);
    m->plain[i] = malloc(bytes_of(m, i) + GUARD);
    if (!CHECK((provided || t->data) && m->plain[i])) return false;
    if (!provided) memset((char *)t->data + bytes_of(m, i), 0x77, GUARD);
  }
  return true;
}

static void drop(model *m) {
  for (size_t i = 0; i < m->n; i++) {
    if (!m->provided) free(m->t[i].data);
    free(m->plain[i]);
  }
}

static void fill(model *m, int rank, size_t i, uint64_t seed) {
  cover_case c = m->like;
  c.type = m->t[i].type;
  c.count = m->t[i].count;
  c.seed = cover_mix(seed + i);
  cover_fill(&c, rank, m->t[i].data, c.count);
  if (bytes_of(m, i)) memcpy(m->plain[i], m->t[i].data, bytes_of(m, i));
  m->done[i] = false;
}

/* The tensor belongs to the caller again, and its result is right. */
static bool right(model *m, size_t i) {
  const char *got = m->t[i].data;
  if (m->done[i]) return true;
  m->done[i] = true;
  if (bytes_of(m, i) && !CHECK(!memcmp(got, m->plain[i], bytes_of(m, i)))) return false;
  for (int k = 0; k < GUARD && !m->provided; k++)
    if (got[bytes_of(m, i) + (size_t)k] != 0x77) return CHECK(!"bytes behind a tensor changed");
  return true;
}

/* Waits for some tensors singly, or tests them, in this rank's own order. */
static bool wait_some(tutti_buckets *b, model *m, uint64_t u) {
  bool ok = true;
  for (size_t k = 0; k < m->n && ok && u & 1; k++) {
    const size_t i = (k * 7 + (size_t)(u >> 20)) % m->n;
    int done = 1;
    if (cover_mix(u + k) & 1)
      ok = CHECK(!tutti_bucket_wait(b, i));
    else
      ok = CHECK(!tutti_bucket_test(b, i, &done));
    ok = ok && (!done || right(m, i));
  }
  return ok;
}

/* One step; the order of readiness differs by rank and step. In between, another collective runs on
 * `comm`. */
static bool step(tutti_comm *comm, tutti_buckets *b, model *m, uint64_t seed, bool shuffled) {
  const int me = tutti_comm_rank(comm);
  const uint64_t mine = cover_mix(seed + (uint64_t)me * 999);
  size_t order[MOST];
  uint32_t x = 1;
  bool ok = true;
  for (size_t i = 0; i < m->n; i++) order[i] = i;
  for (size_t i = m->n; shuffled && i > 1; i--) {
    const size_t with = (size_t)(cover_mix(mine + i) % i), keep = order[i - 1];
    order[i - 1] = order[with];
    order[with] = keep;
  }
  for (size_t i = 0; i < m->n && ok; i++) {
    fill(m, me, i, seed);
    ok = CHECK(!tutti_allreduce(comm, m->plain[i], m->plain[i], m->t[i].count, m->t[i].type,
                                (tutti_op)m->like.op));
  }
  for (size_t k = 0; k < m->n && ok; k++) {
    int done;
    if (k == m->n / 2)
      ok = CHECK(!tutti_allreduce(comm, &x, &x, 1, TUTTI_UINT32, TUTTI_SUM)) &&
           CHECK((int)x == tutti_comm_size(comm));
    ok = ok && CHECK(!tutti_bucket_ready(b, order[k]));
    if (ok && cover_mix(mine + k) % 5 == 0)
      ok = CHECK(!tutti_bucket_test(b, order[k / 2], &done)) && (!done || right(m, order[k / 2]));
  }
  ok = ok && wait_some(b, m, cover_mix(mine)) && CHECK(!tutti_buckets_wait(b));
  for (size_t i = 0; i < m->n && ok; i++) ok = right(m, i);
  return ok;
}

/* Checks the division: every bucket has one type and is long enough, except the last of its type; buckets are
 * in the order of their last tensors. */
static bool cut_is_right(const tutti_buckets *b, const model *m) {
  const size_t n = tutti_buckets_count(b);
  size_t bytes[MOST] = {0}, last[MOST] = {0}, open[TUTTI_TYPE_COUNT] = {0};
  bool ok = CHECK(n <= m->n);
  for (size_t i = 0; i < m->n && ok; i++) {
    const size_t k = tutti_bucket_of(b, i);
    ok = CHECK(k < n);
    for (size_t j = 0; j < i && ok; j++)
      if (tutti_bucket_of(b, j) == k) ok = CHECK(m->t[j].type == m->t[i].type);
    bytes[k] += bytes_of(m, i);
    last[k] = i + 1;
  }
  for (size_t k = 0; k < n && ok; k++) ok = CHECK(last[k] > (k ? last[k - 1] : 0));
  for (size_t k = 0; k < n && ok; k++)
    for (size_t i = 0; i < m->n; i++)
      if (tutti_bucket_of(b, i) == k && bytes[k] < tutti_buckets_bytes(b)) {
        ok = CHECK(open[m->t[i].type]++ == 0);
        break;
      }
  return ok;
}

/* Provided tensors are zeroed and aligned, and adjacent to the next one of their bucket; the caller's are where
 * they were. */
static bool memory_is_right(const tutti_buckets *b, model *m) {
  const char *end[MOST] = {NULL};
  bool ok = CHECK(!tutti_bucket_data(b, m->n)) && CHECK(!tutti_bucket_data(NULL, 0));
  for (size_t i = 0; i < m->n && ok; i++) {
    char *data = tutti_bucket_data(b, i);
    const size_t k = tutti_bucket_of(b, i), bytes = bytes_of(m, i);
    if (!m->provided) ok = CHECK(data == m->t[i].data);
    if (!m->provided || !bytes) continue;
    ok = CHECK(data != NULL) && CHECK(end[k] ? data == end[k] : (uintptr_t)data % 64 == 0);
    for (size_t at = 0; at < bytes && ok; at++) ok = data[at] == 0 || CHECK(!"not zeroed");
    m->t[i].data = data;
    end[k] = data + bytes;
  }
  return ok;
}

static bool one_row(tutti_comm *base, const row *r, bool provided, uint64_t seed) {
  const tutti_buckets_config config = {
      sizeof config, r->bytes, r->sum, r->learn, 0, r->thread && tutti_comm_rank(base) % 2, NULL};
  model *m = malloc(sizeof *m);
  tutti_comm *comm;
  tutti_buckets *b = NULL;
  bool ok = CHECK(m != NULL) && CHECK(!tutti_comm_dup(base, &comm));
  if (!ok) return false;
  if (r->exact) ok = CHECK(!comm_set_contract(comm, TUTTI_CONTRACT_EXACT));
  ok = ok && make(m, comm, r, provided, seed) &&
       CHECK(!tutti_buckets_create(comm, m->n, m->t, r == table ? NULL : &config, &b)) &&
       cut_is_right(b, m) && memory_is_right(b, m);
  for (uint64_t s = 0; s < 4 && ok; s++) ok = step(comm, b, m, seed + s, s != 2);
  for (size_t i = 0; i < m->n && ok; i++)
    ok = !m->t[i].count ||
         CHECK(tutti_bucket_data(b, i) == m->t[i].data); /* also in a learned order */
  ok = CHECK(!tutti_comm_free(comm)) && CHECK(!tutti_buckets_free(b)) && ok;
  drop(m);
  free(m);
  if (!ok) printf("# row %d of the table, %d\n", (int)(r - table), provided);
  return ok;
}

bool scene_buckets(tutti_comm *base, uint64_t seed) {
  bool ok = true;
  for (size_t i = 0; i < 2 * (sizeof table / sizeof *table) && ok; i++)
    ok = one_row(base, &table[i / 2], i % 2, cover_mix(seed + i));
  return ok;
}

/* The last rank contributes no data: it gets no memory, and sums as many elements as the others. */
bool scene_bucket_helper(tutti_comm *base, uint64_t seed) {
  const int P = tutti_comm_size(base), me = tutti_comm_rank(base), data = P > 1 ? P - 1 : 1;
  const bool helps = me >= data;
  const tutti_buckets_config config = {.size = sizeof config, .sum = 1};
  tutti_tensor t[3] = {{NULL, 7, TUTTI_FLOAT}, {NULL, 5000, TUTTI_FLOAT}, {NULL, 3, TUTTI_INT32}};
  const float mine = (float)(seed % 100) + (float)me, all = (float)(seed % 100);
  tutti_comm *comm;
  tutti_buckets *b = NULL;
  bool ok = CHECK(!tutti_comm_dup(base, &comm)) && CHECK(!comm_set_helpers(comm, P > 1)) &&
            CHECK(!tutti_buckets_create(comm, 3, t, &config, &b));
  for (size_t i = 0; i < 3 && ok; i++) {
    float *x = tutti_bucket_data(b, i);
    ok = CHECK((x == NULL) == helps);
    for (size_t k = 0; k < t[i].count && x && i < 2; k++) x[k] = mine;
    ok = ok && CHECK(!tutti_bucket_ready(b, i));
  }
  ok = ok && CHECK(!tutti_buckets_wait(b));
  for (size_t i = 0; i < 2 && ok && !helps; i++)
    for (size_t k = 0; k < t[i].count && ok; k++)
      ok = CHECK(((float *)tutti_bucket_data(b, i))[k] ==
                 (float)data * all + (float)(data * (data - 1) / 2));
  return CHECK(!tutti_buckets_free(b)) && CHECK(!tutti_comm_free(comm)) && ok;
}

/* ---- as bf16 ---- */

enum { N = 5, STEPS = 40 };
static const size_t counts[N] = {3, 1000, 0, 17, 4099};
enum { ALL = 3 + 1000 + 17 + 4099 };

static float value(uint64_t seed, int rank, size_t i) {
  return ldexpf((float)(int64_t)cover_mix(seed + i * 64 + (uint64_t)rank), -63);
}

/* With the same gradients in each step, the average of the results approaches the mean: only the last
 * remainders are missing from the sum. An infinity or a NaN is passed on and not carried over. */
static bool many_steps(tutti_buckets *b, tutti_tensor *t, int *ints, int me, int P, uint64_t seed) {
  static _Thread_local double sum[ALL];
  bool ok = true;
  memset(sum, 0, sizeof sum);
  for (int s = 0; s <= STEPS && ok; s++) {
    for (size_t i = 0, at = 0; i < N; i++)
      for (size_t k = 0; k < counts[i]; k++, at++) ((float *)t[i].data)[k] = value(seed, me, at);
    if (s == 0) ((float *)t[1].data)[7] = me == 0 ? INFINITY : 1;
    ints[0] = me, ints[1] = P * 7;
    for (size_t i = N + 1; i-- > 0 && ok;)
      ok = CHECK(!tutti_bucket_ready(b, (i + (size_t)me) % (N + 1)));
    ok = ok && CHECK(!tutti_bucket_wait(b, (size_t)(s + me) % (N + 1))) &&
         CHECK(!tutti_buckets_wait(b)) && CHECK(ints[1] == P * 7);
    if (s == 0) ok = ok && CHECK(isinf(((float *)t[1].data)[7]));
    for (size_t i = 0, at = 0; i < N && ok; i++)
      for (size_t k = 0; k < counts[i] && ok; k++, at++) {
        double want = 0, size = 0;
        for (int r = 0; r < P; r++) want += (double)value(seed, r, at) / P;
        for (int r = 0; r < P; r++) size += fabs((double)value(seed, r, at)) / P;
        const double got = (double)((float *)t[i].data)[k];
        const double once = rounding_bound(TUTTI_BFLOAT16, 2, size); /* this step and the last */
        if (i == 1 && k == 7 && s == 0) continue;
        ok = CHECK(fabs(got - want) <= once);
        if (s) sum[at] += got - want;
        if (s == STEPS && (i != 1 || k != 7)) ok = CHECK(fabs(sum[at]) <= 2 * once);
      }
  }
  return ok;
}

bool scene_bucket_bf16(tutti_comm *base, uint64_t seed) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  bool ok = true;
  for (int way = 0; way < 6 && ok; way++) {
    const tutti_buckets_config config = {
        sizeof config, way % 3 == 1 ? 1024 : 0, 0, way % 3 == 2, 1, 0, NULL};
    float *x = calloc(ALL, sizeof *x);
    int ints[2];
    uint64_t mine = 1, least, most;
    tutti_tensor t[N + 1];
    tutti_buckets *b;
    for (size_t i = 0, at = 0; i < N; at += counts[i++])
      t[i] = (tutti_tensor){x + at, counts[i], TUTTI_FLOAT};
    t[N] = (tutti_tensor){ints, 2, TUTTI_INT32};
    for (size_t i = 0; i <= N && way >= 3; i++) t[i].data = NULL; /* the library's memory */
    ok = CHECK(x != NULL) && CHECK(!tutti_buckets_create(base, N + 1, t, &config, &b));
    for (size_t i = 0; i <= N && ok; i++) t[i].data = tutti_bucket_data(b, i);
    ok = ok && many_steps(b, t, t[N].data, me, P, seed + (uint64_t)way);
    for (size_t i = 0; i < N && ok; i++)
      for (size_t at = 0; at < counts[i] * sizeof *x; at++)
        mine = (mine ^ ((unsigned char *)t[i].data)[at]) * 0x100000001b3u;
    ok = ok && CHECK(!tutti_allreduce(base, &mine, &least, 1, TUTTI_UINT64, TUTTI_MIN)) &&
         CHECK(!tutti_allreduce(base, &mine, &most, 1, TUTTI_UINT64, TUTTI_MAX)) &&
         CHECK(least == most) && CHECK(!tutti_buckets_free(b));
    free(x);
  }
  return ok;
}

/* ---- refused calls ---- */

static bool refusals(tutti_comm *base) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  tutti_tensor t[3] = {{x, 2, TUTTI_FLOAT}, {x + 2, 3, TUTTI_FLOAT}, {x + 5, 3, TUTTI_FLOAT}};
  const tutti_buckets_config each = {sizeof each, 1, 0, 0, 0, 0, NULL};
  tutti_buckets *b = NULL;
  int done = 0;
  tutti_tensor wrong[3] = {t[0], t[1], {NULL, 3, TUTTI_FLOAT}}, twice[2] = {t[0], t[0]},
               pair[1] = {{x, 1, TUTTI_FLOAT_INT}},
               vast[2] = {{NULL, PTRDIFF_MAX / 8, TUTTI_FLOAT}, {NULL, SIZE_MAX / 2, TUTTI_FLOAT}},
               around[2] = {{NULL, PTRDIFF_MAX, TUTTI_INT8},
                            {NULL, PTRDIFF_MAX / 4 + 2, TUTTI_FLOAT}};
  bool ok =
      ERROR(tutti_buckets_create(base, 3, wrong, &each, &b), TUTTI_ERR_ARG,
            "tensor 2 is NULL and tensor 1 is not|tutti provides") &&
      ERROR(tutti_buckets_create(base, 2, vast, NULL, &b), TUTTI_ERR_MEMORY, "any memory") &&
      ERROR(tutti_buckets_create(base, 2, around, NULL, &b), TUTTI_ERR_MEMORY, "any memory") &&
      ERROR(tutti_buckets_create(base, 1, vast, NULL, &b), TUTTI_ERR_MEMORY, "bytes of shared") &&
      CHECK(b == NULL) &&
      ERROR(tutti_buckets_create(base, 3, NULL, NULL, &b), TUTTI_ERR_ARG, "NULL") &&
      ERROR(tutti_buckets_create(base, 2, twice, NULL, &b), TUTTI_ERR_OVERLAP, "overlap") &&
      ERROR(tutti_buckets_create(base, 1, pair, NULL, &b), TUTTI_ERR_OP, "tensor 0|no sum") &&
      CHECK(!tutti_buckets_create(base, 3, t, &each, &b)) && CHECK(tutti_buckets_count(b) == 3);
  ok = ok && CHECK(!tutti_buckets_wait(b)) && CHECK(!tutti_bucket_wait(b, 1)) &&
       CHECK(!tutti_bucket_test(b, 1, &done)) && CHECK(done) &&
       ERROR(tutti_bucket_ready(b, 3), TUTTI_ERR_ARG, "tensor 3 does not exist; 3 were registered") &&
       CHECK(!tutti_bucket_ready(b, 2)) &&
       ERROR(tutti_bucket_ready(b, 2), TUTTI_ERR_STATE, "tensor 2 is ready already") &&
       ERROR(tutti_bucket_wait(b, 2), TUTTI_ERR_STATE, "tensor 0, in bucket 0 of 3") &&
       CHECK(!tutti_bucket_ready(b, 0)) && CHECK(!tutti_bucket_wait(b, 0)) &&
       ERROR(tutti_buckets_wait(b), TUTTI_ERR_STATE, "tensor 1, in bucket 1 of 3") &&
       CHECK(!tutti_bucket_ready(b, 1)) &&
       ERROR(tutti_buckets_free(b), TUTTI_ERR_STATE, "in flight") &&
       CHECK(!tutti_buckets_wait(b)) && CHECK(!tutti_buckets_free(b)) && CHECK(x[7] == 8) &&
       CHECK(!tutti_buckets_free(NULL)) &&
       ERROR(tutti_bucket_ready(NULL, 0), TUTTI_ERR_ARG, "buckets is NULL");
  tutti_comm *comm;
  tutti_buckets_config halving = {sizeof halving, 0, 0, 0, 1, 0, NULL};
  ok = ok && CHECK(!tutti_comm_dup(base, &comm)) &&
       CHECK(!comm_set_contract(comm, TUTTI_CONTRACT_EXACT)) &&
       ERROR(tutti_buckets_create(comm, 3, t, &halving, &b), TUTTI_ERR_UNSUPPORTED, "no bf16");
  return CHECK(!tutti_comm_free(comm)) && ok;
}

/* One rank registers different tensors: all get an error, and the communicator stays usable. */
static bool differences(tutti_comm *base, uint64_t seed) {
  static const char *const words[] = {"registers", "other counts", "other counts",
                                      "config",    "was refused",  "its tensors' memory"};
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  float x[8] = {0};
  bool ok = true;
  for (int way = 0; way < 6 && P > 1 && ok; way++) {
    tutti_tensor t[2] = {{x, 3, TUTTI_FLOAT}, {x + 4, 4, TUTTI_FLOAT}};
    tutti_buckets_config config = {.size = sizeof config};
    tutti_buckets *b;
    const bool odd_one = me == (int)(cover_mix(seed + (uint64_t)way) % (uint64_t)P);
    if (odd_one && way == 1) t[1].count = 3;
    if (odd_one && way == 2) t[0].type = TUTTI_INT32;
    if (odd_one && way == 3) config.sum = 1;
    if (odd_one && way >= 4) t[1].data = NULL;
    if (odd_one && way == 5) t[0].data = NULL;
    const tutti_status status =
        tutti_buckets_create(base, odd_one && way == 0 ? 1 : 2, t, &config, &b);
    ok = odd_one && way == 4 ? ERROR(status, TUTTI_ERR_ARG, "tensor 1")
                             : ERROR(status, TUTTI_ERR_MISMATCH, words[way]);
    ok = CHECK(!tutti_barrier(base)) && ok;
  }
  return ok;
}

/* An abort ends the step on all ranks; the object is freed during it. */
static bool aborted(tutti_comm *base, int bf16) {
  const int me = tutti_comm_rank(base), P = tutti_comm_size(base);
  static _Thread_local float x[2][3000];
  const tutti_tensor t[2] = {{x[0], 3000, TUTTI_FLOAT}, {x[1], 3000, TUTTI_FLOAT}};
  const tutti_buckets_config config = {sizeof config, 1, 0, 0, bf16, 0, NULL};
  tutti_buckets *b;
  bool ok = P == 1 || CHECK(!tutti_buckets_create(base, 2, t, &config, &b));
  if (P == 1 || !ok) return ok;
  if (!CHECK(!tutti_barrier(base))) return false; /* all have created it */
  tutti_status status = me == 0 ? TUTTI_OK : tutti_bucket_ready(b, 0);
  if (me == 0) usleep(3000);
  if (me == 0) ok = CHECK(!tutti_comm_abort(tutti_buckets_comm(b), "enough"));
  if (!status) status = me == 0 ? tutti_bucket_ready(b, 0) : tutti_bucket_wait(b, 0);
  if (!status) status = tutti_bucket_wait(b, 0);
  ok = ERROR(status, TUTTI_ERR_ABORTED, "enough") && ok;
  ok = ERROR(tutti_bucket_ready(b, 1), TUTTI_ERR_ABORTED, "enough") && ok;
  return CHECK(!tutti_buckets_free(b)) && CHECK(!tutti_barrier(base)) && ok;
}

bool scene_bucket_wrong(tutti_comm *base, uint64_t seed) {
  return refusals(base) && differences(base, seed) && aborted(base, 0) && aborted(base, 1);
}
