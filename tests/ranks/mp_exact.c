/* mp_exact.c - the contracts `exact`, `element` and `run` on ranks that are processes.
 *
 * Usage      with the word `fingerprint`: prints a hash of a series of ordinary sums, and the
 *            plans that ran, for tests/sh/repeats.sh.
 * Ranks: 1 2 3 4 5 6 7 8 9
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "seconds.h"
#include "start.h"
#include "sums.h"
#include "tutti_plan.h"

static int at;

static bool say(bool well, const char *what, tutti_comm *comm) {
  int failed = !well;
  if (tutti_allreduce(comm, &failed, &failed, 1, TUTTI_INT32, TUTTI_MAX)) failed = 1;
  if (tutti_comm_rank(comm) == 0) printf("%s %d - %s\n", failed ? "not ok" : "ok", ++at, what);
  return !failed;
}

static bool fingerprint(tutti_comm *comm) {
  uint64_t mine = sums_fingerprint(comm), least, most;
  char plan[200];
  if (tutti_allreduce(comm, &mine, &least, 1, TUTTI_UINT64, TUTTI_MIN) ||
      tutti_allreduce(comm, &mine, &most, 1, TUTTI_UINT64, TUTTI_MAX))
    return false;
  if (tutti_comm_rank(comm) == 0) printf("bits %016llx\n", (unsigned long long)mine);
  for (size_t count = 1; count < 1 << 22; count *= 5) {
    if (tutti_comm_plan(comm, TUTTI_ALLREDUCE, count, TUTTI_FLOAT, TUTTI_SUM, plan, sizeof plan))
      return false;
    if (tutti_comm_rank(comm) == 0) printf("plan %zu %s\n", count, plan);
  }
  return mine && least == most;
}

/* Most plans are refused under `element`, each with a warning. */
static void no_warning(void *unused, int level, const char *line) {
  (void)unused, (void)level, (void)line;
}

static const struct {
  bool (*sums)(tutti_comm *comm);
  const char *what;
} parts[] = {{sums_by_all_plans, "sums by every plan"},
             {sums_by_all_calls, "sums by every call"},
             {sums_in_windows, "a long sum"}};

int main(int argc, char **argv) {
  tutti_comm *comm;
  end_after(200);
  if (start_comm(&comm)) return printf("not ok - a communicator # %s\n", tutti_error()), 1;
  bool well = true;
  if (argc > 1 && strcmp(argv[1], "fingerprint") == 0) {
    well = fingerprint(comm);
  } else {
    static const tutti_contract contracts[] = {TUTTI_CONTRACT_EXACT, TUTTI_CONTRACT_ELEMENT};
    for (int i = 0; i < 2; i++) {
      char what[80];
      sums_expect_element(contracts[i] == TUTTI_CONTRACT_ELEMENT);
      well &= !comm_set_contract(comm, contracts[i]);
      if (contracts[i] == TUTTI_CONTRACT_ELEMENT) tutti_log_set(no_warning, NULL);
      for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, "%s: %s", i ? "element" : "exact", parts[k].what);
        well &= say(parts[k].sums(comm), what, comm);
      }
    }
    if (tutti_comm_rank(comm) == 0) printf("1..%d\n", at);
  }
  if (tutti_comm_free(comm) || start_end()) return 1;
  return !well;
}
