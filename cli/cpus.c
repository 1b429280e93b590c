/* cpus.c - affinity masks, threads of a core, and the order of processors for binding ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

const char *const cpus_level[CPUS_LEVELS] = {"package", "numa", "cache"};

/* Enlarges the set until the kernel's set fits into it. */
cpu_set_t *cpus_mask(pid_t pid, size_t *bytes) {
  for (int bits = 1024; bits <= 1 << 20; bits *= 2) {
    cpu_set_t *set = CPU_ALLOC(bits);
    if (!set) return NULL;
    *bytes = CPU_ALLOC_SIZE(bits);
    CPU_ZERO_S(*bytes, set);
    if (sched_getaffinity(pid, *bytes, set) == 0) return set;
    CPU_FREE(set);
    if (errno != EINVAL) return NULL;
  }
  return NULL;
}

/* Returns the lowest-numbered hardware thread on the same core as `cpu`, or `cpu` itself if the core is unknown. */
static int core_of(const char *system, int cpu) {
  char path[300];
  snprintf(path, sizeof path, "%.200s/cpu/cpu%d/topology/thread_siblings_list", system, cpu);
  FILE *f = fopen(path, "re");
  int core = cpu;
  if (f && fscanf(f, "%d", &core) != 1) core = cpu;
  if (f) fclose(f);
  return core;
}

typedef struct place {
  int cpu, core, nth; /* nth: cpu is the nth allowed thread of its core */
  tutti_net_site site;
} place;

static int difference(const tutti_net_site *a, const tutti_net_site *b, int level) {
  const int first[] = {a->package, a->numa, a->cache}, other[] = {b->package, b->numa, b->cache};
  return first[level] - other[level];
}

static int level_apart(const tutti_net_site *a, const tutti_net_site *b) {
  int level = 0;
  while (level < CPUS_LEVELS && difference(a, b, level) == 0) level++;
  return level;
}

static int by_nth(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->nth != y->nth) return x->nth - y->nth;
  const int level = level_apart(&x->site, &y->site);
  return level < CPUS_LEVELS ? difference(&x->site, &y->site, level) : x->cpu - y->cpu;
}

int cpus_apart(const cpu_list *list, int i, int j) {
  return level_apart(&list->site[i], &list->site[j]);
}

cpu_list cpus_of(const int *cpu, int n, const char *system) {
  cpu_list list = {0};
  place *places = calloc((size_t)n + 1, sizeof *places);
  list.cpu = calloc((size_t)n + 1, sizeof *list.cpu);
  list.site = calloc((size_t)n + 1, sizeof *list.site);
  for (int i = 0; places && list.cpu && list.site && i < n; i++) {
    places[i] =
        (place){.cpu = cpu[i], .core = core_of(system ? system : "/sys/devices/system", cpu[i])};
    tutti_net_site_of(cpu[i], system, &places[i].site);
    for (int k = 0; k < i; k++) places[i].nth += places[k].core == places[i].core;
    list.n++;
  }
  if (list.n) qsort(places, (size_t)list.n, sizeof *places, by_nth);
  for (int i = 0; i < list.n; i++) {
    list.cpu[i] = places[i].cpu;
    list.site[i] = places[i].site;
  }
  free(places);
  return list;
}

cpu_list cpus_allowed(void) {
  int found = 0;
  size_t bytes;
  cpu_set_t *set = cpus_mask(0, &bytes);
  if (!set) return (cpu_list){0};
  const int n = CPU_COUNT_S(bytes, set);
  int *cpus = calloc((size_t)n + 1, sizeof *cpus);
  for (int cpu = 0; cpus && cpu < (int)(8 * bytes) && found < n; cpu++)
    if (CPU_ISSET_S(cpu, bytes, set)) cpus[found++] = cpu;
  CPU_FREE(set);
  const cpu_list list = cpus_of(cpus, found, NULL);
  free(cpus);
  return list;
}

void cpus_free(cpu_list *list) {
  free(list->cpu);
  free(list->site);
  *list = (cpu_list){0};
}

int cpus_keep_to(int cpu) {
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  cpu_set_t *one = CPU_ALLOC(cpu + 1);
  if (!one) return -1;
  CPU_ZERO_S(bytes, one);
  CPU_SET_S(cpu, bytes, one);
  const int failed = sched_setaffinity(0, bytes, one);
  CPU_FREE(one);
  return failed;
}
