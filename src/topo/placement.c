/* placement.c - orders ranks so that those of a domain are adjacent.
 *
 * Idea       The leader of a rank at each level is the first rank of its domain there. If ranks are sorted by their
 *            leaders, those of a domain are adjacent, and domains are in the order of their first ranks. A domain ends
 *            where the leader changes.
 *            If the text of uneven levels is too long in this order, larger domains are placed first. Equal domains are
 *            then adjacent, and the text lists each run once (40*9950,39*50).
 * Invariant  The order is the identity if domains are already contiguous and need not be sorted by size. Domains of a
 *            level lie within those of the level above.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "placement.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  RACK,
  NODE,
  PACKAGE,
  NUMA,
  CACHE,
  LEVELS,
  MOST_SAID = 4 /* including the level of ranks; the limit of a fold (algo/blueconnect.c) */
};
static const char *const names[LEVELS + 1] = {"rack", "node", "package", "numa", "cache", NULL};
const char *const *const tt_inner_levels = names + PACKAGE;

typedef struct position {
  int lead[LEVELS], rank;
  int size[LEVELS]; /* number of ranks in its domain at each level */
} position;

/* ---- order ---- */

static int by_leaders(const void *a, const void *b) {
  const position *x = a, *y = b;
  for (int l = 0; l < LEVELS; l++)
    if (x->lead[l] != y->lead[l]) return x->lead[l] < y->lead[l] ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Replaces colours with leaders, from the outermost level to the innermost. If `numa` is false, NUMA nodes are ignored. */
static void assign_leaders(const tt_placement *placements, const int32_t *rack, int ranks,
                           bool numa, position *positions) {
  for (int r = 0; r < ranks; r++) positions[r] = (position){.rank = r};
  for (int l = 0; l < LEVELS; l++) {
    for (int i = 0; i < ranks; i++) {
      const tt_placement *s = &placements[positions[i].rank];
      const int32_t color[LEVELS] = {rack ? rack[positions[i].rank] : s->rack, s->node, s->package,
                                     numa ? s->numa : 0, s->cache};
      positions[i].lead[l] = color[l];
    }
    qsort(positions, (size_t)ranks, sizeof *positions, by_leaders);
    for (int i = 0, first = 0, color = 0; i < ranks; i++) {
      const bool begins = i == 0 || positions[i].lead[l] != color ||
                          (l > 0 && positions[i].lead[l - 1] != positions[i - 1].lead[l - 1]);
      color = positions[i].lead[l];
      if (begins) first = positions[i].rank;
      positions[i].lead[l] = first;
    }
  }
  qsort(positions, (size_t)ranks, sizeof *positions, by_leaders);
}

/* Returns true if a domain of the level starts at position i. Domains of level LEVELS are ranks; level -1 is one domain. */
static bool begins_domain(const position *positions, int level, int i) {
  return i == 0 || level == LEVELS ||
         (level >= 0 && positions[i].lead[level] != positions[i - 1].lead[level]);
}

static int count_domains(const position *positions, int ranks, int level) {
  int n = 0;
  for (int i = 0; i < ranks; i++) n += begins_domain(positions, level, i);
  return n;
}

/* ---- levels ---- */

/* Sets each[i] to the number of domains of `level` in the i-th domain of `outer`. Returns the number of outer domains. */
static int children(const position *positions, int ranks, int outer, int level, int *each) {
  int n = 0;
  for (int i = 0; i < ranks; i++) {
    if (begins_domain(positions, outer, i)) each[n++] = 0;
    each[n - 1] += begins_domain(positions, level, i);
  }
  return n;
}

/* Appends a level to the text, such as " core:4" or " core:(3,1,2)". */
static void add_level(char *text, size_t *at, const char *name, const int *each, int n) {
  bool even = true;
  for (int i = 1; i < n; i++) even &= each[i] == each[0];
  tt_levels_add(text, TT_TREE_TEXT, at, "%s%s:%s", *at ? " " : "", name, even ? "" : "(");
  tt_levels_add_numbers(text, TT_TREE_TEXT, at, each, even ? 1 : n);
  if (!even) tt_levels_add(text, TT_TREE_TEXT, at, ")");
}

/* Returns true if a level adds information. If two levels have the same domains, such as racks with one node each, or nodes
 * with one package each, only the level of nodes is kept. */
static bool says(const position *positions, int ranks, int level) {
  const int n = count_domains(positions, ranks, level);
  if (n == 1 || n == ranks) return false;
  return n != count_domains(positions, ranks, level == RACK ? NODE : level - 1) ||
         (level == NODE && n == count_domains(positions, ranks, RACK));
}

/* Returns true if the ranks have more levels than a fold supports. */
static bool too_many(const position *positions, int ranks) {
  int said = 1;
  for (int l = 0; l < LEVELS; l++) said += says(positions, ranks, l);
  return said > MOST_SAID;
}

/* Orders positions by the size of their domains, larger domains first. Equal sizes are ordered by leader. */
static int by_sizes(const void *a, const void *b) {
  const position *x = a, *y = b;
  for (int l = 0; l < LEVELS; l++) {
    if (x->lead[l] == y->lead[l]) continue;
    if (x->size[l] != y->size[l]) return x->size[l] > y->size[l] ? -1 : 1;
    return x->lead[l] < y->lead[l] ? -1 : 1;
  }
  return (x->rank > y->rank) - (x->rank < y->rank);
}

static void sort_by_sizes(position *positions, int ranks) {
  for (int l = 0; l < LEVELS; l++)
    for (int i = 0, end; i < ranks; i = end) {
      for (end = i + 1; end < ranks && !begins_domain(positions, l, end);) end++;
      for (int k = i; k < end; k++) positions[k].size[l] = end - i;
    }
  qsort(positions, (size_t)ranks, sizeof *positions, by_sizes);
}

/* Writes the levels to `text`, and returns the innermost level that fits. */
static int write_levels(const position *positions, int ranks, int *each, char *text) {
  for (int deepest = LEVELS; deepest--;) {
    size_t at = 0;
    int outer = -1;
    *text = 0;
    for (int l = 0; l <= deepest; l++) {
      if (!says(positions, ranks, l)) continue;
      add_level(text, &at, names[l], each, children(positions, ranks, outer, l, each));
      outer = l;
    }
    if (outer < 0) return deepest;
    const bool alone = count_domains(positions, ranks, NODE) == ranks,
               one = count_domains(positions, ranks, NODE) == 1;
    add_level(text, &at,
              alone                  ? "node"
              : outer >= NODE || one ? "core"
                                     : "rank",
              each, children(positions, ranks, outer, LEVELS, each));
    if (at < TT_TREE_TEXT) return deepest;
  }
  *text = 0;
  return -1;
}

/* Writes the levels to `text`. If more levels fit when the domains are sorted by size, sorts them. */
static void find_levels(position *positions, int ranks, int *each, char *text) {
  const int deepest = write_levels(positions, ranks, each, text);
  if (deepest == LEVELS - 1) return;
  sort_by_sizes(positions, ranks);
  if (write_levels(positions, ranks, each, text) > deepest) return;
  qsort(positions, (size_t)ranks, sizeof *positions, by_leaders);
  write_levels(positions, ranks, each, text);
}

/* ---- nodes ---- */

static void number_nodes(const position *positions, int ranks, tt_layout *out) {
  out->nodes = 0;
  for (int i = 0; i < ranks; i++) out->node_of[positions[i].rank] = positions[i].lead[NODE];
  for (int r = 0; r < ranks; r++) /* a leader is the lowest rank of its node, so it is numbered
                                   * first */
    out->node_of[r] = out->node_of[r] == r ? out->nodes++ : out->node_of[out->node_of[r]];
}

/* Sets `at` to the first rank of each domain of a level, then the number of ranks. Returns the number of domains. */
static int bounds(const tt_tree *t, int level, int *at) {
  int n = t->ranks;
  for (int i = 0; i <= n; i++) at[i] = i;
  for (int l = t->levels - 1; l > level; l--) {
    int domains = 0;
    for (int child = 0; child < n; domains++) {
      const int next = child + tt_tree_count(t, l, domains);
      at[domains] = at[child];
      child = next;
    }
    at[domains] = at[n];
    n = domains;
  }
  return n;
}

/* Counts the levels that lie within a node, from the innermost outwards. */
static void find_inside(const tt_tree *t, int *at, tt_layout *out) {
  for (out->inside = 0; out->inside < t->levels; out->inside++) {
    const int n = bounds(t, t->levels - 2 - out->inside, at);
    for (int g = 0; g < n; g++)
      for (int i = at[g]; i < at[g + 1]; i++)
        if (out->node_of[out->order[i]] != out->node_of[out->order[at[g]]]) return;
  }
}

/* ---- a topology ---- */

/* If a tree has a level of nodes, takes the nodes from the tree. Ranks of the same node must share memory. */
static tutti_status nodes_of_tree(const tt_tree *t, const tt_placement *placements,
                                  const char *name, int *at, tt_layout *out) {
  int level = t->levels - 1;
  while (level >= 0 && strcmp(t->level[level].name, "node") != 0) level--;
  if (level < 0) return TUTTI_OK;
  out->nodes = bounds(t, level, at);
  for (int g = 0; g < out->nodes; g++) {
    const int node = out->node_of[at[g]];
    for (int r = at[g]; r < at[g + 1]; out->node_of[r++] = g)
      if (out->node_of[r] != node)
        return tt_fail(TUTTI_ERR_ARG,
                       "%.200s: ranks %d (host '%s') and %d (host '%s') sit on one node there, "
                       "but share no memory",
                       name, at[g], placements[at[g]].host, r, placements[r].host);
  }
  return TUTTI_OK;
}

static tutti_status read_tree(const char *text, const char *name, int ranks, tt_tree *tree,
                              tt_layout *out) {
  size_t n = strcspn(text, "\r\n#");
  if (text[n + strspn(text + n, "\r\n")] && text[n] != '#')
    return tt_fail(TUTTI_ERR_ARG, "%.200s: there is more than one line of levels", name);
  while (n && (text[n - 1] == ' ' || text[n - 1] == '\t')) n--;
  if (n >= sizeof out->levels)
    return tt_fail(TUTTI_ERR_ARG, "%.200s: levels are longer than %d characters", name,
                   (int)sizeof out->levels - 1);
  memcpy(out->levels, text, n);
  out->levels[n] = 0;
  tutti_status status = tt_tree_parse(out->levels, tree);
  if (status) {
    char why[300];
    snprintf(why, sizeof why, "%s", tutti_error());
    return tt_fail(status, "%.200s: %s", name, why);
  }
  if (tree->ranks == ranks) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "%.200s: the topology '%s' holds %d ranks, not %d", name,
                 out->levels, tree->ranks, ranks);
}

static bool is_tree(const char *text) {
  const char *colon = strpbrk(text, ":\n");
  return colon && *colon == ':' && (isdigit((unsigned char)colon[1]) || colon[1] == '(');
}

/* ---- arranging ---- */

static tutti_status arrange_all(const tt_placement *placements, int ranks, const char *topology,
                                const char *name, position *positions, int *at, tt_layout *out) {
  int32_t *rack = NULL;
  tt_tree tree;
  tutti_status status = TUTTI_OK;
  const char *content = topology ? tt_skip_comments(topology, " \t\r\n") : NULL;
  const bool given = content && is_tree(content);
  if (topology && !given) status = tt_racks_read(topology, name, placements, ranks, rack = at);
  if (status) return status;
  assign_leaders(placements, rack, ranks, true, positions);
  if (too_many(positions, ranks)) assign_leaders(placements, rack, ranks, false, positions);
  number_nodes(positions, ranks, out);
  if (!given) find_levels(positions, ranks, at, out->levels);
  for (int i = 0; i < ranks; i++) out->order[i] = given ? i : positions[i].rank;
  out->inside = 0;
  if (given) {
    status = read_tree(content, name, ranks, &tree, out);
    if (!status) status = nodes_of_tree(&tree, placements, name, at, out);
  } else {
    if (!*out->levels) return TUTTI_OK;
    status = tt_tree_parse(out->levels, &tree);
  }
  if (!status) find_inside(&tree, at, out);
  return status;
}

tutti_status tt_placement_arrange(const tt_placement *placements, int ranks, const char *topology,
                                  const char *name, tt_layout *out) {
  position *positions = malloc((size_t)ranks * sizeof *positions);
  int *at = malloc(((size_t)ranks + 1) * sizeof *at);
  tutti_status status = TUTTI_OK;
  if (!positions || !at)
    status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", ranks);
  if (!status) status = arrange_all(placements, ranks, topology, name, positions, at, out);
  free(positions);
  free(at);
  return status;
}

/* Returns the index of a name in tt_inner_levels, or LEVELS if the name is not in the list. */
static int inner_level(const char *name) {
  int i = 0;
  while (tt_inner_levels[i] && strcmp(tt_inner_levels[i], name) != 0) i++;
  return tt_inner_levels[i] ? i : LEVELS;
}

int tt_levels_inside(const tt_tree *t) {
  int first = t->levels, named = t->levels;
  for (int l = t->levels - 1; l >= 0; l--) {
    if (strcmp(t->level[l].name, "node") == 0 && first == t->levels) first = l + 1;
    if (inner_level(t->level[l].name) < LEVELS) named = l;
  }
  return t->levels - (first < t->levels ? first : named);
}

bool tt_topology_inside(const char *topology) {
  const char *at = tt_skip_comments(topology, " \t\r\n");
  for (int i = 0; tt_inner_levels[i]; i++) {
    const size_t n = strlen(tt_inner_levels[i]);
    if (strncmp(at, tt_inner_levels[i], n) == 0 && at[n] == ':') return true;
  }
  return false;
}

/* Returns a pointer to the rank's colour for the level with index i in tt_inner_levels. */
static int32_t *inner_color(tt_placement *s, int i) {
  return i == 0 ? &s->package : i == 1 ? &s->numa : &s->cache;
}

/* Gives all ranks of a domain the same colour. `inner` is the level's index in tt_inner_levels; < 0: the rack. */
static void color_level(const tt_layout *layout, const tt_tree *t, int level, int inner, int *at,
                        tt_placement *placements) {
  const int n = bounds(t, level, at);
  for (int g = 0; g < n; g++)
    for (int i = at[g]; i < at[g + 1]; i++) {
      tt_placement *s = &placements[layout->order[i]];
      *(inner < 0 ? &s->rack : inner_color(s, inner)) = g;
    }
}

tutti_status tt_placement_color(const tt_layout *layout, int ranks, tt_placement *placements) {
  tt_tree tree = {.levels = 0};
  tutti_status status = *layout->levels ? tt_tree_parse(layout->levels, &tree) : TUTTI_OK;
  int *at = malloc(((size_t)ranks + 1) * sizeof *at);
  if (!at) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the places of %d ranks", ranks);
  for (int r = 0; r < ranks; r++) {
    placements[r].node = layout->node_of[r];
    placements[r].rack = placements[r].package = placements[r].numa = placements[r].cache = 0;
  }
  const int last = tree.levels - 1, node = last - layout->inside; /* the last is the ranks' level */
  if (!status && node > 0) color_level(layout, &tree, node - 1, -1, at, placements);
  for (int l = node + 1, free_one = 0; !status && l < last; l++) {
    const int named = inner_level(tree.level[l].name);
    const int inner = named < LEVELS && named >= free_one ? named : free_one;
    if (!tt_inner_levels[inner]) break;
    color_level(layout, &tree, l, inner, at, placements);
    free_one = inner + 1;
  }
  free(at);
  return status;
}

/* ---- simulated nodes, for experiments on one machine ---- */

enum { MOST_NUMBER = 1 << 20 };

static tutti_status check_numbers(const char *text) {
  for (const char *at = text;; at++) {
    const size_t digits = strspn(at, "0123456789");
    if (!digits || digits > 7 || atoi(at) >= MOST_NUMBER || (at[digits] && at[digits] != ','))
      return tt_fail(TUTTI_ERR_ARG,
                     "the nodes '%.80s', character %d: expected a number below %d, as in 0,1,0,1",
                     text, (int)(at - text) + 1, MOST_NUMBER);
    at += digits;
    if (!*at) return TUTTI_OK;
  }
}

/* Ranks with the same node and the same number in the list get the same colour, which is the lowest of these ranks. */
tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements) {
  tutti_status status = check_numbers(text);
  if (status) return status;
  struct {
    int32_t node, number;
  } *of = malloc((size_t)ranks * sizeof *of);
  if (!of) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the nodes of %d ranks", ranks);
  const char *at = text;
  for (int r = 0; r < ranks; r++) {
    int first = 0;
    of[r].node = placements[r].node;
    of[r].number = atoi(at);
    at += strspn(at, "0123456789");
    at = *at ? at + 1 : text;
    snprintf(placements[r].host, sizeof placements[r].host, "n%d", of[r].number);
    while (of[first].node != of[r].node || of[first].number != of[r].number ||
           placements[first].rack != placements[r].rack)
      first++;
    placements[r].node = first;
  }
  free(of);
  return TUTTI_OK;
}
