/* build_comm.c - builds a communicator: connects its ranks, reads the settings, arranges the ranks by placement.
 *
 * Idea       The placement of the ranks determines which of them share memory. If all do, shared memory is the
 *            transport, and a network is only kept as a separate one. If some do, one wire combines both. If no ranks
 *            share memory, the network is the transport. In all three cases plans take the levels within a machine
 *            into account.
 * Levels     Each level divides the positions into groups of consecutive positions; rank order[v] has position v. If
 *            the identity of ranks does not matter, a plan is made for positions, and its messages are sent to the
 *            ranks at those positions. A collective that delivers a separate block to every rank, or sums in rank
 *            order, is planned for ranks, as on a machine without levels.
 * Invariant  If the ranks are already in the order of their positions, neither the order nor its inverse is stored.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "create.h"
#include "fp_state.h"
#include "host_links.h"
#include "tracing.h"

tutti_comm *tt_comm_new(int rank, int ranks) {
  tt_device_seek();
  atomic_store(&tt_process.communicates, true);
  struct whole { /* one allocation, so that the data that a call uses is close together */
    tutti_comm comm;
    tt_flight flight;
    tt_plan_cache plans;
  } *whole = calloc(1, sizeof *whole);
  tt_rank_info *info = calloc((size_t)ranks, sizeof *info);
  if (!whole || !info) {
    free(whole);
    free(info);
    tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", ranks);
    return NULL;
  }
  tutti_comm *comm = &whole->comm;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->info = info;
  comm->flight = &whole->flight;
  comm->plans = &whole->plans;
  /* an empty flag slot contains 0 */
  comm->flight->seq = comm->flight->oldest = 1 + tt_first_number();
  comm->flight->spins = TT_SPINS;
  return comm;
}

/* each communicates: order: a flag of this process */

tutti_status tt_comm_set_pids(const tutti_comm *comm, tt_wire *net) {
  int64_t *pids = malloc((size_t)comm->ranks * sizeof *pids);
  if (!pids) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  for (int r = 0; r < comm->ranks; r++) pids[r] = comm->info[r].pid;
  const tutti_status status = net->net->set_pids(net, pids);
  free(pids);
  return status;
}

/* ---- wires ---- */

static tutti_status make_near(tutti_comm *comm, int *near, tt_wire **wire) {
  const int n = tt_comm_near(comm, near);
  int *members = malloc((size_t)n * sizeof *members);
  uint64_t *at = malloc((size_t)n * sizeof *at);
  tutti_status status = TUTTI_OK;
  if (!members || !at) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", n);
  for (int r = 0; !status && r < comm->ranks; r++) {
    if (near[r] < 0) continue;
    members[near[r]] = comm->info[r].index;
    at[near[r]] = comm->info[r].ctrl;
    if (!tt_heap_holds(tt_heap_segment(comm->heap), comm->info[r].index, comm->info[r].ctrl))
      status = tt_fail(TUTTI_ERR_SYSTEM,
                       "rank %d named a place in shared memory that is not its own", r);
  }
  if (!status) status = tt_shm_wire(comm->heap, near[comm->rank], n, members, at, wire);
  if (!status && n == comm->ranks) {
    const tt_segment *segment = tt_heap_segment(comm->heap);
    comm->load.ranks_per_core = tt_heap_ranks_per_core(segment, members, n);
    comm->load.crowded = comm->load.ranks_per_core > 1 || tt_heap_crowded(segment);
  }
  free(members);
  free(at);
  return status;
}

/* Frees the memory that operations keep for reuse. The memory belongs to the wire, so this is done before the wire
 * is replaced or closed. */
static void release(tutti_comm *comm) {
  for (int i = 0; i < TT_WINDOW; i++)
    if (comm->wire) tt_operation_release(&comm->flight->places[i].operation);
}

static tutti_status attach(tutti_comm *comm, tt_wire *net) {
  int *near = malloc((size_t)comm->ranks * sizeof *near);
  tt_wire *shm = NULL;
  release(comm);
  tutti_status status = TUTTI_OK;
  comm->net = comm->wire = net;  /* closed with the communicator */
  comm->load.ranks_per_core = 0; /* not used for networks */
  if (!near) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  const int n = status ? 0 : tt_comm_near(comm, near);
  if (!status && comm->info[comm->rank].ctrl) status = make_near(comm, near, &shm);
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
  if (!status) comm->wire->peer->over(comm->wire, comm->flight->oldest, false);
  free(near);
  return status;
}

/* ---- settings ---- */

/* Reads the environment variables that affect collective calls. The calls do not read the environment themselves,
 * because the program may change it while they run. */
static void read_for_calls(tt_settings *s) {
  tt_variables_check();
  s->plain.env_timeout = tt_env_seconds("TUTTI_TIMEOUT");
  s->plain.generic = tt_env_word("TUTTI_ENGINE", (const char *const[]){"generic", NULL}) == 0;
  atomic_store_explicit(&tt_process.progress_thread.by_setting,
                        (int)tt_env_int("TUTTI_PROGRESS_THREAD", 0, 1, 0), memory_order_relaxed);
  tt_env_int("TUTTI_MEASURE", 0, 1, 0); /* reports an invalid value now */
}

tutti_status tt_settings_read(tt_settings *s, int ranks) {
  tutti_status status = tt_contract_read(tt_env("TUTTI_CONTRACT"), ranks, &s->plain.contract);
  if (!status) status = tt_code_parse("TUTTI_CODE", tt_env("TUTTI_CODE"), &s->plain.wish);
  if (!status) status = tt_code_contract("TUTTI_CODE", &s->plain.wish, s->plain.contract);
  if (status) return status;
  status = tt_override_parse(tt_env("TUTTI_ALGO"), ranks, &s->override);
  return status ? tt_fail(status, "TUTTI_ALGO: %.300s", tutti_error()) : TUTTI_OK;
}

tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile) {
  const bool shares = !tt_over_net(comm);
  comm->plans->setting =
      (tt_setting){.ranks = comm->ranks,
                   .ranks_per_core = shares ? comm->load.ranks_per_core : 0,
                   .host_ranks_per_core = shares ? 0 : comm->load.host_ranks_per_core,
                   .has_loop = shares ? tt_has_loop : NULL,
                   .profile = *profile,
                   .flight = TT_FLIGHT,
                   .verify = tt_proof_setting()};
  read_for_calls(&comm->settings);
  comm->settings.plain.slices = (int)tt_env_int("TUTTI_SLICES", 0, 1 << 20, 0);
  comm->settings.explains = tt_env_int("TUTTI_EXPLAIN", 0, 1, 0);
  tutti_status status = tt_settings_read(&comm->settings, comm->ranks);
  if (status) return status;
  tt_plans_drop(comm);
  tt_chooser_free(comm->plans->chooser);
  comm->plans->chooser = NULL;
  const tt_fp_state state = tt_fp_pin(); /* so that all ranks estimate the same times */
  status = tt_chooser_share(&comm->plans->setting, &comm->plans->chooser);
  tt_fp_restore(state);
  return status;
}

/* ---- placement ---- */

/* Returns the largest number of ranks on one node, or 0 if out of memory. */
static int most_of_a_node(const tt_layout *layout, int ranks) {
  int *n = calloc((size_t)ranks, sizeof *n), most = 0;
  for (int r = 0; n && r < ranks; r++)
    if (++n[layout->node_of[r]] > most) most = n[layout->node_of[r]];
  free(n);
  return most;
}

tutti_status tt_layout_find(const tt_placement *placements, int ranks, const char *topology,
                            const char *name, tt_layout *layout) {
  layout->order = malloc((size_t)ranks * sizeof *layout->order);
  layout->node_of = malloc((size_t)ranks * sizeof *layout->node_of);
  if (!layout->order || !layout->node_of)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", ranks);
  return tt_placement_arrange(placements, ranks, topology, name, layout);
}

static tutti_status layout_by_placement(const tutti_comm *comm, tt_layout *layout) {
  tt_placement *placements = malloc((size_t)comm->ranks * sizeof *placements);
  if (!placements)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the seats of %d ranks", comm->ranks);
  for (int r = 0; r < comm->ranks; r++)
    placements[r] = (tt_placement){.colors = comm->info[r].placement};
  const tutti_status status = tt_layout_find(placements, comm->ranks, NULL, "", layout);
  free(placements);
  return status;
}

/* Stores the order and its inverse, or neither. */
static tutti_status keep_order(tutti_comm *comm, const int *order) {
  const size_t P = (size_t)comm->ranks;
  size_t same = 0;
  while (same < P && order[same] == (int)same) same++;
  if (same == P) return TUTTI_OK;
  int *kept = malloc(P * sizeof *kept), *place = malloc(P * sizeof *place);
  if (!kept || !place) {
    free(kept);
    free(place);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", comm->ranks);
  }
  for (size_t v = 0; v < P; v++) place[kept[v] = order[v]] = (int)v;
  comm->plans->order = kept;
  comm->plans->place = place;
  return TUTTI_OK;
}

/* If the profile has parameters for individual hosts, numbers the hosts and sets *order to all ranks, with the ranks
 * of slow hosts last. Otherwise sets *order to NULL, and the caller uses the order of the layout. */
static tutti_status place_hosts(tutti_comm *comm, const tt_layout *layout, int **order) {
  const size_t P = (size_t)comm->ranks;
  tt_plan_cache *plans = comm->plans;
  *order = NULL;
  if (!plans->setting.profile.hosts) return TUTTI_OK;
  plans->host = malloc(P * sizeof *plans->host);
  plans->host_at = malloc(P * sizeof *plans->host_at);
  *order = malloc(P * sizeof **order);
  if (!plans->host || !plans->host_at || !*order)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the hosts of %d ranks", comm->ranks);
  for (size_t r = 0; r < P; r++) plans->host[r] = comm->info[r].placement.node;
  memcpy(*order, layout->order, P * sizeof **order);
  const tutti_status status = tt_hosts_order(&plans->setting.profile, layout->levels,
                                             layout->inside, plans->host, comm->ranks, *order);
  for (size_t v = 0; v < P; v++) plans->host_at[v] = plans->host[(*order)[v]];
  return status;
}

tutti_status tt_comm_arrange(tutti_comm *comm, const tt_layout *layout, double ranks_per_core) {
  int *order;
  tutti_status status = place_hosts(comm, layout, &order);
  tt_setting setting = comm->plans->setting;
  tt_chooser *flat = NULL, *chooser;
  _Static_assert(sizeof layout->levels <= sizeof setting.levels, "room for the levels");
  if (tt_over_net(comm) || layout->nodes > 1) {
    setting.ranks_per_core = 0;
    setting.has_loop = NULL; /* loops require that all ranks share memory */
  }
  setting.host = comm->plans->host;
  if (!status) status = tt_chooser_share(&setting, &flat);
  setting.host = comm->plans->host_at;
  memcpy(setting.levels, layout->levels, sizeof layout->levels);
  setting.inside = layout->inside;
  setting.node_ranks_per_core = ranks_per_core;
  if (!status) status = tt_chooser_share(&setting, &chooser);
  if (!status && (status = keep_order(comm, order ? order : layout->order)))
    tt_chooser_free(chooser);
  free(order);
  if (status) {
    tt_chooser_free(flat);
    return status;
  }
  tt_plans_drop(comm);
  tt_coded_plans_free(&comm->plans->coded);
  tt_chooser_free(comm->plans->chooser);
  comm->plans->setting = setting;
  comm->plans->chooser = chooser;
  comm->plans->flat = comm->plans->order ? flat : NULL;
  if (!comm->plans->order) tt_chooser_free(flat);
  return TUTTI_OK;
}

/* Tells a simulated network which level of the machine separates this rank from each peer, so that it can delay
 * messages accordingly. Does nothing if a sender can continue before its message has arrived, or if the placement is
 * known and ranks have several ports. */
static tutti_status set_levels(tutti_comm *comm) {
  const tt_cost_model *p = tt_chooser_model(comm->plans->chooser);
  const int *place = comm->plans->place, mine = place ? place[comm->rank] : comm->rank;
  if (p->link[p->levels - 1].L > 0) return TUTTI_OK;
  if (!tt_placement_unknown(p) && tt_ports(&p->link[p->levels - 1]) > 1) return TUTTI_OK;
  uint8_t *level = malloc((size_t)comm->ranks);
  uint32_t *things = tt_cost_domains(p);
  tutti_status status = TUTTI_OK;
  if (!level || !things)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", comm->ranks);
  for (int r = 0; !status && r < comm->ranks; r++)
    level[r] = (uint8_t)tt_cost_level(p, things, mine, place ? place[r] : r);
  if (!status) status = comm->net->net->set_levels(comm->net, level, tt_placement_unknown(p));
  free(level);
  free(things);
  return status;
}

/* Returns true if all ranks share memory at every level of the machine. This is the usual case for ranks that are
 * threads, and is quick to check. */
static bool all_are_near(const tutti_comm *comm) {
  const tt_colors *first = &comm->info[0].placement;
  bool near = !tt_over_net(comm);
  for (int r = 1; near && r < comm->ranks; r++) {
    const tt_colors *s = &comm->info[r].placement;
    near = s->package == first->package && s->numa == first->numa && s->cache == first->cache;
  }
  return near;
}

/* Arranges the ranks in levels, if they are on several nodes or in several domains of one node. If `layout` is NULL,
 * computes the layout from the placements of the ranks. */
static tutti_status place_in_levels(tutti_comm *comm, const tt_layout *layout) {
  tt_layout found = {.order = NULL};
  if (all_are_near(comm)) return TUTTI_OK;
  tutti_status status = layout ? TUTTI_OK : layout_by_placement(comm, &found);
  const int most = status ? 0 : most_of_a_node(layout ? layout : &found, comm->ranks);
  /* Assumes that every node has as many cores as the node of rank 0, so that all ranks compute the same value. */
  const double ranks_per_core = comm->load.cores > 0 ? most / comm->load.cores : 1;
  if (!status && !most)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the seats of %d ranks", comm->ranks);
  const bool says = !status && (tt_over_net(comm) || *(layout ? layout : &found)->levels);
  if (says) status = tt_comm_arrange(comm, layout ? layout : &found, ranks_per_core);
  if (!status && tt_over_net(comm) && comm->net->traits.simulated) status = set_levels(comm);
  free(found.order);
  free(found.node_of);
  return status;
}

/* ---- all steps ---- */

tutti_status tt_comm_build(tutti_comm *comm, const tt_comm_spec *spec) {
  tutti_status status = attach(comm, spec->net);
  if (!status) status = tt_comm_configure(comm, spec->profile);
  if (!status) status = place_in_levels(comm, spec->layout);
  if (!status) status = tt_wisdom_share(comm, spec->wisdom);
  if (!status) status = tt_exts_open(comm, spec->wisdom >> TT_ANNOUNCED_EXTS);
  if (!status && spec->settings)
    status = tt_comm_inherit_settings(comm, spec->settings, spec->override, spec->helpers);
  return status;
}

tutti_status tt_comm_spoil(tutti_comm *comm, tutti_status status) {
  if (!status || !comm->wire) return status;
  if (comm->broken) return comm->broken;
  snprintf(comm->why, sizeof comm->why, "rank %d: %.300s", comm->rank, tutti_error());
  tt_comm_break(comm, status, true);
  return status;
}

void tt_comm_destroy(tutti_comm *comm) {
  if (!comm) return;
  tt_trace_close(comm);
  release(comm);
  tt_plans_drop(comm);
  tt_long_wait_end(&comm->flight->wait_policy.note);
  tt_group_drop(comm);
  tt_p2p_free(comm->flight->p2p);
  tt_streams_drop(comm);
  tt_device_calls_free(comm);
  if (comm->windows) comm->wire->memory->free(comm->wire, comm->windows);
  if (comm->sums) comm->wire->memory->free(comm->wire, comm->sums);
  tt_wisdom_clear(&comm->plans->wisdom);
  tt_chooser_free(comm->plans->chooser);
  tt_helped_free(&comm->plans->helped);
  tt_exts_close(comm);
  tt_coded_plans_free(&comm->plans->coded);
  tt_chooser_free(comm->plans->flat);
  free(comm->plans->order);
  free(comm->plans->place);
  free(comm->plans->host);
  free(comm->plans->host_at);
  if (comm->beside) comm->net->peer->close(comm->net);
  if (comm->wire) comm->wire->peer->close(comm->wire);
  tt_heap_close(comm->heap);
  free(comm->config_text);
  free(comm->info);
  free(comm);
}
