/* sums_play.c - ranks compute sums that are exact, or under the contract `element`: with every
 * plan, with every call, and in many windows. Also computes a hash of ordinary sums (sums.h).
 *
 * Idea       every rank has the numbers of all ranks, and can compute the result. If there are more
 *            ranks than numbers, the remaining ranks contribute zeros. The assignment of numbers to
 *            ranks changes from run to run, but the result must not change.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "cover.h"
#include "kernel.h"
#include "sums.h"
#include "tutti_plan.h"

enum { REALS = 300, NAMES = 400 };
enum { SUM, AVG, SCALED, OPS };

typedef struct job { /* the data of one call */
  tutti_type type, real;
  size_t each, reals;
  int op;
  int have; /* ranks with numbers; the others contribute zeros */
  int turn; /* rank r has the numbers of (r + turn) mod P */
} job;

static const tutti_type types[] = {TUTTI_FP8_E4M3,      TUTTI_FP8_E5M2,      TUTTI_FLOAT16,
                                   TUTTI_BFLOAT16,      TUTTI_FLOAT,         TUTTI_DOUBLE,
                                   TUTTI_COMPLEX_FLOAT, TUTTI_COMPLEX_DOUBLE};
enum { TYPES = sizeof types / sizeof *types, COMPLEX = 6 };

static job make_job(int t, size_t reals, int op, int have, int turn) {
  job j = {.type = types[t], .real = types[t], .each = 1, .op = op, .have = have, .turn = turn};
  if (t >= COMPLEX) j.each = 2, j.real = t == COMPLEX ? TUTTI_FLOAT : TUTTI_DOUBLE;
  j.reals = (reals + 1) / 2 * j.each; /* so that all types have the same number of elements */
  return j;
}

static size_t bytes_of(const job *j) {
  return j->reals * tutti_type_size(j->real);
}

static int number_of(const job *j, int rank, int P) {
  return (rank + j->turn) % P;
}

/* The scaled op negates the input of odd ranks. */
static double factor_of(int rank) {
  return rank % 2 ? -1 : 1;
}

static uint64_t number(const job *j, size_t i, int rank, int P) {
  const int k = number_of(j, rank, P);
  return k < j->have ? sums_number(j->real, i, k, j->have) : 0;
}

static void fill(const job *j, int rank, int P, void *x) {
  for (size_t i = 0; i < j->reals; i++) sums_put(j->real, x, i, number(j, i, rank, P));
}

/* Which sums are expected: exact ones, or, under `element`, the numbers of all ranks added in one step, in rank
 * order. */
static bool by_element;

void sums_expect_element(bool is) {
  by_element = is;
}

/* Computes the sum of a single element. For a prefix sum, each number is added to the previous sum. */
static uint64_t sum_of_element(tutti_type real, const uint64_t *x, int n, int by, bool prefix) {
  const void *in[SUMS_MOST];
  uint64_t sum = x[0];
  tt_reducer reducer;
  tt_reducer_init(&reducer, real, TUTTI_SUM);
  for (int r = 0; r < n; r++) in[r] = &x[r];
  if (!prefix && n > 1) tt_reduce(&reducer, &sum, in, n, 1);
  for (int r = 1; prefix && r < n; r++)
    tt_reduce(&reducer, &sum, (const void *[]){&sum, in[r]}, 2, 1);
  if (by > 1) tt_scale(real, &sum, 1, by);
  return sum;
}

/* Computes the sum over ranks 0 to ranks - 1. */
static void expect_sum(const job *j, int ranks, int P, bool prefix, void *want) {
  const uint64_t sign = (uint64_t)1 << (8 * tutti_type_size(j->real) - 1);
  for (size_t i = 0; i < j->reals; i++) {
    uint64_t x[SUMS_MOST];
    const int by = j->op == AVG ? ranks : 1;
    for (int r = 0; r < ranks; r++) {
      x[r] = number(j, i, r, P);
      if (j->op == SCALED && factor_of(r) < 0) x[r] ^= sign;
    }
    sums_put(j->real, want, i,
             by_element && ranks ? sum_of_element(j->real, x, ranks, by, prefix)
                                 : sums_exact(j->real, x, ranks, by));
  }
}

static void expect(const job *j, int ranks, int P, void *want) {
  expect_sum(j, ranks, P, false, want);
}

static bool same(const job *j, const void *got, const void *want, const char *what, tutti_comm *c) {
  if (memcmp(got, want, bytes_of(j)) == 0) return true;
  size_t i = 0;
  while (sums_get(j->real, got, i) == sums_get(j->real, want, i)) i++;
  printf("# rank %d of %d, %s, %s, op %d, %d with numbers, turn %d: place %zu is %llx, not %llx\n",
         tutti_comm_rank(c), tutti_comm_size(c), what, tutti_type_name(j->type), j->op, j->have,
         j->turn, i, (unsigned long long)sums_get(j->real, got, i),
         (unsigned long long)sums_get(j->real, want, i));
  return false;
}

static bool fine(tutti_status status, const char *what) {
  if (status) printf("# %s: %s\n", what, tutti_error());
  return !status;
}

/* ---- every plan ---- */

static int names_of(int ranks, char (*names)[128]) {
  const tutti_question q = {.size = sizeof q, .ranks = ranks, .type = TUTTI_INT64, .crowd = 1};
  tutti_offer o = {.size = sizeof o};
  tutti_prices *p;
  int n = 0;
  if (tutti_prices_make(&q, &p)) return 0;
  for (int i = 0; n < NAMES && !tutti_prices_offer(p, 4096, i, 0, &o); i++)
    if (o.possible && (n == 0 || strcmp(names[n - 1], o.name) != 0))
      snprintf(names[n++], sizeof *names, "%s", o.name);
  tutti_prices_free(p);
  return n;
}

typedef struct room {
  double x[2 * REALS], got[2 * REALS];
  double want[TYPES][OPS][2 * REALS];
  char names[NAMES][128];
} room;

static bool one_plan(tutti_comm *c, room *m, const char *name, int a, tutti_op scaled) {
  static const int slices[] = {0, 1, 3};
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  bool well =
      fine(comm_set_algorithm(c, name), name) && fine(comm_set_slices(c, slices[a % 3]), "slices");
  for (int t = 0; t < TYPES; t++) {
    const int op = (a + t) % OPS;
    /* without scaling, any rank may have any number */
    job j = make_job(t, REALS, op, P, op == SCALED || by_element ? 0 : a);
    const tutti_op ops[] = {TUTTI_SUM, TUTTI_AVG, scaled};
    void *src = (a + t) % 2 ? m->got : m->x;
    if (a % 5 == 4) j.reals = j.each; /* a short vector */
    fill(&j, rank, P, src);
    /* a rank with a wrong result continues, because the others would wait forever */
    well &= fine(tutti_allreduce(c, src, m->got, j.reals / j.each, j.type, ops[op]), name) &&
            same(&j, m->got, m->want[t][op], name, c);
  }
  return well;
}

bool sums_by_all_plans(tutti_comm *c) {
  const int P = tutti_comm_size(c);
  room *m = malloc(sizeof *m);
  tutti_op scaled;
  bool well = m && fine(tutti_op_create_scaled(factor_of(tutti_comm_rank(c)), &scaled), "scaled");
  if (!well) return false;
  const int n = names_of(P, m->names);
  for (int t = 0; t < TYPES; t++)
    for (int op = 0; op < OPS; op++) {
      const job j = make_job(t, REALS, op, P, 0);
      expect(&j, P, P, m->want[t][op]);
    }
  if (n == 0) well = fine(TUTTI_ERR_STATE, "no names");
  for (int a = 0; a < n; a++) well &= one_plan(c, m, m->names[a], a, scaled);
  comm_set_algorithm(c, NULL);
  tutti_op_free(scaled);
  free(m);
  return well;
}

/* ---- every call ---- */

typedef struct call_capacity {
  double x[16 * 2 * REALS], got[16 * 2 * REALS], want[16 * 2 * REALS];
} call_capacity;

/* Checks scan and exscan: the sum up to this rank. */
static bool prefixes(tutti_comm *c, call_capacity *m, int t) {
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  const job j = make_job(t, REALS, SUM, P, 1);
  fill(&j, rank, P, m->x);
  memset(m->got, 7, bytes_of(&j));
  expect_sum(&j, rank + 1, P, true, m->want);
  const bool well =
      fine(tutti_scan(c, m->x, m->got, j.reals / j.each, j.type, TUTTI_SUM), "scan") &&
      same(&j, m->got, m->want, "scan", c);
  expect_sum(&j, rank, P, true, m->want);
  memset(m->got, 7, bytes_of(&j));
  if (rank == 0) memset(m->want, 7, bytes_of(&j)); /* rank 0's result must stay unchanged */
  return fine(tutti_exscan(c, m->x, m->got, j.reals / j.each, j.type, TUTTI_SUM), "exscan") &&
         same(&j, m->got, m->want, "exscan", c) && well;
}

static bool to_root(tutti_comm *c, call_capacity *m, int t) {
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c), root = t % P;
  const job j = make_job(t, REALS, AVG, P - P / 3, 2);
  void *dst = rank == root ? m->x : NULL;
  expect(&j, P, P, m->want);
  fill(&j, rank, P, m->x);
  return fine(tutti_reduce(c, m->x, dst, j.reals / j.each, j.type, TUTTI_AVG, root), "reduce") &&
         (rank != root || same(&j, m->x, m->want, "reduce in place", c));
}

/* Checks blocks of equal size and of different sizes, and that the remainder of src is unchanged. */
static bool scattered(tutti_comm *c, call_capacity *m, int t, bool varied) {
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  size_t counts[SUMS_MOST], before = 0, all = 0;
  for (int r = 0; r < P; r++) {
    counts[r] = varied ? (size_t)(r * 37 % 100) * (r % 3 != 1) : 41;
    if (r < rank) before += counts[r];
    all += counts[r];
  }
  job j = make_job(t, 2, SUM, P, 3);
  j.reals = all * j.each;
  fill(&j, rank, P, m->x);
  expect(&j, P, P, m->want);
  const size_t from = before * tutti_type_size(j.type);
  j.reals = counts[rank] * j.each;
  const char *what = varied ? "reduce_scatterv" : "reduce_scatter";
  const tutti_status status =
      varied ? tutti_reduce_scatterv(c, m->x, (char *)m->x + from, counts, j.type, TUTTI_SUM)
             : tutti_reduce_scatter(c, m->x, m->got, counts[0], j.type, TUTTI_SUM);
  return fine(status, what) &&
         same(&j, varied ? (char *)m->x + from : (char *)m->got, (char *)m->want + from, what, c);
}

/* Checks a list of buffers, started while other operations are in flight, and then started again. */
static bool listed(tutti_comm *c, call_capacity *m, int t) {
  enum { N = 5 };
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  const size_t counts[N] = {1, 0, 70, 3, 60};
  const void *srcs[N];
  void *dsts[N];
  job j = make_job(t, 2, SUM, P, 0);
  const size_t size = tutti_type_size(j.type);
  int32_t ones = 1, ranks = 0;
  tutti_request *list, *before, *between;
  size_t at = 0;
  for (int i = 0; i < N; at += counts[i++]) {
    srcs[i] = (char *)m->x + at * size;
    dsts[i] = (char *)m->got + at * size;
  }
  j.reals = at * j.each;
  expect(&j, P, P, m->want);
  float half = 0.5f, halving = 0;
  bool well = fine(tutti_call_init(c,
                                   CALL(ALLREDUCE, .n = N, .srcs = srcs, .dsts = dsts,
                                        .counts = counts, .type = j.type, .op = TUTTI_SUM),
                                   &list),
                   "list");
  bool right = true;
  for (int again = 0; again < 3 && well; again++) {
    memset(m->got, 3, bytes_of(&j));
    if (!by_element) j.turn = again;
    fill(&j, rank, P, m->x);
    well =
        fine(tutti_allreduce_start(c, &half, &halving, 1, TUTTI_FLOAT, TUTTI_SUM, &before), "1") &&
        fine(tutti_request_start(list), "2") &&
        fine(tutti_allreduce_start(c, &ones, &ranks, 1, TUTTI_INT32, TUTTI_SUM, &between), "3");
    if (!well) return false;
    if (again == 1) well &= fine(tutti_request_wait(&between), "between");
    int done = 0;
    while (well && again == 2 && !done) well = fine(tutti_request_test(&list, &done), "test");
    well = well && fine(tutti_request_wait(&list), "wait") &&
           fine(tutti_request_wait(&between), "between") &&
           fine(tutti_request_wait(&before), "before");
    if (!well) return false;
    right &= same(&j, m->got, m->want, "a list, persistent", c);
    if (well && (ranks != P || halving != 0.5f * (float)P)) well = fine(TUTTI_ERR_STATE, "others");
  }
  return well && fine(tutti_request_free(&list), "free") && right;
}

/* Checks many operations in flight, including empty ones, which are completed in another order. */
static bool at_once(tutti_comm *c, call_capacity *m, int t) {
  enum { N = 12 };
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  const job j = make_job(t, 40, AVG, P, 1);
  const size_t n = bytes_of(&j), count = j.reals / j.each;
  tutti_request *r[N];
  bool well = true;
  expect(&j, P, P, m->want);
  fill(&j, rank, P, m->x);
  for (int i = 0; i < N; i++)
    well &= fine(tutti_allreduce_start(c, m->x, (char *)m->got + (size_t)i * n, count, j.type,
                                       TUTTI_AVG, &r[i]),
                 "start");
  for (int i = N - 1; i >= 0; i--)
    well &= fine(tutti_request_wait(&r[i]), "wait") &&
            same(&j, (char *)m->got + (size_t)i * n, m->want, "many at once", c);
  return fine(tutti_allreduce(c, NULL, NULL, 0, j.type, TUTTI_SUM), "nothing") && well;
}

/* Checks ranks that contribute no data, but compute sums: the last ones. */
static bool helped(tutti_comm *c, call_capacity *m, int t) {
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c), data = P - 1;
  const job j = make_job(t, REALS, AVG, data, 0);
  if (P < 3) return true;
  if (!fine(comm_set_helpers(c, 1), "helpers")) return false;
  const bool helps = rank == data;
  expect(&j, data, P, m->want);
  fill(&j, rank, P, m->x);
  const tutti_status status = tutti_allreduce(c, helps ? NULL : m->x, helps ? NULL : m->got,
                                              j.reals / j.each, j.type, TUTTI_AVG);
  const bool well = fine(status, "helped") && (helps || same(&j, m->got, m->want, "helped", c));
  return fine(comm_set_helpers(c, 0), "no helpers") && well;
}

bool sums_by_all_calls(tutti_comm *c) {
  call_capacity *m = malloc(sizeof *m);
  bool well = m != NULL;
  for (int t = 0; m && t < TYPES; t++) {
    well &= prefixes(c, m, t);
    well &= to_root(c, m, t);
    well &= scattered(c, m, t, false);
    well &= scattered(c, m, t, true);
    well &= listed(c, m, t);
    well &= at_once(c, m, t);
    well &= helped(c, m, t);
  }
  free(m);
  return well;
}

/* ---- more words than all windows together hold ---- */

bool sums_in_windows(tutti_comm *c) {
  const int P = tutti_comm_size(c), rank = tutti_comm_rank(c);
  const job j = {
      .type = TUTTI_DOUBLE, .real = TUTTI_DOUBLE, .each = 1, .reals = 1 << 17, .have = P};
  job period = j;
  double *x = malloc(bytes_of(&j)), *want = malloc(bytes_of(&j));
  period.reals = SUMS_KINDS * 9;
  bool well = x && want;
  if (well) {
    expect(&period, P, P, want);
    for (size_t i = 0; i < j.reals; i++)
      sums_put(j.real, x, i, number(&j, i % period.reals, rank, P));
    for (size_t i = period.reals; i < j.reals; i++) want[i] = want[i % period.reals];
    well = fine(tutti_allreduce(c, x, x, j.reals, j.type, TUTTI_SUM), "windows") &&
           same(&j, x, want, "windows", c);
  }
  free(x);
  free(want);
  return well;
}

/* ---- ordinary sums are the same in every run ---- */

static uint64_t mix_in(uint64_t h, const void *bytes, size_t n) {
  for (size_t i = 0; i < n; i++) h = cover_mix(h + ((const unsigned char *)bytes)[i] + 1);
  return h;
}

uint64_t sums_fingerprint(tutti_comm *c) {
  const int rank = tutti_comm_rank(c);
  uint64_t h = 1;
  for (size_t count = 1; count < 1 << 19; count = count * 3 + 1)
    for (int memory = 0; memory < 2; memory++)
      for (int t = 0; t < TYPES; t++) {
        const size_t n = count * tutti_type_size(types[t]);
        const tutti_type real = t < 4 ? types[t] : t == 4 ? TUTTI_FLOAT : TUTTI_DOUBLE;
        void *x = NULL;
        if (memory && tutti_mem_alloc(c, n, &x)) return 0;
        if (!memory) x = malloc(n);
        for (size_t i = 0; x && i < n / tutti_type_size(real); i++)
          sums_put(real, x, i, sums_number(real, SUMS_KINDS * i + (i % 2 ? 13 : 0), rank, 99));
        if (rank == (int)(count % 3)) usleep((useconds_t)((size_t)getpid() * 7919 % 500));
        if (!x || tutti_allreduce(c, x, x, count, types[t], t % 2 ? TUTTI_AVG : TUTTI_SUM))
          return 0;
        h = mix_in(h, x, n);
        if (memory)
          tutti_mem_free(c, x);
        else
          free(x);
      }
  return h;
}
