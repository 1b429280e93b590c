/* shrink.c - tutti_comm_shrink and tutti_comm_grow: survivors continue, and joiners may be added.
 *
 * Idea       In shared memory, each rank contributes a control block and announces itself. The first survivor lists
 *            the members and their control blocks, and decides (shm_agree.c). The decision stays valid no matter
 *            which rank fails afterwards: even its author may be lost to the new communicator like any peer. All
 *            survivors invite the joiners.
 * Network    The survivors agree on their list (net_agree.c), and form a network. Over it they exchange their parts
 *            in shared memory, as in split.c. To grow, they then create a communicator with the joiners (grow_net.c),
 *            and agree whether all ranks have it. If a rank was lost before that, they start again.
 * Invariant  In shared memory, no rank waits for another after the decision. A rank that fails later for lack of
 *            memory reports this in the control blocks, so that the others do not wait for it. Over a network, once
 *            the survivors have agreed, they all have the communicator. If another rank fails during the exchange,
 *            the new communicator has failed: on some ranks immediately, on others when they detect the failure. It
 *            is nevertheless complete enough to be shrunk.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "grow_net.h"
#include "long_wait.h"
#include "proposal.h"
#include "tracing.h"

static const uint64_t NO_CTRL = UINT64_MAX;

enum { NO_JOINERS = -1, LOOK_EVERY = 16, LATER_S = 1, LAST_LIMITS = 4, LAST_S = 10 };

typedef struct gathering { /* one call, from the point of view of one rank */
  tutti_comm *comm;
  tt_wire *wire;
  const char *name; /* of the public function */
  int least;        /* joiners to wait for, or NO_JOINERS */
  uint32_t round;
  double since; /* time of the call */
  double asked; /* time of the last check for an interrupt */
  tt_long_wait wait;
  /* used in shared memory: */
  const tt_shm_agree_ops *agree; /* the operations of the wire */
  tt_segment *segment;
  uint64_t home;         /* the communicator for which joiners are claimed */
  tt_proposal *proposal; /* written by this rank */
  double complete;       /* time when all ranks had arrived; 0: not yet */
  double limit;          /* time to wait for joiners, in seconds */
  bool claims;           /* this rank has claimed joiners */
  tt_decision decision;
  /* used over a network: */
  const tt_net_agree_ops *net;
  const tt_net_decision *agreed;
} gathering;

/* ---- while ranks wait, and when they give up ---- */

static void quit(gathering *g, int awaited) {
  if (g->net)
    g->net->quit(g->wire, awaited);
  else
    g->agree->quit(g->wire, g->round, awaited);
}

/* `peer` is alive but has not called yet, or joiners have not arrived. Warns once; gives up `later` seconds after the
 * time limit. */
static void warn_or_quit(gathering *g, int peer, bool for_joiners, double later) {
  const tutti_comm *comm = g->comm;
  const double waited = tt_seconds() - g->since, limit = tt_comm_timeout(comm);
  if (limit > 0 && waited >= limit + later)
    quit(g, peer);
  else if (for_joiners)
    tt_long_wait_for(&g->wait, "joiners");
  else
    tt_long_wait_for(&g->wait, "rank %d (pid %ld)", peer, comm->wire->peer->pid(comm->wire, peer));
}

/* Returns the error for a wait that has ended without a decision. If `by` equals `awaited`, rank `by` was
 * interrupted by its user. Otherwise rank `by` has given up waiting for rank `awaited`. */
static tutti_status gave_up(const gathering *g, tutti_status status, int by, int awaited) {
  const tutti_comm *comm = g->comm;
  if (by == awaited)
    return tt_fail(by == comm->rank ? TUTTI_ERR_INTERRUPTED : TUTTI_ERR_ABORTED,
                   "%s: rank %d was interrupted while it waited for the others", g->name, by);
  return tt_fail(status,
                 "%s: rank %d gave up waiting for rank %d (pid %ld): its time limit "
                 "(TUTTI_TIMEOUT)",
                 g->name, by, awaited, comm->wire->peer->pid(comm->wire, awaited));
}

/* ---- in shared memory: the first survivor decides ---- */

static void drop_proposal(gathering *g) {
  if (!g->proposal) return;
  if (!g->proposal->status && g->proposal->member[0].ctrl != NO_CTRL)
    tt_shm_ctrl_free(g->comm->heap, g->proposal->member[0].ctrl);
  tt_heap_free(g->comm->heap, g->proposal);
  g->proposal = NULL;
}

static void record_refusal(tt_proposal *t, tutti_status status, const char *words) {
  if (t->status) return;
  t->status = (int32_t)status;
  snprintf(t->why, sizeof t->why, "%s", words);
}

/* Returns the smallest number of joiners that any live rank requests, once all ranks have arrived. This is NO_JOINERS if a
 * rank has called tutti_comm_shrink, because that rank may have seen a failure that the others have not detected yet. */
static int asked_by_all(const gathering *g) {
  const tutti_comm *comm = g->comm;
  int least = g->least;
  for (int r = 0; r < comm->ranks; r++) {
    const int theirs = (int)g->agree->asks(g->wire, r) - 1;
    if (theirs < least && comm->wire->peer->alive(comm->wire, r)) least = theirs;
  }
  return least;
}

/* Inserts the joiners before the surviving helpers, which remain the last ranks. Returns the number of joiners. */
static int add_joiners(gathering *g, tt_proposal *t) {
  const tutti_comm *comm = g->comm;
  const int most = g->segment->ranks - g->segment->founders, before = t->ranks;
  int helpers = 0;
  for (int i = 0; i < before; i++) /* count the surviving helpers */
    for (int r = comm->ranks - comm->helpers; r < comm->ranks; r++)
      helpers += comm->info[r].index == t->member[i].index;
  const int n = tt_joiners_claim(g->segment, g->home, t->member + before, most);
  g->claims = true;
  for (int k = 0; k < n && helpers; k++) { /* insert the joiners one by one */
    const tt_member member = t->member[before + k];
    memmove(&t->member[before + k - helpers + 1], &t->member[before + k - helpers],
            (size_t)helpers * sizeof member);
    t->member[before + k - helpers] = member;
  }
  t->ranks += n;
  return n;
}

tutti_status tt_too_few_joiners(int least, int there, int possible, int total, double limit) {
  if (possible < least)
    return tt_fail(
        TUTTI_ERR_STATE,
        "%d joiner%s asked for, and %d can still come: of the %d of tutti run --respawn the "
        "others are in, have ended, or are of another version of tutti",
        least, least == 1 ? " is" : "s are", possible, total);
  return tt_fail(TUTTI_ERR_TIMEOUT, "%d of %d joiners came within %g s (TUTTI_CONNECT_TIMEOUT)",
                 there, least, limit);
}

/* Records the reason why too few joiners have arrived. Called when the time to wait for joiners has ended. */
static void say_missing(const gathering *g, tt_proposal *t, int least, int there) {
  const int possible = tt_joiners_possible(g->segment);
  const int free_heaps = g->segment->ranks - g->segment->founders;
  if (free_heaps) {
    const tutti_status status = tt_too_few_joiners(least, there, possible, free_heaps, g->limit);
    record_refusal(t, status, tutti_error());
    return;
  }
  record_refusal(t, TUTTI_ERR_UNSUPPORTED,
                 g->segment->threads ? "ranks that are threads take in no joiners"
                                     : "this job takes in no joiners: it was started without "
                                       "tutti run --respawn");
}

/* Called on the first survivor once all survivors have arrived. Writes a proposal and decides on it. */
static void decide_members(gathering *g, int least) {
  const int more = g->segment->ranks - g->segment->founders;
  drop_proposal(g); /* an earlier proposal, which no rank has seen */
  tt_proposal *t = g->proposal = g->agree->propose(g->wire, g->round, more);
  const tt_decision d = {.round = g->round, .by = g->comm->rank};
  if (t) {
    t->member[0].ctrl = NO_CTRL;
    const int there = least >= 0 && !t->status ? add_joiners(g, t) : 0;
    if (there < least && !t->status) say_missing(g, t, least, there);
    if (!t->status && !(t->member[0].ctrl = tt_shm_ctrl_new(g->comm->heap, t->ranks, true)))
      record_refusal(t, TUTTI_ERR_MEMORY,
                     "the first rank could not make its part of a communicator");
    if (t->status) t->ranks -= there; /* joiners that never attached do not count */
    t->wisdom = tt_announce();
    tt_heritage_write(g->comm, &d, t);
  }
  g->agree->decide(g->wire, g->round, t);
}

/* ---- in shared memory: waiting for the decision ---- */

/* Warns once about a long wait, and gives up after the time limit. If the leader is waiting for joiners, this rank
 * adds the time limit for joiners to its own time limit. */
static void look_at_time(gathering *g) {
  int peer = g->agree->awaited(g->wire, g->round);
  const bool for_joiners = peer < 0 && g->least > 0;
  if (peer < 0) peer = g->agree->leader(g->wire); /* the leader should have decided by now */
  warn_or_quit(g, peer, for_joiners, for_joiners ? g->limit : 0);
}

/* Polled by each waiting rank. If this rank is the first survivor and all survivors have arrived, decides on the
 * members and returns true. */
static bool leads(gathering *g) {
  if (g->agree->leader(g->wire) != g->comm->rank || g->agree->awaited(g->wire, g->round) >= 0)
    return false;
  if (g->complete <= 0) g->complete = tt_seconds();
  const int least = asked_by_all(g);
  if (least > 0 && tt_joiners_ready(g->segment, g->home) < least &&
      tt_joiners_possible(g->segment) >= least && tt_seconds() - g->complete < g->limit)
    return false; /* more joiners may still arrive in time */
  decide_members(g, least);
  return true;
}

static bool is_decided(void *ctx, unsigned turn, tutti_status *status) {
  gathering *g = ctx;
  (void)status;
  if (g->agree->decided(g->wire, g->round, &g->decision)) return true;
  if (turn % LOOK_EVERY == 0 && leads(g)) return g->agree->decided(g->wire, g->round, &g->decision);
  if (turn % LOOK_EVERY == 0) look_at_time(g);
  tt_progress(g->comm); /* operations that others may be waiting for */
  tt_idle();
  if (tt_interrupted(&g->asked)) quit(g, g->comm->rank);
  return false;
}

/* ---- in shared memory: after the decision ---- */

static int new_rank_of(const tutti_comm *comm, const tt_proposal *t) {
  for (int i = 0; i < t->ranks; i++)
    if (t->member[i].index == comm->info[comm->rank].index) return i;
  return -1; /* impossible, because survivors are members */
}

/* Completes the communicator after the decision. mine: the control block of this rank, which is not used on the
 * first rank. most: the number of ranks for which this control block was created. */
static tutti_status join_new_comm(gathering *g, tt_proposal *t, uint64_t mine, int most,
                                  tutti_comm **out) {
  const int member = new_rank_of(g->comm, t);
  if (member) tt_shm_ctrl_drop_refs(g->comm->heap, mine, most - t->ranks);
  tt_joiners_admit(g->segment, t);
  return tt_comm_inherit(g->comm->heap, t, member, g->comm, out);
}

static tutti_status decided_failure(const gathering *g, const tt_decision *d) {
  const tt_proposal *t = d->proposal;
  if (d->awaited >= 0) return gave_up(g, TUTTI_ERR_TIMEOUT, d->by, d->awaited);
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
  const tutti_status status =
      stands ? join_new_comm(g, t, ctrl, most, out) : decided_failure(g, &g->decision);
  if (t) tt_proposal_release(t);
  if (first) tt_heap_free_later(comm->heap, &t->refs, (void *const[]){t}, 1);
  return status;
}

/* ---- over a network: all survivors agree ---- */

/* Limits the wait of this rank, because a link may break while ranks are giving up on each other, and this rank may
 * then receive no more messages. After the limit this rank gives up alone, and the other ranks consider it lost. */
static tutti_status wait_too_long(const gathering *g) {
  const double waited = tt_seconds() - g->since, limit = tt_comm_timeout(g->comm);
  if (limit <= 0 || waited < LAST_LIMITS * limit + LAST_S) return TUTTI_OK;
  return tt_fail(
      TUTTI_ERR_TIMEOUT,
      "%s: rank %d has received no agreement for %.3g s (TUTTI_TIMEOUT=%.3g): a link may "
      "be broken; the others may have gone on without it",
      g->name, g->comm->rank, waited, limit);
}

static bool is_agreed(void *ctx, unsigned turn, tutti_status *status) {
  gathering *g = ctx;
  (void)turn;
  *status = g->net->step(g->wire, &g->agreed);
  if (*status || g->agreed) return true;
  const int peer =
      g->net->awaited(g->wire); /* the leader gives up first: it knows which rank is missing */
  if (peer >= 0) warn_or_quit(g, peer, false, g->net->leads(g->wire) ? 0 : LATER_S);
  *status = wait_too_long(g);
  if (!g->comm->broken) tt_progress(g->comm); /* operations that others may be waiting for */
  tt_idle();
  if (tt_interrupted(&g->asked)) quit(g, g->comm->rank);
  return false;
}

/* Agrees with the other survivors on the list of survivors, and on the smallest number that any survivor requests. */
static tutti_status agree_on_survivors(gathering *g, int asks) {
  g->round = ++g->comm->flight->shrinks;
  g->since = tt_seconds();
  g->agreed = NULL;
  tutti_status status = g->net->enter(g->wire, g->round, asks);
  if (!status) status = tt_wait_until(NULL, is_agreed, g);
  const tt_net_decision *d = g->agreed;
  return status || !d->status ? status
                              : gave_up(g, (tutti_status)d->status, d->quitter, d->awaited);
}

static tutti_status agree_and_reunite(gathering *g, tutti_comm **out) {
  tutti_comm *old = g->comm;
  int *list = malloc((size_t)old->ranks * sizeof *list), mine = 0, n = 0;
  int helpers = 0; /* helpers of the old communicator that survive */
  tutti_comm *comm = NULL;
  tutti_net net;
  tutti_status status =
      list ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", old->ranks);
  if (!status) status = agree_on_survivors(g, g->least);
  if (!status) status = g->net->network(g->wire, g->agreed, list, &mine, &net);
  for (int r = 0; !status && r < old->ranks; r++) {
    n += g->agreed->member[r];
    if (r >= old->ranks - old->helpers) helpers += g->agreed->member[r];
  }
  if (!status) status = tt_comm_of_survivors(old, g->name, list, n, mine, &net, helpers, &comm);
  if (!status) tt_trace_child(comm, old, g->agreed->round, ~list[0]);
  if (comm) status = tt_comm_spoil(comm, status);
  free(list);
  if (status == TUTTI_ERR_PEER_LOST && comm) status = TUTTI_OK; /* the next call reports it */
  if (status) tt_comm_destroy(comm);
  if (!status) *out = comm;
  return status;
}

/* ---- over a network: joiners ---- */

/* Makes one attempt to grow. All survivors call this for their communicator `rest`. Takes over `rest`. Sets *again
 * if the ranks have agreed that a rank was lost during the attempt. */
static tutti_status try_to_grow(gathering *g, tutti_comm *rest, int least, bool *again,
                                tutti_comm **out) {
  tt_grown how = TT_GROW_FAILS;
  tutti_comm *grown = NULL;
  char why[300];
  tt_growth *w = tt_grow_begin(rest, least, g->name);
  tutti_status mine = w ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for joiners");
  if (w)
    how = tt_grow_try(w, &grown, &mine);
  else
    tt_comm_spoil(rest, mine);
  snprintf(why, sizeof why, "%s", tutti_error());
  tutti_status status = agree_on_survivors(g, (int)how);
  const int all = status ? TT_GROW_FAILS : g->agreed->asks;
  const bool done = !status && all == TT_GROW_DONE && g->agreed->member[g->comm->rank];
  if (!status && all == TT_GROW_DONE && !done)
    status =
        tt_fail(TUTTI_ERR_PEER_LOST, "rank %d lost contact with this rank, %d, and continues without it",
                g->agreed->by, g->comm->rank);
  if (!status && all == TT_GROW_FAILS)
    status =
        mine ? tt_fail(mine, "%s", why)
             : tt_fail(TUTTI_ERR_ABORTED,
                       "%s: another rank could not take joiners in; its error says why", g->name);
  *again = !status && all == TT_GROW_AGAIN;
  if (w) tt_grow_end(w, done);
  if (grown != rest || !done) tt_comm_destroy(rest);
  if (grown != rest && !done) tt_comm_destroy(grown);
  if (done) *out = grown;
  return status;
}

static tutti_status agree_and_grow(gathering *g, tutti_comm **out) {
  tutti_status status;
  bool again;
  do {
    tutti_comm *rest = NULL;
    again = false;
    status = agree_and_reunite(g, &rest);
    const int least = status ? NO_JOINERS : g->agreed->asks;
    if (least < 0)
      *out = rest; /* some rank has called tutti_comm_shrink */
    else
      status = try_to_grow(g, rest, least, &again, out);
  } while (again);
  return status;
}

/* ---- the public functions ---- */

static tutti_status shrink_or_grow(tutti_comm *comm, const char *name, int least,
                                   tutti_comm **out) {
  tutti_status status = tt_args_given(name, "comm", comm, "out", out);
  if (status) return status;
  *out = NULL;
  if (comm->net && !comm->net->net_agree)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "%s: tutti cannot add or remove ranks of an MPI or of another network; let it do "
                   "so, and make a communicator of the result (%s, then tutti_comm_from_mpi)",
                   name,
                   least == NO_JOINERS ? "MPIX_Comm_shrink" : "MPI_Comm_spawn and a merge");
  status = tt_comm_enter_failed_too(comm, name);
  if (status) return status;
  gathering g = {.comm = comm,
                 .wire = comm->net ? comm->net : comm->wire,
                 .name = name,
                 .least = least,
                 .since = tt_seconds(),
                 .wait = tt_long_wait_begin(name)};
  if (comm->net) {
    g.net = comm->net->net_agree;
    status = agree_and_grow(&g, out);
  } else {
    g.round = ++comm->flight->shrinks;
    g.agree = comm->wire->shm_agree;
    g.segment = tt_heap_segment(comm->heap);
    g.home = comm->wire->shown->home;
    g.limit = tt_connect_timeout(120);
    status = agree_and_build_comm(&g, out);
  }
  tt_long_wait_end(&g.wait);
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out) {
  return shrink_or_grow(comm, "tutti_comm_shrink", NO_JOINERS, out);
}

int tutti_comm_newcomers(const tutti_comm *comm) {
  return comm ? comm->joiners : -1;
}

tutti_status tutti_comm_grow(tutti_comm *comm, int least, tutti_comm **out) {
  if (least < 0 || least > 1 << 16) {
    if (out) *out = NULL;
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_grow: %d joiners; from 0 to 65536 are possible",
                   least);
  }
  return shrink_or_grow(comm, "tutti_comm_grow", least, out);
}
