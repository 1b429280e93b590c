/* buckets.c - allreduce of a list of buffers, such as gradients. Compares one call on the list with
 * one call per buffer, nonblocking calls, one call on a single buffer of the same total length, and
 * steps of tutti_buckets, both in the caller's memory and in the shared heap. The calls are in
 * place, on buffers from malloc. Times are medians in microseconds, on the slowest rank.
 *
 *   tutti run -n P buckets [BUDGET]      seconds per variant and list (0.3)
 * SPDX-License-Identifier: BSD-3-Clause */
#include <tutti.h>

#include "timing.h"

enum { MOST = 1000, REPEATS = 15, OWN = 4, HEAP, WAYS };

static tutti_comm *comm;
static size_t n, counts[MOST], total;
static float *whole, *at[MOST];
static tutti_request *requests[MOST];
static tutti_buckets *buckets[WAYS]; /* for the variants OWN and HEAP */

static int failed(void) {
  fprintf(stderr, "buckets: %s\n", tutti_error());
  return 1;
}

/* ---- lists ---- */

static void same(size_t buffers, size_t bytes) {
  for (n = 0; n < buffers; n++) counts[n] = bytes / sizeof(float);
}

static void add(size_t count) {
  counts[n++] = count;
}

/* Adds the gradients of a convolution and of the two vectors that normalize its output. */
static void conv(size_t k, size_t in, size_t out) {
  add(k * k * in * out);
  add(out);
  add(out);
}

/* Lists the 161 gradients of ResNet-50 (He et al. 2016), in the order of the model. */
static void resnet50(void) {
  static const int blocks[] = {3, 4, 6, 3};
  size_t in = 64;
  n = 0;
  conv(7, 3, 64);
  for (int stage = 0; stage < 4; stage++)
    for (int b = 0; b < blocks[stage]; b++) {
      const size_t width = (size_t)64 << stage;
      conv(1, in, width);
      conv(3, width, width);
      conv(1, width, 4 * width);
      if (b == 0) conv(1, in, 4 * width);
      in = 4 * width;
    }
  add(2048 * 1000);
  add(1000);
}

static const char *list(int i) {
  static const size_t shapes[][2] = {{20, 8},      {1000, 64},  {64, 4096},  {1000, 1024},
                                     {200, 16384}, {64, 65536}, {50, 262144}};
  static const int shapes_n = sizeof shapes / sizeof *shapes;
  static char name[60];
  if (i > shapes_n) return NULL;
  if (i == shapes_n) resnet50();
  if (i < shapes_n) same(shapes[i][0], shapes[i][1]);
  if (i < shapes_n)
    snprintf(name, sizeof name, "%zu of %zu B", shapes[i][0], shapes[i][1]);
  else
    snprintf(name, sizeof name, "ResNet-50, %zu", n);
  return name;
}

static int get_memory(void) {
  total = 0;
  for (size_t i = 0; i < n; i++) {
    at[i] = calloc(counts[i], sizeof *at[i]);
    if (!at[i]) return 1;
    total += counts[i];
  }
  whole = calloc(total, sizeof *whole);
  for (int way = OWN; way <= HEAP; way++) {
    const tutti_buckets_config config = {.size = sizeof config, .sum = 1};
    tutti_tensor tensors[MOST];
    for (size_t i = 0; i < n; i++)
      tensors[i] = (tutti_tensor){way == OWN ? at[i] : NULL, counts[i], TUTTI_FLOAT};
    if (tutti_buckets_create(comm, n, tensors, &config, &buckets[way])) return failed();
  }
  return whole == NULL;
}

static void drop_memory(void) {
  for (int way = OWN; way <= HEAP; way++) tutti_buckets_free(buckets[way]);
  for (size_t i = 0; i < n; i++) free(at[i]);
  free(whole);
}

/* ---- the variants ---- */

static tutti_status sum_list(void) {
  const tutti_call call = {.size = sizeof call,
                           .coll = TUTTI_ALLREDUCE,
                           .type = TUTTI_FLOAT,
                           .op = TUTTI_SUM,
                           .n = n,
                           .srcs = (const void *const *)at,
                           .dsts = (void *const *)at,
                           .counts = counts};
  tutti_request *request;
  const tutti_status status = tutti_call_start(comm, &call, &request);
  return status ? status : tutti_request_wait(&request);
}

static tutti_status once(int way) {
  tutti_status status = TUTTI_OK;
  if (way == 0) return sum_list();
  for (size_t i = 0; buckets[way] && i < n && !status; i++)
    status = tutti_bucket_ready(buckets[way], i);
  if (buckets[way]) return status ? status : tutti_buckets_wait(buckets[way]);
  if (way == 3) return tutti_allreduce(comm, whole, whole, total, TUTTI_FLOAT, TUTTI_SUM);
  for (size_t i = 0; i < n && !status; i++)
    status = way == 1 ? tutti_allreduce(comm, at[i], at[i], counts[i], TUTTI_FLOAT, TUTTI_SUM)
                      : tutti_allreduce_start(comm, at[i], at[i], counts[i], TUTTI_FLOAT, TUTTI_SUM,
                                              &requests[i]);
  for (size_t i = 0; way == 2 && i < n && !status; i++) status = tutti_request_wait(&requests[i]);
  return status;
}

static tutti_status repeat(int way, long iterations, double *seconds) {
  tutti_status status = tutti_barrier(comm);
  const double from = timing_now();
  for (long i = 0; i < iterations && !status; i++) status = once(way);
  *seconds = (timing_now() - from) / (double)iterations;
  if (!status) status = tutti_allreduce(comm, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
  return status;
}

static tutti_status measure(int way, double budget, double *median) {
  double each[REPEATS], first;
  tutti_status status = repeat(way, 3, &first);
  if (!status) status = repeat(way, 3, &first);
  const long iterations = timing_fit(budget / REPEATS, first);
  for (int k = 0; k < REPEATS && !status; k++) status = repeat(way, iterations, &each[k]);
  *median = status ? 0 : timing_median(each, REPEATS);
  return status;
}

int main(int argc, char **argv) {
  const double budget = argc > 1 ? strtod(argv[1], NULL) : 0.3;
  double us[WAYS];
  const char *name;
  if (tutti_comm_from_env(&comm)) return failed();
  const int rank = tutti_comm_rank(comm);
  if (rank == 0)
    printf("%d ranks; us\n%-18s %10s %10s %10s %10s %10s %10s %10s\n", tutti_comm_size(comm),
           "buffers", "KiB", "many", "a call", "starts,", "one of", "buckets", "in the");
  if (rank == 0)
    printf("%-18s %10s %10s %10s %10s %10s %10s %10s\n", "", "", "", "each", "waits", "all", "",
           "heap");
  for (int i = 0; (name = list(i)); i++) {
    if (get_memory()) return 1;
    for (int way = 0; way < WAYS; way++)
      if (measure(way, budget, &us[way])) return failed();
    if (rank == 0)
      printf("%-18s %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n", name, (double)total / 256,
             1e6 * us[0], 1e6 * us[1], 1e6 * us[2], 1e6 * us[3], 1e6 * us[OWN], 1e6 * us[HEAP]);
    fflush(stdout);
    drop_memory();
  }
  tutti_comm_free(comm);
  return tutti_finalize() ? failed() : 0;
}
