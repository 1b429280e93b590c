/* lifetime.c - counts half minutes, except while the process is stopped.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lifetime.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

enum { TICK = 30 };
static volatile sig_atomic_t ticks;

static void tick(int signal_number) {
  if (ticks-- > 0) {
    alarm(TICK);
    return;
  }
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

void lifetime(unsigned seconds) {
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  ticks = (sig_atomic_t)((seconds - 1) / TICK);
  sigaction(SIGALRM, &action, NULL);
  alarm(TICK);
}
