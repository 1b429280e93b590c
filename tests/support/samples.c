/* samples.c - plans with parameters, for tests and proofs: the i-th one of each family that has parameters.
 *
 * Idea       A family's entries and proposals are the plans that may be fastest. Tests and `make prove` also run plans with other
 *            parameters, which the table at the end lists by family.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "algo_group.h"

/* Each function appends the i-th sample of parameters, or returns false if there are at most i samples. */

/* Appends a pseudorandom sequence determined by `u`. */
static void any_sequence(int n, uint64_t u, tt_text *params) {
  tt_text_add(params, "seq=%d", n);
  for (; n > 1; u = tt_mix(u + 1)) {
    n -= 1 + (int)(u % (uint64_t)(n / 2));
    tt_text_add(params, ".%d", n);
  }
}

static bool fold_samples(int ranks, int i, tt_text *params) {
  static const char *const how[] = {"ring", "ring,inner", "halving", "halving,inner"};
  enum { CYCLIC = 6, HOWS = sizeof how / sizeof *how };
  int sizes[TT_LEVELS];
  if (i < CYCLIC) { /* a sequence and a generator of the circle */
    uint64_t u = tt_mix((uint64_t)ranks * 64 + (uint64_t)i);
    int stride = 1 + (int)(tt_mix(u) % (uint64_t)ranks);
    while (tt_gcd(stride, ranks) != 1) stride = stride % ranks + 1;
    any_sequence(ranks, u, params);
    if (i == 2) tt_text_add(params, ",stride=-1,rings=%d", 2 + ranks % 3);
    if (i % 2) tt_text_add(params, ",stride=%d", stride);
    return true;
  }
  i -= CYCLIC;
  const int n = tt_group_split(ranks, i / HOWS, sizes);
  tt_group_print(params, sizes, n);
  tt_text_add(params, ",%s", how[i % HOWS]);
  return n;
}

/* Every r on a single circle, then each factorization of P, in both orders and with every r. */
static bool generalized_samples(int ranks, int i, tt_text *params) {
  const int log = tt_ceil_log2((uint64_t)ranks);
  const int variants = log + 3; /* more than any factorization has steps; larger r wrap around */
  if (i <= log) {
    tt_text_add(params, "r=%d", i);
    return true;
  }
  i -= log + 1;
  int size[TT_LEVELS], steps = 0;
  const int n = tt_group_split(ranks, i / (2 * variants), size);
  for (int k = 0; k < n; k++) steps += tt_ceil_log2((uint64_t)size[k]);
  tt_group_print(params, size, n);
  tt_text_add(params, ",r=%d%s", i / 2 % variants % (steps + 1), i % 2 ? ",inner" : "");
  return n;
}

static bool consistent_samples(int ranks, int i, tt_text *params) {
  if (i == 0) tt_text_add(params, "rank-order");
  if (i > 0) tt_text_add(params, "i=%d", i - 1);
  return i <= tt_ceil_log2((uint64_t)ranks) + 1;
}

/* The plans that these families propose are also their samples. */
static bool lanes_samples(int ranks, int i, tt_text *params) {
  return tt_lanes_algo.plans(ranks, "", i, params);
}

static bool searched_samples(int ranks, int i, tt_text *params) {
  return tt_searched_algo.plans(ranks, "", i, params);
}

/* ---- compositions ---- */

enum { STAGE_SAMPLES = 38 }; /* of two or three levels */

static bool add_stage(unsigned where, int size, int i, tt_text *params) {
  tt_stage_walk at = {0};
  const size_t length = params->length;
  bool is = true;
  for (; i >= 0 && is; i--) {
    params->length = length;
    is = tt_stage_next(where, size, &at, params);
  }
  return is;
}

static int count_stages(unsigned where, int size) {
  tt_text name = {0};
  int n = 0;
  while (add_stage(where, size, n, &name)) n++;
  free(name.at);
  return n;
}

/* Samples for these sizes, outermost first. */
static bool stages_sample(const int *sizes, int levels, int i, tt_text *params) {
  if (levels < 2 || levels > 3 || i >= STAGE_SAMPLES) return false;
  for (int l = 0; l < levels; l++) {
    tt_text_add(params, l ? "/" : ",stages=");
    const unsigned where = TT_STAGE_FITS | (l ? 0 : TT_STAGE_OUTER);
    const int n = count_stages(where, sizes[l]);
    add_stage(where, sizes[l], (i * (l + 1) + l) % n, params);
  }
  return true;
}

/* Appends the sizes as levels with invented names. */
static void add_levels(const int *size, int n, tt_text *params) {
  static const char *const names[] = {"room", "rack", "node", "chip", "core", "unit"};
  for (int i = 0; i < n; i++) tt_text_add(params, "%s%s:%d", i ? " " : "", names[i % 6], size[i]);
}

static bool blueconnect_samples(int ranks, int i, tt_text *params) {
  static const char *const how[] = {"halving", "ring"};
  const int P = ranks, half = P / 2, third = P / 3;
  switch (i) {
    case 0: tt_text_add(params, "node:%d", P); return true;
    case 1: tt_text_add(params, "node:(%d)", P); return true;
  }
  i -= 2;
  if (P >= 2 && i < 2) {
    tt_text_add(params, "node:(%d,%d),%s", P - half, half, how[i]);
    return true;
  }
  i -= P >= 2 ? 2 : 0;
  if (P >= 6 && i < 6) {
    const int rest = P - third - 1;
    if (i < 2)
      tt_text_add(params, "node:(%d,1,%d),%s", rest, third, how[i]);
    else if (i < 4)
      tt_text_add(params, "rack:2 node:(%d,1,%d,%d),%s", rest - 1, third - 1, 2, how[i % 2]);
    else if (i < 5)
      tt_text_add(params, "rack:2 node:(2,1) core:(%d,%d,1)", P - half, half - 1);
    else
      tt_text_add(params, "node:3 core:(%d,1,%d),seq=3.2.1/halving", third, rest);
    return true;
  }
  i -= P >= 6 ? 6 : 0;
  int sizes[TT_LEVELS];
  for (int k = 0, n; (n = tt_group_split(P, k, sizes)); k++) {
    const int composed = n <= 3 ? STAGE_SAMPLES : 0;
    if (i < 2 + composed) {
      add_levels(sizes, n, params);
      if (i < 2) tt_text_add(params, ",%s", how[i]);
      return i < 2 || stages_sample(sizes, n, i - 2, params);
    }
    i -= 2 + composed;
  }
  return false;
}

/* Each factorization of the number of ranks in which nodes have enough cores, with each number of exchanges by parts. */
static bool transposed_samples(int ranks, int i, tt_text *params) {
  int size[TT_LEVELS];
  const size_t length = params->length;
  for (int k = 0, n; (n = tt_group_split(ranks, k, size)); k++) {
    tt_text levels = {0};
    bool is = true;
    add_levels(size, n, &levels);
    for (int plan = 0; is && i >= 0; plan++) {
      params->length = length;
      is = tt_transposed_algo.plans(ranks, levels.at, plan, params);
      i -= is;
    }
    free(levels.at);
    if (i < 0) return true;
  }
  return false;
}
/* Every factorization as dimensions, then the same with the last factor as the number of ranks per node. */
static bool torus_samples(int ranks, int i, tt_text *params) {
  static const char *const names[] = {"v", "w", "x", "y", "z"};
  int factor[TT_LEVELS];
  if (ranks > 1 && i == 0) {
    tt_text_add(params, "x:%d node:1", ranks);
    return true;
  }
  const int n = tt_group_split(ranks, (i - 1) / 2, factor);
  for (int k = 0; k < n; k++)
    tt_text_add(params, "%s%s:%d", k ? " " : "", k + 1 == n && i % 2 ? "node" : names[k % 5],
                factor[k]);
  if (n && i % 2 == 0) tt_text_add(params, " node:1");
  return n;
}

/* Each shape over uneven levels. */
static bool leaders_sample(int ranks, int i, tt_text *params) {
  static const char *const shapes[] = {"", ",binary", ",chain", ",radix=3", ",radix=4"};
  enum { SHAPES = sizeof shapes / sizeof *shapes };
  const int third = ranks / 3, rest = ranks - third - 1;
  if (ranks < 6 || i >= 2 * SHAPES) return false;
  const char *shape = shapes[i % SHAPES];
  if (i < SHAPES)
    tt_text_add(params, "leaders%s,node:(%d,1,%d)", shape, third, rest);
  else
    tt_text_add(params, "leaders%s,segments=2,rack:2 node:(2,1) core:(%d,1,%d)", shape, rest,
                third);
  return true;
}

static bool tree_samples(int ranks, int i, tt_text *params) {
  static const char *const shapes[] = {"binomial", "chain",  "double", "radix=3",
                                       "binary",   "double", "chain",  "radix=5"};
  enum { SHAPES = sizeof shapes / sizeof *shapes };
  const int node = i < SHAPES ? 1 : 2 + (i + ranks) % 4, segments = 1 + (i * 3 + ranks) % 4;
  if (i >= 2 * SHAPES) return leaders_sample(ranks, i - 2 * SHAPES, params);
  if (i % 5 == 4 && ranks > 3)
    tt_text_add(params, "%s,node:(%d,1,%d)", shapes[i % SHAPES], ranks / 3, ranks - ranks / 3 - 1);
  else
    tt_text_add(params, "%s,segments=%d,node=%d", shapes[i % SHAPES], segments, node);
  return true;
}

static bool circulant_samples(int ranks, int i, tt_text *params) {
  static const int n[] = {1, 2, 3, 5, 6, 7, 12, 17};
  (void)ranks;
  if (i >= (int)(sizeof n / sizeof *n)) return false;
  tt_text_add(params, "n=%d", n[i]);
  return true;
}

/* ---- helpers ---- */

/* One to four helpers, each with several shares and both kinds of fold. If there are at most *i, subtracts their number from *i. */
static bool share_sample(int ranks, int *i, tt_text *params) {
  static const char *const share[] = {"1/4", "1/2", "3/8", "7/32"}, *const how[] = {"", ",ring"};
  for (int helpers = 1; helpers <= 4 && ranks - helpers >= 2; helpers++)
    for (int k = 0; k < 4; k++)
      for (int f = 0; f < 2; f++)
        if ((*i)-- == 0) {
          tt_text_add(params, "data=%d,share=%s%s", ranks - helpers, share[k], how[f]);
          return true;
        }
  return false;
}

/* Appends levels that spread `data` ranks as evenly as possible over `nodes` nodes, followed by the other parameters. */
static void write_sample(const char *outer, int nodes, int data, const char *per, int trees,
                         bool spread, tt_text *params) {
  const int each = data / nodes, more = data % nodes;
  tt_text_add(params, "%s core:", outer);
  if (more)
    tt_text_add(params, "(%d*%d,%d*%d)", each + 1, more, each, nodes - more);
  else
    tt_text_add(params, "%d", each);
  if (*per) tt_text_add(params, ",per=%s", per);
  if (!*per || trees > 1) tt_text_add(params, ",trees=%d", trees);
  if (spread) tt_text_add(params, ",spread");
}

/* The shapes of samples: how the nodes are divided into n groups, and on which level the helpers are. */
static const struct {
  const char *outer, *per;
  int nodes;            /* nodes per group */
  int helpers, further; /* helpers per group; additional helpers for the whole machine */
  bool spread;
} shapes[] = {
    {"node:%d", "node", 1, 1, 1, false},       {"node:%d package:2", "node", 2, 1, 1, false},
    {"rack:%d node:2", "rack", 2, 1, 1, true}, {"rack:%d node:2", "node", 2, 3, 1, false},
    {"node:%d", "", 1, 0, 1, false},           {"node:%d", "", 1, 0, 1, true},
};

static bool helpers_sample(int ranks, int i, tt_text *params) {
  char outer[64];
  for (int trees = 1; trees <= 3; trees++)
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
      for (int n = 2; n <= ranks; n++) {
        const int data = ranks - trees * (shapes[k].helpers * n + shapes[k].further);
        if (data < n * shapes[k].nodes) break;
        if (i-- > 0) continue;
        snprintf(outer, sizeof outer, shapes[k].outer, n);
        write_sample(outer, n * shapes[k].nodes, data, shapes[k].per, trees, shapes[k].spread,
                     params);
        return true;
      }
  return false;
}

static int switches(int data, int arity) {
  int row = (data + arity - 1) / arity, all = row;
  while (row > 1) all += row = (row + arity - 1) / arity;
  return all;
}

/* Parameters with share= first, then every tree shape that has exactly this number of ranks, then some with levels. */
static bool aggregate_samples(int ranks, int i, tt_text *params) {
  if (share_sample(ranks, &i, params)) return true;
  for (int striped = 0; striped < 2; striped++)
    for (int trees = 1; trees <= 3; trees++)
      for (int arity = 2; arity <= 6; arity++)
        for (int data = ranks - 1; data >= 1; data--) {
          const int each = switches(data, arity);
          if (data + (striped ? each : trees * each) != ranks || i-- > 0) continue;
          tt_text_add(params, "data=%d,arity=%d,trees=%d%s", data, arity, trees,
                      striped ? ",striped" : "");
          return true;
        }
  return helpers_sample(ranks, i, params);
}

/* Nodes of equal size with node=, then nodes of several sizes, then levels; scatter only for equal sizes. */
static bool twolevel_samples(int ranks, int i, tt_text *params) {
  static const char *const how[] = {"", ",ring", ",halving", ",doubling", ",two-shot"};
  enum { HOWS = sizeof how / sizeof *how };
  const int kind = i / HOWS, a = ranks / 3, c = ranks - 2 * a;
  const char *leaders = how[i % HOWS];
  int node = ranks > 2 ? 2 + kind % 2 : 2;
  while (ranks % node && node < ranks) node++;
  if (kind >= 4 && (kind >= 10 || ranks < 2)) return false;
  if (kind < 3 || (kind == 3 && a < 2))
    tt_text_add(params, "node=%d%s", 1 + (i + ranks) % 9, leaders);
  else if (kind == 3)
    tt_text_add(params, "node:(%d,1,%d,%d)%s", a - 1, a, c, leaders);
  else if (kind < 6)
    tt_text_add(params, "node=%d,scatter%s", node, leaders);
  else if (kind < 8)
    tt_text_add(params, "node:%d core:%d,scatter%s", ranks / node, node, leaders);
  else if (ranks / node % 2 == 0)
    tt_text_add(params, "rack:2 node:%d core:%d,scatter%s", ranks / node / 2, node, leaders);
  else
    tt_text_add(params, "node:%d core:%d%s", ranks / node, node, leaders);
  return true;
}

static bool scan_samples(int ranks, int i, tt_text *params) {
  tt_text_add(params, "chain,segments=%d", 1 + i + ranks % 2);
  return i < 6;
}

static bool pat_samples(int ranks, int i, tt_text *params) {
  tt_text_add(params, "buffer=%d", i < 4 ? 1 + i : 1 << (i - 1));
  return i < 4 || 1 << (i - 1) < ranks;
}

/* ---- the table ---- */

static const struct {
  const tt_algo *family;
  bool (*samples)(int ranks, int i, tt_text *params);
  int radix[8]; /* if `samples` is NULL */
} table[] = {{&tt_fold_algo, fold_samples, {0}},
             {&tt_generalized_algo, generalized_samples, {0}},
             {&tt_consistent_algo, consistent_samples, {0}},
             {&tt_lanes_algo, lanes_samples, {0}},
             {&tt_searched_algo, searched_samples, {0}},
             {&tt_blueconnect_algo, blueconnect_samples, {0}},
             {&tt_transposed_algo, transposed_samples, {0}},
             {&tt_torus_algo, torus_samples, {0}},
             {&tt_tree_algo, tree_samples, {0}},
             {&tt_circulant_algo, circulant_samples, {0}},
             {&tt_bruck_algo, NULL, {3, 4, 5, 6, 7, 8, 12, 16}},
             {&tt_multiplying_algo, NULL, {2, 3, 4, 5, 6, 7, 8, 9}},
             {&tt_aggregate_algo, aggregate_samples, {0}},
             {&tt_twolevel_algo, twolevel_samples, {0}},
             {&tt_scan_algo, scan_samples, {0}},
             {&tt_binomial_algo, NULL, {3, 4, 5, 6, 7}},
             {&tt_pat_algo, pat_samples, {0}}};
enum { SAMPLED = sizeof table / sizeof *table, RADIXES = sizeof table->radix / sizeof(int) };

const char *sampled_family(int i) {
  return i < SAMPLED ? table[i].family->name : NULL;
}

bool add_sample(int family, int ranks, int i, tt_text *name) {
  const size_t length = name->length;
  const int radix = i < RADIXES ? table[family].radix[i] : 0;
  tt_text_add(name, "%s(", table[family].family->name);
  if (radix) tt_text_add(name, "radix=%d", radix);
  const bool is = table[family].samples ? table[family].samples(ranks, i, name) : radix > 0;
  if (is)
    tt_text_add(name, ")");
  else
    name->length = length;
  return is;
}
