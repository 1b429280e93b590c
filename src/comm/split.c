/* split.c - communicators split from another one.
 *
 * Idea       all ranks exchange color and key. The ranks of a color then make a network among
 *            themselves, if the old one has a network, and control blocks in shared memory, and
 *            exchange their addresses. A rank that fails tells all others. If another thread takes
 *            the network's number before the split ends, the ranks start again.
 * Invariant  if a rank dies, another rank may miss messages although its own were received. The
 *            memory that it made stays valid as long as the others use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "build_comm.h"
#include "tracing.h"

typedef struct override {
  int64_t color, key;
  uint64_t fresh; /* a candidate number for a network */
} override;

typedef struct member { /* of my color, by its rank in the new communicator */
  int64_t key;
  int old;
} member;

typedef struct parting {  /* one call, as seen by one rank; arrays by ranks of the old one */
  tutti_comm *old, *comm; /* comm NULL: this rank is in none, or failed */
  int color, key, mine, n;
  override *intents;
  member *members;
  int *list;    /* the old ranks of the members */
  tt_part *all; /* of the old one's ranks */
  tt_wire *net;
} parting;

static int by_key(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->old > y->old) - (x->old < y->old);
}

/* Finds the ranks of my color, in order, and this rank's place among them. */
static void choose_members(parting *p) {
  const tutti_comm *old = p->old;
  p->n = 0;
  for (int r = 0; r < old->ranks; r++)
    if (p->intents[r].color == p->color) p->members[p->n++] = (member){p->intents[r].key, r};
  qsort(p->members, (size_t)p->n, sizeof *p->members, by_key);
  for (int i = 0; i < p->n; i++) {
    p->list[i] = p->members[i].old;
    if (p->list[i] == old->rank) p->mine = i;
  }
}

/* Makes the network of a color, as a wire; all ranks of `old` take part. */
static tutti_status begin_net(parting *p, bool *taken) {
  tutti_net made;
  tt_split s = {.color = p->color, .key = p->mine, .members = p->list, .n = p->n};
  *taken = false;
  if (!p->old->net) return TUTTI_OK;
  for (int r = 0; r < p->old->ranks; r++)
    s.number = (uint32_t)tt_max(s.number, p->intents[r].fresh);
  tutti_status status = p->old->net->net->split(p->old->net, &s, &made, taken);
  if (!status && !*taken && p->n) status = tt_net_wire(&made, &p->net);
  if (p->net) p->net->net->share_proofs(p->net, p->old->net->proofs, true);
  return status || !p->net || !p->comm ? status : tt_comm_set_pids(p->comm, p->net);
}

/* Exchanges colors and keys, makes network and control block, and exchanges the results. *again:
 * the network's number was taken. */
static tutti_status prepare_split(parting *p, bool *again) {
  tutti_comm *old = p->old;
  const override my = {p->color, p->key, old->net ? old->net->net->fresh_number(old->net) : 0};
  tt_exchange x = {.over = old, .list = p->list, .all = p->all};
  *again = false;
  tutti_status status = tt_gather(old, "tutti_comm_split", &my, p->intents, sizeof my);
  if (status) return status;
  if (p->color >= 0) {
    choose_members(p);
    p->comm = tt_comm_among(old, p->list, p->n, p->mine);
    if (!p->comm) status = TUTTI_ERR_MEMORY;
  }
  const tutti_status made = begin_net(p, &x.taken);
  if (!status) status = made;
  x.has_net = p->net != NULL;
  status = tt_comm_exchange(p->comm, "tutti_comm_split", status, &x);
  *again = x.taken;
  return status;
}

static tutti_status attach_split_comm(parting *p) {
  tutti_comm *comm = p->comm, *old = p->old;
  if (!comm) return TUTTI_OK;
  const tt_comm_spec spec = {
      .net = p->net, .profile = &old->plans->setting.profile, .wisdom = p->all[p->list[0]].wisdom};
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
               .all = malloc(P * sizeof *p.all)};
  bool again = true;
  tutti_status status = TUTTI_OK;
  if (!p.intents || !p.members || !p.list || !p.all)
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
  return status;
}

tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  tutti_status status = tt_args_given("tutti_comm_split", "comm", comm, "out", out);
  if (status) return status;
  *out = NULL;
  return tt_ended(split_comm(comm, color, key, out));
}

tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_args_given("tutti_comm_dup", "comm", comm, "out", out);
  if (!status) status = tutti_comm_split(comm, 0, comm->rank, out);
  return status ? status
                : tt_comm_inherit_settings(*out, &comm->settings.plain, &comm->settings.override,
                                           comm->helpers);
}
