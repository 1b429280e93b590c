/* floor_exchange.c - the floor of small allreduces: one cache line per rank, all ranks
 * read all lines.
 *
 *   floor_exchange P SPINS [REPEATS]      prints P and the median in microseconds
 *
 * Idea      a rank writes its value and a number into its line, then waits for that
 *           number in every line, and adds. It polls SPINS times before it yields
 *           its core: 1000000 if every rank has a core, otherwise 0. Two sets of
 *           lines alternate, so no rank overwrites a line that another still reads.
 * Floor     no fewer cache lines can move, and no fewer turns of the scheduler.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "timing.h"

enum { MOST_RANKS = 1024, FLOATS = 12 };

typedef struct line {
  _Alignas(64) atomic_long number;
  float payload[FLOATS];
} line;

typedef struct floor_job {
  line *lines; /* two sets */
  int ranks;
  long spins;
  int repeats;
  long iterations;
} floor_job;

static inline void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Binds to the r-th available processor, if there is one per rank. */
static void bind_rank(int r, int ranks) {
  cpu_set_t may, one;
  if (sched_getaffinity(0, sizeof may, &may) || CPU_COUNT(&may) < ranks) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &may) && r-- == 0) {
      CPU_ZERO(&one);
      CPU_SET(cpu, &one);
      sched_setaffinity(0, sizeof one, &one);
      return;
    }
}

/* One exchange; false if the sum is wrong. */
static bool exchange(const floor_job *job, int r, long number) {
  line *lines = job->lines + (number & 1) * job->ranks;
  lines[r].payload[0] = 1;
  atomic_store_explicit(&lines[r].number, number, memory_order_release);
  float sum = 0;
  for (int q = 0; q < job->ranks; q++) {
    long looked = 0;
    while (atomic_load_explicit(&lines[q].number, memory_order_acquire) < number) {
      if (++looked > job->spins)
        sched_yield();
      else
        relax();
    }
    sum += lines[q].payload[0];
  }
  return sum == (float)job->ranks;
}

static int rank_main(const floor_job *job, int r) {
  double each[MOST_REPEATS];
  long number = 0;
  bind_rank(r, job->ranks);
  for (int k = 0; k < job->repeats; k++) {
    const double from = timing_now();
    for (long i = 0; i < job->iterations; i++)
      if (!exchange(job, r, ++number)) return 1;
    each[k] = (timing_now() - from) / (double)job->iterations;
  }
  if (r == 0) printf("%d %.4f\n", job->ranks, 1e6 * timing_median(each, job->repeats));
  fflush(stdout);
  return 0;
}

int main(int argc, char **argv) {
  floor_job job = {.ranks = argc > 2 ? atoi(argv[1]) : 0, .repeats = argc > 3 ? atoi(argv[3]) : 9};
  job.spins = job.ranks ? atol(argv[2]) : 0;
  if (job.ranks < 1 || job.ranks > MOST_RANKS || job.repeats < 1 || job.repeats > MOST_REPEATS) {
    fprintf(stderr, "usage: floor_exchange P SPINS [REPEATS]\n");
    return 2;
  }
  job.iterations = job.spins > 1000 ? 100000 : 100000 / job.ranks;
  const size_t bytes = 2 * (size_t)job.ranks * sizeof *job.lines;
  job.lines = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (job.lines == MAP_FAILED) return perror("mmap"), 1;
  for (int r = 0; r < job.ranks; r++) {
    const pid_t pid = fork();
    if (pid < 0) return perror("fork"), 1; /* the others wait until the caller's timeout */
    if (pid == 0) _exit(rank_main(&job, r));
  }
  int bad = 0;
  for (int status; wait(&status) > 0;) bad |= status;
  if (bad) fprintf(stderr, "floor_exchange: a sum was wrong\n");
  return bad != 0;
}
