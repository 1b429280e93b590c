/* cores.c - the cores that this process may use (affinity and quota), and the processor model, as Linux reports them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo.h"

void tt_cores_mine(tt_cpu_bits *cores) {
  *cores = (tt_cpu_bits){0};
  if (sched_getaffinity(0, sizeof *cores, (cpu_set_t *)cores) != 0) tt_cpus_add(cores, 0);
}

bool tt_line_of(const char *path, char *line, size_t size) {
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const bool there = fgets(line, (int)size, file) != NULL;
  fclose(file);
  return there;
}

/* Reads the CPU quota of a version 2 cgroup, such as "max 100000" or "150000 100000". */
static double quota_in(const char *folder) {
  char path[600], text[64];
  double quota, period;
  snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
  if (!tt_line_of(path, text, sizeof text) || sscanf(text, "%lf %lf", &quota, &period) != 2)
    return 1e9;
  return period > 0 ? quota / period : 1e9;
}

static bool number_in(const char *path, double *number) {
  char text[64];
  return tt_line_of(path, text, sizeof text) && sscanf(text, "%lf", number) == 1 && *number > 0;
}

static double quota_v1(void) {
  double quota, period;
  return number_in("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota) &&
                 number_in("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period)
             ? quota / period
             : 1e9;
}

double tt_cores_quota(void) {
  char line[512];
  double least = quota_v1();
  FILE *file = fopen("/proc/self/cgroup", "re");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "0::", 3) != 0) continue;
    char *folder = line + 3;
    folder[strcspn(folder, "\n")] = 0;
    for (;;) { /* the group and its ancestors */
      double here = quota_in(strcmp(folder, "/") ? folder : "");
      if (here < least) least = here;
      char *slash = strrchr(folder, '/');
      if (!slash || !*folder) break;
      *slash = 0;
    }
  }
  if (file) fclose(file);
  return least;
}

/* ---- the machine ---- */

size_t tt_cache_l2(void) {
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? (size_t)bytes : (size_t)1 << 20;
}

uint64_t tt_kernel_id(void) {
  char text[64] = "";
  const char *said = tt_env("TUTTI_KERNEL");
  if (said) return tt_mix_text(2, said);
  if (!tt_line_of("/proc/sys/kernel/random/boot_id", text, sizeof text)) text[0] = 0;
  return tt_mix_text(1, text);
}

/* Gets the value in the first line of /proc/cpuinfo that starts with `key`. */
static bool cpuinfo(const char *key, char value[120]) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "re");
  bool found = false;
  while (file && !found && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
    colon += 1 + strspn(colon + 1, " \t");
    snprintf(value, 120, "%.*s", (int)strcspn(colon, "\n"), colon);
    found = *value != 0;
  }
  if (file) fclose(file);
  return found;
}

const char *tt_machine_name(char *text, size_t size) {
  char model[120];
  if (!cpuinfo("model name", model) && !cpuinfo("CPU part", model) && !cpuinfo("cpu", model))
    snprintf(model, sizeof model, "processor");
  for (char *c = model; *c; c++)
    if (*c == ',' || *c == '#' || (unsigned char)*c < ' ') *c = ' ';
  snprintf(text, size, "%ld x %s", sysconf(_SC_NPROCESSORS_ONLN), model);
  for (size_t n = strlen(text); n && text[n - 1] == ' ';) text[--n] = 0;
  return text;
}

const char *tt_instruction_sets(char *text, size_t size) {
  size_t n = 0;
  text[0] = 0;
#if defined(__x86_64__)
  const struct {
    const char *name;
    int here;
  } sets[] = {{"sse2", __builtin_cpu_supports("sse2")},
              {"avx2", __builtin_cpu_supports("avx2")},
              {"avx512f", __builtin_cpu_supports("avx512f")},
              {"avx512bw", __builtin_cpu_supports("avx512bw")}};
  for (size_t i = 0; i < sizeof sets / sizeof *sets && n < size; i++)
    if (sets[i].here) n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "", sets[i].name);
#elif defined(__aarch64__)
  n = (size_t)snprintf(text, size, "neon");
#endif
  if (n == 0) snprintf(text, size, "plain");
  return text;
}
