/* shrink_shm.c - a communicator of survivors and joiners, made from one that may have failed.
 *
 * Idea       each rank brings a control block and announces itself. The first survivor writes
 *            down the members and their control blocks, and decides (shm_agree.c). A decision
 *            holds whichever rank dies then: even its author may be lost to the new
 *            communicator like any peer. All survivors invite the joiners.
 * Invariant  after the decision no rank waits for another. A rank that still fails, for lack of
 *            memory, says so in the control blocks, so that the others do not wait for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "shrink.h"

#include <stdio.h>
#include <string.h>

#include "comm_wisdom.h"
#include "proposal.h"

static const uint64_t NO_CTRL = UINT64_MAX;

enum { LOOK_EVERY = 16, WARN_S = 10 };

typedef struct gathering { /* one call, as seen by one rank */
  tutti_comm *comm;
  tt_wire *wire;
  const tt_shm_agree_ops *agree; /* of the wire */
  tt_segment *segment;
  const char *name;
  int least; /* joiners; or TT_NO_JOINERS */
  uint32_t round;
  uint64_t home;         /* the communicator for which joiners are claimed */
  tt_proposal *proposal; /* written by this rank */
  double since;          /* time of the call */
  double complete;       /* time when all were there; 0: not yet */
  double limit;          /* s to wait for joiners */
  double asked;          /* about an interrupt */
  bool warned, claims;   /* claims: joiners were claimed here */
  tt_decision decision;
} gathering;

static void drop_proposal(gathering *g) {
  if (!g->proposal) return;
  if (!g->proposal->status && g->proposal->member[0].ctrl != NO_CTRL)
    tt_shm_ctrl_free(g->comm->heap, g->proposal->member[0].ctrl);
  tt_heap_free(g->comm->heap, g->proposal);
  g->proposal = NULL;
}

/* ---- the first survivor decides ---- */

static void record_refusal(tt_proposal *t, tutti_status status, const char *words) {
  if (t->status) return;
  t->status = (int32_t)status;
  snprintf(t->why, sizeof t->why, "%s", words);
}

/* The smallest number that a rank asks for: a rank that calls tutti_comm_shrink has seen a death
 * that others may not have seen yet. All are there. */
static int asked_by_all(const gathering *g) {
  const tutti_comm *comm = g->comm;
  int least = g->least;
  for (int r = 0; r < comm->ranks; r++) {
    const int theirs = (int)g->agree->asks(g->wire, r) - 1;
    if (theirs < least && comm->wire->peer->alive(comm->wire, r)) least = theirs;
  }
  return least;
}

/* Inserts joiners before the surviving helpers, which stay last; returns their number. */
static int add_joiners(gathering *g, tt_proposal *t) {
  const tutti_comm *comm = g->comm;
  const int most = g->segment->ranks - g->segment->founders, before = t->ranks;
  int helpers = 0;
  for (int i = 0; i < before; i++) /* counts the old helpers */
    for (int r = comm->ranks - comm->helpers; r < comm->ranks; r++)
      helpers += comm->info[r].index == t->member[i].index;
  const int n = tt_joiners_claim(g->segment, g->home, t->member + before, most);
  g->claims = true;
  for (int k = 0; k < n && helpers; k++) { /* inserts them one by one in front of the helpers */
    const tt_member member = t->member[before + k];
    memmove(&t->member[before + k - helpers + 1], &t->member[before + k - helpers],
            (size_t)helpers * sizeof member);
    t->member[before + k - helpers] = member;
  }
  t->ranks += n;
  return n;
}

/* Records why so few joiners have come, when the wait for more has ended. */
static void say_missing(const gathering *g, tt_proposal *t, int least, int there) {
  const int possible = tt_joiners_possible(g->segment);
  const int free_heaps = g->segment->ranks - g->segment->founders;
  char words[TT_PROPOSAL_WHY];
  if (!free_heaps) {
    record_refusal(t, TUTTI_ERR_UNSUPPORTED,
                   g->segment->threads ? "ranks that are threads take in no joiners"
                                       : "this job takes in no joiners: it was started without "
                                         "tutti run --respawn");
  } else if (possible < least) {
    snprintf(words, sizeof words,
             "%d joiner%s asked for, and %d can still come: of the %d of tutti run --respawn the "
             "others are in, have ended, or are of another version of tutti",
             least, least == 1 ? " is" : "s are", possible, free_heaps);
    record_refusal(t, TUTTI_ERR_STATE, words);
  } else {
    snprintf(words, sizeof words, "%d of %d joiners came within %g s (TUTTI_CONNECT_TIMEOUT)",
             there, least, g->limit);
    record_refusal(t, TUTTI_ERR_TIMEOUT, words);
  }
}

/* All survivors are there, and this rank is the first of them. */
static void decide_members(gathering *g, int least) {
  const int more = g->segment->ranks - g->segment->founders;
  drop_proposal(g); /* of an earlier list, which no rank has seen */
  tt_proposal *t = g->proposal = g->agree->propose(g->wire, g->round, more);
  const tt_decision d = {.round = g->round, .by = g->comm->rank};
  if (t) {
    t->member[0].ctrl = NO_CTRL;
    const int there = least >= 0 && !t->status ? add_joiners(g, t) : 0;
    if (there < least && !t->status) say_missing(g, t, least, there);
    if (!t->status && !(t->member[0].ctrl = tt_shm_ctrl_new(g->comm->heap, t->ranks, true)))
      record_refusal(t, TUTTI_ERR_MEMORY,
                     "the first rank could not make its part of a communicator");
    if (t->status) t->ranks -= there; /* joiners need not leave what they never saw */
    t->wisdom = tt_wisdom_announce();
    tt_heritage_write(g->comm, &d, t);
  }
  g->agree->decide(g->wire, g->round, t);
}

/* ---- waiting for the decision ---- */

void tt_warn_straggler(const tutti_comm *comm, const char *name, int peer, double waited) {
  tt_log(0, "rank %d has waited %.0f s for rank %d (pid %ld) in %s", comm->rank, waited, peer,
         comm->wire->peer->pid(comm->wire, peer), name);
}

/* Warns once; gives up after the time limit. */
static void warn_or_give_up(gathering *g) {
  const tutti_comm *comm = g->comm;
  const double waited = tt_seconds() - g->since;
  double limit = tt_comm_timeout(comm);
  int peer = g->agree->awaited(g->wire, g->round);
  const bool for_joiners = peer < 0 && g->least > 0;
  if (limit > 0 && for_joiners) limit += g->limit; /* the leader waits that long for joiners */
  const bool over = limit > 0 && waited >= limit;
  if (!over && (g->warned || waited < WARN_S)) return;
  if (peer < 0) peer = g->agree->leader(g->wire); /* it should decide, and does not */
  if (over)
    g->agree->quit(g->wire, g->round, peer);
  else if (for_joiners)
    tt_log(0, "rank %d has waited %.0f s for joiners in %s", comm->rank, waited, g->name);
  else
    tt_warn_straggler(comm, g->name, peer, waited);
  g->warned = true;
}

/* One look of a waiting rank: decides if this rank is the first survivor. Returns whether it
 * did. */
static bool leads(gathering *g) {
  if (g->agree->leader(g->wire) != g->comm->rank || g->agree->awaited(g->wire, g->round) >= 0)
    return false;
  if (g->complete <= 0) g->complete = tt_seconds();
  const int least = asked_by_all(g);
  if (least > 0 && tt_joiners_ready(g->segment, g->home) < least &&
      tt_joiners_possible(g->segment) >= least && tt_seconds() - g->complete < g->limit)
    return false; /* more joiners are worth waiting for */
  decide_members(g, least);
  return true;
}

static bool is_decided(void *ctx, unsigned turn, tutti_status *status) {
  gathering *g = ctx;
  (void)status;
  if (g->agree->decided(g->wire, g->round, &g->decision)) return true;
  if (turn % LOOK_EVERY == 0 && leads(g)) return g->agree->decided(g->wire, g->round, &g->decision);
  if (turn % LOOK_EVERY == 0) warn_or_give_up(g);
  tt_progress(g->comm); /* others may wait for operations in flight here */
  tt_idle();
  if (tt_interrupted(&g->asked)) g->agree->quit(g->wire, g->round, g->comm->rank);
  return false;
}

/* ---- after the decision ---- */

static int new_rank_of(const tutti_comm *comm, const tt_proposal *t) {
  for (int i = 0; i < t->ranks; i++)
    if (t->member[i].index == comm->info[comm->rank].index) return i;
  return -1; /* impossible: survivors are members */
}

/* mine: this rank's control block, unused on the first; most: the number of ranks it was made
 * for. */
static tutti_status join_new_comm(gathering *g, tt_proposal *t, uint64_t mine, int most,
                                  tutti_comm **out) {
  const int member = new_rank_of(g->comm, t);
  if (member) tt_shm_ctrl_drop_refs(g->comm->heap, mine, most - t->ranks);
  tt_joiners_admit(g->segment, t);
  return tt_comm_inherit(g->comm->heap, t, member, g->comm, out);
}

tutti_status tt_gave_up(const tutti_comm *comm, const char *name, tutti_status status, int by,
                        int awaited) {
  if (by == awaited)
    return tt_fail(by == comm->rank ? TUTTI_ERR_INTERRUPTED : TUTTI_ERR_ABORTED,
                   "%s: rank %d was interrupted while it waited for the others", name, by);
  return tt_fail(status,
                 "%s: rank %d gave up waiting for rank %d (pid %ld): its time limit "
                 "(TUTTI_TIMEOUT)",
                 name, by, awaited, comm->wire->peer->pid(comm->wire, awaited));
}

static tutti_status fail(const gathering *g, const tt_decision *d) {
  const tt_proposal *t = d->proposal;
  if (d->awaited >= 0) return tt_gave_up(g->comm, g->name, TUTTI_ERR_TIMEOUT, d->by, d->awaited);
  if (!t)
    return tt_fail(TUTTI_ERR_MEMORY, "%s: rank %d had no memory to decide it", g->name, d->by);
  return tt_fail((tutti_status)t->status, "%s: %.230s", g->name, t->why);
}

static tutti_status agree_and_build_comm(gathering *g, tutti_comm **out) {
  tutti_comm *comm = g->comm;
  const int most = comm->ranks + g->segment->ranks - g->segment->founders;
  const uint64_t ctrl = tt_shm_ctrl_new(comm->heap, most, false);
  g->agree->enter(g->wire, g->round, ctrl ? ctrl : NO_CTRL, (uint64_t)(g->least + 1));
  tt_wait_until(NULL, is_decided, g);
  tt_proposal *t = g->decision.proposal;
  const bool stands = t && !t->status, first = t && t == g->proposal;
  if (g->claims) tt_joiners_release(g->segment, g->home, t);
  if (!first) drop_proposal(g);
  if (!stands || first) tt_shm_ctrl_free(comm->heap, ctrl);
  const tutti_status status = stands ? join_new_comm(g, t, ctrl, most, out) : fail(g, &g->decision);
  if (t) tt_proposal_release(t);
  if (first) tt_heap_free_later(comm->heap, &t->refs, (void *const[]){t}, 1);
  return status;
}

tutti_status tt_comm_go_on(tutti_comm *comm, const char *name, int least, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out) return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", name, comm ? "out" : "comm");
  *out = NULL;
  if (comm->net && !comm->net->net_agree)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "%s: ranks of an MPI, or of another network, live and die as it says; make a "
                   "communicator of what it has%s",
                   name,
                   least == TT_NO_JOINERS
                       ? " left (after MPIX_Comm_shrink, tutti_comm_from_mpi)"
                       : " (after MPI_Comm_spawn and a merge, tutti_comm_from_mpi)");
  status = tt_comm_enter_failed_too(comm, name);
  if (status) return status;
  if (comm->net) {
    status = tt_comm_reunite(comm, name, least, out);
    tt_comm_leave(comm);
    return status;
  }
  gathering g = {.comm = comm,
                 .wire = comm->wire,
                 .agree = comm->wire->shm_agree,
                 .segment = tt_heap_segment(comm->heap),
                 .name = name,
                 .least = least,
                 .round = ++comm->flight->shrinks,
                 .home = comm->wire->shown->home,
                 .since = tt_seconds(),
                 .limit = tt_connect_timeout(120)};
  status = agree_and_build_comm(&g, out);
  tt_comm_leave(comm);
  return status;
}
