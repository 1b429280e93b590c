/* stand.c - makes a communicator of what its ranks have: shared memory, a network, both.
 *
 * Idea       where its ranks are says which of them share memory. All of them: that is
 *            its wire, and a network only stands by. Some: both wires, as one. None: the
 *            network.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "tracing.h"

tutti_comm *tt_comm_new(int rank, int ranks) {
  atomic_store(&tt_process.communicates, true);
  tutti_comm *comm = calloc(1, sizeof *comm);
  if (comm) comm->where = calloc((size_t)ranks, sizeof *comm->where);
  if (!comm || !comm->where) {
    free(comm);
    tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", ranks);
    return NULL;
  }
  comm->rank = rank;
  comm->ranks = ranks;
  comm->seq = comm->oldest = 1; /* 0 is what an empty board says */
  comm->spins = TT_SPINS;
  return comm;
}

int tt_comm_near(const tutti_comm *comm, int *near) {
  const tt_where *w = comm->where, *mine = &w[comm->rank];
  int n = 0;
  for (int r = 0; r < comm->ranks; r++) {
    const bool shares = r == comm->rank ||
                        (mine->index >= 0 && w[r].index >= 0 && w[r].site.node == mine->site.node);
    if (near) near[r] = shares ? n : -1;
    n += shares;
  }
  return n;
}

/* each communicates: order: a flag of this process */

static bool is_first(const tutti_comm *comm) {
  const tt_where *w = comm->where;
  for (int r = 0; r < comm->rank; r++)
    if (w[r].index >= 0 && w[r].site.node == w[comm->rank].site.node) return false;
  return true;
}

tutti_status tt_comm_room(tutti_comm *comm, bool has_net, uint64_t *room) {
  const int n = tt_comm_near(comm, NULL);
  *room = 0;
  if (n == 1 && has_net) return TUTTI_OK;
  *room = tt_shm_room(comm->heap, n, is_first(comm));
  return *room ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
}

/* ---- wires ---- */

static tutti_status make_near(tutti_comm *comm, const uint64_t *rooms, int *near, tt_wire **wire) {
  const int n = tt_comm_near(comm, near);
  int *members = malloc((size_t)n * sizeof *members);
  uint64_t *at = malloc((size_t)n * sizeof *at);
  tutti_status status = TUTTI_OK;
  if (!members || !at) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", n);
  for (int r = 0; !status && r < comm->ranks; r++) {
    if (near[r] < 0) continue;
    members[near[r]] = comm->where[r].index;
    at[near[r]] = rooms[r];
  }
  if (!status) status = tt_shm_wire(comm->heap, near[comm->rank], n, members, at, wire);
  if (!status && n == comm->ranks)
    comm->crowd = tt_shm_crowd(tt_heap_segment(comm->heap), members, n);
  free(members);
  free(at);
  return status;
}

/* What operations keep for reuse is the wire's. */
static void release(tutti_comm *comm) {
  for (int i = 0; i < TT_WINDOW; i++)
    if (comm->wire) tt_operation_release(&comm->places[i].operation);
}

tutti_status tt_comm_stand(tutti_comm *comm, tt_wire *net, const uint64_t *rooms) {
  int *near = malloc((size_t)comm->ranks * sizeof *near);
  tt_wire *shm = NULL;
  release(comm);
  tutti_status status = TUTTI_OK;
  comm->net = comm->wire = net; /* destroyed with it */
  if (!near) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  const int n = status ? 0 : tt_comm_near(comm, near);
  if (!status && rooms[comm->rank]) status = make_near(comm, rooms, near, &shm);
  if (shm && n == comm->ranks) {
    comm->wire = shm;
    comm->beside = net != NULL;
  } else if (shm) {
    comm->wire = comm->net = NULL;
    status = tt_hybrid_wire(net, shm, near, &comm->wire);
    comm->net = status ? NULL : net;
    if (!status) comm->wire->shown->ranks = (uint32_t)comm->ranks;
    if (!status) comm->wire->shown->rank = (uint32_t)comm->rank;
  }
  if (!status) atomic_store_explicit(&comm->wire->shown->over, comm->oldest, memory_order_relaxed);
  free(near);
  return status;
}

/* ---- settings ---- */

/* Those that are read later warn now, when the user looks. */
static void look_at_settings(void) {
  tt_env_seconds("TUTTI_TIMEOUT");
  tt_env_int("TUTTI_PROGRESS_THREAD", 0, 1, 0);
  tt_env_int("TUTTI_MEASURE", 0, 1, 0);
  tt_env_word("TUTTI_ENGINE", (const char *const[]){"generic", NULL});
}

tutti_status tt_comm_settle(tutti_comm *comm, const tt_machine *machine) {
  const bool shares = !tt_over_net(comm);
  comm->setting = (tt_setting){.ranks = comm->ranks,
                               .crowd = shares ? comm->crowd : 0,
                               .kernel_crowd = shares ? 0 : comm->kernel_crowd,
                               .has_loop = shares ? tt_has_loop : NULL,
                               .machine = *machine,
                               .flight = TT_FLIGHT,
                               .verify = tt_proof_setting()};
  look_at_settings();
  comm->slices = (int)tt_env_int("TUTTI_SLICES", 0, 1 << 20, 0);
  comm->explains = tt_env_int("TUTTI_EXPLAIN", 0, 1, 0);
  tutti_status status = tt_contract_read(tt_env("TUTTI_CONTRACT"), comm->ranks, &comm->contract);
  if (status) return status;
  status = tt_wish_parse(tt_env("TUTTI_ALGO"), comm->ranks, &comm->wish);
  if (status) return tt_fail(status, "TUTTI_ALGO: %.300s", tutti_error());
  tt_plans_drop(comm);
  tt_chooser_free(comm->chooser);
  comm->chooser = NULL;
  return tt_chooser_new(&comm->setting, &comm->chooser);
}

/* ---- seats ---- */

/* The most ranks of one node; 0: out of memory. */
static int most_of_a_node(const tt_seats *seats, int ranks) {
  int *n = calloc((size_t)ranks, sizeof *n), most = 0;
  for (int r = 0; n && r < ranks; r++)
    if (++n[seats->node_of[r]] > most) most = n[seats->node_of[r]];
  free(n);
  return most;
}

static tutti_status find_seats(const tutti_comm *comm, tt_seats *seats) {
  const size_t n = (size_t)comm->ranks;
  tt_site *sites = malloc(n * sizeof *sites);
  seats->order = malloc(n * sizeof *seats->order);
  seats->node_of = malloc(n * sizeof *seats->node_of);
  tutti_status status = TUTTI_OK;
  if (!sites || !seats->order || !seats->node_of)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the seats of %d ranks", comm->ranks);
  for (size_t r = 0; !status && r < n; r++) sites[r] = comm->where[r].site;
  if (!status) status = tt_sites_arrange(sites, comm->ranks, NULL, "", seats);
  free(sites);
  return status;
}

/* Where each rank parts from this one. */
static tutti_status tell_levels(tutti_comm *comm) {
  const tt_profile *p = tt_chooser_profile(comm->chooser);
  const int *place = comm->place, mine = place ? place[comm->rank] : comm->rank;
  uint8_t *level = malloc((size_t)comm->ranks);
  uint32_t *things = tt_profile_things(p);
  tutti_status status = TUTTI_OK;
  if (!level || !things)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  for (int r = 0; !status && r < comm->ranks; r++)
    level[r] = (uint8_t)tt_profile_parts(p, things, mine, place ? place[r] : r);
  if (!status) status = tt_mpi_levels(comm->net, level);
  free(level);
  free(things);
  return status;
}

tutti_status tt_comm_seat(tutti_comm *comm, const tt_seats *seats) {
  tt_seats found = {.order = NULL};
  if (!tt_over_net(comm)) return TUTTI_OK;
  tutti_status status = seats ? TUTTI_OK : find_seats(comm, &found);
  const int most = status ? 0 : most_of_a_node(seats ? seats : &found, comm->ranks);
  /* all ranks count the same: cores are thought to be as many as here */
  const double crowd = comm->cores > 0 ? most / comm->cores : 1;
  if (!status && !most)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the seats of %d ranks", comm->ranks);
  if (!status) status = tt_comm_arrange(comm, seats ? seats : &found, crowd);
  if (!status && tt_mpi_simulated(comm->net)) status = tell_levels(comm);
  free(found.order);
  free(found.node_of);
  return status;
}

void tt_comm_destroy(tutti_comm *comm) {
  if (!comm) return;
  tt_trace_close(comm);
  release(comm);
  tt_plans_drop(comm);
  tt_mail_free(comm->mail);
  if (comm->windows) comm->wire->ops->free(comm->wire, comm->windows);
  if (comm->sums) comm->wire->ops->free(comm->wire, comm->sums);
  tt_wisdom_clear(&comm->wisdom);
  tt_chooser_free(comm->chooser);
  tt_chooser_free(comm->helped);
  tt_chooser_free(comm->flat);
  free(comm->order);
  free(comm->place);
  if (comm->beside) comm->net->ops->close(comm->net);
  if (comm->wire) comm->wire->ops->close(comm->wire);
  tt_heap_close(comm->heap);
  free(comm->where);
  free(comm);
}
