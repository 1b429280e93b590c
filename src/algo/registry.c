/* registry.c - the table of algorithms: finds one by its name and has it build.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo_stages.h"

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

/* If no rank is folded in. */
bool tt_uniform_power_of_two(const tt_ask *ask, const tt_tree *tree) {
  return !tree && (ask->ranks & (ask->ranks - 1)) == 0;
}

/* ---- the list, and what families propose ---- */

/* The i-th entry of all families, or NULL past the end. */
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

/* The i-th family that proposes samples, or NULL past the end. */
static const tt_algo *sampled(int i) {
  for (int f = 0; f < FAMILIES && i >= 0; f++)
    if ((families[f]->samples || families[f]->sample[0].params) && i-- == 0) return families[f];
  return NULL;
}

const char *tt_algo_family(int i) {
  const tt_algo *algo = sampled(i);
  return algo ? algo->name : NULL;
}

/* The i-th proposal of a list; false past the last for these ranks and levels. */
static bool proposed(const tt_suggestion *list, int ranks, const char *levels, int i, char *params,
                     size_t size) {
  if (i >= TT_ENTRIES || !list[i].params || ranks < list[i].ranks) return false;
  const char *head = list[i].params, *mark = strstr(head, "LEVELS");
  if (!mark) return (size_t)snprintf(params, size, "%s", head) < size;
  return *levels && (size_t)snprintf(params, size, "%.*s%s%s", (int)(mark - head), head, levels,
                                     mark + strlen("LEVELS")) < size;
}

static bool plan_of(const tt_algo *algo, int ranks, const char *levels, int i, char *params,
                    size_t size) {
  return algo->plans ? algo->plans(ranks, levels, i, params, size)
                     : proposed(algo->plan, ranks, levels, i, params, size);
}

bool tt_algo_sample(int family, int ranks, int i, char *name, size_t size) {
  char params[TT_NAME] = "";
  const tt_algo *algo = sampled(family);
  if (!algo || !(algo->samples ? algo->samples(ranks, i, params, sizeof params)
                               : proposed(algo->sample, ranks, "", i, params, sizeof params)))
    return false;
  snprintf(name, size, "%s(%s)", algo->name, params);
  return true;
}

bool tt_algo_next_plan(int ranks, const char *levels, tt_plan_walk *at, char *name, size_t size) {
  char params[TT_NAME];
  const tt_entry *entry;
  while ((entry = entry_at(at->entry))) {
    at->entry++;
    if (entry->listing != TT_CANDIDATE) continue;
    snprintf(name, size, "%s", entry->name);
    return true;
  }
  for (; at->family < FAMILIES; at->family++, at->proposal = 0) {
    const tt_algo *algo = families[at->family];
    if (!plan_of(algo, ranks, levels, at->proposal, params, sizeof params)) continue;
    at->proposal++;
    snprintf(name, size, "%s(%s)", algo->name, params);
    return true;
  }
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

static const char *full_name(const char *name) {
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
    if (strcmp(shorts[i].name, name) == 0) return shorts[i].full;
  return name;
}

void tt_algo_full_name(char *name) {
  const char *full = full_name(name);
  if (full != name) snprintf(name, TT_NAME, "%s", full);
}

static const tt_algo *find_algo(const char *name) {
  size_t n = family_length(name);
  for (int f = 0; f < FAMILIES; f++)
    if (strlen(families[f]->name) == n && strncmp(families[f]->name, name, n) == 0)
      return families[f];
  return NULL;
}

/* The edit distance of two families' names, counting a swap of neighbours as one; only the first
 * MOST_HEADERS characters count. */
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

/* Suggests a name if it is similar. */
static tutti_status unknown(const char *name) {
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

/* Finds the algorithm, and copies its parameters into the ask. */
static tutti_status resolve_algo(const char *name, tt_ask *ask, const tt_algo **algo) {
  name = full_name(name);
  *algo = find_algo(name);
  if (!*algo) return unknown(name);
  size_t n = family_length(name), all = strlen(name);
  ask->params[0] = 0;
  if (n == all) return TUTTI_OK;
  if (name[all - 1] != ')' || all - n - 2 >= sizeof ask->params)
    return tt_fail(TUTTI_ERR_ARG, "'%.60s': parameters go in parentheses, at most %zu characters",
                   name, sizeof ask->params - 1);
  memcpy(ask->params, name + n + 1, all - n - 2);
  ask->params[all - n - 2] = 0;
  return TUTTI_OK;
}

static bool does(const tt_algo *algo, tutti_coll coll) {
  return algo->does >> coll & 1;
}

/* Formats "naive, fold and tree do that", or "naive, fold and 9 others do that". */
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

/* NULL, or the reason. */
static const char *algo_refusal(const tt_algo *algo, const tt_ask *ask) {
  if (!does(algo, ask->coll)) return not_done(ask->coll);
  const char *wrong = tt_param_refuse(ask, algo->params ? algo->params : "");
  if (!wrong && algo->number) wrong = tt_number_refuse(ask, algo->number);
  return wrong || !algo->refuse ? wrong : algo->refuse(ask);
}

tutti_status tt_algo_known(const char *name, int ranks) {
  tt_ask ask = {.ranks = ranks};
  const tt_algo *algo;
  const char *reason = NULL;
  tutti_status status = resolve_algo(name, &ask, &algo);
  if (status) return status;
  for (ask.data = 1; ask.data <= ranks; ask.data++)
    for (int coll = TUTTI_COLL_COUNT - 1; coll >= 0; coll--) {
      ask.coll = (tutti_coll)coll;
      if (!does(algo, ask.coll)) continue;
      reason = algo_refusal(algo, &ask);
      if (!reason) return TUTTI_OK;
    }
  return tt_fail(TUTTI_ERR_ARG, "%s can do nothing on %d ranks: %s", name, ranks, reason);
}

bool tt_algo_does(const char *name, tutti_coll coll) {
  const tt_algo *algo = find_algo(full_name(name));
  return algo && does(algo, coll);
}

tutti_status tt_algo_exists(const char *name) {
  return find_algo(full_name(name)) ? TUTTI_OK : unknown(name);
}

static void build_alone(tt_builder *b) {
  uint32_t lo, hi;
  tt_coll_dst(b->s, &lo, &hi);
  if (lo == hi) return;
  tt_copy(b, tt_block(TT_DST, 0), tt_block(TT_SRC, 0));
  if (tt_coll_reduces(b->s->coll)) tt_mark_completes(b);
}

/* Does the schedule take data from as many ranks as was asked for? */
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

static tutti_status build(const tt_algo *algo, const char *name, const tt_ask *ask,
                          tt_sched **sched) {
  const char *reason = algo_refusal(algo, ask);
  if (reason)
    return tt_fail(reason == tt_no_memory ? TUTTI_ERR_MEMORY : TUTTI_ERR_UNSUPPORTED,
                   "%s cannot do %s on %d ranks: %s", name, tutti_coll_name(ask->coll), ask->ranks,
                   reason);
  tt_builder b;
  uint32_t blocks = ask->ranks == 1 ? 1 : algo->blocks(ask);
  tt_build_begin(&b, full_name(name), ask->coll, ask->ranks, ask->rank, ask->root, ask->in_place,
                 blocks);
  if (!b.status && ask->ranks == 1)
    build_alone(&b);
  else if (!b.status)
    algo->build(&b, ask);
  *sched = tt_build_end(&b);
  if (*sched) return fits_data(ask, sched);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while building %s for rank %d of %d", name,
                 ask->rank, ask->ranks);
}

tutti_status tt_algo_build(const char *name, const tt_ask *asked, tt_sched **sched) {
  struct tt_composition *composed = NULL;
  tt_ask ask = *asked;
  const tt_algo *algo;
  tutti_status status = resolve_algo(name, &ask, &algo);
  if (status) return status;
  ask.composed = &composed;
  status = build(algo, name, &ask, sched);
  tt_composition_free(composed);
  return status;
}

bool tt_algo_uniform(const char *name, const tt_ask *asked, const tt_tree *tree) {
  struct tt_composition *composed = NULL;
  tt_ask ask = *asked;
  const tt_algo *algo;
  if (ask.ranks < 2 || resolve_algo(name, &ask, &algo)) return false;
  ask.composed = &composed;
  const bool uniform = !algo_refusal(algo, &ask) && algo->uniform && !tt_coll_rooted(ask.coll) &&
                       algo->uniform(&ask, tree);
  tt_composition_free(composed);
  return uniform;
}

int tt_algo_rounds(const char *name, const tt_ask *asked) {
  tt_ask ask = *asked;
  const tt_algo *algo;
  if (ask.ranks < 2 || resolve_algo(name, &ask, &algo) || !algo->rounds) return 0;
  return algo_refusal(algo, &ask) ? 0 : algo->rounds(&ask);
}

bool tt_algo_leaders(const char *name, const tt_ask *asked, const tt_tree *tree) {
  tt_ask ask = *asked;
  const tt_algo *algo;
  return !resolve_algo(name, &ask, &algo) && algo->leaders && !algo_refusal(algo, &ask) &&
         algo->leaders(&ask, tree);
}

int tt_algo_stages(const char *name, const tt_ask *asked, const tt_tree *tree,
                   tt_level_stage list[TT_STAGES]) {
  struct tt_composition *composed = NULL;
  tt_ask ask = *asked;
  const tt_algo *algo;
  if (ask.ranks < 2 || resolve_algo(name, &ask, &algo) || !algo->stages) return 0;
  ask.composed = &composed;
  const int n = algo_refusal(algo, &ask) ? 0 : algo->stages(&ask, tree, list);
  tt_composition_free(composed);
  return n;
}

tutti_status tt_algo_build_all(const char *name, const tt_ask *asked, tt_sched ***all) {
  tt_ask ask = *asked;
  tt_sched **list = calloc((size_t)ask.ranks, sizeof *list);
  if (!list) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %d schedules", ask.ranks);
  tutti_status status = TUTTI_OK;
  for (ask.rank = 0; ask.rank < ask.ranks && !status; ask.rank++)
    status = tt_algo_build(name, &ask, &list[ask.rank]);
  if (status)
    tt_sched_free_all(list, ask.ranks);
  else
    *all = list;
  return status;
}
