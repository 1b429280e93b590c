/* registry.c - the table of algorithms: finds one by its name and has it build.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo.h"

static const tt_algo *const families[] = {
#define TT_ALGO(family) &tt_##family##_algo,
#include "algos.def"
#undef TT_ALGO
};
enum { FAMILIES = sizeof families / sizeof *families };

/* ---- callbacks that several families share ---- */

uint32_t tt_one_block(const tt_ask *ask) {
  (void)ask;
  return 1;
}

uint32_t tt_block_per_rank(const tt_ask *ask) {
  return (uint32_t)ask->ranks;
}

bool tt_uniform_without_levels(const tt_ask *ask, const tt_tree *tree) {
  (void)ask;
  return !tree;
}

/* Returns true only if no rank has to be folded into another. */
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree) {
  return !tree && (ask->ranks & (ask->ranks - 1)) == 0;
}

/* ---- the list, and what families propose ---- */

/* Returns the i-th entry, counted over all families, or NULL past the last entry. */
static const tt_entry *entry_at(int i) {
  for (int f = 0; f < FAMILIES && i >= 0; f++)
    for (int k = 0; k < TT_ENTRIES && families[f]->entries[k].name; k++)
      if (i-- == 0) return &families[f]->entries[k];
  return NULL;
}

const char *tutti_algo_name(int i, const char **sentence) {
  const tt_entry *entry = entry_at(i);
  if (sentence) *sentence = entry ? entry->sentence : NULL;
  return entry ? entry->name : NULL;
}

const char *tutti_algo_source(int i) {
  const tt_entry *entry = entry_at(i);
  return entry ? entry->source : NULL;
}

/* Appends the parameters of a list's i-th proposal. Returns false past the last proposal for these ranks and levels. */
static bool proposed(const tt_suggestion *list, int ranks, const char *levels, int i,
                     tt_text *params) {
  if (i >= TT_ENTRIES || !list[i].params || ranks < list[i].ranks) return false;
  const char *head = list[i].params, *mark = strstr(head, "LEVELS");
  const int before = mark ? (int)(mark - head) : (int)strlen(head);
  tt_text_add(params, "%.*s%s%s", before, head, mark ? levels : "",
              mark ? mark + strlen("LEVELS") : "");
  return !mark || *levels;
}

static bool plan_of(const tt_algo *algo, int ranks, const char *levels, int i, tt_text *params) {
  return algo->plans ? algo->plans(ranks, levels, i, params)
                     : proposed(algo->plan, ranks, levels, i, params);
}

/* Appends the i-th plan that a family proposes, or returns false past the last plan. */
static bool add_plan(const tt_algo *algo, int ranks, const char *levels, int i, tt_text *name) {
  const size_t length = name->length;
  tt_text_add(name, "%s(", algo->name);
  const bool is = plan_of(algo, ranks, levels, i, name);
  if (is)
    tt_text_add(name, ")");
  else
    name->length = length;
  return is;
}

bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, tt_text *name) {
  const tt_entry *entry;
  while ((entry = entry_at(at->entry))) {
    at->entry++;
    if (entry->listing != TT_CANDIDATE) continue;
    tt_text_add(name, "%s", entry->name);
    return true;
  }
  for (; at->family < FAMILIES; at->family++, at->proposal = 0)
    if (add_plan(families[at->family], ranks, levels, at->proposal, name)) {
      at->proposal++;
      return true;
    }
  return false;
}

/* Appends the next plan that the family offers as a stage. This is the stage at index at->entry or, if that is
 * TT_PROPOSED, the next plan that the family proposes. Returns false past the last plan. */
static bool next_use(const tt_algo *algo, unsigned where, int ranks, tt_stage_walk *at,
                     tt_text *name) {
  for (; at->entry < TT_STAGE_USES && algo->stage[at->entry].params; at->entry++) {
    const tt_stage_use *use = &algo->stage[at->entry];
    if (where && !(use->where & where)) continue;
    if (strcmp(use->params, TT_PROPOSED) == 0) {
      if (add_plan(algo, ranks, "", at->proposal, name)) return ++at->proposal;
      at->proposal = 0;
      continue;
    }
    tt_text_add(name, *use->params ? "%s(%s)" : "%s%s", algo->name, use->params);
    return ++at->entry;
  }
  return false;
}

bool tt_stage_next(unsigned where, int ranks, tt_stage_walk *at, tt_text *name) {
  for (; at->family < FAMILIES; at->family++, at->entry = at->proposal = 0)
    if (next_use(families[at->family], where, ranks, at, name)) return true;
  return false;
}

static size_t family_length(const char *name) {
  return strcspn(name, "(");
}

/* Common names of some algorithms. */
static const struct {
  const char *name, *full;
} shorts[] = {{"ring", "fold(ring)"},
              {"halving", "fold(halving)"},
              {"latency", "generalized(latency)"},
              {"recursive-doubling", "doubling"}};

const char *tt_algo_full_name(const char *name) {
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    if (strcmp(shorts[i].name, name) == 0) return shorts[i].full;
  return name;
}

const tt_algo *tt_algo_find(const char *name, size_t length) {
  for (int f = 0; f < FAMILIES; f++)
    if (strlen(families[f]->name) == length && strncmp(families[f]->name, name, length) == 0)
      return families[f];
  return NULL;
}

/* Returns the edit distance between the names of two families. Swapping two neighbouring characters counts as one edit.
 * Only the first MOST_HEADERS characters are compared. */
enum { MOST_HEADERS = 40 };
static int edits(const char *a, const char *b) {
  const int n = (int)tt_min(family_length(a), MOST_HEADERS);
  const int m = (int)tt_min(family_length(b), MOST_HEADERS);
  int d[MOST_HEADERS + 1][MOST_HEADERS + 1];
  for (int i = 0; i <= n; i++)
    for (int j = 0; j <= m; j++) {
      d[i][j] = i ? j ? d[i - 1][j - 1] + (a[i - 1] != b[j - 1]) : i : j;
      if (!i || !j) continue;
      d[i][j] = (int)tt_min(d[i][j], tt_min(d[i - 1][j], d[i][j - 1]) + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = (int)tt_min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[n][m];
}

tutti_status tt_algo_unknown(const char *name) {
  const char *best = NULL;
  int least = 3;
  for (int i = 0; i < FAMILIES + (int)(sizeof shorts / sizeof *shorts); i++) {
    const char *other = i < FAMILIES ? families[i]->entries[0].name : shorts[i - FAMILIES].name;
    const int e = edits(name, other);
    if (e < least && e < (int)family_length(other)) best = other, least = e;
  }
  if (!best)
    return tt_fail(TUTTI_ERR_ARG, "no algorithm is called '%.60s'; `tutti plan list` has them all",
                   name);
  return tt_fail(TUTTI_ERR_ARG, "no algorithm is called '%.60s'; did you mean '%s'?", name, best);
}

static bool does(const tt_algo *algo, tutti_coll coll) {
  return algo->does >> coll & 1;
}

/* Formats a list of algorithms, such as "naive, fold and tree do that". A longer list ends like "and 9 others do that". */
static const char *not_done(tutti_coll coll) {
  enum { NAMED = 5 };
  size_t size, n = 0;
  char *text = tt_thread_text(&size);
  int all = 0, said = 0;
  for (int f = 0; f < FAMILIES; f++) all += does(families[f], coll);
  const int most = all > NAMED ? NAMED - 1 : all;
  for (int f = 0; f < FAMILIES && said < most && n < size; f++) {
    if (!does(families[f], coll)) continue;
    const char *joint = said == 0 ? "" : said + 1 == all ? " and " : ", ";
    n += (size_t)snprintf(text + n, size - n, "%s%s", joint, families[f]->name);
    said++;
  }
  if (n < size && said < all)
    n += (size_t)snprintf(text + n, size - n, " and %d others", all - said);
  if (n < size) snprintf(text + n, size - n, all == 1 ? " does that" : " do that");
  return text;
}

const char tt_no_memory[] = "out of memory";

/* Returns NULL, or the reason for the refusal. */
static const char *refusal(const tt_ask *ask) {
  const tt_algo *algo = ask->plan->family;
  if (!does(algo, ask->coll)) return not_done(ask->coll);
  return algo->refuse ? algo->refuse(ask) : NULL;
}

bool tt_algo_does(const tt_plan_spec *plan, tutti_coll coll) {
  return does(plan->family, coll);
}

static void build_alone(tt_builder *b) {
  uint32_t lo, hi;
  tt_coll_dst(b->s, &lo, &hi);
  if (lo == hi) return;
  tt_copy(b, tt_block(TT_DST, 0), tt_block(TT_SRC, 0));
  if (tt_coll_reduces(b->s->coll)) tt_mark_completes(b);
}

/* Checks that the schedule takes data from as many ranks as requested. If it does not, frees the schedule. */
static tutti_status fits_data(const tt_ask *ask, tt_sched **sched) {
  const int takes = (*sched)->data;
  if (!ask->data || ask->data == takes) return TUTTI_OK;
  tutti_status status =
      tt_fail(TUTTI_ERR_UNSUPPORTED, "%s takes data from %d of %d ranks; here %d bring data",
              (*sched)->name, takes, ask->ranks, ask->data);
  tt_sched_free(*sched);
  *sched = NULL;
  return status;
}

/* Builds the schedule. The caller must have checked that the algorithm does not refuse. */
static void build(const tt_ask *ask, tt_builder *b) {
  const tt_algo *algo = ask->plan->family;
  tt_build_begin(b, ask->plan->text, ask->coll, ask->ranks, ask->rank, ask->root, ask->in_place,
                 ask->ranks == 1 ? 1 : algo->blocks(ask));
  if (!b->status && ask->ranks == 1)
    build_alone(b);
  else if (!b->status)
    algo->build(b, ask);
}

/* Builds the schedule and returns NULL, or returns the reason why the algorithm cannot build it. */
static const char *build_or_refuse(const tt_ask *ask, tt_sched **sched) {
  const char *reason = refusal(ask);
  tt_builder b = {.s = NULL};
  *sched = NULL;
  if (reason) return reason;
  build(ask, &b);
  *sched = tt_build_end(&b);
  return *sched ? NULL : b.refused ? b.refused : tt_no_memory;
}

tutti_status tt_algo_build(const tt_ask *ask, tt_sched **sched) {
  const char *reason = build_or_refuse(ask, sched);
  if (!reason) return fits_data(ask, sched);
  if (reason != tt_no_memory)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s cannot do %s on %d ranks: %s", ask->plan->text,
                   tutti_coll_name(ask->coll), ask->ranks, reason);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while building %s for rank %d of %d",
                 ask->plan->text, ask->rank, ask->ranks);
}

tutti_status tt_algo_known(const tt_plan_spec *plan, int ranks) {
  tt_ask ask = {.plan = plan, .ranks = ranks};
  const char *reason = NULL;
  for (ask.data = 1; ask.data <= ranks; ask.data++)
    for (int coll = TUTTI_COLL_COUNT - 1; coll >= 0; coll--) {
      tt_sched *s;
      ask.coll = (tutti_coll)coll;
      if (!does(plan->family, ask.coll)) continue;
      reason = build_or_refuse(&ask, &s);
      tt_sched_free(s);
      if (!reason) return TUTTI_OK;
    }
  return tt_fail(reason == tt_no_memory ? TUTTI_ERR_MEMORY : TUTTI_ERR_ARG,
                 "%s can do nothing on %d ranks: %s", plan->text, ranks, reason);
}

tutti_status tt_algo_build_all(const tt_ask *asked, tt_sched ***all) {
  tt_ask ask = *asked;
  tt_sched **list = calloc((size_t)ask.ranks, sizeof *list);
  if (!list) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", ask.ranks);
  tutti_status status = TUTTI_OK;
  for (ask.rank = 0; ask.rank < ask.ranks && !status; ask.rank++)
    status = tt_algo_build(&ask, &list[ask.rank]);
  if (status)
    tt_sched_free_all(list, ask.ranks);
  else
    *all = list;
  return status;
}

/* Parses the text of a plan and builds the schedule of one rank. If `one` is NULL, builds the schedules of all ranks. */
static tutti_status build_named(const char *name, const tt_ask *asked, tt_sched **one,
                                tt_sched ***all) {
  tt_plan_spec *plan;
  tt_ask ask = *asked;
  tutti_status status = tt_plan_spec_parse(name, &plan);
  ask.plan = plan;
  if (!status) status = one ? tt_algo_build(&ask, one) : tt_algo_build_all(&ask, all);
  tt_plan_spec_free(plan);
  return status;
}

tutti_status tt_algo_build_named(const char *name, const tt_ask *ask, tt_sched **sched) {
  *sched = NULL;
  return build_named(name, ask, sched, NULL);
}

tutti_status tt_algo_build_all_named(const char *name, const tt_ask *ask, tt_sched ***all) {
  return build_named(name, ask, NULL, all);
}

bool tt_algo_uniform(const tt_ask *ask, const tt_tree *tree) {
  const tt_algo *algo = ask->plan->family;
  return ask->ranks >= 2 && algo->uniform && !tt_coll_rooted(ask->coll) && !refusal(ask) &&
         algo->uniform(ask, tree);
}

int tt_algo_rounds(const tt_ask *ask) {
  const tt_algo *algo = ask->plan->family;
  return ask->ranks >= 2 && algo->rounds && !refusal(ask) ? algo->rounds(ask) : 0;
}

bool tt_algo_leaders(const tt_ask *ask, const tt_tree *tree) {
  const tt_algo *algo = ask->plan->family;
  return algo->leaders && !refusal(ask) && algo->leaders(ask, tree);
}

int tt_algo_stages(const tt_ask *ask, const tt_tree *tree, tt_level_stage list[TT_STAGES]) {
  const tt_algo *algo = ask->plan->family;
  return ask->ranks >= 2 && algo->stages && !refusal(ask) ? algo->stages(ask, tree, list) : 0;
}

/* ---- the parameters of ask->plan ---- */

const tt_arg *tt_param_of(const tt_ask *ask, const char *key) {
  return tt_plan_spec_arg(ask->plan, key);
}

bool tt_param_given(const tt_ask *ask, const char *key) {
  return tt_param_of(ask, key);
}

int tt_param_count(const tt_ask *ask, const char *const *keys, int n) {
  int given = 0;
  for (int i = 0; i < n; i++) given += tt_param_given(ask, keys[i]);
  return given;
}

int tt_param_number(const tt_ask *ask, const char *key, int otherwise) {
  const tt_arg *x = tt_param_of(ask, key);
  return x ? x->number : otherwise;
}

const tt_tree *tt_param_levels(const tt_ask *ask) {
  const tt_arg *x = tt_plan_spec_levels(ask->plan);
  return x ? x->levels : NULL;
}

const char *tt_param_levels_refuse(const tt_ask *ask) {
  const tt_tree *tree = tt_param_levels(ask);
  if (!tree || tree->ranks == ask->ranks) return NULL;
  size_t size;
  char *text = tt_thread_text(&size);
  snprintf(text, size, "its levels hold %d ranks, not %d", tree->ranks, ask->ranks);
  return text;
}
