/* regrow.c - see regrow.h. A process that is selected to die kills itself with a timer.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "regrow.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../cli/configure.h"
#include "cover.h"

enum { LONG = 30000 };

int regrow_wrong(const char *what, const char *more) {
  printf("# wrong: %s: %s\n", what, more);
  fflush(stdout);
  _exit(9);
}

int regrow_number(const char *name) {
  const char *value = getenv(name);
  return value ? atoi(value) : 0;
}

tutti_status regrow_sum(tutti_comm *comm, uint64_t u) {
  static uint64_t x[LONG], y[LONG];
  const uint64_t me = (uint64_t)tutti_comm_rank(comm);
  const uint64_t n = (uint64_t)(tutti_comm_size(comm) - comm_helpers(comm));
  const size_t count = 1 + (u >> 8) % (u & 1 ? 40 : LONG);
  for (size_t k = 0; k < count; k++) x[k] = (me + 1) * (k + 1);
  const tutti_status status = tutti_allreduce(comm, x, y, count, TUTTI_UINT64, TUTTI_SUM);
  for (size_t k = 0; !status && me < n && k < count; k++)
    if (y[k] != n * (n + 1) / 2 * (k + 1)) regrow_wrong("a sum", "");
  return status;
}

static atomic_bool immortal, due; /* any thread may get the signal */

static void strike(int signal_number) {
  (void)signal_number;
  atomic_store(&due, true);
  if (!atomic_load(&immortal)) kill(getpid(), SIGKILL);
}

void regrow_spare(bool spared) {
  atomic_store(&immortal, spared);
  if (!spared && atomic_load(&due)) kill(getpid(), SIGKILL);
}

void regrow_draw(uint64_t seed, int founders, int joiner, int deaths, long most) {
  const int mine = joiner ? founders - 1 + joiner : regrow_number("TUTTI_RANK");
  const int all = founders + deaths;
  int marked = 0;
  bool dies = false;
  for (int i = 0; i < 4 * all && marked < deaths; i++) {
    const int who = (int)(cover_mix(seed + (uint64_t)i) % (uint64_t)all);
    if (who == (int)(seed % (uint64_t)founders)) continue;
    dies |= who == mine;
    marked++; /* the same process was drawn twice, so there is one death fewer */
  }
  if (!dies) return;
  timer_t timer;
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
  const long us = (long)(cover_mix(seed ^ (uint64_t)(mine + 1) << 32) % (uint64_t)most);
  signal(SIGUSR1, strike);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &(struct itimerspec){.it_value = {0, 1000 * us + 1}}, NULL);
}

static const char algorithm[] = "fold(ring):0-1024;^tree", comm_name[] = "those who stay";

void regrow_set_settings(tutti_comm *comm) {
  tutti_config config = {.size = sizeof config,
                         .algorithm = algorithm,
                         .contract = TUTTI_CONTRACT_RUN,
                         .name = comm_name};
  if (tutti_comm_configure(comm, &config)) regrow_wrong("settings", tutti_error());
}

void regrow_check_settings(tutti_comm *comm) {
  tutti_config config = {.size = sizeof config};
  if (tutti_comm_config(comm, &config)) regrow_wrong("settings", tutti_error());
  if (strcmp(config.algorithm, algorithm) != 0) regrow_wrong("its algorithm", config.algorithm);
  if (!config.name || strcmp(config.name, comm_name) != 0) regrow_wrong("its name", "another");
  if (config.contract != TUTTI_CONTRACT_RUN) regrow_wrong("its contract", "another");
}
