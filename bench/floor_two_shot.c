/* floor_two_shot.c - the floor of large allreduces of two ranks: two threads add directly
 * from, and store directly into, each other's vectors.
 *
 *   floor_two_shot loop|cycle FIRST LAST BUDGET REPEATS     bytes, median us, least us
 *
 * Idea      each thread owns half: it adds the two halves and writes the sum to both
 *           vectors. Nothing is copied; two meetings, one cache line each way. In place,
 *           float sum.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "timing.h"

#if defined(__x86_64__)
#define BEST_OF __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#else
#define BEST_OF
#endif

typedef struct seat {
  _Alignas(128) atomic_long met;
  float *vector;
  double seconds; /* of this thread, to be compared */
} seat;

static seat seats[2];
static timing_plan plan;

static inline void meet(int r) {
  const long n = atomic_load_explicit(&seats[r].met, memory_order_relaxed) + 1;
  atomic_store_explicit(&seats[r].met, n, memory_order_release);
  while (atomic_load_explicit(&seats[1 - r].met, memory_order_acquire) < n) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

BEST_OF static void add_both(float *restrict x, float *restrict y, size_t n) {
  for (size_t j = 0; j < n; j++) {
    const float sum = x[j] + y[j];
    x[j] = sum;
    y[j] = sum;
  }
}

static void allreduce(int r, size_t n) {
  const size_t half = n / 2, from = r ? half : 0, m = r ? n - half : half;
  meet(r);
  add_both(seats[r].vector + from, seats[1 - r].vector + from, m);
  meet(r);
}

static double timed(int r, size_t n, long iterations, int touch, int call) {
  float *x = seats[r].vector;
  meet(r);
  const double from = timing_now();
  for (long i = 0; i < iterations; i++) {
    if (touch) timing_write(x, n, i);
    if (call) allreduce(r, n);
    if (touch) timing_read(x, n);
  }
  return (timing_now() - from) / (double)iterations;
}

/* Returns the slower thread's figure on both. */
static double slower(int r, double seconds) {
  seats[r].seconds = seconds;
  meet(r);
  const double other = seats[1 - r].seconds;
  meet(r);
  return seconds > other ? seconds : other;
}

static void size(int r, size_t bytes) {
  const size_t n = bytes / sizeof(float);
  double each[MOST_REPEATS];
  seats[r].vector = malloc(bytes);
  if (!seats[r].vector) exit(1);
  memset(seats[r].vector, 0, bytes);
  meet(r); /* both vectors exist */
  double once = slower(r, timed(r, n, 3, plan.cycle, 1));
  for (int k = 0, settled = 0; k < SETTLE && !settled; k++) {
    const double again = slower(r, timed(r, n, timing_trial(plan.budget, once), plan.cycle, 1));
    settled = timing_settled(once, again);
    once = again;
  }
  const long iterations = timing_fit(plan.budget, once);
  for (int k = 0; k < plan.repeats; k++) {
    const double without = plan.cycle ? timed(r, n, iterations, 1, 0) : 0;
    each[k] = slower(r, timed(r, n, iterations, plan.cycle, 1) - without);
  }
  timing_median(each, plan.repeats);
  if (r == 0) timing_show(bytes, each, plan.repeats);
  meet(r);
  free(seats[r].vector);
}

static void *thread_main(void *rank) {
  const int r = rank == &seats[1];
  int place = r;
  cpu_set_t may, one;
  if (sched_getaffinity(0, sizeof may, &may) == 0 && CPU_COUNT(&may) > 1)
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
      if (CPU_ISSET(cpu, &may) && place-- == 0) {
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_setaffinity_np(pthread_self(), sizeof one, &one);
        break;
      }
  for (size_t b = plan.first; b <= plan.last; b *= 4) size(r, b);
  return NULL;
}

int main(int argc, char **argv) {
  if (!timing_parse(&plan, argc - 1, argv + 1)) {
    fprintf(stderr, "usage: floor_two_shot " TIMING_USAGE "\n");
    return 2;
  }
  pthread_t other;
  /* The main thread stays free, so that both threads are bound alike. */
  pthread_t first;
  if (pthread_create(&first, NULL, thread_main, &seats[0]) ||
      pthread_create(&other, NULL, thread_main, &seats[1]))
    return fprintf(stderr, "floor_two_shot: no threads\n"), 1;
  pthread_join(first, NULL);
  pthread_join(other, NULL);
  return 0;
}
