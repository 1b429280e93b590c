/* split.c - communicators out of another one.
 *
 * Idea       all ranks say what they want; then those of one color make what they need: a
 *            network among themselves, if there is one, and rooms in shared memory, and
 *            say where these are. Whoever could not says so, so that all know.
 * Invariant  who does not hear the others, for one has died, may have been heard: what it made is
 *            theirs as long as they use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "collective.h"
#include "tracing.h"
#include "wise.h"

typedef struct wish {
  int64_t color, key;
} wish;

typedef struct share { /* what a rank brings in */
  uint64_t room, wise; /* in shared memory; of wise.h */
} share;

typedef struct member { /* of my color, by its rank in the new communicator */
  int64_t key;
  int old;
} member;

static const uint64_t NO_ROOM = UINT64_MAX; /* where one is needed */

static int by_key(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->old > y->old) - (x->old < y->old);
}

tutti_status tt_gather(tutti_comm *comm, const void *src, void *dst, size_t bytes) {
  const tt_call call = {.coll = TUTTI_ALL_GATHER,
                        .src = src,
                        .dst = dst,
                        .count = bytes,
                        .type = TUTTI_UINT8,
                        .everyone = true};
  return tt_collective(comm, "tutti_comm_split", &call);
}

tutti_status tt_broadcast(tutti_comm *comm, const char *who, void *bytes, size_t n) {
  const tt_call call = {.coll = TUTTI_BROADCAST,
                        .src = bytes,
                        .dst = bytes,
                        .count = n,
                        .type = TUTTI_UINT8,
                        .everyone = true};
  return tt_collective(comm, who, &call);
}

/* The ranks of my color, ordered; *mine: this one's among them. */
static int choose_members(const wish *wishes, int ranks, int me, member *members, int *mine) {
  int n = 0;
  for (int r = 0; r < ranks; r++)
    if (wishes[r].color == wishes[me].color) members[n++] = (member){wishes[r].key, r};
  qsort(members, (size_t)n, sizeof *members, by_key);
  for (int i = 0; i < n; i++)
    if (members[i].old == me) *mine = i;
  return n;
}

/* Without wires; NULL if out of memory. */
static tutti_comm *begin(const tutti_comm *old, const member *members, int n, int mine) {
  tutti_comm *comm = tt_comm_new(mine, n);
  if (!comm) return NULL;
  comm->heap = old->heap ? tt_heap_hold(old->heap) : NULL;
  comm->cores = old->cores;
  comm->kernel_crowd = old->kernel_crowd * n / old->ranks; /* about */
  for (int i = 0; i < n; i++) comm->where[i] = old->where[members[i].old];
  return comm;
}

/* The network of a color, as a wire; all ranks of `old` take part. */
static tutti_status begin_net(tutti_comm *old, int color, int mine, tutti_comm *comm,
                              tt_wire **net) {
  tutti_net made;
  if (!old->net) return TUTTI_OK;
  tutti_status status = tt_mpi_split(old->net, color, mine, &made);
  if (!status && color >= 0) status = tt_mpi_wire(&made, net);
  int64_t *pids = status || !comm ? NULL : malloc((size_t)comm->ranks * sizeof *pids);
  for (int r = 0; pids && r < comm->ranks; r++) pids[r] = comm->where[r].pid;
  if (pids) status = tt_mpi_pids(*net, pids);
  free(pids);
  return status;
}

static tutti_status split(tutti_comm *old, int color, int key, tutti_comm **out) {
  const size_t P = (size_t)old->ranks;
  wish *wishes = malloc(P * sizeof *wishes);
  member *members = malloc(P * sizeof *members);
  share *all = malloc(P * sizeof *all), brings = {NO_ROOM, 0};
  uint64_t *rooms = malloc(P * sizeof *rooms);
  tutti_comm *comm = NULL;
  tt_wire *net = NULL;
  int mine = 0, n = 0;
  tutti_status status = TUTTI_OK;
  if (!wishes || !members || !all || !rooms)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", old->ranks);
  const wish my = {color < 0 ? -1 : color, key};
  if (!status) status = tt_gather(old, &my, wishes, sizeof my);
  const bool agreed = !status;
  if (!status && color >= 0) {
    n = choose_members(wishes, old->ranks, old->rank, members, &mine);
    comm = begin(old, members, n, mine);
    if (!comm) status = TUTTI_ERR_MEMORY;
  }
  const tutti_status made = agreed ? begin_net(old, color, mine, comm, &net) : status;
  if (!status) status = made;
  if (!status && comm) status = tt_comm_room(comm, net != NULL, &brings.room);
  if (status) brings.room = NO_ROOM;
  if (comm && mine == 0) brings.wise = tt_wise_say();
  const tutti_status told = agreed ? tt_gather(old, &brings, all, sizeof brings) : status;
  if (!status) status = told;
  for (int i = 0; !status && i < n; i++) {
    rooms[i] = all[members[i].old].room;
    if (rooms[i] == NO_ROOM)
      status = tt_fail(TUTTI_ERR_MEMORY, "rank %d could not make its part of a communicator",
                       members[i].old);
  }
  if (comm && !status) {
    status = tt_comm_stand(comm, net, rooms);
    net = NULL;
    if (!status) status = tt_comm_settle(comm, &old->setting.machine);
    if (!status) status = tt_comm_seat(comm, NULL);
    if (!status) status = tt_wise_share(comm, (uint32_t)all[members[0].old].wise);
    if (!status) tt_trace_child(comm, old, old->seq, color);
  } else if (comm && brings.room != NO_ROOM && brings.room) {
    (told ? tt_shm_room_leave : tt_shm_room_free)(comm->heap, brings.room);
  }
  if (net) net->ops->close(net);
  if (status)
    tt_comm_destroy(comm);
  else
    *out = comm;
  free(wishes);
  free(members);
  free(all);
  free(rooms);
  return status;
}

tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_split: %s is NULL", comm ? "out" : "comm");
  *out = NULL;
  return split(comm, color, key, out);
}

tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_dup: %s is NULL", comm ? "out" : "comm");
  status = tutti_comm_split(comm, 0, comm->rank, out);
  if (!status) {
    (*out)->wish = comm->wish;
    (*out)->slices = comm->slices;
    (*out)->contract = comm->contract;
    (*out)->measures |= comm->measures;
    if (comm->helpers) status = tutti_comm_set_helpers(*out, comm->helpers);
  }
  return status;
}
