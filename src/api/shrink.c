/* shrink.c - a communicator of those who live, out of one that may have failed.
 *
 * Idea       each rank brings a room and says that it is there; the first that lives decides who
 *            survives (shm_council.c). What was decided then stands, whoever dies: who made it
 *            may be lost to the new communicator like any peer.
 * Invariant  after the decision nothing is waited for. Who still fails, for want of memory, tells
 *            the others in their rooms, so that they do not wait for it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracing.h"
#include "wise.h"

static const uint64_t NO_ROOM = UINT64_MAX;

enum { YIELDS = 200, PAUSE_US = 200, LOOK_EVERY = 16, WARN_S = 10 };

/* ---- who survives ---- */

/* All that live are there, and this rank is the first of them. *first: its room as such. */
static void lead(tutti_comm *comm, uint32_t round, uint64_t *first) {
  const int n = tt_council_list(comm->wire, round);
  tt_shm_room_free(comm->heap, *first); /* of an earlier list, which nobody has seen */
  *first = tt_shm_room(comm->heap, n, true);
  tt_council_decide(comm->wire, round, *first ? *first : NO_ROOM);
}

/* Warn once; give up when it has been too long. */
static void complain(tutti_comm *comm, uint32_t round, double waited, bool *warned) {
  const double limit = tt_env_seconds("TUTTI_TIMEOUT");
  const bool over = limit > 0 && waited >= limit;
  if (!over && (*warned || waited < WARN_S)) return;
  int peer = tt_council_awaited(comm->wire, round);
  if (peer < 0) peer = tt_council_first(comm->wire); /* who is to decide, and does not */
  if (over)
    tt_council_give_up(comm->wire, round, peer);
  else
    tt_log(0, "rank %d has waited %.0f s for rank %d (pid %ld) in tutti_comm_shrink", comm->rank,
           waited, peer, comm->wire->ops->pid(comm->wire, peer));
  *warned = true;
}

/* Until it is decided; *first: a first rank's room, if this rank made one. */
static void agree(tutti_comm *comm, uint32_t round, uint64_t *first, tt_decision *d) {
  const double since = tt_seconds();
  bool warned = false;
  for (int look = 0; !tt_council_decided(comm->wire, round, d); look++) {
    if (look % LOOK_EVERY == 0 && tt_council_first(comm->wire) == comm->rank &&
        tt_council_awaited(comm->wire, round) < 0) {
      lead(comm, round, first);
      continue;
    }
    if (look % LOOK_EVERY == 0) complain(comm, round, tt_seconds() - since, &warned);
    tt_progress(comm); /* others may wait for what is in flight here */
    if (look < YIELDS)
      sched_yield();
    else
      usleep(PAUSE_US);
  }
}

/* ---- making it ---- */

/* The rooms of those who survive; returns how many, *mine: which of them this rank is. */
static int gather(const tutti_comm *old, const tt_decision *d, uint64_t *rooms, int *mine) {
  int n = 0;
  for (int r = 0; r < old->ranks; r++) {
    if (!tt_council_member(old->wire, d, r)) continue;
    if (r == old->rank) *mine = n;
    rooms[n++] = tt_council_room(old->wire, d, r);
  }
  return n;
}

/* Without wires; NULL if out of memory. */
static tutti_comm *begin(const tutti_comm *old, const tt_decision *d, int n, int mine) {
  tutti_comm *comm = tt_comm_new(mine, n);
  if (!comm) return NULL;
  comm->heap = tt_heap_hold(old->heap);
  comm->cores = old->cores;
  comm->kernel_crowd = old->kernel_crowd * n / old->ranks; /* about */
  for (int r = 0, i = 0; r < old->ranks; r++)
    if (tt_council_member(old->wire, d, r)) comm->where[i++] = old->where[r];
  return comm;
}

/* What was set on the old one; of its helpers, the last ranks, those that live. */
static tutti_status inherit(tutti_comm *comm, const tutti_comm *old, const tt_decision *d) {
  int helpers = 0;
  for (int r = old->ranks - old->helpers; r < old->ranks; r++)
    helpers += tt_council_member(old->wire, d, r);
  comm->wish = old->wish;
  comm->slices = old->slices;
  comm->contract = old->contract;
  comm->measures |= old->measures;
  return helpers && helpers < comm->ranks ? tutti_comm_set_helpers(comm, helpers) : TUTTI_OK;
}

static tutti_status make(tutti_comm *old, const tt_decision *d, uint64_t *rooms, tutti_comm **out) {
  char why[TT_WHY];
  int mine = 0;
  const int n = gather(old, d, rooms, &mine);
  for (int i = 0; i < n; i++)
    if (rooms[i] == NO_ROOM) { /* all see that */
      if (rooms[mine] != NO_ROOM) tt_shm_room_free(old->heap, rooms[mine]);
      return tt_fail(TUTTI_ERR_MEMORY, "rank %d could not make its part of a communicator", i);
    }
  if (mine) tt_shm_room_fewer(old->heap, rooms[mine], old->ranks - n);
  tutti_comm *comm = begin(old, d, n, mine);
  tutti_status status = comm ? tt_comm_stand(comm, NULL, rooms) : TUTTI_ERR_MEMORY;
  if (!status) status = tt_comm_settle(comm, &old->setting.machine);
  if (!status) tt_trace_child(comm, old, d->round, ~d->by); /* no color is negative */
  if (!status) status = tt_wise_share(comm, (uint32_t)tt_council_wise(old->wire, d, d->by));
  if (!status) status = inherit(comm, old, d);
  if (!status) {
    *out = comm; /* if a peer is lost again, the next call says so */
    return TUTTI_OK;
  }
  snprintf(why, sizeof why, "rank %d: %.300s", mine, tutti_error());
  tt_council_refuse(old->wire, rooms, n, status, why);
  tt_comm_destroy(comm);
  return status;
}

static tutti_status shrink(tutti_comm *comm, uint64_t *rooms, tutti_comm **out) {
  const uint32_t round = ++comm->shrinks;
  uint64_t mine = tt_shm_room(comm->heap, comm->ranks, false), first = 0;
  tt_decision d;
  tt_council_come(comm->wire, round, mine ? mine : NO_ROOM, tt_wise_say());
  agree(comm, round, &first, &d);
  if (d.awaited >= 0 || d.by == comm->rank) tt_shm_room_free(comm->heap, mine);
  if (d.awaited >= 0 || d.by != comm->rank) tt_shm_room_free(comm->heap, first);
  if (d.awaited < 0) return make(comm, &d, rooms, out);
  return tt_fail(TUTTI_ERR_TIMEOUT,
                 "tutti_comm_shrink: rank %d gave up waiting for rank %d (pid %ld): TUTTI_TIMEOUT",
                 d.by, d.awaited, comm->wire->ops->pid(comm->wire, d.awaited));
}

/* As tt_comm_enter, but one that has failed will do. */
static tutti_status enter(tutti_comm *comm) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_shrink");
  if (!status || !comm->broken || status != comm->broken) return status;
  for (int is_free = 0; !atomic_compare_exchange_weak(&comm->busy, &is_free, 1); is_free = 0)
    if (is_free == 1) return status;
  return TUTTI_OK;
}

tutti_status tutti_comm_shrink(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_shrink: %s is NULL", comm ? "out" : "comm");
  *out = NULL;
  if (comm->net)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "tutti_comm_shrink: ranks of an MPI, or of another network, live and die as it "
                   "says; make a communicator of what it has left (after MPIX_Comm_shrink, "
                   "tutti_comm_from_mpi)");
  uint64_t *rooms = malloc((size_t)comm->ranks * sizeof *rooms);
  if (!rooms)
    return tt_fail(TUTTI_ERR_MEMORY, "tutti_comm_shrink: out of memory for %d ranks", comm->ranks);
  status = enter(comm);
  if (!status) {
    status = shrink(comm, rooms, out);
    tt_comm_leave(comm);
  }
  free(rooms);
  return status;
}
