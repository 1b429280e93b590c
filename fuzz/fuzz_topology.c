/* fuzz_topology.c - reads untrusted descriptions of the placement: levels, a file of racks
 * (TUTTI_TOPO), a list of nodes (TUTTI_NODES).
 *
 * Invariant  a description is rejected with a message, or its domains are nested and contain every
 *            rank once. The derived placement reads back, and yields the same levels without the
 *            topology.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "placement.h"

enum { RANKS = 12, MOST = 4096 };

/* Checks that the domains at every level have as many subdomains in total as there are domains at the next level. */
static void nests(const tt_tree *t) {
  int64_t domains = 1;
  need(t->levels >= 1 && t->levels <= TT_TREE_LEVELS && t->ranks >= 1);
  for (int l = 0; l < t->levels; l++) {
    int64_t next = 0;
    for (int64_t g = 0; g < domains; g++) {
      const int n = tt_tree_count(t, l, (int)g);
      need(n >= 1 && n <= t->level[l].most);
      next += n;
    }
    need(tt_tree_first(t, l, (int)domains - 1) + tt_tree_count(t, l, (int)domains - 1) == next);
    domains = next;
  }
  need(domains == t->ranks);
}

static void placements_of(tt_placement *placements, int ranks, bool nodes) {
  for (int r = 0; r < ranks; r++) {
    placements[r] = (tt_placement){.node = nodes ? r / 3 : 0, .cache = r % 2};
    snprintf(placements[r].host, sizeof placements[r].host, "n%02d", r / 3);
  }
  /* for patterns that can match in a practically endless number of ways */
  snprintf(placements[0].host, sizeof placements[0].host,
           "n11111111111111111111111111111111111111111");
}

/* Checks that every rank has its own slot, and a node. */
static void placed(const tt_layout *s, int ranks) {
  unsigned char *there = calloc(2, (size_t)ranks);
  need(there && s->nodes >= 1 && s->nodes <= ranks && s->inside >= 0);
  for (int r = 0; r < ranks; r++) {
    need(s->order[r] >= 0 && s->order[r] < ranks && !there[s->order[r]]++);
    need(s->node_of[r] >= 0 && s->node_of[r] < s->nodes);
    there[ranks + s->node_of[r]] = 1;
  }
  for (int n = 0; n < s->nodes; n++) need(there[ranks + n]);
  free(there);
}

static void arrange(const char *text, int ranks, bool nodes) {
  tt_placement *placements = calloc((size_t)ranks, sizeof *placements);
  int *places = calloc(2, (size_t)ranks * sizeof *places);
  tt_layout layout = {.order = places, .node_of = places + ranks};
  need(placements && places);
  placements_of(placements, ranks, nodes);
  if (tt_placement_arrange(placements, ranks, text, "topology 'x'", &layout) == TUTTI_OK) {
    tt_tree tree = {.ranks = ranks};
    placed(&layout, ranks);
    if (*layout.levels) need(tt_tree_parse(layout.levels, &tree) == TUTTI_OK);
    need(tree.ranks == ranks && layout.inside <= tree.levels);
    need(tt_placement_color(&layout, ranks, placements) == TUTTI_OK);
  } else {
    need(*tutti_error());
  }
  free(placements);
  free(places);
}

static void fake(const char *text) {
  tt_placement placements[RANKS];
  placements_of(placements, RANKS, true);
  if (tt_placement_fake(text, RANKS, placements)) return;
  for (int r = 0; r < RANKS; r++) need(placements[r].node >= 0 && placements[r].node <= r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *text = fuzz_text(data, size);
  tt_tree tree;
  int ranks = RANKS;
  if (tt_tree_parse(text, &tree) == TUTTI_OK) {
    if (tree.ranks <= MOST) nests(&tree);
    if (tree.ranks <= 64) ranks = tree.ranks;
  }
  arrange(text, ranks, false);
  arrange(text, RANKS, true);
  fake(text);
  free(text);
  return 0;
}
