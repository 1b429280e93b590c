/* test_cpu_domains.c - the package, NUMA and cache domain of each core, for machines simulated in a folder; the
 * order of the cores that ranks take, and the drawing of nearby cores.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka.h needs the three headers above */
#include <cmocka.h>

#include "../cli/cpus.h"
#include "topo.h"

enum { CORES = 8 };

/* Domains of this many cores, one after the other; 0: none. Written as "0-3", as "0,4" with a
 * stride, or with an old kernel's names. */
typedef struct machine {
  int package, l3, node;
  bool scattered, old;
} machine;

static void put(const char *folder, const char *name, const char *text) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
    *slash = 0;
    mkdir(path, 0700);
    *slash = '/';
  }
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fprintf(file, "%s\n", text);
  fclose(file);
}

/* The cores that share a domain with a core. */
static void members(const machine *m, int size, int core, char *list, size_t room) {
  const int domains = CORES / size;
  size_t n = 0;
  list[0] = 0;
  if (!m->scattered)
    snprintf(list, room, "%d-%d", core / size * size, core / size * size + size - 1);
  for (int c = core % domains; c < CORES && m->scattered; c += domains)
    n += (size_t)snprintf(list + n, room - n, "%s%d", n ? "," : "", c);
}

static void make(const machine *m, const char *folder) {
  char name[100], list[100];
  for (int c = 0; c < CORES; c++) {
    for (int level = 0; level < (m->l3 ? 3 : 2); level++) {
      snprintf(name, sizeof name, "cpu/cpu%d/cache/index%d/level", c, level);
      snprintf(list, sizeof list, "%d", level + 1);
      put(folder, name, list);
      members(m, level < 2 ? 1 : m->l3, c, list, sizeof list);
      snprintf(name, sizeof name, "cpu/cpu%d/cache/index%d/shared_cpu_list", c, level);
      put(folder, name, list);
    }
    if (!m->package) continue;
    members(m, m->package, c, list, sizeof list);
    snprintf(name, sizeof name, "cpu/cpu%d/topology/%s", c,
             m->old ? "core_siblings_list" : "package_cpus_list");
    put(folder, name, list);
  }
  snprintf(list, sizeof list, "0-%d", CORES / (m->node ? m->node : CORES) - 1);
  if (m->node) put(folder, "node/online", list);
  for (int n = 0; m->node && n < CORES / m->node; n++) {
    members(m, m->node, n * (m->scattered ? 1 : m->node), list, sizeof list);
    snprintf(name, sizeof name, "node/node%d/cpulist", n);
    put(folder, name, list);
  }
}

static void cores_are_placed(void **state) {
  static const struct {
    machine m;
    const char *cores;
    tt_domains in;
  } cases[] = {{{4, 2, 8, 0, 0}, "10000000", {1, 1, 1}}, {{4, 2, 8, 0, 0}, "11000000", {1, 1, 1}},
               {{4, 2, 8, 0, 0}, "00010000", {1, 1, 3}}, {{4, 2, 8, 0, 0}, "01100000", {1, 1, 0}},
               {{4, 2, 8, 0, 0}, "00001100", {5, 1, 5}}, {{4, 2, 8, 0, 0}, "00000011", {5, 1, 7}},
               {{4, 2, 8, 0, 0}, "10000001", {0, 1, 0}}, {{4, 2, 8, 0, 0}, "11111111", {0, 1, 0}},
               {{4, 2, 8, 0, 1}, "00000011", {5, 1, 7}}, {{4, 0, 2, 0, 0}, "00110000", {1, 3, 0}},
               {{4, 0, 2, 0, 0}, "00110010", {0, 0, 0}}, {{8, 2, 4, 0, 0}, "00001100", {1, 5, 5}},
               {{8, 2, 4, 0, 0}, "00111100", {1, 0, 0}}, {{8, 8, 0, 0, 0}, "11111111", {1, 0, 1}},
               {{0, 0, 8, 0, 0}, "01100000", {0, 1, 0}}, {{0, 0, 0, 0, 0}, "01100000", {0, 0, 0}},
               {{4, 2, 8, 1, 0}, "01000100", {2, 1, 2}}, {{4, 2, 4, 1, 0}, "01000001", {2, 2, 0}},
               {{4, 2, 8, 0, 0}, "00000000", {0, 0, 0}}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[] = "/tmp/tutti-within-XXXXXX", command[100];
    tt_cpu_bits cores = {0};
    for (int c = 0; c < CORES; c++)
      if (cases[i].cores[c] == '1') tt_cpus_add(&cores, c);
    assert_non_null(mkdtemp(folder));
    make(&cases[i].m, folder);
    const tt_domains in = tt_cores_within(folder, &cores);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    if (memcmp(&in, &cases[i].in, sizeof in) != 0)
      fail_msg("case %zu, %s: %d %d %d", i, cases[i].cores, in.package, in.numa, in.cache);
  }
}

/* Ranks take nearby cores one after the other, whatever the cores' numbers. */
static void near_cores_are_drawn(void **state) {
  static const struct {
    machine m;
    const char *order, *picture;
  } cases[] = {
      {{8, 8, 8, 0, 0}, "0 1 2 3 4 5 6 7", "near               0-7\n"},
      {{0, 0, 0, 0, 0}, "0 1 2 3 4 5 6 7", "near               0-7\n"},
      {{4, 2, 4, 0, 0},
       "0 1 2 3 4 5 6 7",
       "near               package 0   cache 0   0-1\n"
       "                               cache 1   2-3\n"
       "                   package 1   cache 2   4-5\n"
       "                               cache 3   6-7\n"},
      {{4, 2, 4, 1, 0},
       "0 4 2 6 1 5 3 7",
       "near               package 0   cache 0   0 4\n"
       "                               cache 1   2 6\n"
       "                   package 1   cache 2   1 5\n"
       "                               cache 3   3 7\n"},
      {{8, 2, 4, 1, 1},
       "0 4 2 6 1 5 3 7",
       "near               numa 0   cache 0   0 4\n"
       "                            cache 1   2 6\n"
       "                   numa 1   cache 2   1 5\n"
       "                            cache 3   3 7\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[] = "/tmp/tutti-near-XXXXXX", command[100], order[40] = "", *picture;
    int all[CORES];
    size_t n;
    for (int c = 0; c < CORES; c++) all[c] = c;
    assert_non_null(mkdtemp(folder));
    make(&cases[i].m, folder);
    cpu_list list = cpus_of(all, CORES, folder);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    for (int c = 0; c < list.n; c++)
      snprintf(order + strlen(order), sizeof order - strlen(order), "%s%d", c ? " " : "",
               list.cpu[c]);
    FILE *to = open_memstream(&picture, &n);
    near_draw(to, "near", &list);
    fclose(to);
    assert_string_equal(order, cases[i].order);
    assert_string_equal(picture, cases[i].picture);
    free(picture);
    cpus_free(&list);
  }
}

/* The size of the simulated kernel's CPU mask. A kernel for more CPUs than cpu_set_t holds refuses to fill one.
 * 0: the system's own answer. */
static size_t kernel_cpus;
static const int allowed[] = {3, 1023, 1024, 5000, 8191};
int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set) {
  if (!kernel_cpus) return __real_sched_getaffinity(pid, bytes, set);
  errno = EINVAL;
  if (8 * bytes < kernel_cpus) return -1;
  CPU_ZERO_S(bytes, set);
  for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
    if ((size_t)allowed[i] < kernel_cpus) CPU_SET_S((size_t)allowed[i], bytes, set);
  return 0;
}

static void large_machines_have_all_their_cores(void **state) {
  (void)state;
  const struct {
    size_t cpus;
    int cores;
  } table[] = {{64, 1}, {1024, 2}, {2048, 3}, {8192, 5}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    tt_cpu_bits mine;
    kernel_cpus = table[i].cpus;
    tt_cores_mine(&mine);
    cpu_list list = cpus_allowed();
    kernel_cpus = 0;
    assert_int_equal(tt_cpus_count(&mine), table[i].cores);
    assert_int_equal(tt_cpus_first(&mine), allowed[0]);
    assert_int_equal(list.n, table[i].cores);
    cpus_free(&list);
  }
}

static void this_machine_says_something(void **state) {
  (void)state;
  tt_cpu_bits mine, one = {0};
  tt_cores_mine(&mine);
  tt_cpus_add(&one, tt_cpus_first(&mine));
  const tt_domains in = tt_cores_within(NULL, &one);
  assert_true(in.package >= 0 && in.numa >= 0 && in.cache >= 0);
  if (access("/sys/devices/system/cpu/cpu0/topology/package_cpus_list", R_OK) == 0)
    assert_true(in.package > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cores_are_placed), cmocka_unit_test(large_machines_have_all_their_cores),
      cmocka_unit_test(near_cores_are_drawn), cmocka_unit_test(this_machine_says_something)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
