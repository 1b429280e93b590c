/* bounce.c - the distance between two cores: the round-trip time of a cache line.
 *
 * Idea      two processes write to the line alternately. The result is the fastest of several
 *           batches, and holds for that moment only. On a virtual machine, the hypervisor moves the
 *           virtual cores, and the distance can change by a factor of ten within a second.
 *           Measurements with few ranks then vary by as much, and this number explains why.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "cpus.h"

enum { BATCHES = 20, TURNS = 200 };

typedef struct court {
  _Alignas(128) atomic_uint serve;
  _Alignas(128) atomic_uint back;
} court;

static void answer(court *c) {
  for (unsigned seen = 0, now;
       (now = atomic_load_explicit(&c->serve, memory_order_acquire)) != UINT32_MAX;)
    if (now != seen) atomic_store_explicit(&c->back, seen = now, memory_order_release);
  _exit(0);
}

/* Returns 0 if the other process has ended. */
static double batch(court *c, unsigned *turn) {
  const double begin = cli_now();
  for (int i = 0; i < TURNS; i++) {
    atomic_store_explicit(&c->serve, ++*turn, memory_order_release);
    for (long looks = 0; atomic_load_explicit(&c->back, memory_order_acquire) != *turn; looks++)
      if (looks > 1000000 && (looks & 0xffff) == 0 && cli_now() - begin > 1) return 0;
  }
  return (cli_now() - begin) / TURNS;
}

static double between(int one, int other) {
  double best = 0;
  unsigned turn = 0;
  court *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (c == MAP_FAILED) return 0;
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpus_keep_to(other);
    answer(c);
  }
  cpus_keep_to(one);
  for (int i = 0; child > 0 && i < BATCHES; i++) {
    const double took = batch(c, &turn);
    if (took <= 0) break;
    if (best <= 0 || took < best) best = took;
  }
  atomic_store(&c->serve, UINT32_MAX);
  if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
  munmap(c, sizeof *c);
  return best;
}

double cli_bounce_between(int one, int other) {
  size_t bytes;
  cpu_set_t *mine = cpus_mask(0, &bytes);
  if (!mine) return 0;
  const double took = between(one, other);
  sched_setaffinity(0, bytes, mine);
  CPU_FREE(mine);
  return took;
}

/* Finds the first two cores on which this process may run. Returns the number of cores found. */
static int two_of(pid_t pid, int cpu[2]) {
  int n = 0;
  size_t bytes;
  cpu_set_t *cores = cpus_mask(pid, &bytes);
  for (int k = 0; cores && k < (int)(8 * bytes) && n < 2; k++)
    if (CPU_ISSET_S(k, bytes, cores)) cpu[n++] = k;
  if (cores) CPU_FREE(cores);
  return n;
}

double cli_bounce(void) {
  int cpu[2], n = two_of(0, cpu);
  if (n == 1)
    n = two_of(getppid(), cpu); /* this rank may be bound to one core, so use its parent's cores */
  return n == 2 ? cli_bounce_between(cpu[0], cpu[1]) : 0;
}

bool cli_bounce_near(double one, double other) {
  return one > 0 && one < 1.25 * other && other < 1.25 * one;
}
