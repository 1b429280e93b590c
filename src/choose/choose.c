/* choose.c - prices the table once per collective, and picks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove.h"

enum { MOST = 64 };
typedef enum order { UNKNOWN, KEPT, LOST } order;

typedef struct candidate {
  bool possible;
  tt_line line;
  order order;
} candidate;

struct tt_chooser {
  int ranks;
  tt_profile profile;
  bool priced[TUTTI_COLL_COUNT];
  candidate candidates[TUTTI_COLL_COUNT][MOST];
  char refusal[256];
};

tt_chooser *tt_chooser_new(int ranks, double crowd) {
  tt_chooser *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->ranks = ranks;
  c->profile = tt_profile_shm(ranks, crowd);
  return c;
}

void tt_chooser_free(tt_chooser *c) {
  free(c);
}

static bool price_of(const tt_chooser *c, const char *name, tutti_coll coll, tt_line *line) {
  tt_ask ask = {.coll = coll, .ranks = c->ranks};
  tt_sched **all;
  if (tt_algo_build_all(name, &ask, &all)) return false;
  bool ok = tt_price(all, c->ranks, &c->profile, line);
  tt_sched_free_all(all, c->ranks);
  return ok;
}

static void price_all(tt_chooser *c, tutti_coll coll) {
  for (int i = 0; i < MOST && tt_algo_at(i); i++)
    c->candidates[coll][i].possible =
        price_of(c, tt_algo_at(i)->name, coll, &c->candidates[coll][i].line);
  c->priced[coll] = true;
}

bool tt_keeps_rank_order(const char *name, tutti_coll coll, int ranks, int root) {
  bool kept = true;
  for (int in_place = 0; in_place < 2 && kept; in_place++) {
    tt_ask ask = {.coll = coll, .ranks = ranks, .root = root, .in_place = in_place};
    tutti_report report = {.size = sizeof report};
    tt_sched **all;
    if (tt_algo_build_all(name, &ask, &all)) return false;
    kept = !tt_prove(all, ranks, &report) && report.proven && report.rank_order;
    tt_sched_free_all(all, ranks);
  }
  return kept;
}

static bool admissible(tt_chooser *c, tutti_coll coll, int i, bool commutative, int root) {
  candidate *x = &c->candidates[coll][i];
  if (!x->possible || commutative) return x->possible;
  if (x->order == UNKNOWN)
    x->order = tt_keeps_rank_order(tt_algo_at(i)->name, coll, c->ranks, root) ? KEPT : LOST;
  return x->order == KEPT;
}

static bool try_forced(tt_chooser *c, tutti_coll coll, bool commutative, int root,
                       const char *forced) {
  tt_ask ask = {.coll = coll, .ranks = c->ranks, .root = root};
  tt_sched *s;
  if (tt_algo_build(forced, &ask, &s)) {
    snprintf(c->refusal, sizeof c->refusal, "%s", tutti_error());
    return false;
  }
  tt_sched_free(s);
  if (commutative || tt_keeps_rank_order(forced, coll, c->ranks, root)) return true;
  snprintf(c->refusal, sizeof c->refusal,
           "%s can not do a non-commutative op: it does not keep the ranks' order", forced);
  return false;
}

tutti_status tt_choose(tt_chooser *c, tutti_coll coll, uint64_t bytes, bool commutative, int root,
                       const char *forced, const char **name, const char **refusal) {
  *refusal = NULL;
  if (forced && *forced) {
    *name = forced;
    if (try_forced(c, coll, commutative, root, forced)) return TUTTI_OK;
    *refusal = c->refusal;
  }
  if (!c->priced[coll]) price_all(c, coll);
  int best = -1;
  double least = 0;
  for (int i = 0; i < MOST && tt_algo_at(i); i++) {
    if (!admissible(c, coll, i, commutative, root)) continue;
    double price = tt_line_at(c->candidates[coll][i].line, (double)bytes);
    if (best < 0 || price < least) {
      best = i;
      least = price;
    }
  }
  if (best < 0)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "no plan can do %s on %d ranks%s", tutti_coll_name(coll),
                   c->ranks, commutative ? "" : " with an op that does not commute");
  *name = tt_algo_at(best)->name;
  return TUTTI_OK;
}
