/* host_pointers.c - the time that a call takes to check that its vectors are in host memory and not
 * on a device.
 *
 *   host_pointers [ROUNDS]   prints ns per call on a machine without a device, the minimum of the
 *                            rounds
 *
 * Idea       time a loop with the check that each call makes (device_call.c), and subtract the time
 *            of the same loop without it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "flight.h"
#include "timing.h"

enum { CALLS = 1000000, MOST = 1001 };

/* Times the check for device pointers. The assembly statements keep the compiler from assuming anything about the vectors,
 * and from removing the result. */
static double loop(tt_call *call, bool asks) {
  const double from = timing_now();
  unsigned found = 0;
  for (int i = 0; i < CALLS; i++) {
    __asm__ volatile("" : "+r"(call) : : "memory");
    if (asks) found += tt_device() && tt_call_on_device(call);
    __asm__ volatile("" : "+r"(found));
  }
  return 1e9 * (timing_now() - from) / CALLS;
}

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 101;
  float x = 1;
  tt_call call = {.coll = TUTTI_ALLREDUCE, .src = &x, .dst = &x, .count = 1, .type = TUTTI_FLOAT};
  double least = 1e9, without = 1e9;
  if (rounds < 1 || rounds > MOST)
    return fprintf(stderr, "host_pointers: 1 to %d rounds\n", MOST), 2;
  if (tutti_device_here()) return fprintf(stderr, "host_pointers: set TUTTI_DEVICE=none\n"), 1;
  for (int i = 0; i < rounds; i++) {
    const double with = loop(&call, true), bare = loop(&call, false);
    least = with < least ? with : least;
    without = bare < without ? bare : without;
  }
  printf("%.2f\n", least - without);
  return 0;
}
