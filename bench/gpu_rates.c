/* gpu_rates.c - measures a GPU for the targets of docs/gpu.md: transfers to pinned memory, device
 * memory, tutti's kernels.
 *
 *   gpu_rates LIBTUTTI_CUDA [MIB]
 *
 * MIB is the size of the vectors (256). Prints lines "NAME GB/s". Each rate is the best of several
 * rounds.
 *   in, out       copies from the device to pinned memory, and back
 *   both          both copies simultaneously, on two streams; the rate of each direction
 *   copy          from device memory to device memory: bytes read and bytes written
 *   TYPE-OP-NxM   a sum of N vectors to M, by tutti's kernel: bytes read and bytes written
 *   launch        a sum of 1 KiB, in microseconds
 *   short         a copy of 4 KiB to pinned memory, in microseconds
 * The last line says whether tutti reaches 60 % of the rate of `copy`.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "gpu_driver.h"
#include "timing.h"
#include "tutti_device.h"
#include "tutti_plan.h"

enum { ROUNDS = 7, VECTORS = 8 };

static size_t bytes = (size_t)256 << 20;
static CUdeviceptr device[VECTORS];
static void *host[2];
static CUstream streams[2];

/* ---- copies by the driver ---- */

static void copy_in(void) {
  WORKS(cuMemcpyDtoHAsync(host[0], device[0], bytes, streams[0]));
}
static void copy_out(void) {
  WORKS(cuMemcpyHtoDAsync(device[1], host[1], bytes, streams[1]));
}
static void copy_short(void) {
  WORKS(cuMemcpyDtoHAsync(host[0], device[0], 4096, streams[0]));
}
static void copy_both(void) {
  copy_in();
  copy_out();
}
static void copy_inside(void) {
  WORKS(cuMemcpyDtoDAsync(device[1], device[0], bytes, streams[0]));
}

/* Returns the shortest time in seconds that `work` takes on the device. */
static double best(void (*work)(void)) {
  double least = 1e9;
  for (int i = 0; i < ROUNDS; i++) {
    WORKS(cuCtxSynchronize());
    const double from = timing_now();
    work();
    WORKS(cuCtxSynchronize());
    const double took = timing_now() - from;
    if (took < least) least = took;
  }
  return least;
}

static double say(const char *name, double moved, double took) {
  const double rate = moved / took / 1e9;
  printf("%s %.1f\n", name, rate);
  fflush(stdout);
  return rate;
}

/* ---- tutti's kernels ---- */

static tutti_device table;
static void *lane;
static struct {
  void *to[VECTORS];
  const void *from[VECTORS];
  int n, nto;
  size_t count;
  tutti_type type;
  tutti_op op;
} sum;

static void sum_once(void) {
  if (!table.sum(lane, sum.to, sum.nto, sum.from, sum.n, sum.count, sum.type, sum.op)) return;
  fprintf(stderr, "a sum: %s\n", table.error(table.self));
  exit(1);
}

static void load_table(const char *path) {
  char why[300] = "";
  int (*device_of)(tutti_device * d, char *text, size_t size);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL),
       *symbol = library ? dlsym(library, "tutti_device_of") : NULL;
  memcpy(&device_of, &symbol, sizeof device_of);
  if (!symbol || device_of(&table, why, sizeof why) || table.open(table.self, 0, &lane)) {
    fprintf(stderr, "%s: %s\n", path,
            !library      ? dlerror()
            : *why        ? why
            : table.error ? table.error(table.self)
                          : "no table");
    exit(1);
  }
}

/* Returns the rate of a sum in GB/s, counting bytes read and bytes written. */
static double sum_rate(tutti_type type, tutti_op op, int n, int nto, size_t shift) {
  char name[80];
  sum.type = type, sum.op = op, sum.n = n, sum.nto = nto;
  sum.count = (bytes - 64) / tutti_type_size(type);
  for (int i = 0; i < n; i++) sum.from[i] = gpu_pointer(device[i] + (i ? shift : 0));
  for (int i = 0; i < nto; i++) sum.to[i] = gpu_pointer(device[i] + (i ? shift : 0));
  if (table.sums(table.self, type, op) != 1) return 0;
  snprintf(name, sizeof name, "%s-%s-%dx%d%s", tutti_type_name(type), tutti_op_name(op), n, nto,
           shift ? "-unaligned" : "");
  return say(name, (double)(n + nto) * (double)sum.count * (double)tutti_type_size(type),
             best(sum_once));
}

static double least_sum_rate(void) {
  static const tutti_type types[] = {TUTTI_FLOAT, TUTTI_DOUBLE, TUTTI_FLOAT16, TUTTI_BFLOAT16,
                                     TUTTI_INT32, TUTTI_INT8,   TUTTI_FP8_E4M3};
  static const int shapes[][2] = {{2, 1}, {2, 2}, {4, 1}, {4, 4}, {8, 1}};
  double least = 1e9;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      const double rate = sum_rate(types[t], TUTTI_SUM, shapes[s][0], shapes[s][1], 0);
      if (s < 2 && t < 5 && rate < least) least = rate;
    }
  sum_rate(TUTTI_FLOAT, TUTTI_AVG, 2, 2, 0);
  sum_rate(TUTTI_FLOAT, TUTTI_MAX, 2, 2, 0);
  sum_rate(TUTTI_FLOAT, TUTTI_SUM, 2, 2, 4);
  sum_rate(TUTTI_BFLOAT16, TUTTI_SUM, 2, 2, 2);
  return least;
}

int main(int argc, char **argv) {
  char name[100] = "";
  if (argc < 2) return fprintf(stderr, "usage: gpu_rates LIBTUTTI_CUDA [MIB]\n"), 2;
  if (argc > 2) bytes = (size_t)strtoul(argv[2], NULL, 10) << 20;
  gpu_start(0, name, sizeof name);
  printf("# %s, %zu MiB\n", name, bytes >> 20);
  for (int i = 0; i < VECTORS; i++) {
    WORKS(cuMemAlloc(&device[i], bytes));
    WORKS(cuMemsetD8Async(device[i], 0, bytes, NULL));
  }
  for (int i = 0; i < 2; i++) {
    WORKS(cuMemHostAlloc(&host[i], bytes, CU_MEMHOSTALLOC_PORTABLE));
    memset(host[i], i, bytes);
    WORKS(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
  }
  const double moved = (double)bytes;
  say("in", moved, best(copy_in));
  say("out", moved, best(copy_out));
  say("both", moved, best(copy_both));
  printf("short %.1f\n", 1e6 * best(copy_short));
  const double copies = say("copy", 2 * moved, best(copy_inside));
  load_table(argv[1]);
  const double sums = least_sum_rate();
  sum.from[1] = gpu_pointer(device[1]), sum.to[0] = gpu_pointer(device[0]);
  sum.count = 256, sum.type = TUTTI_FLOAT, sum.n = 2, sum.nto = 1;
  printf("launch %.1f\n", 1e6 * best(sum_once));
  printf(
      "%s - kernels of 2 vectors: %.0f GB/s at least, %.0f %% of %.0f GB/s of a copy; the bar: 60 "
      "%%\n",
      sums >= 0.6 * copies ? "ok" : "not ok", sums, 100 * sums / copies, copies);
  table.close(lane);
  return sums >= 0.6 * copies ? 0 : 1;
}
