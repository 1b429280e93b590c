/* split.c - communicators split from another one.
 *
 * Idea       all ranks exchange color and key. The ranks of a color then make a network among
 *            themselves, if the old one has a network, and control blocks in shared memory, and
 *            exchange their addresses. A rank that failed says so, so that all know. If another
 *            thread has taken the network's number meanwhile, they start again.
 * Invariant  if a rank died, another may miss messages although its own were received: what it
 *            made stays valid as long as the others use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "tracing.h"

typedef struct override {
  int64_t color, key;
  uint64_t fresh; /* a candidate number for a network */
} override;

typedef struct share {   /* what a rank contributes */
  uint64_t ctrl, wisdom; /* in shared memory; of comm_wisdom.h */
} share;

typedef struct member { /* of my color, by its rank in the new communicator */
  int64_t key;
  int old;
} member;

static const uint64_t NO_CTRL = UINT64_MAX, AGAIN = UINT64_MAX - 1; /* instead of a control block */

typedef struct parting {  /* one call, as seen by one rank; arrays by ranks of the old one */
  tutti_comm *old, *comm; /* comm NULL: this rank is in none, or failed */
  int color, key, mine, n;
  override *intents;
  member *members;
  int *list; /* the old ranks of the members */
  share brings, *all;
  uint64_t *ctrls;
  tt_wire *net;
} parting;

static int by_key(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->old > y->old) - (x->old < y->old);
}

/* Finds the ranks of my color, in order; *mine: this one's index among them. */
static int choose_members(const override *intents, int ranks, int me, member *members, int *mine) {
  int n = 0;
  for (int r = 0; r < ranks; r++)
    if (intents[r].color == intents[me].color) members[n++] = (member){intents[r].key, r};
  qsort(members, (size_t)n, sizeof *members, by_key);
  for (int i = 0; i < n; i++)
    if (members[i].old == me) *mine = i;
  return n;
}

/* Has no wires yet. Returns NULL if out of memory. */
static tutti_comm *create_unwired_comm(const tutti_comm *old, const member *members, int n,
                                       int mine) {
  tutti_comm *comm = tt_comm_new(mine, n);
  if (!comm) return NULL;
  comm->heap = old->heap ? tt_heap_hold(old->heap) : NULL;
  comm->load = old->load;
  comm->load.host_ranks_per_core *= (double)n / old->ranks; /* approximate */
  for (int i = 0; i < n; i++) comm->info[i] = old->info[members[i].old];
  return comm;
}

/* Makes the network of a color, as a wire; all ranks of `old` take part. */
static tutti_status begin_net(parting *p) {
  tutti_net made;
  tt_split s = {.color = p->color, .key = p->mine, .members = p->list, .n = p->n};
  bool taken;
  if (!p->old->net) return TUTTI_OK;
  for (int r = 0; r < p->old->ranks; r++)
    s.number = (uint32_t)tt_max(s.number, p->intents[r].fresh);
  for (int i = 0; i < p->n; i++) p->list[i] = p->members[i].old;
  tutti_status status = p->old->net->net->split(p->old->net, &s, &made, &taken);
  if (!status && taken) p->brings.ctrl = AGAIN;
  if (!status && !taken && p->n) status = tt_net_wire(&made, &p->net);
  tutti_comm *comm = p->comm;
  int64_t *pids = !p->net || !comm ? NULL : malloc((size_t)comm->ranks * sizeof *pids);
  for (int r = 0; pids && r < comm->ranks; r++) pids[r] = comm->info[r].pid;
  if (pids) status = p->net->net->set_pids(p->net, pids);
  free(pids);
  return status;
}

/* Exchanges colors and keys, makes network and control block, and exchanges the results. *again:
 * the network's number was taken. */
static tutti_status prepare_split(parting *p, bool *again) {
  tutti_comm *old = p->old;
  const override my = {p->color, p->key, old->net ? old->net->net->fresh_number(old->net) : 0};
  tutti_status status = tt_gather(old, "tutti_comm_split", &my, p->intents, sizeof my);
  *again = false;
  p->brings = (share){0, 0};
  if (status) return status;
  if (p->color >= 0) {
    p->n = choose_members(p->intents, old->ranks, old->rank, p->members, &p->mine);
    p->comm = create_unwired_comm(old, p->members, p->n, p->mine);
    if (!p->comm) status = TUTTI_ERR_MEMORY;
  }
  const tutti_status made = begin_net(p);
  if (!status) status = made;
  if (!status && p->comm && p->brings.ctrl != AGAIN)
    status = tt_comm_ctrl_new(p->comm, p->net != NULL, &p->brings.ctrl);
  if (status) p->brings.ctrl = NO_CTRL;
  if (p->comm && p->mine == 0) p->brings.wisdom = tt_wisdom_announce();
  const tutti_status gathered =
      tt_gather(old, "tutti_comm_split", &p->brings, p->all, sizeof p->brings);
  for (int r = 0; !gathered && r < old->ranks; r++) *again |= p->all[r].ctrl == AGAIN;
  for (int i = 0; !status && !gathered && i < p->n; i++) {
    p->ctrls[i] = p->all[p->members[i].old].ctrl;
    if (p->ctrls[i] == NO_CTRL)
      status = tt_fail(TUTTI_ERR_MEMORY, "rank %d could not make its part of a communicator",
                       p->members[i].old);
  }
  const bool has_ctrl = p->comm && p->brings.ctrl && p->brings.ctrl < AGAIN;
  if (has_ctrl && gathered) /* others may have received all of it */
    tt_shm_ctrl_abandon(p->comm->heap, p->brings.ctrl, gathered, tutti_error());
  else if (has_ctrl && (status || *again))
    tt_shm_ctrl_free(p->comm->heap, p->brings.ctrl);
  return status ? status : gathered;
}

static tutti_status attach_split_comm(parting *p) {
  tutti_comm *comm = p->comm, *old = p->old;
  if (!comm) return TUTTI_OK;
  const tt_comm_spec spec = {.net = p->net,
                             .ctrls = p->ctrls,
                             .profile = &old->plans->setting.profile,
                             .wisdom = (uint32_t)p->all[p->members[0].old].wisdom};
  tutti_status status = tt_comm_build(comm, &spec);
  p->net = NULL;
  if (!status) tt_trace_child(comm, old, old->flight->seq, p->color);
  return comm->wire ? tt_break_if_memory(comm, status) : status;
}

static void discard_split(parting *p) {
  if (p->net) p->net->peer->close(p->net);
  tt_comm_destroy(p->comm);
  p->net = NULL;
  p->comm = NULL;
}

static tutti_status split_comm(tutti_comm *old, int color, int key, tutti_comm **out) {
  const size_t P = (size_t)old->ranks;
  parting p = {.old = old,
               .color = color < 0 ? -1 : color,
               .key = key,
               .intents = malloc(P * sizeof *p.intents),
               .members = malloc(P * sizeof *p.members),
               .list = malloc(P * sizeof *p.list),
               .all = malloc(P * sizeof *p.all),
               .ctrls = malloc(P * sizeof *p.ctrls)};
  bool again = true;
  tutti_status status = TUTTI_OK;
  if (!p.intents || !p.members || !p.list || !p.all || !p.ctrls)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", old->ranks);
  while (!status && again) {
    status = prepare_split(&p, &again);
    if (again) discard_split(&p);
  }
  if (!status) status = attach_split_comm(&p);
  if (status) discard_split(&p);
  *out = p.comm;
  free(p.intents);
  free(p.members);
  free(p.list);
  free(p.all);
  free(p.ctrls);
  return status;
}

tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_split: %s is NULL", comm ? "out" : "comm");
  *out = NULL;
  return tt_ended(split_comm(comm, color, key, out));
}

tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_alive();
  if (status) return status;
  if (!comm || !out)
    return tt_fail(TUTTI_ERR_ARG, "tutti_comm_dup: %s is NULL", comm ? "out" : "comm");
  status = tutti_comm_split(comm, 0, comm->rank, out);
  return status ? status : tt_comm_inherit_settings(*out, &comm->settings, comm->helpers);
}
