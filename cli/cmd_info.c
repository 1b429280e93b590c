/* cmd_info.c - `tutti info`: what this build and this machine can do.
 *
 * Idea      Collect everything into one struct, then print it for people or as
 *           JSON. What the library can do here the library says (tutti_info).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "cli.h"
#include "cpus.h"

static const char usage[] =
    "usage: tutti info [--json]\n"
    "\n"
    "Version and build, the cores this process may use, instruction sets, memory,\n"
    "and what tutti can do here and what not, and why.\n"
    "\n"
    "  -j, --json   the same as one JSON object\n";

static const struct option long_options[] = {
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER ", address sanitizer"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER ", thread sanitizer"
#else
#define SANITIZER ""
#endif
#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

typedef struct info {
  struct utsname system;
  int usable, online;
  double quota; /* processors; 0: none */
  const char *sets[32];
  size_t sets_n;
  double total, available, limit; /* bytes; 0: unknown or none */
} info;

static void have(info *i, int yes, const char *name) {
  if (yes && i->sets_n < 32) i->sets[i->sets_n++] = name;
}

static void instruction_sets(info *i) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  have(i, __builtin_cpu_supports("sse2"), "sse2");
  have(i, __builtin_cpu_supports("sse4.2"), "sse4.2");
  have(i, __builtin_cpu_supports("avx"), "avx");
  have(i, __builtin_cpu_supports("fma"), "fma");
  have(i, __builtin_cpu_supports("avx2"), "avx2");
  have(i, __builtin_cpu_supports("avx512f"), "avx512f");
  have(i, __builtin_cpu_supports("avx512bw"), "avx512bw");
  have(i, __builtin_cpu_supports("avx512dq"), "avx512dq");
  have(i, __builtin_cpu_supports("avx512vl"), "avx512vl");
#elif defined(__aarch64__)
  unsigned long hwcap = getauxval(AT_HWCAP);
  have(i, (hwcap & 1ul << 1) != 0, "asimd");
  have(i, (hwcap & 1ul << 10) != 0, "asimdhp");
  have(i, (hwcap & 1ul << 22) != 0, "sve");
#else
  have(i, 1, "none known");
#endif
}

/* The number after `key` in a file of "key number" lines; the first number of
 * the file if key is empty; 0 if there is none. */
static double number_in(const char *path, const char *key) {
  FILE *f = fopen(path, "re");
  if (!f) return 0;
  char line[256];
  double value = 0;
  size_t n = strlen(key);
  while (value == 0 && fgets(line, sizeof line, f))
    if (strncmp(line, key, n) == 0 && sscanf(line + n, "%lf", &value) != 1) value = 0;
  fclose(f);
  return value;
}

static void collect(info *i) {
  uname(&i->system);
  cpu_list cpus = cpus_allowed();
  i->usable = cpus.n;
  cpus_free(&cpus);
  i->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
  i->quota = cpus_quota();
  instruction_sets(i);
  i->total = 1024 * number_in("/proc/meminfo", "MemTotal:");
  i->available = 1024 * number_in("/proc/meminfo", "MemAvailable:");
  i->limit = number_in("/sys/fs/cgroup/memory.max", "");
  if (i->limit == 0) i->limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", "");
  if (i->total > 0 && i->limit >= i->total) i->limit = 0;
}

static void print_people(const info *i) {
  const double gib = 1024.0 * 1024 * 1024;
  printf("version            %s\n", tutti_version(NULL, NULL, NULL));
  printf("build              %s%s\n", COMPILER, SANITIZER);
  printf("system             %s %s, %s\n", i->system.sysname, i->system.release, i->system.machine);
  printf("cores              %d usable of %d online", i->usable, i->online);
  if (i->quota > 0)
    printf(", quota %.2f\n", i->quota);
  else
    printf(", no quota\n");
  printf("instruction sets  ");
  for (size_t k = 0; k < i->sets_n; k++) printf(" %s", i->sets[k]);
  printf("\nmemory             %.1f GiB, %.1f GiB available", i->total / gib, i->available / gib);
  if (i->limit > 0) printf(", limited to %.1f GiB", i->limit / gib);
  printf("\n");
  const char *line;
  for (int k = 0; (line = tutti_info(k)); k++) printf("%s\n", line);
}

static void json_string(const char *s) {
  putchar('"');
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 32)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

static void json_member(const char *name, const char *value) {
  printf("  \"%s\": ", name);
  json_string(value);
  printf(",\n");
}

static void print_json(const info *i) {
  printf("{\n");
  json_member("version", tutti_version(NULL, NULL, NULL));
  json_member("build", COMPILER SANITIZER);
  json_member("system", i->system.sysname);
  json_member("release", i->system.release);
  json_member("machine", i->system.machine);
  printf("  \"cores_usable\": %d,\n  \"cores_online\": %d,\n", i->usable, i->online);
  if (i->quota > 0) printf("  \"cores_quota\": %.3f,\n", i->quota);
  printf("  \"memory_bytes\": %.0f,\n  \"memory_available_bytes\": %.0f,\n", i->total,
         i->available);
  if (i->limit > 0) printf("  \"memory_limit_bytes\": %.0f,\n", i->limit);
  printf("  \"instruction_sets\": [");
  for (size_t k = 0; k < i->sets_n; k++) printf("%s\"%s\"", k ? ", " : "", i->sets[k]);
  printf("],\n  \"possible\": [");
  const char *line;
  for (int k = 0; (line = tutti_info(k)); k++) {
    printf("%s\n    ", k ? "," : "");
    json_string(line);
  }
  printf("\n  ]\n}\n");
}

static int run(int argc, char **argv) {
  bool json = false;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:j", long_options, NULL)) != -1;) {
    if (c != 'j') return cli_bad_option("info", c, argv, long_options);
    json = true;
  }
  if (optind < argc)
    return cli_fail(CLI_USAGE, "info", "'%s' is one argument too many; see `tutti help info`",
                    argv[optind]);
  info i = {0};
  collect(&i);
  if (json)
    print_json(&i);
  else
    print_people(&i);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "info", "cannot write: %s", strerror(errno));
  return 0;
}

const cli_command cmd_info = {"info", "what this build and this machine can do", usage, run};
