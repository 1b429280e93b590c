/* fences.c - fences on other processors, with the system call membarrier.
 *
 * Cost       A process with one thread registers in a microsecond; with several threads this takes 10 to 30 ms.
 *            Therefore a process registers when the library is loaded, before MPI starts any threads.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fences.h"

#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core.h"

static int membarrier(int command) {
  return (int)syscall(SYS_membarrier, command, 0, 0);
}

static bool offered(void) {
  const int both = MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
  const int commands = membarrier(MEMBARRIER_CMD_QUERY);
  return commands >= 0 && (commands & both) == both;
}

static bool registered(void) {
  return offered() && membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

extern char __libc_single_threaded __attribute__((weak)); /* since glibc 2.32 */

__attribute__((constructor)) static void register_early(void) {
  if (&__libc_single_threaded && __libc_single_threaded) registered();
}

bool tt_fences_join(void) {
  static const char *const words[] = {"own", "peers", NULL};
  return tt_env_word("TUTTI_FENCES", words) != 0 && registered();
}

void tt_fence_everywhere(void) {
  /* model: wake:fence, guard:fence */
  atomic_thread_fence(memory_order_seq_cst);
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
