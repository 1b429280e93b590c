/* among.c - a communicator of some ranks of another one, made by these ranks alone.
 *
 * Idea       As a split (split.c), but the ranks exchange what they need by the caller's all-gather, so the others, and calls
 *            in flight on the old communicator, are not disturbed. Its heap and its placements are those of the old one.
 * Cost       Two of the caller's all-gathers; two more each time another thread has taken the network's number first.
 * Invariant  Every rank goes through the same all-gathers, whatever fails in between, so all return the same result.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "build_comm.h"
#include "tracing.h"
#include "tutti_net.h"

typedef struct opening { /* what a rank brings first */
  uint64_t id;           /* the first rank's is that of the network */
  uint64_t fresh;        /* a candidate number for a network */
} opening;

typedef struct among { /* one call, as seen by one rank */
  tutti_comm *old, *comm;
  const int *list;
  int n, mine;
  tutti_gather_fn *gather;
  void *ctx;
  const tutti_net *given; /* NULL, or taken over already */
  bool splits;            /* the old one's network makes another one */
  opening *openings;
  tt_part *all;
  tt_wire *net;
} among;

static const char me[] = "tutti_comm_among";

static opening describe_opening(const among *a) {
  const tt_wire *net = a->old->net;
  return (opening){.id = tt_random() | 1, .fresh = a->splits ? net->net->fresh_number(net) : 0};
}

static tutti_status open_wire(among *a, bool *taken) {
  tutti_net made;
  tt_split s = {.key = a->mine, .members = a->list, .n = a->n, .id = a->openings[0].id};
  tutti_status status = TUTTI_OK;
  *taken = false;
  if (a->given) {
    made = *a->given;
    made.id = s.id;
    a->given = NULL;
  } else if (a->splits) {
    for (int i = 0; i < a->n; i++) s.number = (uint32_t)tt_max(s.number, a->openings[i].fresh);
    status = a->old->net->net->split(a->old->net, &s, &made, taken);
    if (status || *taken) return status;
  } else {
    return TUTTI_OK;
  }
  status = tt_net_wire(&made, &a->net);
  if (a->net && a->old->net) a->net->net->share_proofs(a->net, a->old->net->proofs, true);
  return status || !a->net || !a->comm ? status : tt_comm_set_pids(a->comm, a->net);
}

/* *again: the network's number was taken. */
static tutti_status prepare_among(among *a, bool *again) {
  const opening mine = describe_opening(a);
  tt_exchange x = {.n = a->n, .gather = a->gather, .ctx = a->ctx, .all = a->all};
  *again = false;
  if (a->gather(a->ctx, &mine, sizeof mine, a->openings))
    return tt_fail(TUTTI_ERR_SYSTEM, "%s: the gather failed", me);
  a->comm = tt_comm_among(a->old, a->list, a->n, a->mine);
  tutti_status status =
      a->comm ? TUTTI_OK
              : tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", a->n);
  const tutti_status made = open_wire(a, &x.taken);
  if (!status) status = made;
  x.has_net = a->net != NULL;
  status = tt_comm_exchange(a->comm, me, status, &x);
  *again = x.taken;
  return status;
}

static tutti_status attach_among(among *a) {
  const tt_comm_spec spec = {
      .net = a->net, .profile = &a->old->plans->setting.profile, .wisdom = a->all[0].wisdom};
  tutti_status status = tt_comm_build(a->comm, &spec);
  a->net = NULL;
  if (!status) tt_trace_child(a->comm, a->old, (uint32_t)a->openings[0].id, 0);
  return a->comm->wire ? tt_break_if_memory(a->comm, status) : status;
}

static void discard_among(among *a) {
  if (a->net) a->net->peer->close(a->net);
  tt_comm_destroy(a->comm);
  a->net = NULL;
  a->comm = NULL;
}

static tutti_status make_among(among *a) {
  const size_t n = (size_t)a->n;
  bool again = true;
  a->openings = malloc(n * sizeof *a->openings);
  a->all = malloc(n * sizeof *a->all);
  tutti_status status = TUTTI_OK;
  if (!a->openings || !a->all)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a communicator of %d ranks", a->n);
  while (!status && again) {
    status = prepare_among(a, &again);
    if (again) discard_among(a);
  }
  if (!status) status = attach_among(a);
  if (status) discard_among(a);
  free(a->openings);
  free(a->all);
  return status;
}

/* Do all of them share memory? */
static bool are_near(const tutti_comm *old, const int *ranks, int n) {
  const tt_rank_info *w = old->info, *first = &w[ranks[0]];
  for (int i = 0; i < n; i++)
    if (w[ranks[i]].index < 0 || w[ranks[i]].placement.node != first->placement.node) return false;
  return true;
}

/* *mine: this rank's place in the list; -1: it has none. */
static tutti_status check_list_of(const tutti_comm *old, const int *ranks, int n, int *mine) {
  *mine = -1;
  for (int i = 0; i < n; i++) {
    if (ranks[i] < 0 || ranks[i] >= old->ranks)
      return tt_fail(TUTTI_ERR_ARG, "%s: rank %d of %d", me, ranks[i], old->ranks);
    if (ranks[i] == old->rank) *mine = i;
  }
  return *mine >= 0
             ? TUTTI_OK
             : tt_fail(TUTTI_ERR_ARG, "%s: this rank, %d, is not in the list", me, old->rank);
}

tutti_status tutti_comm_among(tutti_comm *old, const int *ranks, int n, tutti_gather_fn *gather,
                              void *ctx, const tutti_net *net, tutti_comm **out) {
  among a = {.old = old, .list = ranks, .n = n, .gather = gather, .ctx = ctx, .given = net};
  tutti_status status = tt_args_given(me, "old", old, "out", out);
  if (!status) *out = NULL;
  if (!status && (!ranks || !gather || n < 1))
    status = tt_fail(TUTTI_ERR_ARG, "%s: ranks or gather is NULL, or n is less than 1", me);
  if (!status) status = check_list_of(old, ranks, n, &a.mine);
  a.splits = !status && old->net && !net && !are_near(old, ranks, n);
  if (a.splits && !old->net->net->fresh_number(old->net))
    status = tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: over %s all ranks take part in a split", me,
                     old->net->traits.name);
  if (!status) status = tt_ended(make_among(&a));
  if (a.given) a.given->close(a.given->self, 1);
  if (!status) *out = a.comm;
  return status;
}
