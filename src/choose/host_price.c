/* host_price.c - estimates for hosts whose links differ.
 *
 * Idea       Symmetric ranks then finish at different times, so the estimate simulates all ranks. If they have too many
 *            messages, the estimate ignores the parameters of hosts. It is then raised to the time for which the ports,
 *            the processor or the link of a host that differs are busy (bound.h).
 * Cost       Builds all ranks' schedules. A choice among seven hosts takes about 25 ms.
 * Limit      In that second case, fast links bring no gain, and delays by several slow links do not add up.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "candidates.h"

enum { MOST_BY_HOSTS = 1 << 14 }; /* messages of all ranks */

bool tt_priced_by_hosts(const tt_pricing *p) {
  tt_sched *first;
  tt_ask one = p->ask;
  double sends = 0;
  one.rank = 0;
  if (!p->c->model.hosts || p->ask.ranks > TT_MOST_PLAYED || tt_algo_build(&one, &first))
    return false;
  for (uint32_t i = 0; i < first->nsteps; i++)
    if (first->steps[i].kind == TT_SEND) sends += first->steps[i].peers.count;
  tt_sched_free(first);
  return sends * p->ask.ranks * p->slices <= MOST_BY_HOSTS;
}

int tt_hosts_some(const tt_cost_model *model, int *ranks, int most) {
  const tt_hosts *h = model->hosts;
  bool seen[UINT8_MAX + 1] = {true};
  int n = 0;
  for (int r = 0; h && r < model->ranks && n < most; r++) {
    if (seen[h->kind[r]]) continue;
    seen[h->kind[r]] = true;
    ranks[n++] = r;
  }
  return n;
}

/* Adds the lower bound for the link of the host whose first rank is `first`. Fails if a schedule cannot be built. */
static tutti_status bound_link(const tt_chooser *c, tt_ask ask, int first, tt_bound *bound) {
  enum { MOST_OF_HOST = 64 };
  const tt_cost_model *model = &c->model;
  int n = 1;
  for (int l = model->hosts->level + 1; l < model->levels; l++) n *= model->tree.level[l].each;
  if (!model->tree.even || model->position || n == 1 || n > MOST_OF_HOST || first % n)
    return TUTTI_OK;
  tt_sched **all = calloc((size_t)ask.ranks, sizeof *all);
  tutti_status status = all ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for an estimate");
  for (ask.rank = first; ask.rank < first + n && !status; ask.rank++)
    status = tt_algo_build(&ask, &all[ask.rank]);
  if (!status) tt_bound_domain(bound, all, first, n, model, model->hosts->level);
  if (all) tt_sched_free_all(all, ask.ranks);
  return status;
}

tutti_status tt_hosts_raise(const tt_pricing *p, tt_curve *curve) {
  const tt_chooser *c = p->c;
  const tt_ask *ask = &p->ask;
  const bool alike = tt_algo_uniform(ask, c->levels ? &c->model.tree : NULL);
  int some[TT_NAMED_HOSTS];
  const int n = tt_hosts_some(&c->model, some, TT_NAMED_HOSTS);
  tt_bound bound = {.n = 0};
  tutti_status status = TUTTI_OK;
  for (int i = 0; i < n && !status; i++) {
    tt_ask one = *ask;
    tt_sched *s;
    one.rank = some[i];
    status = tt_algo_build(&one, &s);
    if (status) break;
    tt_bound_rank(&bound, s, &c->model, alike);
    tt_sched_free(s);
    if (!alike) status = bound_link(c, *ask, some[i], &bound);
  }
  tt_curve_raise(curve, &bound, p->slices);
  return status;
}
