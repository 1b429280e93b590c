/* split.c - a communicator of some ranks of another one: split, duplicated, made by its members alone, or made by
 * survivors.
 *
 * Idea       The new communicator uses the heap and placements of the old one. The ranks exchange bids, which
 *            determine the members and the number of the new network. The members create that network, and control
 *            blocks in shared memory, and exchange their parts. A rank that fails notifies all others. If another
 *            thread takes the network's number first, the ranks start again. There are three variants, which differ
 *            in who exchanges: all ranks of the old communicator (split); only the members, by the caller's
 *            all-gather, which disturbs neither other ranks nor calls in flight (among); or survivors, which have
 *            already agreed on members and network, over the new network.
 * Cost       Two exchanges, and two more each time another thread has taken the network's number first.
 * Invariant  Every rank takes part in the same exchanges, no matter what fails in between, so all return the same
 *            result. If a rank dies, another rank may miss messages although its own were received. The memory that
 *            it has made stays valid as long as the others use it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "build_comm.h"
#include "comm_wisdom.h"
#include "tracing.h"
#include "tutti_net.h"

typedef struct bid {
  int64_t color, key;
  uint64_t fresh; /* candidate for the number of the network */
  uint64_t id;    /* for members alone: the first one is used as number of the network */
} bid;

typedef struct part {
  uint64_t ctrl;          /* the control block; 0: not needed */
  uint32_t wisdom, taken; /* tt_announce; whether the network's number was taken */
  uint64_t no_outside;    /* as in tutti_comm */
} part;
static const uint64_t FAILED = UINT64_MAX; /* used instead of a control block */

typedef struct member { /* one per rank of this color, by rank in the new communicator */
  int64_t key;
  int old;
} member;

typedef struct parting {  /* one call, from the point of view of one rank */
  tutti_comm *old, *comm; /* comm NULL: this rank is not a member, or failed */
  const char *who;
  tutti_comm *over; /* the communicator that exchanges; NULL: the members exchange by `gather` */
  tutti_gather_fn *gather;
  void *ctx;
  const tutti_net *given;              /* the caller's network; NULL: none, or taken over already */
  bool splits;                         /* create the network from that of the old communicator */
  int color, key, mine, n, exchanging; /* exchanging: number of ranks that exchange */
  int *list;                           /* ranks of the members in the old communicator */
  bid *bids;                           /* one per rank that exchanges */
  part *parts;
  tt_wire *net;
} parting;

static tutti_status exchange(const parting *p, const void *mine, size_t bytes, void *all) {
  if (p->over) return tt_gather(p->over, p->who, mine, all, bytes);
  return p->gather(p->ctx, mine, bytes, all)
             ? tt_fail(TUTTI_ERR_SYSTEM, "%s: the gather failed", p->who)
             : TUTTI_OK;
}

/* Returns the rank of member i in the communicator that the members use to exchange data. */
static int exchanges_as(const parting *p, int i) {
  return p->over == p->old ? p->list[i] : i;
}

tutti_comm *tt_comm_among(const tutti_comm *old, const int *list, int n, int rank) {
  tutti_comm *comm = tt_comm_new(rank, n);
  if (!comm) return NULL;
  comm->heap = old->heap ? tt_heap_hold(old->heap) : NULL;
  comm->load = old->load;
  comm->no_outside = old->no_outside || !old->wire->outside;
  comm->load.host_ranks_per_core *= (double)n / old->ranks; /* approximate */
  for (int r = 0; r < n; r++) comm->info[r] = old->info[list[r]];
  return comm;
}

/* ---- members ---- */

static int by_key(const void *a, const void *b) {
  const member *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->old > y->old) - (x->old < y->old);
}

/* Finds the ranks with the same color as this rank, sorts them by key, and finds the position of this rank among them. */
static tutti_status choose_members(parting *p) {
  const tutti_comm *old = p->old;
  member *members = malloc((size_t)old->ranks * sizeof *members);
  if (!members)
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", old->ranks);
  p->n = 0;
  for (int r = 0; r < old->ranks; r++)
    if (p->color >= 0 && p->bids[r].color == p->color)
      members[p->n++] = (member){p->bids[r].key, r};
  qsort(members, (size_t)p->n, sizeof *members, by_key);
  for (int i = 0; i < p->n; i++) {
    p->list[i] = members[i].old;
    if (p->list[i] == old->rank) p->mine = i;
  }
  free(members);
  return TUTTI_OK;
}

static tutti_status exchange_bids(parting *p) {
  const tt_wire *net = p->old->net;
  const bid mine = {p->color, p->key, p->splits ? net->net->fresh_number(net) : 0,
                    p->over ? 0 : tt_random() | 1};
  const tutti_status status = exchange(p, &mine, sizeof mine, p->bids);
  return status || !p->over ? status : choose_members(p);
}

/* ---- parts of the new communicator ---- */

/* Creates the network for a color, and its wire. All ranks that exchange data take part. */
static tutti_status begin_net(parting *p, bool *taken) {
  tutti_net made;
  tt_split s = {
      .color = p->color, .key = p->mine, .members = p->list, .n = p->n, .id = p->bids[0].id};
  *taken = false;
  for (int r = 0; r < p->exchanging; r++) s.number = (uint32_t)tt_max(s.number, p->bids[r].fresh);
  if (p->given) {
    made = *p->given;
    made.id = s.id;
    p->given = NULL;
  } else if (p->splits) {
    const tutti_status status = p->old->net->net->split(p->old->net, &s, &made, taken);
    if (status || *taken || !p->n) return status;
  } else {
    return TUTTI_OK;
  }
  const tutti_status status = tt_net_wire(&made, &p->net);
  if (p->net && p->old->net) p->net->net->share_proofs(p->net, p->old->net->proofs, true);
  return status || !p->net || !p->comm ? status : tt_comm_set_pids(p->comm, p->net);
}

static bool is_first_on_node(const tutti_comm *comm) {
  const tt_rank_info *w = comm->info;
  for (int r = 0; r < comm->rank; r++)
    if (w[r].index >= 0 && w[r].placement.node == w[comm->rank].placement.node) return false;
  return true;
}

/* Creates the control block of this rank. Sets *ctrl to 0 if the rank shares memory with no other rank and has a network. */
static tutti_status make_ctrl(const tutti_comm *comm, bool has_net, uint64_t *ctrl) {
  const int n = tt_comm_near(comm, NULL);
  *ctrl = 0;
  if (n == 1 && has_net) return TUTTI_OK;
  *ctrl = tt_shm_ctrl_new(comm->heap, n, is_first_on_node(comm));
  return *ctrl ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "no shared memory for a communicator");
}

/* Creates the control block of this rank, unless `status` is an error, and exchanges the parts of all ranks. Sets
 * *again if the number of the new network was already in use on any rank, so that all ranks must try again. */
static tutti_status exchange_parts(parting *p, tutti_status status, bool *again) {
  tutti_comm *comm = p->comm;
  part mine = {.wisdom = comm && comm->rank == 0 ? tt_announce() : 0,
               .taken = *again,
               .no_outside = comm && comm->no_outside};
  if (!status && comm && !*again) status = make_ctrl(comm, p->net || comm->net, &mine.ctrl);
  const uint64_t ctrl = status ? 0 : mine.ctrl;
  if (status) mine.ctrl = FAILED;
  const tutti_status gathered = exchange(p, &mine, sizeof mine, p->parts);
  if (!status) status = gathered;
  for (int r = 0; r < p->exchanging && !gathered; r++) *again |= p->parts[r].taken;
  for (int i = 0; !status && comm && i < comm->ranks; i++) {
    const part *its = &p->parts[exchanges_as(p, i)];
    comm->info[i].ctrl = its->ctrl;
    comm->no_outside |= its->no_outside;
    if (its->ctrl == FAILED)
      status = tt_fail(TUTTI_ERR_MEMORY, "rank %d could not make its part of a communicator",
                       exchanges_as(p, i));
  }
  if (ctrl && gathered) /* others may have received this part */
    tt_shm_ctrl_abandon(comm->heap, ctrl, gathered, tutti_error());
  else if (ctrl && (status || *again))
    tt_shm_ctrl_free(comm->heap, ctrl);
  return status;
}

static tutti_status prepare(parting *p, bool *again) {
  *again = false;
  tutti_status status = exchange_bids(p);
  if (status) return status;
  if (p->n) {
    p->comm = tt_comm_among(p->old, p->list, p->n, p->mine);
    if (!p->comm) status = TUTTI_ERR_MEMORY;
  }
  const tutti_status made = begin_net(p, again);
  return exchange_parts(p, status ? status : made, again);
}

static tutti_status attach(parting *p) {
  tutti_comm *comm = p->comm, *old = p->old;
  if (!comm) return TUTTI_OK;
  const tt_comm_spec spec = {.net = p->net,
                             .profile = &old->plans->setting.profile,
                             .wisdom = p->parts[exchanges_as(p, 0)].wisdom};
  tutti_status status = tt_comm_build(comm, &spec);
  p->net = NULL;
  if (!status)
    tt_trace_child(comm, old, p->over ? old->flight->seq : (uint32_t)p->bids[0].id, p->color);
  return comm->wire ? tt_break_if_memory(comm, status) : status;
}

static void discard(parting *p) {
  if (p->net) p->net->peer->close(p->net);
  tt_comm_destroy(p->comm);
  p->net = NULL;
  p->comm = NULL;
}

static tutti_status part_with(parting *p, tutti_comm **out) {
  const size_t P = (size_t)p->exchanging;
  bool again = true;
  p->bids = malloc(P * sizeof *p->bids);
  p->parts = malloc(P * sizeof *p->parts);
  tutti_status status = TUTTI_OK;
  if (!p->bids || !p->parts || !p->list)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %zu ranks", P);
  while (!status && again) {
    status = prepare(p, &again);
    if (again) discard(p);
  }
  if (!status) status = attach(p);
  if (status) discard(p);
  if (p->given) p->given->close(p->given->self, 1);
  *out = p->comm;
  free(p->bids);
  free(p->parts);
  return status;
}

/* ---- by all ranks ---- */

tutti_status tutti_comm_split(tutti_comm *comm, int color, int key, tutti_comm **out) {
  static const char me[] = "tutti_comm_split";
  tutti_status status = tt_args_given(me, "comm", comm, "out", out);
  if (status) return status;
  parting p = {.old = comm,
               .who = me,
               .over = comm,
               .splits = comm->net != NULL,
               .color = color < 0 ? -1 : color,
               .key = key,
               .exchanging = comm->ranks,
               .list = malloc((size_t)comm->ranks * sizeof *p.list)};
  status = part_with(&p, out);
  free(p.list);
  return tt_ended(status);
}

tutti_status tutti_comm_dup(tutti_comm *comm, tutti_comm **out) {
  tutti_status status = tt_args_given("tutti_comm_dup", "comm", comm, "out", out);
  if (!status) status = tutti_comm_split(comm, 0, comm->rank, out);
  return status ? status
                : tt_comm_inherit_settings(*out, &comm->settings.plain, &comm->settings.override,
                                           comm->helpers);
}

/* ---- by the members alone ---- */

static const char among[] = "tutti_comm_among";

/* True if all of these ranks share memory. */
static bool are_near(const tutti_comm *old, const int *ranks, int n) {
  const tt_rank_info *w = old->info, *first = &w[ranks[0]];
  for (int i = 0; i < n; i++)
    if (w[ranks[i]].index < 0 || w[ranks[i]].placement.node != first->placement.node) return false;
  return true;
}

/* Checks the list of ranks. Sets *mine to the index of this rank in the list. */
static tutti_status check_list(const tutti_comm *old, const int *ranks, int n, int *mine) {
  *mine = -1;
  for (int i = 0; i < n; i++) {
    if (ranks[i] < 0 || ranks[i] >= old->ranks)
      return tt_fail(TUTTI_ERR_ARG, "%s: rank %d of %d", among, ranks[i], old->ranks);
    if (ranks[i] == old->rank) *mine = i;
  }
  return *mine >= 0
             ? TUTTI_OK
             : tt_fail(TUTTI_ERR_ARG, "%s: this rank, %d, is not in the list", among, old->rank);
}

tutti_status tutti_comm_among(tutti_comm *old, const int *ranks, int n, tutti_gather_fn *gather,
                              void *ctx, const tutti_net *net, tutti_comm **out) {
  parting p = {.old = old,
               .who = among,
               .gather = gather,
               .ctx = ctx,
               .given = net,
               .n = n,
               .exchanging = n};
  tutti_status status = tt_args_given(among, "old", old, "out", out);
  if (!status) *out = NULL;
  if (!status && (!ranks || !gather || n < 1))
    status = tt_fail(TUTTI_ERR_ARG, "%s: ranks or gather is NULL, or n is less than 1", among);
  if (!status) status = check_list(old, ranks, n, &p.mine);
  p.splits = !status && old->net && !net && !are_near(old, ranks, n);
  if (p.splits && !old->net->net->fresh_number(old->net))
    status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: over %s all ranks take part in a split", among,
                     old->net->traits.name);
  if (status) {
    if (net) net->close(net->self, 1);
    return status;
  }
  p.list = malloc((size_t)n * sizeof *p.list);
  if (p.list) memcpy(p.list, ranks, (size_t)n * sizeof *p.list);
  status = tt_ended(part_with(&p, out));
  free(p.list);
  return status;
}

/* ---- by survivors ---- */

tutti_status tt_comm_of_survivors(tutti_comm *old, const char *who, int *list, int n, int mine,
                                  const tutti_net *net, int helpers, tutti_comm **out) {
  tutti_comm *comm = *out = tt_comm_among(old, list, n, mine);
  parting p = {.old = old, .comm = comm, .who = who, .over = comm, .exchanging = n, .list = list};
  bool again = false;
  p.parts = comm ? malloc((size_t)n * sizeof *p.parts) : NULL;
  if (!p.parts) {
    net->close(net->self, 1);
    return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d ranks", n);
  }
  tutti_status status = tt_net_wire(net, &comm->net);
  comm->wire = comm->net;
  if (!status) status = tt_comm_set_pids(comm, comm->net);
  if (!status) status = tt_comm_configure(comm, &old->plans->setting.profile);
  if (!status) status = exchange_parts(&p, TUTTI_OK, &again);
  if (!status)
    status = tt_comm_build(comm, &(tt_comm_spec){.net = comm->net,
                                                 .profile = &old->plans->setting.profile,
                                                 .wisdom = p.parts[0].wisdom,
                                                 .settings = &old->settings.plain,
                                                 .override = &old->settings.override,
                                                 .helpers = helpers});
  free(p.parts);
  return status;
}
