/* exact_sums.c - the cost of reproducible sums. Compares an allreduce under the contract `exact` or `element`
 * with one under `same`. The two alternate, so that other load affects both equally.
 *
 *   tutti run -n P exact_sums [SECONDS [element [LAST]]]   a line for each type, spread and size: medians of 15;
 *                                                          CPU time on one rank, wall time on several
 *
 * Spread     the number of powers of two that the exponents of the numbers span. It determines how many
 *            integers represent a number.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <string.h>
#include <tutti.h>
#include <tutti_plan.h>

#include "timing.h"

enum { REPEATS = 15, LARGEST = 64 << 20 };

static int failed(void) {
  fprintf(stderr, "exact_sums: %s\n", tutti_error());
  return 1;
}

/* Returns the time in seconds. A single rank never waits, so its CPU time is the time to convert numbers to integers and
 * back. */
static double now(const tutti_comm *comm) {
  struct timespec t;
  if (tutti_comm_size(comm) > 1) return timing_now();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tutti_status repeat(tutti_comm *comm, const void *x, void *y, size_t n, tutti_type type,
                           long iterations, double *seconds) {
  tutti_status status = tutti_barrier(comm);
  const double from = now(comm);
  for (long i = 0; i < iterations && !status; i++)
    status = tutti_allreduce(comm, x, y, n, type, TUTTI_SUM);
  *seconds = (now(comm) - from) / (double)iterations;
  return status ? status : tutti_allreduce(comm, seconds, seconds, 1, TUTTI_DOUBLE, TUTTI_MAX);
}

/* Measures the two contracts alternately. `medians` receives one result for each contract. */
static tutti_status measure(tutti_comm *const *comms, const void *x, void *y, size_t n,
                            tutti_type type, double budget, double *medians) {
  double each[2][REPEATS], first;
  long iterations[2];
  tutti_status status = TUTTI_OK;
  for (int k = 0; k < 4 && !status; k++) {
    status = repeat(comms[k % 2], x, y, n, type, 3, &first);
    iterations[k % 2] = timing_fit(budget / REPEATS, first);
  }
  for (int k = 0; k < 2 * REPEATS && !status; k++)
    status = repeat(comms[k % 2], x, y, n, type, iterations[k % 2], &each[k % 2][k / 2]);
  for (int way = 0; way < 2 && !status; way++) medians[way] = timing_median(each[way], REPEATS);
  return status;
}

static void fill(void *x, size_t n, tutti_type type, int spread, int rank) {
  unsigned h = 12345u + 977u * (unsigned)rank;
  for (size_t i = 0; i < n; i++) {
    h = h * 1664525u + 1013904223u;
    const double m = 1 + (double)(h >> 8) / 16777216.0;
    const double v = ldexp(h & 64 ? -m : m, (int)(h >> 10) % (spread + 1) - spread / 2);
    if (type == TUTTI_FLOAT)
      ((float *)x)[i] = (float)v;
    else
      ((double *)x)[i] = v * (1 + ldexp(1, -52));
  }
}

int main(int argc, char **argv) {
  static const int spreads[] = {8, 100};
  static const size_t of_exact[] = {64, 4096, 65536, 1 << 20},
                      of_element[] = {4, 256, 4096, 65536, 1 << 20, 16 << 20, LARGEST};
  const int element = argc > 2 && strcmp(argv[2], "element") == 0;
  const size_t *sizes = element ? of_element : of_exact;
  const size_t nsizes =
      element ? sizeof of_element / sizeof *sizes : sizeof of_exact / sizeof *sizes;
  const double budget = argc > 1 ? strtod(argv[1], NULL) : 0.2;
  const size_t last = argc > 3 ? strtoul(argv[3], NULL, 10) : LARGEST; /* bytes */
  tutti_comm *comms[2];
  double us[2];
  if (tutti_comm_from_env(&comms[0]) || tutti_comm_dup(comms[0], &comms[1]) ||
      tutti_comm_configure(comms[1], &(tutti_config){.size = sizeof(tutti_config),
                                                     .contract = element ? TUTTI_CONTRACT_ELEMENT
                                                                         : TUTTI_CONTRACT_EXACT}))
    return failed();
  const int rank = tutti_comm_rank(comms[0]);
  void *x = calloc(1, LARGEST), *y = calloc(1, LARGEST);
  if (!x || !y) return 1;
  if (rank == 0)
    printf("%d ranks; us%s\n%-8s %7s %9s %10s %10s %7s %10s\n", tutti_comm_size(comms[0]),
           tutti_comm_size(comms[0]) == 1 ? " of processor time" : "", "type", "spread", "bytes",
           "same", element ? "element" : "exact", "times", "ns/number");
  for (int t = 0; t < 2; t++)
    for (size_t s = 0; s < (element ? 1 : sizeof spreads / sizeof *spreads); s++)
      for (size_t i = 0; i < nsizes; i++) {
        const tutti_type type = t ? TUTTI_DOUBLE : TUTTI_FLOAT;
        const size_t n = sizes[i] / tutti_type_size(type);
        if (n == 0 || sizes[i] > last) continue;
        fill(x, n, type, spreads[s], rank);
        if (measure(comms, x, y, n, type, budget, us)) return failed();
        if (rank == 0)
          printf("%-8s %7d %9zu %10.1f %10.1f %7.2f %10.1f\n", tutti_type_name(type), spreads[s],
                 sizes[i], 1e6 * us[0], 1e6 * us[1], us[1] / us[0], 1e9 * us[1] / (double)n);
        fflush(stdout);
      }
  free(x);
  free(y);
  tutti_comm_free(comms[1]);
  tutti_comm_free(comms[0]);
  return tutti_finalize() ? failed() : 0;
}
