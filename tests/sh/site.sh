# site.sh - tutti finds the package, NUMA node and cache of a bound process, on machines that hwloc simulates.
# SPDX-License-Identifier: BSD-3-Clause
. tests/support/tap.bash
CC=${CC:-gcc}

cat >"$work/where.c" <<'EOC'
#include <stdio.h>
#include <time.h>
#include "site.h"
int main(void) {
  tutti_net_site s = {7, 8, -1, -1, -1};
  struct timespec a, b;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  mpi_site_within(&s);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  fprintf(stderr, "%.3f ms\n", 1e3 * (b.tv_sec - a.tv_sec) + 1e-6 * (b.tv_nsec - a.tv_nsec));
  return printf("%d %d %d %d %d\n", s.rack, s.node, s.package, s.numa, s.cache) < 0;
}
EOC
build() { "$CC" -std=c17 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -Impi "$@"; }
have() { echo '#include <hwloc.h>' | "$CC" -E -x c - >/dev/null 2>&1; }
if ! have; then
  skip "sites within a node" "there is no hwloc.h"
  exit 0
fi
ok "it compiles" build "$work/where.c" mpi/site.c -lhwloc -o "$work/where"

# site MACHINE CORES WANTED: checks the package, NUMA node and cache of a process that is bound to these cores; hwloc
# simulates the machine, and preload.c the binding.
cat >"$work/preload.c" <<'EOC'
#include <sched.h>
#include <stdlib.h>
#include <string.h>
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  const char *mask = getenv("CORES");
  (void)pid;
  memset(set, 0, size);
  for (int i = 0; mask[i]; i++)
    if (mask[i] == '1' && (size_t)i < 8 * size) CPU_SET_S((size_t)i, size, set);
  return 0;
}
EOC
ok "cores are made up" build -shared -fPIC "$work/preload.c" -o "$work/preload.so"
site() {
  got=$(CORES=$2 LD_PRELOAD=$work/preload.so HWLOC_SYNTHETIC=$1 HWLOC_THISSYSTEM=1 \
    timeout 20 "$work/where" 2>"$work/err")
  ok "$1, bound to $2: $3" test "$got" = "7 8 $3"
}
two="package:2 l3:2 core:2 pu:1"
site "$two" 10000000 "1 1 1"
site "$two" 11000000 "1 1 1"
site "$two" 00010000 "1 1 3"
site "$two" 01100000 "1 1 0"
site "$two" 11110000 "1 1 0"
site "$two" 00001100 "5 1 5"
site "$two" 00000011 "5 1 7"
site "$two" 10000001 "0 1 0"
site "$two" 11111111 "0 1 0"
site "package:2 numa:2 core:2 pu:1" 00110000 "1 3 0"
site "package:2 numa:2 core:2 pu:1" 00110010 "0 0 0"
site "package:1 l3:1 core:4 pu:1" 1111 "1 1 1"
site "package:2 numa:2 l3:2 core:2 pu:1" 0000110000000000 "1 5 5"
site "package:2 numa:2 l3:2 core:2 pu:1" 0000111100000000 "1 5 0"
site "package:2 numa:2 l3:2 core:2 pu:1" 0011110000000000 "1 0 0"
site "core:4 pu:1" 0110 "0 1 0"

# This machine, without settings.
got=$(timeout 20 "$work/where" 2>"$work/err")
numbers='^7 8 [0-9]+ [0-9]+ [0-9]+$' # 0: the process is on several, or the system does not report it
ok "this machine: $got" grep -qE "$numbers" <<<"$got"
if taskset -c 0 true 2>/dev/null; then
  got=$(HWLOC_SYNTHETIC=$two HWLOC_THISSYSTEM=1 timeout 20 taskset -c 0 "$work/where" 2>"$work/err")
  ok "bound by taskset" test "$got" = "7 8 1 1 1"
else
  skip "bound by taskset" "core 0 is not ours"
fi
ok "it takes less than a second of processor time" awk '{ exit !($1 < 1000) }' "$work/err"
ok "of another machine only that all cores share its NUMA node" test \
  "$(HWLOC_SYNTHETIC=$two timeout 20 "$work/where" 2>/dev/null)" = "7 8 0 1 0"
ok "without hwloc it compiles" build -DTUTTI_NO_HWLOC "$work/where.c" mpi/site.c -o "$work/where"
ok "... and knows nothing" test "$("$work/where" 2>/dev/null)" = "7 8 0 0 0"
exit $bad
