/* cpu_domains.c - the package, the NUMA node and the last-level cache of a set of cores, as Linux reports them in /sys.
 *
 * Idea       A domain is identified by its first core in the system's numbering. All processes of a node therefore use
 *            the same number, whichever cores their control groups allow.
 * Cost       Four small files for a core, and one for each NUMA node up to that of the core.
 * Invariant  Never fails. An unknown domain is 0 in every process.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "topo.h"

enum { INDEXES = 16 };

/* Returns 1 + the lowest core in a list such as "0-3,8" if all of `cores` are in the list, and otherwise 0. */
static int first_if_all(const char *list, const tt_cpu_bits *cores) {
  tt_cpu_bits among = {0};
  long least = -1;
  for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
    const long from = strtol(list, &end, 10);
    const long to = *end == '-' ? strtol(end + 1, &end, 10) : from;
    if (least < 0 || from < least) least = from;
    for (long c = from; c <= to && c < TT_CPUS; c++) tt_cpus_add(&among, c);
  }
  return least >= 0 && tt_cpus_contain(&among, cores) ? 1 + (int)least : 0;
}

static int package_of(const char *system, int core, const tt_cpu_bits *cores) {
  static const char *const names[] = {"package_cpus_list", "core_siblings_list"}; /* new, old */
  char path[300], list[4096];
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%.200s/cpu/cpu%d/topology/%s", system, core, names[i]);
    if (tt_line_of(path, list, sizeof list)) return first_if_all(list, cores);
  }
  return 0;
}

/* Returns the NUMA node that contains all of these cores. The list of nodes may have gaps on some machines. */
static int numa_of(const char *system, const tt_cpu_bits *cores) {
  char path[300], nodes[1024], list[4096];
  int first = 0;
  snprintf(path, sizeof path, "%.200s/node/online", system);
  if (!tt_line_of(path, nodes, sizeof nodes)) return 0;
  for (char *at = nodes, *end; *at >= '0' && *at <= '9' && !first;
       at = *end == ',' ? end + 1 : end) {
    const long from = strtol(at, &end, 10), to = *end == '-' ? strtol(end + 1, &end, 10) : from;
    for (long n = from; n <= to && !first; n++) {
      snprintf(path, sizeof path, "%.200s/node/node%ld/cpulist", system, n);
      if (tt_line_of(path, list, sizeof list)) first = first_if_all(list, cores);
    }
  }
  return first;
}

static int cache_of(const char *system, int core, const tt_cpu_bits *cores) {
  char path[300], list[4096];
  for (int i = 0; i < INDEXES; i++) {
    snprintf(path, sizeof path, "%.200s/cpu/cpu%d/cache/index%d/level", system, core, i);
    if (!tt_line_of(path, list, sizeof list)) break;
    if (atoi(list) != 3) continue;
    snprintf(path, sizeof path, "%.200s/cpu/cpu%d/cache/index%d/shared_cpu_list", system, core, i);
    return tt_line_of(path, list, sizeof list) ? first_if_all(list, cores) : 0;
  }
  return 0;
}

tt_domains tt_cores_within(const char *system, const tt_cpu_bits *cores) {
  const int core = tt_cpus_first(cores);
  if (core < 0) return (tt_domains){0};
  if (!system) system = "/sys/devices/system";
  return (tt_domains){package_of(system, core, cores), numa_of(system, cores),
                      cache_of(system, core, cores)};
}
