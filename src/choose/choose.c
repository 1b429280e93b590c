/* choose.c - prices the table once per collective, and picks: the cheapest first, and
 * the next one if the prover does not find in it what the op needs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove.h"

enum { MOST = 64 };

/* What the prover was asked about a plan, and what it found: one each for every root,
 * or one, where there is no root. */
typedef struct finding {
  unsigned asked, met; /* of tt_need */
} finding;

typedef struct candidate {
  bool possible;
  tt_line line;
  finding *found;
} candidate;

struct tt_chooser {
  int ranks, data;
  tt_profile profile[3]; /* of steps, of loops, of loops that copy nothing */
  tt_line lent[2];       /* one-shot that copies, two-shot that does not */
  bool lent_priced;
  tt_has_loop_fn *has_loop;
  bool priced[TUTTI_COLL_COUNT];
  candidate candidates[TUTTI_COLL_COUNT][MOST];
  char forced[TT_NAME]; /* the name that these are about */
  finding *forced_found[TUTTI_COLL_COUNT];
  char refusal[400];
};

tt_chooser *tt_chooser_new(int ranks, int data, double crowd, tt_has_loop_fn *has_loop) {
  tt_chooser *c = calloc(1, sizeof *c);
  if (!c) return NULL;
  c->ranks = ranks;
  c->data = data;
  c->has_loop = has_loop;
  for (int k = 0; k < 3; k++) c->profile[k] = tt_profile_shm(ranks, crowd, k > 0);
  c->profile[2].lent = true;
  return c;
}

static void forget_forced(tt_chooser *c) {
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++) {
    free(c->forced_found[coll]);
    c->forced_found[coll] = NULL;
  }
}

void tt_chooser_free(tt_chooser *c) {
  if (!c) return;
  forget_forced(c);
  for (int coll = 0; coll < TUTTI_COLL_COUNT; coll++)
    for (int i = 0; i < MOST; i++) free(c->candidates[coll][i].found);
  free(c);
}

unsigned tt_needs_of(tutti_coll coll, tutti_type type, tutti_op op) {
  if (!tt_coll_reduces(coll)) return 0;
  return (tt_op_commutative(op) ? 0 : TT_NEED_ORDER) | (tt_op_rounds(type, op) ? TT_NEED_SAME : 0);
}

static tt_ask ask_of(const tt_chooser *c, tutti_coll coll, int root) {
  return (tt_ask){.coll = coll, .ranks = c->ranks, .data = c->data, .root = root};
}

static bool price_of(const tt_chooser *c, const char *name, tutti_coll coll, bool lent,
                     tt_line *line) {
  tt_ask ask = ask_of(c, coll, 0);
  tt_sched **all;
  if (tt_algo_build_all(name, &ask, &all)) return false;
  bool ok = tt_price(all, c->ranks, &c->profile[lent ? 2 : c->has_loop(all, c->ranks)], line);
  tt_sched_free_all(all, c->ranks);
  return ok;
}

bool tt_two_shot_if_lent(tt_chooser *c, uint64_t bytes) {
  if (!c->lent_priced)
    c->lent_priced = price_of(c, "one-shot", TUTTI_ALLREDUCE, false, &c->lent[0]) &&
                     price_of(c, "two-shot", TUTTI_ALLREDUCE, true, &c->lent[1]);
  return c->lent_priced &&
         tt_line_at(c->lent[1], (double)bytes) < tt_line_at(c->lent[0], (double)bytes);
}

static void price_all(tt_chooser *c, tutti_coll coll) {
  for (int i = 0; i < MOST && tt_algo_at(i); i++)
    c->candidates[coll][i].possible =
        tt_algo_at(i)->candidate &&
        price_of(c, tt_algo_at(i)->name, coll, false, &c->candidates[coll][i].line);
  c->priced[coll] = true;
}

/* What of `needs` these schedules meet. Where every block is summed up in one place,
 * the bits are the same everywhere: that is seen at a glance, so look there first. */
static unsigned met_by(tt_sched *const *all, int ranks, unsigned needs) {
  if (needs == TT_NEED_SAME && tt_summed_once(all, ranks)) return needs;
  tutti_report report = {.size = sizeof report};
  if (tt_prove(all, ranks, &report) || !report.proven) return 0;
  return needs &
         ((report.rank_order ? TT_NEED_ORDER : 0u) | (report.same_grouping ? TT_NEED_SAME : 0u));
}

unsigned tt_meets(const char *name, const tt_ask *asked, unsigned needs) {
  tt_ask ask = *asked;
  for (int in_place = 0; in_place < 2 && needs; in_place++) {
    tt_sched **all;
    ask.in_place = in_place;
    if (tt_algo_build_all(name, &ask, &all)) return 0;
    needs = met_by(all, ask.ranks, needs);
    tt_sched_free_all(all, ask.ranks);
  }
  return needs;
}

/* What of `needs` the plan does not meet. Each question is asked once: the prover sees
 * all ranks, which takes time. */
static unsigned lacking(const tt_chooser *c, finding **found, const char *name, tutti_coll coll,
                        unsigned needs, int root) {
  const bool rooted = tt_coll_rooted(coll);
  const tt_ask ask = ask_of(c, coll, root);
  if (!*found) *found = calloc(rooted ? (size_t)c->ranks : 1, sizeof **found);
  if (!*found) return needs & ~tt_meets(name, &ask, needs);
  finding *here = &(*found)[rooted ? root : 0];
  unsigned open = needs & ~here->asked;
  if (open) here->met |= tt_meets(name, &ask, open);
  here->asked |= open;
  return needs & ~here->met;
}

static bool try_forced(tt_chooser *c, tutti_coll coll, unsigned needs, int root,
                       const char *forced) {
  tt_ask ask = ask_of(c, coll, root);
  tt_sched *s;
  if (tt_algo_build(forced, &ask, &s)) {
    snprintf(c->refusal, sizeof c->refusal, "%s", tutti_error());
    return false;
  }
  tt_sched_free(s);
  if (strcmp(c->forced, forced) != 0) {
    snprintf(c->forced, sizeof c->forced, "%s", forced);
    forget_forced(c);
  }
  unsigned lacks = lacking(c, &c->forced_found[coll], forced, coll, needs, root);
  if (lacks & TT_NEED_ORDER)
    snprintf(c->refusal, sizeof c->refusal,
             "%s can not do a non-commutative op: it does not keep the ranks' order", forced);
  else if (lacks)
    snprintf(c->refusal, sizeof c->refusal,
             "%s can not do an op that rounds: it groups the operands differently on some ranks, "
             "so their last bits would differ; integers, min and max it can do",
             forced);
  return !lacks;
}

/* The cheapest candidate but those in `passed`; -1 if there is none. */
static int cheapest(const tt_chooser *c, tutti_coll coll, uint64_t bytes, const bool *passed) {
  int best = -1;
  double least = 0;
  for (int i = 0; i < MOST && tt_algo_at(i); i++) {
    const candidate *x = &c->candidates[coll][i];
    double price = tt_line_at(x->line, (double)bytes);
    if (passed[i] || !x->possible || (best >= 0 && price >= least)) continue;
    best = i;
    least = price;
  }
  return best;
}

double tt_seconds_of(tt_chooser *c, tutti_coll coll, uint64_t bytes) {
  const bool passed[MOST] = {false};
  if (!c->priced[coll]) price_all(c, coll);
  const int best = cheapest(c, coll, bytes, passed);
  return best < 0 ? 0 : tt_line_at(c->candidates[coll][best].line, (double)bytes);
}

double tt_seconds_to_pack(const tt_chooser *c) {
  return 4 * c->profile[0].beta; /* read and written, twice */
}

tutti_status tt_choose(tt_chooser *c, tutti_coll coll, uint64_t bytes, unsigned needs, int root,
                       const char *forced, const char **name, const char **refusal) {
  bool passed[MOST] = {false};
  int best;
  *refusal = NULL;
  if (forced && *forced) {
    *name = forced;
    if (try_forced(c, coll, needs, root, forced)) return TUTTI_OK;
    *refusal = c->refusal;
  }
  if (!c->priced[coll]) price_all(c, coll);
  while ((best = cheapest(c, coll, bytes, passed)) >= 0) {
    *name = tt_algo_at(best)->name;
    if (!lacking(c, &c->candidates[coll][best].found, *name, coll, needs, root)) return TUTTI_OK;
    passed[best] = true;
  }
  char helpers[60] = "";
  if (c->data < c->ranks)
    snprintf(helpers, sizeof helpers, ", %d of which only help (tutti_comm_set_helpers)",
             c->ranks - c->data);
  return tt_fail(TUTTI_ERR_UNSUPPORTED, "no plan can do %s on %d ranks%s%s", tutti_coll_name(coll),
                 c->ranks, helpers,
                 needs & TT_NEED_ORDER ? ", with an op that does not commute" : "");
}
