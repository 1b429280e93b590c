/* cpus.c - affinity mask, core siblings, control group quota.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static double least(double a, double b) {
  return a == 0 || (b > 0 && b < a) ? b : a;
}

/* One directory's quota, version 2 or 1 of control groups. */
static double quota_at(const char *dir, bool v2) {
  char path[640];
  double quota = 0, period = 0;
  snprintf(path, sizeof path, v2 ? "%s/cpu.max" : "%s/cpu.cfs_quota_us", dir);
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  int got = v2 ? fscanf(f, "%lf %lf", &quota, &period) : fscanf(f, "%lf", &quota);
  fclose(f);
  if (got != (v2 ? 2 : 1)) return 0; /* "max" */
  if (!v2) {
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    f = fopen(path, "re");
    if (!f) return 0;
    if (fscanf(f, "%lf", &period) != 1) period = 0;
    fclose(f);
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

/* The least quota from a group up to the root of its hierarchy. */
static double quota_up(const char *root, char *group, bool v2) {
  double quota = 0;
  for (;;) {
    char dir[600];
    snprintf(dir, sizeof dir, "%s%s", root, group);
    quota = least(quota, quota_at(dir, v2));
    char *slash = strrchr(group, '/');
    if (!slash || !*group) return quota;
    *slash = 0;
  }
}

double cpus_quota(void) {
  FILE *f = fopen("/proc/self/cgroup", "re");
  if (!f) return 0;
  char line[512];
  double quota = 0;
  while (fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    char *names = strchr(line, ':');
    char *group = names ? strchr(names + 1, ':') : NULL;
    if (!group) continue;
    *group++ = 0;
    if (strcmp(group, "/") == 0) *group = 0;
    names++;
    if (!*names)
      quota = least(quota, quota_up("/sys/fs/cgroup", group, true));
    else if (strstr(names, "cpu") && !strstr(names, "cpuset"))
      quota = least(quota, quota_up("/sys/fs/cgroup/cpu", group, false));
  }
  fclose(f);
  return quota;
}
