/* way_price.c - estimates a tree over the machine's levels on many ranks.
 *
 * Idea       In a tree over levels (tt_algo_leaders) a rank waits for one other rank at a time. It is therefore enough
 *            to simulate the longest paths between the root and a rank: all messages of the ranks on these paths, and
 *            the messages that other ranks exchange with them. On each level, a long path leads to the member that is
 *            served last, to the deepest one, or to the last one.
 * Cost       A few hundred schedules, instead of those of all ranks.
 * Limit      In a reduce, ranks off the paths are assumed to be ready (test_uneven_colls.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "candidates.h"

enum { MOST_ENDS = 81, MOST_ON_WAYS = 2048 };

bool tt_ways_apply(const tt_pricing *p) {
  const tt_chooser *c = p->c;
  return c->levels && p->ask.ranks > TT_MOST_PLAYED && tt_coll_rooted(p->ask.coll) &&
         !c->setting.data && c->setting.ranks_per_core <= 0 &&
         tt_algo_leaders(&p->ask, &c->model.tree);
}

typedef struct ways {
  tt_ask ask;
  tt_sched **all; /* first those on the paths, later also the others */
  int *rank, n;   /* the ranks on the paths */
} ways;

static tutti_status add_rank(ways *w, int rank) {
  if (w->all[rank]) return TUTTI_OK;
  if (w->n == MOST_ON_WAYS)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s on %d ranks: its paths are too long to simulate",
                   w->ask.plan->text, w->ask.ranks);
  w->ask.rank = rank;
  const tutti_status status = tt_algo_build(&w->ask, &w->all[rank]);
  if (!status) w->rank[w->n++] = rank;
  return status;
}

/* Returns a group member where a long path through the group ends. The group has n members. */
static int member_at_end(int which, int n) {
  const int deepest = (1 << tt_floor_log2(n)) - 1;
  return which == 0 ? n > 1 : which == 1 ? deepest : n - 1;
}

/* Adds one rank for each group member where a long path ends, on `level` and on all levels inside it. */
static tutti_status add_ends(ways *w, const tt_tree *t, int level, int domain, int *left) {
  if (level == t->levels) return (*left)-- > 0 ? add_rank(w, domain) : TUTTI_OK;
  const int first = tt_tree_first(t, level, domain), n = tt_tree_count(t, level, domain);
  tutti_status status = TUTTI_OK;
  for (int which = 0; which < (n > 2 ? 3 : 1) && !status; which++)
    status = add_ends(w, t, level + 1, first + member_at_end(which, n), left);
  return status;
}

/* Adds the remaining ranks on the paths. In a broadcast, they are the ranks that send to ranks on the paths. In a reduce,
 * they are the ranks that receive from ranks on the paths. */
static tutti_status add_ways(ways *w) {
  const tt_kind towards_root = w->ask.coll == TUTTI_BROADCAST ? TT_RECV : TT_SEND;
  tutti_status status = TUTTI_OK;
  for (int at = 0; at < w->n && !status; at++) {
    const tt_sched *s = w->all[w->rank[at]];
    for (uint32_t i = 0; i < s->nsteps && !status; i++)
      for (int k = 0; s->steps[i].kind == towards_root && k < s->steps[i].peers.count && !status;
           k++)
        status = add_rank(w, tt_peer_rank(&s->steps[i].peers, k, s->ranks));
  }
  return status;
}

/* Adds the messages that ranks on the paths exchange with other ranks. */
static tutti_status add_others(ways *w, tt_builder *others) {
  tutti_status status = TUTTI_OK;
  for (int at = 0; at < w->n; at++) {
    const tt_sched *s = w->all[w->rank[at]];
    for (uint32_t i = 0; i < s->nsteps; i++) {
      const tt_step *step = &s->steps[i];
      for (int k = 0; !tt_step_local(step) && k < step->peers.count; k++) {
        const int peer = tt_peer_rank(&step->peers, k, s->ranks);
        tt_builder *b = &others[peer];
        if (w->all[peer]) continue;
        if (!b->s)
          tt_build_begin(b, w->ask.plan->text, s->coll, s->ranks, peer, s->root, false, s->blocks);
        tt_span cargo = *tt_step_cargo(step);
        cargo.buf = step->kind == TT_SEND ? TT_DST : TT_SRC;
        if (step->kind == TT_SEND)
          tt_recv(b, s->rank, cargo);
        else
          tt_send(b, s->rank, cargo);
      }
    }
  }
  for (int r = 0; r < w->ask.ranks; r++) {
    if (!others[r].s) continue;
    w->all[r] = tt_build_end(&others[r]);
    if (!w->all[r]) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an estimate");
  }
  return status;
}

/* Simulates the schedules. All ranks without a schedule share an empty one, because their work does not matter. */
static tutti_status simulate_ways(ways *w, const tt_cost_model *model, tt_sim **sim) {
  tt_builder b;
  tt_build_begin(&b, w->ask.plan->text, w->ask.coll, w->ask.ranks, 0, 0, false, 1);
  tt_sched *nothing = tt_build_end(&b);
  for (int r = 0; r < w->ask.ranks && nothing; r++)
    if (!w->all[r]) w->all[r] = nothing;
  if (nothing) *sim = tt_sim_new(w->all, w->ask.ranks, false, model);
  for (int r = 0; r < w->ask.ranks; r++)
    if (w->all[r] == nothing) w->all[r] = NULL;
  tt_sched_free(nothing);
  return *sim ? TUTTI_OK
              : tt_fail(TUTTI_ERR_MEMORY, "no estimate of %s: out of memory", w->ask.plan->text);
}

tutti_status tt_ways_sim(const tt_pricing *p, uint64_t *size, tt_sim **sim) {
  const size_t P = (size_t)p->ask.ranks;
  ways w = {.ask = p->ask};
  *size = UINT64_MAX;
  tt_builder *others = calloc(P, sizeof *others);
  int left = MOST_ENDS;
  tutti_status status = TUTTI_OK;
  w.ask.root = 0; /* any rank serves as the root */
  w.all = calloc(P, sizeof *w.all);
  w.rank = malloc(MOST_ON_WAYS * sizeof *w.rank);
  *sim = NULL;
  if (!others || !w.all || !w.rank)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an estimate");
  if (!status) status = add_ends(&w, &p->c->model.tree, 0, 0, &left);
  if (!status) status = add_ways(&w);
  if (!status) status = add_others(&w, others);
  if (!status) status = simulate_ways(&w, &p->c->model, sim);
  if (w.all) tt_sched_free_all(w.all, p->ask.ranks);
  free(w.rank);
  free(others);
  return status;
}
