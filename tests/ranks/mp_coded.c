/* mp_coded.c - compressed messages between hosts: sums are within the bound and have the same bits on all
 * ranks, or the same bits as without compression; with every kind of call, in place and not; and ranks that ask
 * for different compressions.
 *
 * Usage      tutti run --hosts ... mp_coded: over a network that is modelled as slow (a profile that this program
 *            writes), so that compression pays. On ranks that share memory nothing is compressed, and the results are
 *            those without compression. Ranks: 1 3
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "call_of.h"
#include "cover.h"
#include "lists.h"
#include "start.h"
#include "tutti_plan.h"

enum { MOST = 70001, BLOCK = 256, MANNERS = 5 };
static float src[MOST], dst[MOST], other[MOST];
static double exact[MOST];
static int me, P;
static bool apart; /* some ranks share no memory */
static const char *doing = "";

static void fail(const char *what) {
  printf("not ok - rank %d: %s: %s (%s)\n", me, doing, what, tutti_error());
  fflush(stdout);
  _exit(9);
}
static void must(tutti_status status) {
  if (status) fail(tutti_strerror(status));
}

/* Rank r's i-th number; blocks differ in magnitude. */
static float number(int r, size_t i, uint64_t seed) {
  const uint64_t u = cover_mix(seed + (uint64_t)r * 1000003 + i);
  return ldexpf((float)((int64_t)u >> 40) * 0x1p-23f, (int)(i / 777 % 9) - 4);
}

static void fill(size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; i++) src[i] = number(me, i, seed);
  for (size_t i = 0; i < n; i++) {
    exact[i] = 0;
    for (int r = 0; r < P; r++) exact[i] += number(r, i, seed);
  }
}

/* ---- results ---- */

/* The start of each block depends on the plan, so the bound uses all numbers near i. */
static double magnitudes(size_t n, size_t i, uint64_t seed) {
  const size_t from = i > BLOCK ? i - BLOCK : 0, end = i + BLOCK < n ? i + BLOCK : n;
  double all = 0;
  for (int r = 0; r < P; r++) {
    float most = 0;
    for (size_t k = from; k < end; k++) most = fmaxf(most, fabsf(number(r, k, seed)));
    all += most;
  }
  return all;
}

static void check_sum(tutti_comm *comm, const float *got, size_t n, double error, double by,
                      uint64_t seed) {
  uint64_t hash = 1, all[64];
  for (size_t i = 0; i < n; i += 1 + n / 60) /* magnitudes take long */
    if (!(fabs(got[i] - exact[i] / by) <= (error + P * 0x1p-22) * magnitudes(n, i, seed) / by))
      fail("the error is larger than what was allowed");
  for (size_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &got[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  must(tutti_allgather(comm, &hash, all, 1, TUTTI_UINT64));
  for (int r = 0; r < P; r++)
    if (all[r] != all[0]) fail("ranks have different bits");
}

/* ---- calls ---- */

/* A call with a code of its own, blocking. */
static tutti_status coded(tutti_comm *comm, const tutti_call *call) {
  tutti_request *r;
  const tutti_status status = tutti_call_start(comm, call, &r);
  return status ? status : tutti_request_wait(&r);
}

static void call(tutti_comm *comm, int manner, const float *from, float *to, size_t n,
                 tutti_type type, tutti_op op) {
  tutti_request *r;
  const void *srcs[2] = {from, from + n / 2};
  void *dsts[2] = {to, to + n / 2};
  const size_t counts[2] = {n / 2, n - n / 2};
  switch (manner) {
    case 0: must(tutti_allreduce(comm, from, to, n, type, op)); return;
    case 1: must(tutti_allreduce_start(comm, from, to, n, type, op, &r)); break;
    case 2:
      must(tutti_call_init(
          comm, CALL(ALLREDUCE, .src = from, .dst = to, .count = n, .type = type, .op = op), &r));
      must(tutti_request_start(r));
      must(tutti_request_wait(&r));
      must(tutti_request_free(&r));
      return;
    case 3: must(allreduce_many(comm, 2, srcs, dsts, counts, type, op)); return;
    default:
      must(tutti_allreduce(comm, from, to, n, type, op)); /* the same call again */
      if (from != to) must(tutti_allreduce(comm, from, to, n, type, op));
      return;
  }
  must(tutti_request_wait(&r));
}

static void plan_is(tutti_comm *comm, size_t n, const char *code) {
  char name[300];
  must(tutti_comm_plan(comm, TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, name, sizeof name));
  if (strncmp(name, code, strlen(code)) != 0) fail(name);
}

static void lossy(tutti_comm *comm, const char *code, const char *begins, double error) {
  static const size_t counts[] = {1, 5, 256, 257, 3000, 20000, MOST};
  doing = code;
  must(comm_set_compression(comm, code));
  if (apart) plan_is(comm, MOST, begins);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
    for (int manner = 0; manner < MANNERS; manner++)
      for (int in_place = 0; in_place < 2; in_place++) {
        const size_t n = counts[c];
        const bool mean = (manner + (int)c) % 2;
        fill(n, n + (uint64_t)manner);
        memcpy(dst, src, n * sizeof *dst);
        call(comm, manner, in_place ? dst : src, dst, n, TUTTI_FLOAT, mean ? TUTTI_AVG : TUTTI_SUM);
        check_sum(comm, dst, n, error, mean ? P : 1, n + (uint64_t)manner);
      }
  fill(MOST, 9); /* other collectives: only the bound is checked */
  must(tutti_reduce(comm, src, dst, MOST, TUTTI_FLOAT, TUTTI_SUM, 0));
  for (size_t i = 0; me == 0 && i < MOST; i += 97)
    if (!(fabs(dst[i] - exact[i]) <= (error + P * 0x1p-22) * magnitudes(MOST, i, 9)))
      fail("reduce: the error is larger than what was allowed");
  /* these are not sums of floats */
  must(tutti_allreduce(comm, src, dst, 1000, TUTTI_FLOAT, TUTTI_MAX));
  for (size_t i = 0; i < 1000; i++) {
    float most = number(0, i, 9);
    for (int r = 1; r < P; r++) most = fmaxf(most, number(r, i, 9));
    if (dst[i] != most) fail("a maximum is not exact");
  }
  must(comm_set_compression(comm, NULL));
}

/* A compression set for one call, whatever the communicator's is: on a vector for which it changes the plan,
 * and on one that is too short to be compressed. */
static void own_codes(tutti_comm *comm) {
  static const struct {
    const char *comm, *call;
    bool coded;
  } all[] = {{NULL, "error=1e-2", true},
             {"lossless", "error=1e-2", true},
             {"error=1e-2", NULL, true},
             {"error=1e-2", "none", false},
             {"error=1e-2", "lossless", false}};
  tutti_request *r;
  for (size_t a = 0; a < sizeof all / sizeof *all; a++)
    for (int manner = 0; manner < 4; manner++)
      for (size_t n = 3; n <= MOST; n += MOST - 3) {
        doing = all[a].call ? all[a].call : "a call without a code of its own";
        fill(n, n + a);
        must(comm_set_compression(comm, NULL));
        must(tutti_allreduce(comm, src, other, n, TUTTI_FLOAT, TUTTI_SUM));
        must(comm_set_compression(comm, all[a].comm));
        if (manner == 0)
          must(coded(comm, CALL(ALLREDUCE, .src = src, .dst = dst, .count = n, .type = TUTTI_FLOAT,
                                .op = TUTTI_SUM, .compression = all[a].call)));
        else if (manner == 1)
          must(tutti_call_start(
              comm,
              CALL(ALLREDUCE, .src = src, .dst = dst, .count = n, .type = TUTTI_FLOAT,
                   .op = TUTTI_SUM, .compression = all[a].call),
              &r));
        else if (manner == 2)
          must(tutti_call_init(
              comm,
              CALL(ALLREDUCE, .src = src, .dst = dst, .count = n, .type = TUTTI_FLOAT,
                   .op = TUTTI_SUM, .compression = all[a].call),
              &r));
        else
          must(coded(comm, CALL(REDUCE, .src = src, .dst = dst, .count = n, .type = TUTTI_FLOAT,
                                .op = TUTTI_SUM, .compression = all[a].call)));
        if (manner == 2) must(tutti_request_start(r));
        if (manner == 1 || manner == 2) must(tutti_request_wait(&r));
        if (manner == 2) must(tutti_request_free(&r));
        if (manner < 3) check_sum(comm, dst, n, all[a].coded ? 1e-2 : 0, 1, n + a);
        const bool same = memcmp(dst, other, n * sizeof *dst) == 0;
        if (manner < 3 && n == MOST && apart && same == all[a].coded)
          fail(same ? "not coded" : "coded");
      }
  must(comm_set_compression(comm, NULL));
}

/* A code for one call: refused, and of other collectives. */
static void own_codes_of_others(tutti_comm *comm) {
  doing = "a call's own code, refused";
  if (coded(comm, CALL(ALLREDUCE, .src = src, .dst = dst, .count = 1, .type = TUTTI_FLOAT,
                       .op = TUTTI_SUM, .compression = "error=x")) != TUTTI_ERR_ARG)
    fail("no code");
  must(comm_set_contract(comm, TUTTI_CONTRACT_EXACT));
  if (coded(comm, CALL(REDUCE_SCATTER, .src = src, .dst = dst, .count = 1, .type = TUTTI_FLOAT,
                       .op = TUTTI_SUM, .compression = "error=1")) != TUTTI_ERR_UNSUPPORTED)
    fail("exact, with errors");
  must(comm_set_contract(comm, TUTTI_CONTRACT_SAME));
  doing = "allgather and reduce_scatter with different codes";
  fill((size_t)P * 999, 5);
  must(coded(comm, CALL(ALLGATHER, .src = src + me * 999, .dst = dst, .count = 999,
                        .type = TUTTI_FLOAT, .compression = "lossless")));
  for (size_t i = 0; i < (size_t)P * 999; i++)
    if (dst[i] != number((int)(i / 999), i, 5)) fail("another number");
  must(coded(comm, CALL(REDUCE_SCATTER, .src = src, .dst = dst, .count = 999, .type = TUTTI_FLOAT,
                        .op = TUTTI_SUM, .compression = "error=1e-2")));
  for (size_t i = 0; i < 999; i++) {
    const size_t k = (size_t)me * 999 + i;
    if (!(fabs(dst[i] - exact[k]) <= (1e-2 + P * 0x1p-22) * magnitudes((size_t)P * 999, k, 5)))
      fail("the error is larger than what was allowed");
  }
}

/* An infinity is visible in the result. Blocks without one keep their sums. */
static void not_finite(tutti_comm *comm, const char *code) {
  doing = code;
  must(comm_set_compression(comm, code));
  for (size_t i = 0; i < MOST; i++) src[i] = 1;
  if (me == P - 1) src[MOST / 2] = INFINITY;
  must(tutti_allreduce(comm, src, dst, MOST, TUTTI_FLOAT, TUTTI_SUM));
  if (isfinite(dst[MOST / 2])) fail("an infinity is lost");
  if (fabsf(dst[0] - (float)P) > 0.01f * (float)P || !isfinite(dst[MOST - 1]))
    fail("an infinity spreads");
  must(comm_set_compression(comm, NULL));
}

/* The same plan, without compression and with lossless compression: the same bits. */
static void lossless(tutti_comm *comm) {
  static const char *const algos[] = {"two-shot", "fold(ring)", "fold(halving)", "doubling"};
  for (size_t a = 0; a < sizeof algos / sizeof *algos; a++)
    for (size_t n = 1; n <= MOST; n = n * 5 + 3) {
      doing = algos[a];
      fill(n, n);
      if (a == 1) memset(src, 0, n * sizeof *src / 2);
      must(comm_set_algorithm(comm, algos[a]));
      must(comm_set_compression(comm, NULL));
      must(tutti_allreduce(comm, src, other, n, TUTTI_FLOAT, TUTTI_SUM));
      must(comm_set_compression(comm, "lossless"));
      if (apart && n > 20000 && a < 2) plan_is(comm, n, "lossless, "); /* sizes that surely gain */
      for (int manner = 0; manner < MANNERS; manner += 2) {
        memset(dst, 0, n * sizeof *dst);
        call(comm, manner, src, dst, n, TUTTI_FLOAT, TUTTI_SUM);
        if (memcmp(dst, other, n * sizeof *dst) != 0) fail("other bits than without codes");
      }
    }
  must(comm_set_algorithm(comm, NULL));
  doing = "lossless broadcast";
  if (me == 0) fill(MOST, 3);
  must(tutti_broadcast(comm, src, dst, MOST, TUTTI_FLOAT, 0));
  for (size_t i = 0; i < MOST; i++)
    if (dst[i] != number(0, i, 3)) fail("another number");
  must(comm_set_compression(comm, NULL));
}

/* The same gradients, step after step. Rounding errors of one step are added to later ones, so the error of the
 * sum of all steps stays below the magnitude of `most` steps, for any number of steps. */
static void feedback(tutti_comm *comm, const char *code, int steps, double most, int provided) {
  enum { N = 3 };
  static const size_t counts[N] = {40000, 30000, 1};
  static double total[MOST];
  const tutti_buckets_config config = {
      .size = sizeof config, .bytes = SIZE_MAX, .compression = code};
  tutti_tensor tensors[N];
  tutti_buckets *b;
  size_t n = 0;
  doing = provided ? "buckets in tutti's memory" : "buckets";
  for (size_t t = 0; t < N; n += counts[t++])
    tensors[t] = (tutti_tensor){provided ? NULL : dst + n, counts[t], TUTTI_FLOAT};
  must(tutti_buckets_create(comm, N, tensors, &config, &b));
  fill(n, 77);
  memset(total, 0, sizeof total);
  for (int s = 0; s < steps; s++) {
    size_t from = 0;
    for (size_t t = 0; t < N; from += counts[t++]) {
      memcpy(tutti_bucket_data(b, t), src + from, counts[t] * sizeof *src);
      must(tutti_bucket_ready(b, t));
    }
    must(tutti_buckets_wait(b));
    from = 0;
    for (size_t t = 0; t < N; from += counts[t++]) {
      const float *x = tutti_bucket_data(b, t);
      for (size_t i = 0; i < counts[t]; i++) total[from + i] += x[i];
    }
  }
  double worst = 0;
  for (size_t i = 0; i < n; i += 37) {
    const double off = fabs(total[i] - steps * exact[i] / P);
    worst = fmax(worst, off / (magnitudes(n, i, 77) / P));
  }
  if (worst > most) {
    char text[100];
    snprintf(text, sizeof text, "%s: after %d steps %g of a step's magnitudes are missing", code,
             steps, worst);
    fail(text);
  }
  must(tutti_buckets_free(b));
}

/* Checks that all ranks run the same plan. */
static bool plan_of_all(tutti_comm *comm, size_t n, char name[300]) {
  uint64_t hash = 1, all[64];
  bool same = true;
  must(tutti_comm_plan(comm, TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, name, 300));
  for (const char *c = name; *c; c++) hash = cover_mix(hash ^ (unsigned char)*c);
  must(tutti_allgather(comm, &hash, all, 1, TUTTI_UINT64));
  for (int r = 0; r < P; r++) same &= all[r] == all[0];
  return same;
}

/* Collectives with ranks that read and write different parts of a vector, or none. */
static void measured_others(tutti_comm *comm) {
  const size_t each = 999, all = each * (size_t)P;
  const int root = P - 1;
  fill(all, 6);
  must(tutti_reduce(comm, src, me == root ? dst : NULL, all, TUTTI_FLOAT, TUTTI_SUM, root));
  for (size_t i = 0; me == root && i < all; i += 7)
    if (!(fabs(dst[i] - exact[i]) <= P * 0x1p-22 * magnitudes(all, i, 6)))
      fail("reduce: another sum");
  must(tutti_allgather(comm, src + (size_t)me * each, dst, each, TUTTI_FLOAT));
  for (size_t i = 0; i < all; i++)
    if (dst[i] != number((int)(i / each), i, 6)) fail("allgather: another number");
  must(tutti_broadcast(comm, src, dst, all, TUTTI_FLOAT, root));
  for (size_t i = 0; i < all; i++)
    if (dst[i] != number(root, i, 6)) fail("broadcast: another number");
}

/* Each call is measured with and without compression before it first runs. Results are right, the caller's data
 * is unchanged, and all ranks make the same decision. Which one is faster depends on the machine. */
static void measured(tutti_comm *base) {
  static const struct {
    const char *code;
    double error;
  } codes[] = {{"lossless", 0}, {"error=1e-2", 1e-2}};
  static const size_t counts[] = {3000, MOST};
  char plan[300], *why;
  for (int k = 0; k < 8; k++) {
    const int code = k % 2, size = k / 2 % 2;
    const bool forbidden = k / 4;
    const size_t n = counts[size];
    tutti_comm *comm;
    must(tutti_comm_dup(base, &comm));
    doing = codes[code].code;
    must(comm_set_contract(comm, forbidden ? TUTTI_CONTRACT_RUN : TUTTI_CONTRACT_SAME));
    must(comm_set_measure(comm, 1));
    must(comm_set_compression(comm, codes[code].code));
    for (int in_place = 0; in_place < 2; in_place++) {
      fill(n, n + (size_t)k);
      memcpy(other, src, n * sizeof *src);
      memcpy(dst, src, n * sizeof *src);
      call(comm, (k / 2 + k) % 2 ? 2 : 0, in_place ? dst : src, dst, n, TUTTI_FLOAT, TUTTI_SUM);
      check_sum(comm, dst, n, codes[code].error, 1, n + (size_t)k);
      if (memcmp(src, other, n * sizeof *src) != 0) fail("the caller's numbers have changed");
      if (!plan_of_all(comm, n, plan)) fail("ranks have different plans");
      const bool coded = strncmp(plan, "lossless, ", 10) == 0;
      if (apart && !code && size && forbidden && !coded)
        fail("measured under a contract that forbids it");
      must(tutti_comm_explain(comm, TUTTI_ALLREDUCE, n, TUTTI_FLOAT, TUTTI_SUM, 0, &why));
      if (apart && (strstr(why, "faster with codes") != NULL) == forbidden)
        fail("the explanation says otherwise");
      tutti_text_free(why);
    }
    if (!size && !code) measured_others(comm);
    must(tutti_comm_free(comm));
  }
}

static void refusals(tutti_comm *comm) {
  tutti_request *r;
  doing = "refusals";
  if (comm_set_compression(comm, "error=1e-9") != TUTTI_ERR_ARG) fail("too small an error");
  must(comm_set_contract(comm, TUTTI_CONTRACT_EXACT));
  if (comm_set_compression(comm, "error=1e-2") != TUTTI_ERR_UNSUPPORTED) fail("exact, with errors");
  must(comm_set_compression(comm, "lossless"));
  must(comm_set_contract(comm, TUTTI_CONTRACT_SAME));
  must(comm_set_compression(comm, "error=1e-2"));
  if (comm_set_contract(comm, TUTTI_CONTRACT_EXACT) != TUTTI_ERR_UNSUPPORTED)
    fail("exact after errors");
  must(tutti_allreduce_start(comm, src, dst, MOST, TUTTI_FLOAT, TUTTI_SUM, &r));
  if (P > 1 && comm_set_compression(comm, NULL) == TUTTI_ERR_STATE) doing = "refusals, in flight";
  must(tutti_request_wait(&r));
  must(comm_set_compression(comm, NULL));
}

/* Rank 0 requests compression, and the others do not. */
static void mismatch(void) {
  tutti_comm *comm;
  doing = "different codes";
  must(start_comm(&comm));
  if (me == 0) must(comm_set_compression(comm, "error=1e-2"));
  const tutti_status status = tutti_allreduce(comm, src, dst, MOST, TUTTI_FLOAT, TUTTI_SUM);
  if (apart && status != TUTTI_ERR_MISMATCH) fail("not noticed");
  tutti_comm_free(comm);
  doing = "calls that bring different codes"; /* on a vector that is too short to be compressed */
  must(start_comm(&comm));
  const char *code = me == 0 ? "error=1e-2" : "error=2e-2";
  const tutti_status own =
      coded(comm, CALL(ALLREDUCE, .src = src, .dst = dst, .count = 1, .type = TUTTI_FLOAT,
                       .op = TUTTI_SUM, .compression = code));
  if (P > 1 && own != TUTTI_ERR_MISMATCH) fail("not noticed");
  tutti_comm_free(comm);
}

int main(void) {
  char path[100];
  const char *dir = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/mp_coded-%d", dir ? dir : "/tmp", (int)getpid());
  FILE *f = fopen(path, "w");
  if (!f || fputs("alpha = 1us\nbeta = 1us\n", f) < 0 || fclose(f)) return 1;
  setenv("TUTTI_PROFILE", path, 1);
  tutti_comm *comm;
  must(start_comm(&comm));
  unlink(path);
  me = tutti_comm_rank(comm), P = tutti_comm_size(comm);
  for (int r = 0; r < P; r++) apart |= tutti_comm_apart(comm, me, r, NULL) > 0;
  lossy(comm, "error=1e-2", "int8, ", 1e-2);
  lossy(comm, "error=0.08,code=fp8_e4m3", "fp8_e4m3, ", 0.08);
  lossy(comm, "error=0.5,code=fp8_e5m2", "fp8_e5m2, ", 0.5);
  own_codes(comm);
  own_codes_of_others(comm);
  not_finite(comm, "error=1e-2");
  for (int provided = 0; provided < 2; provided++) feedback(comm, "error=1e-2", 24, 2e-2, provided);
  lossless(comm);
  measured(comm);
  refusals(comm);
  must(tutti_comm_free(comm));
  mismatch();
  if (me == 0) printf("ok - codes on %d ranks%s\n1..1\n", P, apart ? ", some on other hosts" : "");
  return start_end() != TUTTI_OK;
}
