/* one_call.c - one warm allreduce under gcov: which files of the library does it pass through?
 * (tools/house.py builds it with coverage.)
 *
 *   tutti run -n 2 one_call BYTES
 *
 * The counters are reset before the call and written after it, by rank 0 alone.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tutti.h"

/* Of libgcov. Without coverage the program only makes its calls. */
extern void __gcov_reset(void) __attribute__((weak));
extern void __gcov_dump(void) __attribute__((weak));

enum { WARM = 50 };

static int failed(void) {
  fprintf(stderr, "one_call: %s\n", tutti_error());
  return 1;
}

int main(int argc, char **argv) {
  const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) / sizeof(float) : 1;
  tutti_comm *comm;
  void *memory;
  if (tutti_comm_from_env(&comm)) return failed();
  if (tutti_mem_alloc(comm, 2 * n * sizeof(float), &memory)) return failed();
  float *src = memory, *dst = src + n;
  for (int i = 0; i < WARM; i++)
    if (tutti_allreduce(comm, src, dst, n, TUTTI_FLOAT, TUTTI_SUM)) return failed();
  const int first = tutti_comm_rank(comm) == 0;
  if (!first) usleep(1000); /* the first rank waits for its peer, as it does in a program */
  if (__gcov_reset) __gcov_reset();
  if (tutti_allreduce(comm, src, dst, n, TUTTI_FLOAT, TUTTI_SUM)) return failed();
  if (first && __gcov_dump) __gcov_dump();
  if (tutti_barrier(comm)) return failed();
  _exit(0); /* nothing more is counted */
}
