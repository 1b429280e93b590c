/* registry.c - the table of algorithms, their names and parameters.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "algo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TT_ALGO(prefix, name, does, sentence, source)  \
  const char *tt_##prefix##_refuse(const tt_ask *ask); \
  uint32_t tt_##prefix##_blocks(const tt_ask *ask);    \
  void tt_##prefix##_build(tt_builder *b, const tt_ask *ask);
#define TT_NAMED TT_ALGO
#define TT_SAMPLES(prefix, family) \
  bool tt_##prefix##_samples(int ranks, int i, char *params, size_t size);
#define TT_PLANS(prefix, family) \
  bool tt_##prefix##_plans(int ranks, const char *levels, int i, char *params, size_t size);
#define TT_UNIFORM(prefix) bool tt_##prefix##_uniform(const tt_ask *ask, const tt_tree *tree);
#include "algos.def"
#undef TT_ALGO
#undef TT_NAMED
#undef TT_SAMPLES
#undef TT_PLANS
#undef TT_UNIFORM

/* What an algorithm can do: sets of collectives. */
enum {
#define ONE(coll) 1u << TUTTI_##coll
  TO_ALL = ONE(ALLREDUCE) | ONE(BARRIER),
  ROOT = ONE(BROADCAST) | ONE(REDUCE),
  SCATTER = ONE(REDUCE_SCATTER),
  GATHER = ONE(ALL_GATHER),
  BLOCKS = SCATTER | GATHER,
  PREFIX = ONE(SCAN) | ONE(EXSCAN),
  ROOT_BLOCKS = ONE(GATHER) | ONE(SCATTER),
  EXCHANGE = ONE(ALL_TO_ALL)
#undef ONE
};

#define TT_SAMPLES(prefix, family)
#define TT_PLANS(prefix, family)
#define TT_UNIFORM(prefix)
static const tt_algo table[] = {
#define LINE(prefix, name, does, sentence, source, candidate) \
  {name,                                                      \
   sentence,                                                  \
   source,                                                    \
   candidate,                                                 \
   does,                                                      \
   tt_##prefix##_refuse,                                      \
   tt_##prefix##_blocks,                                      \
   tt_##prefix##_build},
#define TT_ALGO(prefix, name, does, sentence, source) \
  LINE(prefix, name, does, sentence, source, true)
#define TT_NAMED(prefix, name, does, sentence, source) \
  LINE(prefix, name, does, sentence, source, false)
#include "algos.def"
#undef TT_ALGO
#undef TT_NAMED
};
#undef TT_SAMPLES
enum { COUNT = sizeof table / sizeof *table };

#define TT_ALGO(prefix, name, does, sentence, source)
#define TT_NAMED(prefix, name, does, sentence, source)
static const struct {
  const char *name;
  bool (*samples)(int ranks, int i, char *params, size_t size);
} families[] = {
#define TT_SAMPLES(prefix, family) {family, tt_##prefix##_samples},
#include "algos.def"
#undef TT_SAMPLES
};
enum { FAMILIES = sizeof families / sizeof *families };

#define TT_SAMPLES(prefix, family)
#undef TT_PLANS
static const struct {
  const char *name;
  bool (*plans)(int ranks, const char *levels, int i, char *params, size_t size);
} planners[] = {
#define TT_PLANS(prefix, family) {family, tt_##prefix##_plans},
#include "algos.def"
#undef TT_PLANS
};
enum { PLANNERS = sizeof planners / sizeof *planners };

#define TT_PLANS(prefix, family)
#undef TT_UNIFORM
static const struct {
  const char *(*refuse)(const tt_ask *ask); /* identifies the algorithm */
  bool (*uniform)(const tt_ask *ask, const tt_tree *tree);
} uniforms[] = {
#define TT_UNIFORM(prefix) {tt_##prefix##_refuse, tt_##prefix##_uniform},
#include "algos.def"
#undef TT_UNIFORM
};
#undef TT_ALGO
#undef TT_NAMED
#undef TT_SAMPLES
#undef TT_PLANS
enum { UNIFORMS = sizeof uniforms / sizeof *uniforms };

const tt_algo *tt_algo_at(int i) {
  return i >= 0 && i < COUNT ? &table[i] : NULL;
}

const char *tutti_algo_name(int i, const char **sentence) {
  const tt_algo *algo = tt_algo_at(i);
  if (sentence) *sentence = algo ? algo->sentence : NULL;
  return algo ? algo->name : NULL;
}

const char *tutti_algo_source(int i) {
  const tt_algo *algo = tt_algo_at(i);
  return algo ? algo->source : NULL;
}

bool tt_algo_sample(int family, int ranks, int i, char *name, size_t size) {
  char params[TT_NAME] = "";
  if (!tt_algo_family(family) || !families[family].samples(ranks, i, params, sizeof params))
    return false;
  snprintf(name, size, "%s(%s)", families[family].name, params);
  return true;
}

const char *tt_algo_family(int i) {
  return i >= 0 && i < FAMILIES ? families[i].name : NULL;
}

bool tt_algo_plan(int ranks, const char *levels, int i, char *name, size_t size) {
  char params[TT_NAME];
  for (int a = 0; a < COUNT; a++) {
    if (!table[a].candidate || i-- > 0) continue;
    snprintf(name, size, "%s", table[a].name);
    return true;
  }
  for (int p = 0; p < PLANNERS; p++)
    for (int k = 0; planners[p].plans(ranks, levels, k, params, sizeof params); k++) {
      if (i-- > 0) continue;
      snprintf(name, size, "%s(%s)", planners[p].name, params);
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
  for (int i = 0; i < COUNT; i++)
    if (family_length(table[i].name) == n && strncmp(table[i].name, name, n) == 0) return &table[i];
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
  for (int i = 0; i < COUNT + (int)(sizeof shorts / sizeof *shorts); i++) {
    const char *other = i < COUNT ? table[i].name : shorts[i - COUNT].name;
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

/* Is it the first entry of its family, and does it do the collective? */
static bool does(const tt_algo *algo, tutti_coll coll) {
  return algo->does >> coll & 1 && (algo == table || algo->refuse != algo[-1].refuse);
}

/* Formats "naive, fold and tree do that", or "naive, fold and 9 others do that". */
static const char *not_done(tutti_coll coll) {
  enum { NAMED = 5 };
  size_t size, n = 0;
  char *text = tt_thread_text(&size);
  int all = 0, said = 0;
  for (int i = 0; i < COUNT; i++) all += does(&table[i], coll);
  const int most = all > NAMED ? NAMED - 1 : all;
  for (int i = 0; i < COUNT && said < most && n < size; i++) {
    if (!does(&table[i], coll)) continue;
    const char *joint = said == 0 ? "" : said + 1 == all ? " and " : ", ";
    n += (size_t)snprintf(text + n, size - n, "%s%.*s", joint, (int)family_length(table[i].name),
                          table[i].name);
    said++;
  }
  if (n < size && said < all)
    n += (size_t)snprintf(text + n, size - n, " and %d others", all - said);
  if (n < size) snprintf(text + n, size - n, all == 1 ? " does that" : " do that");
  return text;
}

/* NULL, or the reason. */
static const char *algo_refusal(const tt_algo *algo, const tt_ask *ask) {
  return algo->does >> ask->coll & 1 ? algo->refuse(ask) : not_done(ask->coll);
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
      if (!(algo->does >> coll & 1)) continue;
      reason = algo->refuse(&ask);
      if (!reason) return TUTTI_OK;
    }
  return tt_fail(TUTTI_ERR_ARG, "%.60s can do nothing on %d ranks: %s", name, ranks, reason);
}

bool tt_algo_does(const char *name, tutti_coll coll) {
  const tt_algo *algo = find_algo(full_name(name));
  return algo && algo->does >> coll & 1;
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
      tt_fail(TUTTI_ERR_UNSUPPORTED, "%.60s takes data from %d of %d ranks; here %d bring data",
              (*sched)->name, takes, ask->ranks, ask->data);
  tt_sched_free(*sched);
  *sched = NULL;
  return status;
}

tutti_status tt_algo_build(const char *name, const tt_ask *asked, tt_sched **sched) {
  tt_ask ask = *asked;
  const tt_algo *algo;
  tutti_status status = resolve_algo(name, &ask, &algo);
  if (status) return status;
  const char *reason = algo_refusal(algo, &ask);
  if (reason)
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%.60s cannot do %s on %d ranks: %s", name,
                   tutti_coll_name(ask.coll), ask.ranks, reason);
  tt_builder b;
  uint32_t blocks = ask.ranks == 1 ? 1 : algo->blocks(&ask);
  tt_build_begin(&b, full_name(name), ask.coll, ask.ranks, ask.rank, ask.root, ask.in_place,
                 blocks);
  if (!b.status && ask.ranks == 1)
    build_alone(&b);
  else if (!b.status)
    algo->build(&b, &ask);
  *sched = tt_build_end(&b);
  if (*sched) return fits_data(asked, sched);
  return tt_fail(TUTTI_ERR_MEMORY, "out of memory while building %.60s for rank %d of %d", name,
                 ask.rank, ask.ranks);
}

bool tt_algo_uniform(const char *name, const tt_ask *asked, const tt_tree *tree) {
  tt_ask ask = *asked;
  const tt_algo *algo;
  if (ask.ranks < 2 || resolve_algo(name, &ask, &algo) || algo_refusal(algo, &ask)) return false;
  for (int i = 0; i < UNIFORMS; i++)
    if (uniforms[i].refuse == algo->refuse)
      return !tt_coll_rooted(ask.coll) && uniforms[i].uniform(&ask, tree);
  return false;
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

/* The length up to the next comma outside parentheses. */
static size_t item_length(const char *item) {
  size_t n = 0;
  for (int depth = 0; item[n] && (item[n] != ',' || depth > 0); n++)
    depth += (item[n] == '(') - (item[n] == ')');
  return n;
}

static const char *next_item(const char *item) {
  item += item_length(item);
  return *item ? item + 1 : NULL;
}

bool tt_param_word(const tt_ask *ask, const char *word) {
  for (const char *item = ask->params; item; item = next_item(item))
    if (item_length(item) == strlen(word) && strncmp(item, word, strlen(word)) == 0) return true;
  return false;
}

bool tt_param_value(const tt_ask *ask, const char *key, char *value, size_t size) {
  size_t n = strlen(key);
  for (const char *item = ask->params; item; item = next_item(item))
    if (strncmp(item, key, n) == 0 && item[n] == '=') {
      snprintf(value, size, "%.*s", (int)(item_length(item) - n - 1), item + n + 1);
      return true;
    }
  return false;
}

bool tt_param_levels(const tt_ask *ask, char *value, size_t size) {
  for (const char *item = ask->params; item; item = next_item(item))
    if (memchr(item, ':', item_length(item))) {
      snprintf(value, size, "%.*s", (int)item_length(item), item);
      return true;
    }
  return false;
}

bool tt_param_int(const tt_ask *ask, const char *key, int lo, int hi, int otherwise, int *value) {
  char text[16], *end;
  *value = otherwise;
  if (!tt_param_value(ask, key, text, sizeof text)) return true;
  long number = strtol(text, &end, 10);
  *value = (int)number;
  return end != text && !*end && number >= lo && number <= hi;
}

static bool listed(const char *item, size_t n, const char *words) {
  for (const char *w = words; *w; w += strspn(w, " ")) {
    size_t m = strcspn(w, " ");
    if (memchr(w, ':', m) && memchr(item, ':', n)) return true;
    if (w[m - 1] == '=' ? n > m && strncmp(item, w, m) == 0 : n == m && strncmp(item, w, m) == 0)
      return true;
    w += m;
  }
  return false;
}

const char *tt_param_refuse(const tt_ask *ask, const char *words) {
  for (const char *item = ask->params; item && *item; item = next_item(item)) {
    if (listed(item, item_length(item), words)) continue;
    size_t size;
    char *text = tt_thread_text(&size);
    snprintf(text, size, "parameter '%.*s' is none of: %s", (int)item_length(item), item,
             *words ? words : "(it takes none)");
    return text;
  }
  return NULL;
}
