/* cpus.c - affinity mask and core siblings.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* The affinity mask, growing the set until the kernel's fits. */
static cpu_set_t *affinity(int *bits) {
  for (*bits = 1024; *bits <= 1 << 20; *bits *= 2) {
    cpu_set_t *set = CPU_ALLOC(*bits);
    if (!set) return NULL;
    if (sched_getaffinity(0, CPU_ALLOC_SIZE(*bits), set) == 0) return set;
    CPU_FREE(set);
    if (errno != EINVAL) return NULL;
  }
  return NULL;
}

/* The lowest thread of this thread's core; itself if unknown. */
static int core_of(int cpu) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
  FILE *f = fopen(path, "re");
  int core = cpu;
  if (f && fscanf(f, "%d", &core) != 1) core = cpu;
  if (f) fclose(f);
  return core;
}

typedef struct place {
  int cpu, core, nth; /* the nth allowed thread of its core */
} place;

static int by_nth(const void *a, const void *b) {
  const place *x = a, *y = b;
  return x->nth != y->nth ? x->nth - y->nth : x->cpu - y->cpu;
}

cpu_list cpus_allowed(void) {
  cpu_list list = {0, NULL};
  int bits;
  cpu_set_t *set = affinity(&bits);
  if (!set) return list;
  int n = CPU_COUNT_S(CPU_ALLOC_SIZE(bits), set);
  place *places = calloc((size_t)n + 1, sizeof *places);
  int *cpus = calloc((size_t)n + 1, sizeof *cpus);
  for (int cpu = 0; places && cpus && cpu < bits && list.n < n; cpu++) {
    if (!CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(bits), set)) continue;
    place p = {cpu, core_of(cpu), 0};
    for (int i = 0; i < list.n; i++) p.nth += places[i].core == p.core;
    places[list.n++] = p;
  }
  CPU_FREE(set);
  if (list.n) qsort(places, (size_t)list.n, sizeof *places, by_nth);
  for (int i = 0; i < list.n; i++) cpus[i] = places[i].cpu;
  free(places);
  list.cpu = cpus;
  return list;
}

void cpus_free(cpu_list *list) {
  free(list->cpu);
  *list = (cpu_list){0, NULL};
}
