/* gpu_allreduce.c - times allreduce of vectors on a GPU, with the columns of nccl-tests.
 *
 *   tutti run -n P gpu_allreduce WAY FIRST LAST [TYPE [OP [BUDGET]]]
 *
 * WAY   host      tutti_allreduce on vectors in host memory, for comparison
 *       heap      the same, in memory of tutti_mem_alloc
 *       device    tutti_allreduce on device vectors; kernels add them if the ranks can access each
 *                 other's memory
 *       staged    the same through pinned memory (TUTTI_DEVICE_SUMS=host)
 *       stream    tutti_allreduce_on, consecutive calls on one stream
 * FIRST, LAST     sizes in bytes, which grow by a factor of 4. TYPE is float by default, OP is sum
 *                 or max, and BUDGET is the time per size in seconds (0.5).
 * Each line shows bytes, elements, type, op, way, the median time of a call in microseconds, algbw
 * and busbw in GB/s, and the number of wrong elements on all ranks. A call cannot begin before all
 * ranks have arrived, so the times include the skew of the ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_driver.h"
#include "timing.h"
#include "tutti.h"
#include "tutti_plan.h"

enum { MOST_TIMES = 1000, TOGETHER = 8 }; /* TOGETHER: calls on a stream between waits */

static tutti_comm *comm;
static int rank, ranks;
static struct {
  const char *way;
  int on_host, in_heap, on_stream;
  size_t first, last, count;
  tutti_type type;
  tutti_op op;
  int most; /* 1 for max, 0 for sum */
  double budget;
} plan = {.type = TUTTI_FLOAT, .op = TUTTI_SUM, .budget = 0.5};
static void *src, *dst; /* the vectors of the calls */
static char *shown;     /* a vector in host memory */
static CUstream stream;

static void tutti_works(tutti_status status, const char *what) {
  if (!status) return;
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, tutti_error());
  exit(1);
}
#define DO(call) tutti_works(call, #call)

/* ---- data: small integers, exact in every type ---- */

/* Returns the bit pattern of a small integer after conversion to the element type. */
static uint64_t bits_of(unsigned value) {
  const float f = (float)value;
  const double d = value;
  uint32_t u;
  uint64_t all = value;
  memcpy(&u, &f, sizeof u);
  switch (plan.type) {
    case TUTTI_FLOAT: return u;
    case TUTTI_BFLOAT16: return u >> 16;
    case TUTTI_FLOAT16: return value ? (u >> 13) - (112u << 10) : 0;
    case TUTTI_DOUBLE: memcpy(&all, &d, sizeof d); return all;
    default: return all;
  }
}

static unsigned value_of(int r, size_t i) {
  return (unsigned)(((size_t)r + i) % 5);
}

static unsigned result_of(size_t i) {
  unsigned sum = 0, most = 0;
  for (int r = 0; r < ranks; r++) {
    const unsigned value = value_of(r, i);
    sum += value;
    if (value > most) most = value;
  }
  return plan.most ? most : sum;
}

static void fill(void) {
  const size_t size = tutti_type_size(plan.type);
  for (size_t i = 0; i < plan.count; i++) {
    const uint64_t u = bits_of(value_of(rank, i));
    memcpy(shown + i * size, &u, size);
  }
  if (plan.on_host) {
    memcpy(src, shown, plan.count * size);
  } else {
    WORKS(cuMemcpyHtoD((CUdeviceptr)(uintptr_t)src, shown, plan.count * size));
  }
}

/* Returns how many elements are wrong, summed over all ranks. */
static uint64_t wrong(void) {
  const size_t size = tutti_type_size(plan.type);
  uint64_t found = 0;
  if (plan.on_host) {
    memcpy(shown, dst, plan.count * size);
  } else {
    WORKS(cuMemcpyDtoH(shown, (CUdeviceptr)(uintptr_t)dst, plan.count * size));
  }
  for (size_t i = 0; i < plan.count; i++) {
    const uint64_t u = bits_of(result_of(i % 5));
    found += memcmp(shown + i * size, &u, size) != 0;
  }
  DO(tutti_allreduce(comm, &found, &found, 1, TUTTI_UINT64, TUTTI_SUM));
  return found;
}

/* ---- times ---- */

/* Makes `calls` calls and returns the time per call in seconds. */
static double time_calls(int calls) {
  DO(tutti_barrier(comm));
  const double from = timing_now();
  for (int i = 0; i < calls; i++) {
    const tutti_call call = {.size = sizeof call,
                             .coll = TUTTI_ALLREDUCE,
                             .src = src,
                             .dst = dst,
                             .count = plan.count,
                             .type = plan.type,
                             .op = plan.op,
                             .stream = stream};
    if (plan.on_stream)
      DO(tutti_call_on_stream(comm, &call));
    else
      DO(tutti_allreduce(comm, src, dst, plan.count, plan.type, plan.op));
  }
  if (plan.on_stream) {
    DO(tutti_stream_wait(comm));
    WORKS(cuStreamSynchronize(stream));
  }
  return (timing_now() - from) / calls;
}

/* Returns the median time per call. Rank 0 determines the number of calls that the budget allows, for all ranks. */
static double median_time(void) {
  static double times[MOST_TIMES];
  const int together = plan.on_stream ? TOGETHER : 1;
  for (int i = 0; i < 3; i++) times[0] = time_calls(together);
  int32_t n = (int32_t)timing_fit(plan.budget, times[0] * together);
  if (n > MOST_TIMES) n = MOST_TIMES;
  DO(tutti_broadcast(comm, &n, &n, 1, TUTTI_INT32, 0));
  for (int i = 0; i < n; i++) times[i] = time_calls(together);
  double median = timing_median(times, n);
  DO(tutti_allreduce(comm, &median, &median, 1, TUTTI_DOUBLE, TUTTI_MAX));
  return median;
}

static int measure(size_t bytes) {
  plan.count = bytes / tutti_type_size(plan.type);
  fill();
  const double took = median_time();
  const uint64_t bad = wrong();
  const double rate = (double)bytes / took / 1e9;
  if (rank == 0)
    printf("%12zu %12zu %8s %6s %7s %10.1f %8.2f %8.2f %6llu\n", bytes, plan.count,
           tutti_type_name(plan.type), plan.most ? "max" : "sum", plan.way, 1e6 * took, rate,
           rate * 2 * (ranks - 1) / ranks, (unsigned long long)bad);
  fflush(stdout);
  return bad != 0;
}

/* ---- the plan ---- */

static int parse(int argc, char **argv) {
  if (argc < 4) return 0;
  plan.way = argv[1];
  plan.in_heap = strcmp(argv[1], "heap") == 0;
  plan.on_host = plan.in_heap || strcmp(argv[1], "host") == 0;
  plan.on_stream = strcmp(argv[1], "stream") == 0;
  plan.first = strtoull(argv[2], NULL, 10);
  plan.last = strtoull(argv[3], NULL, 10);
  for (tutti_type t = 0; argc > 4 && t < TUTTI_TYPE_COUNT; t++)
    if (strcmp(tutti_type_name(t), argv[4]) == 0) plan.type = t;
  plan.most = argc > 5 && strcmp(argv[5], "max") == 0;
  if (plan.most) plan.op = TUTTI_MAX;
  if (argc > 6) plan.budget = strtod(argv[6], NULL);
  if (strcmp(argv[1], "staged") == 0) setenv("TUTTI_DEVICE_SUMS", "host", 1);
  return plan.first >= tutti_type_size(plan.type) && plan.last >= plan.first && plan.budget > 0;
}

static void make_vectors(void) {
  CUdeviceptr at;
  shown = malloc(plan.last);
  if (plan.in_heap) {
    DO(tutti_mem_alloc(comm, plan.last, &src));
    DO(tutti_mem_alloc(comm, plan.last, &dst));
  } else if (plan.on_host) {
    src = malloc(plan.last);
    dst = malloc(plan.last);
  } else {
    WORKS(cuMemAlloc(&at, plan.last));
    src = gpu_pointer(at);
    WORKS(cuMemAlloc(&at, plan.last));
    dst = gpu_pointer(at);
    WORKS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  if (shown && src && dst) return;
  fprintf(stderr, "rank %d: out of memory\n", rank);
  exit(1);
}

int main(int argc, char **argv) {
  char name[100] = "";
  int failed = 0;
  if (!parse(argc, argv))
    return fprintf(stderr,
                   "usage: gpu_allreduce host|heap|device|staged|stream FIRST LAST [TYPE [OP "
                   "[BUDGET]]]\n"),
           2;
  DO(tutti_comm_from_env(&comm));
  rank = tutti_comm_rank(comm);
  ranks = tutti_comm_size(comm);
  if (!plan.on_host) gpu_start(rank, name, sizeof name);
  make_vectors();
  if (rank == 0)
    printf("# %d ranks, %s\n#%11s %12s %8s %6s %7s %10s %8s %8s %6s\n", ranks,
           plan.on_host ? "host" : name, "size(B)", "count", "type", "op", "way", "time(us)",
           "algbw", "busbw", "wrong");
  for (size_t bytes = plan.first; bytes <= plan.last; bytes *= 4) failed |= measure(bytes);
  DO(tutti_comm_free(comm));
  return failed;
}
