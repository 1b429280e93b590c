/* mp_large.c - vectors beyond 2^31 elements and 2^32 bytes, in place.
 *
 * Ranks: 2
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cover.h"
#include "seconds.h"
#include "start.h"
#include "tutti.h"

/* Available memory in GiB; 0: unknown. */
static double available(void) {
  char line[200];
  unsigned long long kib = 0;
  FILE *f = fopen("/proc/meminfo", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %llu", &kib) == 1) break;
  if (f) fclose(f);
  double gib = (double)kib / (1 << 20);
  f = fopen("/sys/fs/cgroup/memory.max", "r");
  if (f && fscanf(f, "%llu", &kib) == 1 && (double)kib / (1 << 30) < gib)
    gib = (double)kib / (1 << 30);
  if (f) fclose(f);
  return gib;
}

static void *take(size_t bytes) {
  void *x = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return x == MAP_FAILED ? NULL : x;
}

/* Sums n elements; each is (rank + 1) times a number of a short cycle of prime length. */
static const char *sum_bytes(tutti_comm *comm, size_t n) {
  enum { CYCLE = 251 };
  const int me = tutti_comm_rank(comm) + 1;
  int8_t *x = take(n), cycle[CYCLE * 4];
  if (!x) return "no memory";
  for (size_t i = 0; i < sizeof cycle; i++) cycle[i] = (int8_t)((int)(i % CYCLE) * me);
  for (size_t i = 0; i < n; i += CYCLE) memcpy(x + i, cycle, n - i < CYCLE ? n - i : CYCLE);
  const char *wrong = tutti_allreduce(comm, x, x, n, TUTTI_INT8, TUTTI_SUM) ? tutti_error() : NULL;
  for (size_t i = 0; i < sizeof cycle; i++) cycle[i] = (int8_t)((int)(i % CYCLE) * 3);
  for (size_t i = 0; i < n && !wrong; i += CYCLE)
    if (memcmp(x + i, cycle, n - i < CYCLE ? n - i : CYCLE) != 0) wrong = "a wrong sum";
  munmap(x, n);
  return wrong;
}

static const char *sum_floats(tutti_comm *comm, size_t n) {
  const float me = (float)(tutti_comm_rank(comm) + 1);
  float *x = take(n * sizeof *x);
  if (!x) return "no memory";
  for (size_t i = 0; i < n; i++) x[i] = me * (float)(i % 8191);
  const char *wrong = tutti_allreduce(comm, x, x, n, TUTTI_FLOAT, TUTTI_SUM) ? tutti_error() : NULL;
  for (size_t i = 0; i < n && !wrong; i++)
    if (x[i] != 3 * (float)(i % 8191)) wrong = "a wrong sum";
  munmap(x, n * sizeof *x);
  return wrong;
}

static void say(tutti_comm *comm, const char *what, double need,
                const char *(*sum)(tutti_comm *, size_t), size_t n) {
  int32_t enough = available() > need;
  if (tutti_broadcast(comm, &enough, &enough, 1, TUTTI_INT32, 0)) exit(1);
  const char *wrong = enough ? sum(comm, n) : NULL;
  uint8_t bad = wrong != NULL;
  if (wrong) printf("# rank %d: %s\n", tutti_comm_rank(comm), wrong);
  if (tutti_allreduce(comm, &bad, &bad, 1, TUTTI_UINT8, TUTTI_MAX)) bad = 1;
  if (tutti_comm_rank(comm) > 0) return;
  if (enough)
    printf("%s - %s\n", bad ? "not ok" : "ok", what);
  else
    printf("ok - %s # SKIP needs %.1f GiB of memory, %.1f are available\n", what, need,
           available());
  fflush(stdout);
}

int main(void) {
  tutti_comm *comm;
  end_after(cover_all() ? 900 : 200);
  if (start_comm(&comm)) return 1;
  if (tutti_comm_size(comm) != 2) return 77;
  say(comm, "2^31 + 7 elements of int8", 5, sum_bytes, ((size_t)1 << 31) + 7);
  if (cover_all()) {
    say(comm, "2^30 + 3 elements of float", 9, sum_floats, ((size_t)1 << 30) + 3);
    say(comm, "2^32 + 5 elements of int8", 9, sum_bytes, ((size_t)1 << 32) + 5);
  }
  return tutti_comm_free(comm) || start_end();
}
