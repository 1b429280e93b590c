/* overlap.c - times a training step that sums its gradients in different ways: all in one call at
 * the end, each when it is ready, or in buckets; as floats, as bf16, and with tutti's progress
 * thread.
 *
 * Idea       a simulated backward pass computes the 161 gradients of ResNet-50, from the last layer
 *            to the first. The work for a gradient is proportional to its share of the flops: WORK
 *            passes over the rank's memory per byte. The variants alternate and medians of ratios
 *            are taken, so that noise affects all of them equally.
 *
 *   tutti run -n P overlap [WORK [SCALE]]      WORK: 4; gradients have 1/SCALE of the elements (16)
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <tutti.h>

#include "timing.h"

enum { MOST = 200, ROUNDS = 15, STEPS = 3 };
enum { AT_THE_END, EACH, BUCKETS, AS_BF16, WITH_THREAD, ALONE, WAYS };
static const char *const names[WAYS] = {
    "one call at the end", "a start for each",       "buckets",
    "buckets, as bf16",    "buckets, with a thread", "no sums at all"};

static tutti_comm *comm;
static size_t n, counts[MOST], total;
static float *whole, *at[MOST];
static tutti_buckets *buckets[WAYS];
static long work;
static double sleeps, owed; /* time to sleep: ns per byte; s still to sleep */

static int failed(void) {
  fprintf(stderr, "overlap: %s\n", tutti_error());
  return 1;
}

static void add(size_t count, size_t scale) {
  counts[n++] = (count + scale - 1) / scale;
}

static void conv(size_t k, size_t in, size_t out, size_t scale) {
  add(k * k * in * out, scale);
  add(out, scale);
  add(out, scale);
}

/* Lists the gradients of ResNet-50 (He et al. 2016) as bench/buckets.c does, but in reverse order. */
static void resnet50(size_t scale) {
  static const int blocks[] = {3, 4, 6, 3};
  size_t in = 64;
  conv(7, 3, 64, scale);
  for (int stage = 0; stage < 4; stage++)
    for (int b = 0; b < blocks[stage]; b++) {
      const size_t width = (size_t)64 << stage;
      conv(1, in, width, scale);
      conv(3, width, width, scale);
      conv(1, width, 4 * width, scale);
      if (b == 0) conv(1, in, 4 * width, scale);
      in = 4 * width;
    }
  add(2048 * 1000, scale);
  add(1000, scale);
  for (size_t i = 0; i < n / 2; i++) {
    const size_t keep = counts[i];
    counts[i] = counts[n - 1 - i];
    counts[n - 1 - i] = keep;
  }
}

static int get_memory(void) {
  tutti_tensor tensors[MOST];
  for (size_t i = 0; i < n; i++) total += counts[i];
  void *memory;
  if (tutti_mem_alloc(comm, total * sizeof *whole, &memory)) return failed();
  whole = memory;
  for (size_t i = 0, from = 0; i < n; from += counts[i++]) {
    at[i] = whole + from;
    tensors[i] = (tutti_tensor){at[i], counts[i], TUTTI_FLOAT};
  }
  for (int way = BUCKETS; way <= WITH_THREAD; way++) {
    const tutti_buckets_config config = {
        .size = sizeof config, .bf16 = way == AS_BF16, .thread = way == WITH_THREAD};
    if (tutti_buckets_create(comm, n, tensors, &config, &buckets[way])) return failed();
  }
  return 0;
}

/* Computes a gradient with elements of magnitude about 1 that no type represents exactly. */
static void compute(size_t i, long step) {
  for (long pass = 0; pass < work; pass++) {
    for (size_t k = 0; k < counts[i]; k++)
      at[i][k] = (float)((k * 2654435761u + (size_t)step) >> 8 & 0xffff) * 1.7e-5f - 0.5f;
    __asm__ volatile("" ::"r"(at[i]) : "memory");
  }
  owed += 4e-9 * (double)counts[i] * sleeps;
  if (owed < 2e-4) return; /* shorter sleeps take longer than requested */
  const double from = timing_now();
  nanosleep(&(struct timespec){0, (long)(1e9 * owed)}, NULL);
  owed -= timing_now() - from;
}

static tutti_status step(int way, long number) {
  static tutti_request *requests[MOST];
  tutti_status status = TUTTI_OK;
  for (size_t i = 0; i < n && !status; i++) {
    compute(i, number);
    if (way == EACH)
      status = tutti_allreduce_start(comm, at[i], at[i], counts[i], TUTTI_FLOAT, TUTTI_AVG,
                                     &requests[i]);
    else if (buckets[way])
      status = tutti_bucket_ready(buckets[way], i);
  }
  for (size_t i = 0; i < n && !status && way == EACH; i++)
    status = tutti_request_wait(&requests[i]);
  if (way == AT_THE_END && !status)
    status = tutti_allreduce(comm, whole, whole, total, TUTTI_FLOAT, TUTTI_AVG);
  return buckets[way] && !status ? tutti_buckets_wait(buckets[way]) : status;
}

static tutti_status repeat(int way, double *seconds) {
  tutti_status status = tutti_barrier(comm);
  const double from = timing_now();
  for (long i = 0; i < STEPS && !status; i++) status = step(way, i);
  *seconds = (timing_now() - from) / STEPS;
  if (!status) status = tutti_allreduce(comm, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
  return status;
}

/* Computes two errors of sums in bf16, relative to the root mean square of the numbers: the error of a single step, and the
 * error of the mean over 32 steps. */
static tutti_status errors(double *one, double *mean) {
  double *sum = calloc(total, sizeof *sum), size = 0;
  float *right = malloc(total * sizeof *right);
  enum { LONG = 32 };
  const long keep = work;
  tutti_status status = sum && right ? step(AT_THE_END, tutti_comm_rank(comm)) : TUTTI_ERR_MEMORY;
  work = 1;
  if (!status) memcpy(right, whole, total * sizeof *right);
  for (int s = 0; s < LONG && !status; s++) {
    status = step(AS_BF16, tutti_comm_rank(comm));
    for (size_t k = 0; k < total; k++) sum[k] += (double)whole[k] - (double)right[k];
    if (s != 0) continue;
    *one = 0;
    for (size_t k = 0; k < total; k++) {
      *one += sum[k] * sum[k];
      size += (double)right[k] * (double)right[k];
    }
    *one = sqrt(*one / size);
  }
  *mean = 0;
  for (size_t k = 0; k < total && !status; k++) *mean += sum[k] * sum[k];
  *mean = sqrt(*mean / size) / LONG;
  work = keep;
  free(sum);
  free(right);
  return status;
}

int main(int argc, char **argv) {
  static double seconds[WAYS][ROUNDS], ratio[ROUNDS];
  double one, mean;
  work = argc > 1 ? atol(argv[1]) : 4;
  sleeps = argc > 2 ? strtod(argv[2], NULL) : 0;
  if (tutti_comm_from_env(&comm)) return failed();
  resnet50(argc > 3 ? (size_t)atol(argv[3]) : 16);
  if (get_memory() || errors(&one, &mean)) return failed();
  for (int round = -1; round < ROUNDS; round++) /* the first round is not counted */
    for (int way = 0; way < WAYS; way++)
      if (repeat(way, &seconds[way][round < 0 ? 0 : round])) return failed();
  if (tutti_comm_rank(comm) == 0) {
    printf(
        "%d ranks, %zu gradients, %zu KiB, %ld passes, %g ns a byte asleep: buckets from %zu KiB "
        "on, %zu of them\n",
        tutti_comm_size(comm), n, total / 256, work, sleeps,
        tutti_buckets_bytes(buckets[BUCKETS]) / 1024, tutti_buckets_count(buckets[BUCKETS]));
    for (int way = 0; way < WAYS; way++) {
      for (int r = 0; r < ROUNDS; r++) ratio[r] = seconds[way][r] / seconds[AT_THE_END][r];
      printf("  %-24s %8.2f ms   %.2f of one call at the end\n", names[way],
             1e3 * timing_median(seconds[way], ROUNDS), timing_median(ratio, ROUNDS));
    }
    printf("  as bf16 a step is wrong by %.2g, the mean of 32 by %.2g of its size\n", one, mean);
  }
  for (int way = 0; way < WAYS; way++)
    if (tutti_buckets_free(buckets[way])) return failed();
  tutti_mem_free(comm, whole);
  tutti_comm_free(comm);
  return tutti_finalize() ? failed() : 0;
}
