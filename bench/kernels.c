/* kernels.c - the rate of every kernel in GB/s, for each type, op and instruction set, compared
 * with memcpy. Measured with vectors in the first-level cache, in the second-level cache, and in
 * memory.
 *
 *   kernels [-l] [TYPE [OP]]
 *
 * Counted   bytes read and written: a copy of n bytes moves 2n. A reduction of two inputs moves 3n,
 *           whether the result is a third vector or one of the inputs. Vectors fill half of a
 *           cache; beyond the caches they are 32 MiB each.
 * Bound     A kernel is bound by memory if its rate in memory is within a tenth of the copy's, by
 *           arithmetic if it is not faster in the caches, otherwise by both.
 * -l        Instead of a table, prints lines "TYPE OP apart|in-place GB/s" for the best instruction
 *           set in memory, and the rate of the copy.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <unistd.h>

#include "kernel_set.h"
#include "timing.h"
#include "tutti_plan.h"

enum { BEYOND = 32 << 20, LEVELS = 3, REPEATS = 7 };

static struct {
  unsigned char *a, *b, *d;
  size_t bytes[LEVELS]; /* size of one vector */
  double copy[LEVELS];  /* GB/s */
} bench;

typedef struct work {
  tt_kernel_fn *kernel; /* NULL for memcpy and for the plain loops */
  size_t element;
  bool in_place;
  tutti_type loop; /* the type of the elements, if `plain` */
  bool plain;
} work;

static void plain_loop(tutti_type type, void *d, const void *a, const void *b, size_t n) {
  if (type == TUTTI_FLOAT)
    for (size_t i = 0; i < n; i++) ((float *)d)[i] = ((const float *)a)[i] + ((const float *)b)[i];
  else
    for (size_t i = 0; i < n; i++)
      ((double *)d)[i] = ((const double *)a)[i] + ((const double *)b)[i];
}

static void once(const work *w, size_t bytes) {
  void *d = w->in_place ? bench.a : bench.d;
  const void *in[2] = {bench.a, bench.b};
  if (w->plain)
    plain_loop(w->loop, d, bench.a, bench.b, bytes / w->element);
  else if (w->kernel)
    w->kernel(d, NULL, in, 2, bytes / w->element);
  else
    memcpy(d, bench.a, bytes);
  __asm__ volatile("" ::"r"(d) : "memory");
}

/* Returns the median rate of the repeats in GB/s, counting all bytes that are moved. */
static double rate(const work *w, int level) {
  const size_t bytes = bench.bytes[level] / w->element * w->element;
  double each[REPEATS];
  once(w, bytes);
  double from = timing_now();
  once(w, bytes);
  const double budget = level == LEVELS - 1 ? 1e-3 : 3e-4;
  long n = (long)(budget / (timing_now() - from + 1e-9)) + 1;
  for (int k = 0; k < REPEATS; k++) {
    from = timing_now();
    for (long i = 0; i < n; i++) once(w, bytes);
    each[k] = (timing_now() - from) / (double)n;
  }
  const bool copy = !w->kernel && !w->plain;
  return 1e-9 * (double)bytes * (copy ? 2 : 3) / timing_median(each, REPEATS);
}

static void show(const char *type, const char *op, const char *set, work *w) {
  double in_place[LEVELS];
  w->in_place = true;
  for (int l = 0; l < LEVELS; l++) in_place[l] = rate(w, l);
  w->in_place = false;
  work same = {.element = 1}; /* memcpy, measured at the same time */
  const double apart = rate(w, LEVELS - 1), copy = rate(&same, LEVELS - 1);
  const double beyond = in_place[LEVELS - 1];
  const char *bound = beyond >= 0.9 * copy         ? "memory"
                      : in_place[0] < 1.3 * beyond ? "arithmetic"
                                                   : "both";
  printf("%-15s %-7s %-7s %8.1f %8.1f %8.1f %6.0f%% %8.1f %6.0f%%  %s\n", type, op, set,
         in_place[0], in_place[1], beyond, 100 * beyond / copy, apart, 100 * apart / copy, bound);
}

static void lines(tutti_type type, tutti_op op) {
  work w = {.kernel = tt_kernel_set_at(0)->reduce[type][op], .element = tutti_type_size(type)};
  work copy = {.element = 1};
  for (int in_place = 0; in_place < 2; in_place++) {
    w.in_place = in_place;
    const double before = rate(&copy, LEVELS - 1), mine = rate(&w, LEVELS - 1);
    const double after = rate(&copy, LEVELS - 1);
    printf("%s %s %s %.2f %.2f\n", tutti_type_name(type), tutti_op_name(op),
           in_place ? "in-place" : "apart", mine, (before + after) / 2);
  }
}

static void table_row(tutti_type type, tutti_op op) {
  const tt_kernel_set *set;
  for (int i = 0; (set = tt_kernel_set_at(i)); i++) {
    work w = {.kernel = set->reduce[type][op], .element = tutti_type_size(type)};
    if (w.kernel) show(tutti_type_name(type), tutti_op_name(op), set->name, &w);
  }
  if (op != TUTTI_SUM || (type != TUTTI_FLOAT && type != TUTTI_DOUBLE)) return;
  work loop = {.element = tutti_type_size(type), .plain = true, .loop = type};
  show(tutti_type_name(type), "sum", "loop", &loop);
}

static void prepare(void) {
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  bench.bytes[0] = (size_t)(l1 > 0 ? l1 : 32 << 10) / 4;
  bench.bytes[1] = (size_t)(l2 > 0 ? l2 : 1 << 20) / 4;
  bench.bytes[2] = BEYOND;
  unsigned char **all[] = {&bench.a, &bench.b, &bench.d};
  for (int i = 0; i < 3; i++) {
    *all[i] = aligned_alloc(4096, BEYOND);
    if (!*all[i]) exit(1);
    memset(*all[i], 0, BEYOND);
  }
  work copy = {.element = 1};
  for (int l = 0; l < LEVELS; l++) bench.copy[l] = rate(&copy, l);
}

int main(int argc, char **argv) {
  const bool list = argc > 1 && strcmp(argv[1], "-l") == 0;
  const char *type_name = argc > 1 + list ? argv[1 + list] : NULL;
  const char *op_name = argc > 2 + list ? argv[2 + list] : NULL;
  prepare();
  if (!list) {
    printf("%-15s %-7s %-7s %8s %8s %8s %7s %8s %7s\n", "", "", "", "L1", "L2", "beyond", "of copy",
           "apart", "of copy");
    printf("%-15s %-7s %-7s %8.1f %8.1f %8.1f\n", "memcpy", "", "", bench.copy[0], bench.copy[1],
           bench.copy[2]);
  }
  for (int t = 0; t < TUTTI_TYPE_COUNT; t++)
    for (int o = 0; o < TUTTI_OP_COUNT; o++) {
      if (!tutti_type_has_op((tutti_type)t, (tutti_op)o) || o == TUTTI_AVG) continue;
      if (type_name && strcmp(type_name, tutti_type_name((tutti_type)t))) continue;
      if (op_name && strcmp(op_name, tutti_op_name((tutti_op)o))) continue;
      (list ? lines : table_row)((tutti_type)t, (tutti_op)o);
      fflush(stdout);
    }
  if (!list)
    printf(
        "\nGB/s moved (read and written). L1, L2, beyond: the result replaces an input; vectors\n"
        "fill half of the cache, beyond they are 32 MiB. Apart: beyond, into a third place,\n"
        "which the processor reads before it writes. 'loop' is a plain loop in C.\n");
  return 0;
}
