/* run_again.c - restarts failed ranks, and determines when and where.
 *
 * Idea       On one host, a joiner replaces a dead rank. With --hosts, a part does the same, with
 *            numbers from the job's rendezvous (run_joiners.c). If the part itself has ended, the
 *            guard that started it starts its ranks on another host.
 * Invariant  Before each restart of a rank there is a pause, which is twice as long each time.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "cli.h"
#include "run_guard.h"

/* The first and the longest pause before a restart, in seconds. A process that ran for pause_healed begins with the first. */
static const double pause_first = 0.1, pause_most = 10, pause_healed = 10;

/* Returns true if a restart would certainly fail, because a program that cannot be started on one host cannot be
 * started on another. */
static bool is_final(int status) {
  return status == CLI_USAGE || status == CLI_NO_EXEC || status == CLI_NOT_FOUND;
}

/* Returns true if another process may replace the dead rank. In a job on several hosts, the rendezvous decides this,
 * and is therefore told about every process that ends. */
static bool next_newcomer(guard *g, int rank, int status) {
  bool again = g->phase == PHASE_RUN && status;
  rank_state *s = &g->ranks[rank];
  if (again && run_joins(g->o))
    again = !run_interrupted(g, status) && !is_final(run_status_of(status));
  if (g->o->hosts) {
    bool *lives = calloc((size_t)g->o->ranks, sizeof *lives);
    for (int r = 0; lives && r < g->o->ranks; r++) lives[r] = g->ranks[r].alive;
    const bool may = lives && status && run_host_lost(g->o, rank, again && g->alive, lives);
    free(lives);
    s->next = s->newcomer + 1;
    return may;
  }
  if (run_joins(g->o)) {
    s->next = run_joiner_ended(g->o, rank, s->newcomer, again);
    return s->next >= 0;
  }
  s->next = g->newcomers;
  if (!again || !g->alive || g->respawned == g->o->respawns) return false;
  g->newcomers++;
  return true;
}

/* Schedules the restart of a dead rank, if other ranks are alive and the limit on restarts is not reached. */
bool run_plan_again(guard *g, int rank, pid_t pid, int status) {
  rank_state *s = &g->ranks[rank];
  const double now = cli_now();
  if (!next_newcomer(g, rank, status)) return false;
  s->pause = s->pause == 0 || now - s->began > pause_healed ? pause_first : 2 * s->pause;
  if (s->pause > pause_most) s->pause = pause_most;
  s->due = now + s->pause;
  s->status = status;
  g->respawned++;
  run_explain_death(g, rank, pid, status);
  return true;
}

/* Returns true if a rank of this part is due to be restarted. It can then join the ranks on other hosts. */
bool run_waits_for_due(const guard *g) {
  for (int r = 0; g->phase == PHASE_RUN && run_joins(g->o) && !g->o->hosts && r < g->o->ranks; r++)
    if (g->ranks[r].due > 0) return true;
  return false;
}

/* Cancels pending restarts, because no live rank is left that the restarted ranks could join. */
void run_forget_again(guard *g) {
  char name[272];
  if (run_waits_for_due(g)) return;
  for (int r = 0; r < g->o->ranks; r++) {
    if (g->ranks[r].due == 0) continue;
    run_guard_say(g, "%s is not started again: the others have ended", run_guard_name(g, r, name));
    run_guard_fail(g, run_status_of(g->ranks[r].status));
    g->ranks[r].due = 0;
  }
}

/* Restarts the dead ranks that are due. */
void run_start_again(guard *g) {
  for (int r = 0; r < g->o->ranks && g->respawned; r++) {
    if (g->ranks[r].due == 0 || g->phase != PHASE_RUN || cli_now() < g->ranks[r].due) continue;
    if (g->o->hosts) run_host_move(g->o, r);
    run_start_rank(g, r, g->ranks[r].cpu, g->ranks[r].next);
  }
}
