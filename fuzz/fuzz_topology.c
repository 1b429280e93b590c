/* fuzz_topology.c - how ranks sit, as somebody else wrote it: levels, a file of racks
 * (TUTTI_TOPO), a list of nodes (TUTTI_NODES).
 *
 * Invariant  it is refused with a sentence, or its things nest and hold every rank once; what
 *            is found out about the seats reads back, and says as much without the topology.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "sites.h"

enum { RANKS = 12, MOST = 4096 };

/* Every level of the tree counts up to the things of the next. */
static void nests(const tt_tree *t) {
  int64_t things = 1;
  need(t->levels >= 1 && t->levels <= TT_TREE_LEVELS && t->ranks >= 1);
  for (int l = 0; l < t->levels; l++) {
    int64_t next = 0;
    for (int64_t g = 0; g < things; g++) {
      const int n = tt_tree_count(t, l, (int)g);
      need(n >= 1 && n <= t->level[l].most);
      next += n;
    }
    need(tt_tree_first(t, l, (int)things - 1) + tt_tree_count(t, l, (int)things - 1) == next);
    things = next;
  }
  need(things == t->ranks);
}

static void sites_of(tt_site *sites, int ranks, bool nodes) {
  for (int r = 0; r < ranks; r++) {
    sites[r] = (tt_site){.node = nodes ? r / 3 : 0, .cache = r % 2};
    snprintf(sites[r].host, sizeof sites[r].host, "n%02d", r / 3);
  }
  /* what patterns can meet in so many ways that nobody lives to see the end */
  snprintf(sites[0].host, sizeof sites[0].host, "n11111111111111111111111111111111111111111");
}

/* Everybody has a place of his own, and a node. */
static void seated(const tt_seats *s, int ranks) {
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
  tt_site *sites = calloc((size_t)ranks, sizeof *sites);
  int *places = calloc(2, (size_t)ranks * sizeof *places);
  tt_seats seats = {.order = places, .node_of = places + ranks};
  need(sites && places);
  sites_of(sites, ranks, nodes);
  if (tt_sites_arrange(sites, ranks, text, "topology 'x'", &seats) == TUTTI_OK) {
    tt_tree tree = {.ranks = ranks};
    seated(&seats, ranks);
    if (*seats.levels) need(tt_tree_parse(seats.levels, &tree) == TUTTI_OK);
    need(tree.ranks == ranks && seats.inside <= tree.levels);
    need(tt_sites_color(&seats, ranks, sites) == TUTTI_OK);
  } else {
    need(*tutti_error());
  }
  free(sites);
  free(places);
}

static void fake(const char *text) {
  tt_site sites[RANKS];
  sites_of(sites, RANKS, true);
  if (tt_sites_fake(text, RANKS, sites)) return;
  for (int r = 0; r < RANKS; r++) need(sites[r].node >= 0 && sites[r].node <= r);
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
