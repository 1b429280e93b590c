/* shrink_net.c - tutti_comm_shrink over messages: a network of the survivors, and all that a
 * communicator needs over it.
 *
 * Idea       the survivors agree on their list (net_agree.c), and form a network. Over it they
 *            exchange their parts in shared memory, as in split.c.
 * Invariant  once agreed, all survivors have the communicator. If another rank dies during the
 *            exchange, the communicator has failed when they get it, on some ranks at once and
 *            on others when they learn of the death; but it is complete enough to be shrunk
 *            in turn.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "comm_wisdom.h"
#include "shrink.h"
#include "tracing.h"

enum { WARN_S = 10, LATER_S = 1, LAST_LIMITS = 4, LAST_S = 10 };

typedef struct share { /* what a rank contributes */
  uint64_t ctrl, wisdom;
} share;

static const uint64_t NO_CTRL = UINT64_MAX;

/* ---- the agreement ---- */

/* Warns once; gives up after the time limit. The leader gives up first, because it knows which rank
 * is missing. */
static void warn_or_quit_agreement(const tutti_comm *comm, const char *name, double since,
                                   bool *warned) {
  const double waited = tt_seconds() - since, limit = tt_comm_timeout(comm);
  const int peer = comm->net->net_agree->awaited(comm->net);
  if (peer < 0) return;
  if (limit > 0 && waited >= limit + (comm->net->net_agree->leads(comm->net) ? 0 : LATER_S))
    comm->net->net_agree->quit(comm->net, peer);
  if (*warned || waited < WARN_S) return;
  tt_warn_straggler(comm, name, peer, waited);
  *warned = true;
}

/* If a link breaks while ranks give each other up, one rank may receive nothing more. With a time
 * limit it does not wait for ever: it leaves alone, and the others count it as lost. */
static tutti_status wait_too_long(const tutti_comm *comm, const char *name, double since) {
  const double waited = tt_seconds() - since, limit = tt_comm_timeout(comm);
  if (limit <= 0 || waited < LAST_LIMITS * limit + LAST_S) return TUTTI_OK;
  return tt_fail(
      TUTTI_ERR_TIMEOUT,
      "%s: rank %d has heard of no agreement for %.3g s (TUTTI_TIMEOUT=%.3g): a link may "
      "be broken; the others may have gone on without it",
      name, comm->rank, waited, limit);
}

typedef struct survivors {
  tutti_comm *comm;
  const char *name;
  double since, asked; /* s */
  bool warned;
  const tt_net_decision *decision;
} survivors;

static bool is_agreed(void *ctx, unsigned turn, tutti_status *status) {
  survivors *s = ctx;
  tutti_comm *comm = s->comm;
  (void)turn;
  *status = comm->net->net_agree->step(comm->net, &s->decision);
  if (*status || s->decision) return true;
  warn_or_quit_agreement(comm, s->name, s->since, &s->warned);
  *status = wait_too_long(comm, s->name, s->since);
  if (!comm->broken) tt_progress(comm); /* others may wait for operations in flight here */
  tt_idle();
  if (tt_interrupted(&s->asked)) comm->net->net_agree->quit(comm->net, comm->rank);
  return false;
}

static tutti_status agree_on_survivors(tutti_comm *comm, const char *name, int least,
                                       const tt_net_decision **decision) {
  survivors s = {.comm = comm, .name = name, .since = tt_seconds()};
  tutti_status status = comm->net->net_agree->enter(comm->net, ++comm->flight->shrinks, least);
  if (!status) status = tt_wait_until(NULL, is_agreed, &s);
  const tt_net_decision *t = *decision = s.decision;
  if (!status && !t->status && t->asks > 0)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: processes can join the ranks of one host only",
                   name);
  if (status || !t->status) return status;
  return tt_gave_up(comm, name, (tutti_status)t->status, t->quitter, t->awaited);
}

/* ---- building the communicator ---- */

/* Makes a communicator over the network alone, which it takes over. */
static tutti_status create_survivors_comm(const tutti_comm *old, const int *list, int n, int mine,
                                          const tutti_net *net, tutti_comm **out) {
  tutti_comm *comm = *out = tt_comm_new(mine, n);
  int64_t *pids = malloc((size_t)n * sizeof *pids);
  tt_wire *wire = NULL;
  tutti_status status = TUTTI_OK;
  if (!comm || !pids) {
    net->close(net->self, 1);
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", n);
  }
  if (!status) status = tt_net_wire(net, &wire);
  for (int r = 0; !status && r < n; r++) {
    comm->info[r] = old->info[list[r]];
    pids[r] = comm->info[r].pid;
  }
  if (comm) comm->net = comm->wire = wire;
  if (!status) status = wire->net->set_pids(wire, pids);
  free(pids);
  if (status) return status;
  comm->heap = old->heap ? tt_heap_hold(old->heap) : NULL;
  comm->load = old->load;
  comm->load.host_ranks_per_core *= (double)n / old->ranks; /* approximate */
  return tt_comm_configure(comm, &old->plans->setting.profile);
}

/* Exchanges control blocks and makes the wires. */
static tutti_status attach_survivors_comm(tutti_comm *comm, const char *name, const tutti_comm *old,
                                          int helpers) {
  const size_t n = (size_t)comm->ranks;
  share brings = {NO_CTRL, comm->rank ? 0 : tt_wisdom_announce()}, *all = malloc(n * sizeof *all);
  uint64_t *ctrls = malloc(n * sizeof *ctrls);
  tutti_status status = TUTTI_OK;
  if (!all || !ctrls) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu ranks", n);
  if (!status) status = tt_comm_ctrl_new(comm, true, &brings.ctrl);
  if (status) brings.ctrl = NO_CTRL;
  const tutti_status gathered = all ? tt_gather(comm, name, &brings, all, sizeof brings) : status;
  if (!status) status = gathered;
  for (size_t r = 0; !status && r < n; r++) {
    ctrls[r] = all[r].ctrl;
    if (ctrls[r] == NO_CTRL)
      status = tt_fail(TUTTI_ERR_MEMORY, "rank %zu could not make its part of a communicator", r);
  }
  if (!status)
    status = tt_comm_build(comm, &(tt_comm_spec){.net = comm->net,
                                                 .ctrls = ctrls,
                                                 .profile = &old->plans->setting.profile,
                                                 .wisdom = (uint32_t)all[0].wisdom,
                                                 .settings = &old->settings,
                                                 .helpers = helpers});
  else if (brings.ctrl && brings.ctrl != NO_CTRL && gathered)
    tt_shm_ctrl_abandon(comm->heap, brings.ctrl, gathered, tutti_error());
  else if (brings.ctrl && brings.ctrl != NO_CTRL)
    tt_shm_ctrl_free(comm->heap, brings.ctrl);
  free(all);
  free(ctrls);
  return status;
}

/* How many helpers of the old communicator continue. */
static int helpers_left(const tutti_comm *old, const tt_net_decision *t) {
  int helpers = 0;
  for (int r = old->ranks - old->helpers; r < old->ranks; r++) helpers += t->member[r];
  return helpers;
}

static void inherit_trace(tutti_comm *comm, const tutti_comm *old, uint32_t round, int first) {
  uint64_t job, trace;
  tt_trace_names(old, round, ~first, &job, &trace);
  tt_trace_heir(comm, old, job, trace, comm->ranks == old->ranks);
}

/* Breaks the new communicator with this error and informs the others. */
static tutti_status spoil(tutti_comm *comm, tutti_status status) {
  if (comm->broken) return comm->broken;
  snprintf(comm->why, sizeof comm->why, "rank %d: %.300s", comm->rank, tutti_error());
  tt_comm_break(comm, status, true);
  return status;
}

tutti_status tt_comm_reunite(tutti_comm *old, const char *name, int least, tutti_comm **out) {
  const tt_net_decision *decision = NULL;
  int *list = malloc((size_t)old->ranks * sizeof *list), mine = 0, n = 0;
  tutti_comm *comm = NULL;
  tutti_net net;
  tutti_status status =
      list ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", old->ranks);
  if (!status) status = agree_on_survivors(old, name, least, &decision);
  if (!status) status = old->net->net_agree->network(old->net, decision, list, &mine, &net);
  for (int r = 0; !status && r < old->ranks; r++) n += decision->member[r];
  if (!status) status = create_survivors_comm(old, list, n, mine, &net, &comm);
  if (!status) status = attach_survivors_comm(comm, name, old, helpers_left(old, decision));
  if (!status) inherit_trace(comm, old, decision->round, list[0]);
  if (status && comm && comm->wire) status = spoil(comm, status);
  free(list);
  if (status == TUTTI_ERR_PEER_LOST && comm) status = TUTTI_OK; /* the next call reports it */
  if (status) tt_comm_destroy(comm);
  if (!status) *out = comm;
  return status;
}
