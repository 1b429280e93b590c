/* fences.c - fences on other processors, by the system call membarrier.
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

bool tt_fences_join(void) {
  static const char *const words[] = {"own", "peers", NULL};
  if (tt_env_word("TUTTI_FENCES", words) == 0 || !offered()) return false;
  return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

void tt_fence_everywhere(void) {
  /* model: wake:fence, guard:fence */
  atomic_thread_fence(memory_order_seq_cst);
  membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}
