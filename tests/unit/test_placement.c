/* Placements: the positions of the ranks determine levels and an order; topologies and racks are parsed; and
 * for any input, ranks of the same domain are adjacent.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka.h needs the four headers above */
#include <cmocka.h>

#include "build_comm.h"
#include "placement.h"

enum { MOST = 1200 };

static int order[MOST], node_of[MOST];
static tt_layout layout = {.order = order, .node_of = node_of};
static tt_placement placements[MOST];

/* A rank is a word of up to five letters: its rack, node, package, cache and NUMA node; its host is named
 * after its node. */
static int placements_of(const char *words) {
  int ranks = 0;
  for (; *words; words += strspn(words, " ")) {
    const size_t n = strcspn(words, " ");
    tt_placement *s = &placements[ranks++];
    *s = (tt_placement){.rack = words[0], .node = words[1]};
    if (n > 2) s->package = words[2];
    if (n > 3) s->cache = words[3];
    if (n > 4) s->numa = words[4];
    snprintf(s->host, sizeof s->host, "n%c", words[1]);
    words += n;
  }
  return ranks;
}

/* Formats numbers as "0 2 1". */
static const char *listed(const int *numbers, int n) {
  static char text[16 * MOST];
  size_t at = 0;
  *text = 0;
  for (int i = 0; i < n; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? " " : "", numbers[i]);
  return text;
}

static const struct {
  const char *placements, *topology, *levels, *order, *node_of;
  int inside;
} arranged[] = {
    {"a0", NULL, "", "0", "0", 0},
    {"a0 a0 a0", NULL, "", "0 1 2", "0 0 0", 0},
    {"a0 a1 a2", NULL, "", "0 1 2", "0 1 2", 0},
    {"a7 a7 a3 a3", NULL, "node:2 core:2", "0 1 2 3", "0 0 1 1", 1},
    {"a1 a0 a1 a0", NULL, "node:2 core:2", "0 2 1 3", "0 1 0 1", 1},
    {"a2 a2 a2 a0 a1 a1", NULL, "node:3 core:(3,1,2)", "0 1 2 3 4 5", "0 0 0 1 2 2", 1},
    {"a2 a0 a1 a2 a1 a2", NULL, "node:3 core:(3,1,2)", "0 3 5 1 2 4", "0 1 2 0 2 0", 1},
    /* a node's number counts within its rack only */
    {"a0 b0 a0 b0", NULL, "node:2 core:2", "0 2 1 3", "0 1 0 1", 1},
    {"a0 a0 a1 a1 b0 b0", NULL, "rack:2 node:(2,1) core:2", "0 1 2 3 4 5", "0 0 1 1 2 2", 1},
    {"b0 a1 b1 a1 b0", NULL, "rack:2 node:(2,1) core:(2,1,2)", "0 4 2 1 3", "0 1 2 1 0", 1},
    /* racks whose nodes have one rank each */
    {"a0 b1 a2 b3", NULL, "rack:2 node:2", "0 2 1 3", "0 1 2 3", 0},
    {"a0 a1 b2", NULL, "rack:2 node:(2,1)", "0 1 2", "0 1 2", 0},
    {"a0 a0 a1 a1", NULL, "node:2 core:2", "0 1 2 3", "0 0 1 1", 1},
    /* levels in a node; levels that separate nothing are left out */
    {"a0p a0q a0p a0q", NULL, "package:2 core:2", "0 2 1 3", "0 0 0 0", 2},
    {"a0p a0p a1q a1q", NULL, "node:2 core:2", "0 1 2 3", "0 0 1 1", 1},
    {"a0px a0px a0py a0py a1px a1px a1py a1py", NULL, "node:2 cache:2 core:2", "0 1 2 3 4 5 6 7",
     "0 0 0 0 1 1 1 1", 2},
    {"a0px a0qx a0px a0qx a1px a1qx a1px a1qx", NULL, "node:2 package:2 core:2", "0 2 1 3 4 6 5 7",
     "0 0 0 0 1 1 1 1", 2},
    {"a0px a0px a0py a0qx a0qx a0qx a1px a1px", NULL,
     "node:2 package:(2,1) cache:(2,1,1) core:(2,1,3,2)", "0 1 2 3 4 5 6 7", "0 0 0 0 0 0 1 1", 3},
    {"a0pxm a0pym a0pzn a0pwn a0qxm a0qym a0qzn a0qwn", NULL, "package:2 numa:2 core:2",
     "0 1 2 3 4 5 6 7", "0 0 0 0 0 0 0 0", 3},
    {"a0pxm a0pxm a0pym a0pym a0pxn a0pxn a0pyn a0pyn", NULL, "numa:2 cache:2 core:2",
     "0 1 2 3 4 5 6 7", "0 0 0 0 0 0 0 0", 3},
    /* with nodes as well there would be one level too many */
    {"a0pxm a0pxm a0pym a0pym a0pzn a0pzn a0qxm a0qxm a1pxm a1pxm", NULL,
     "node:2 package:(2,1) cache:(3,1,1) core:2", "0 1 2 3 4 5 6 7 8 9", "0 0 0 0 0 0 0 0 1 1", 3},
    {"a0pxm a0pxn a0pxm a0pxn", NULL, "numa:2 core:2", "0 2 1 3", "0 0 0 0", 2},
    /* the given topology is the tree */
    {"a0 a1 a0 a1", " rack:2 core:2 # two", "rack:2 core:2", "0 1 2 3", "0 1 0 1", 0},
    {"a0 a0 a0 a0", "\n# so\nrack:2 node:1 core:2\n", "rack:2 node:1 core:2", "0 1 2 3", "0 0 1 1",
     2},
    {"a0 a0 a0 a0", "node:(3,1)", "node:(3,1)", "0 1 2 3", "0 0 0 1", 1},
    {"a0 a0 a1 a1", "island:2 core:2", "island:2 core:2", "0 1 2 3", "0 0 1 1", 1},
    {"a0 a0 a0 a0", "island:2 core:2", "island:2 core:2", "0 1 2 3", "0 0 0 0", 2},
    {"a0 a0 a0 a0", "rack:2 node:2", "rack:2 node:2", "0 1 2 3", "0 1 2 3", 0},
    /* racks of hosts; the racks that ranks report do not count */
    {"a0 a1 a2 a3", "r: n0 n2\ns: n1 n3", "rack:2 node:2", "0 2 1 3", "0 1 2 3", 0},
    {"a0 b1 a0 b1 a2 a2", "r: n[0-1] # two\n\n# one\ns:\tn2.cluster.org\r\n",
     "rack:2 node:(2,1) core:2", "0 2 1 3 4 5", "0 1 0 1 2 2", 1},
    {"a0 a1 a2 a3", "r: n0 \n s: n[1,2-3] m[01-10]x[1]\nr: m", "rack:2 node:(1,3)", "0 1 2 3",
     "0 1 2 3", 0},
};

static void ranks_are_arranged(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof arranged / sizeof *arranged; k++) {
    const int ranks = placements_of(arranged[k].placements);
    if (tt_placement_arrange(placements, ranks, arranged[k].topology, "here", &layout))
      fail_msg("%s: %s", arranged[k].placements, tutti_error());
    if (strcmp(layout.levels, arranged[k].levels) != 0)
      fail_msg("%s: '%s', expected '%s'", arranged[k].placements, layout.levels,
               arranged[k].levels);
    if (strcmp(listed(order, ranks), arranged[k].order) != 0)
      fail_msg("%s: order %s, expected %s", arranged[k].placements, listed(order, ranks),
               arranged[k].order);
    if (strcmp(listed(node_of, ranks), arranged[k].node_of) != 0)
      fail_msg("%s: nodes %s, expected %s", arranged[k].placements, listed(node_of, ranks),
               arranged[k].node_of);
    if (layout.inside != arranged[k].inside)
      fail_msg("%s: %d levels inside, expected %d", arranged[k].placements, layout.inside,
               arranged[k].inside);
  }
}

static void mistakes_are_said(void **state) {
  static const struct {
    const char *topology, *says;
  } cases[] = {
      {"rack:2 node:2 core:2", "here: the topology 'rack:2 node:2 core:2' holds 8 ranks, not 4"},
      {"rack:2 node:x", "here: topology 'rack:2 node:x', character 13: expected a number"},
      {"node:2 core:2\nnode:4", "here: there is more than one line of levels"},
      {"node:1 core:4",
       "ranks 0 (host 'n0') and 2 (host 'n1') sit on one node there, but share no memory"},
      {"r: n0\n", "here: host 'n1', of rank 2, is in none of its racks"},
      {"", "here: host 'n0', of rank 0, is in none of its racks"},
      {"r: n0 n1\n\ns: n0", "here, line 3, column 4: host 'n0' is in rack 'r' already"},
      {"r n0 n1",
       "here, line 1, column 1: expected a rack and its hosts, such as 'rack-a: n1 n2', found 'r'"},
      {"r: n0\n: n1", "here, line 2, column 1: expected a rack"},
      {"r: n0\n\ns:n1", "here, line 3, column 3: expected a blank, found 'n1'"},
      {"r: n[0-1", "here, line 1, column 6: expected hosts such as n7 or n[01-16,20], found '0-1'"},
      {"r: n[1-0]", "here, line 1, column 6: expected hosts"},
      {"r: n0 z[1,x]", "here, line 1, column 11: expected hosts"},
      {"r: n0,n1", "here, line 1, column 6: expected hosts"},
      {"r: n0]", "here, line 1, column 6: expected hosts"},
      {"r: n[00-01]", "host 'n0', of rank 0, is in none"},
      {"r: n[0-1]x", "host 'n0', of rank 0, is in none"},
  };
  (void)state;
  const int ranks = placements_of("a0 a0 a1 a1");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    assert_int_equal(tt_placement_arrange(placements, ranks, cases[k].topology, "here", &layout),
                     TUTTI_ERR_ARG);
    if (!strstr(tutti_error(), cases[k].says))
      fail_msg("'%s' does not say '%s'", tutti_error(), cases[k].says);
  }
}

static void hosts_are_counted(void **state) {
  static const struct {
    const char *pattern, *host;
    bool is;
  } cases[] = {
      {"n1", "n1", true},
      {"n1", "n10", false},
      {"n1", "n1.lan", true},
      {"n1.lan", "n1", true},
      {"n1.lan", "n1.wan", false},
      {"n[01-16]", "n09", true},
      {"n[01-16]", "n9", false},
      {"n[01-16]", "n17", false},
      {"n[1-16]", "n9", true},
      {"n[1-16]", "n09", false},
      {"n[8-11]", "n10", true},
      {"n[08-11,20]-x", "n20-x", true},
      {"n[08-11,20]", "n20-x", false},
      {"n[1]", "n1.lan", true},
      {"n[1-2]3", "n23", true},
      {"[1-3]r[01-02]", "2r02", true},
      {"[1-3]r[01-02]", "2r03", false},
      {"n[0-1]", "n", false},
      {"n[0-1].lan", "n1", true},
      {"n", "", false},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[80];
    int32_t rack;
    tt_placement placement = {0};
    snprintf(text, sizeof text, "r: %s", cases[k].pattern);
    snprintf(placement.host, sizeof placement.host, "%s", cases[k].host);
    if ((tt_racks_read(text, "here", &placement, 1, &rack) == TUTTI_OK) != cases[k].is)
      fail_msg("%s, %s: %s", cases[k].pattern, cases[k].host, tutti_error());
  }
}

static void nodes_are_faked(void **state) {
  static const struct {
    const char *placements, *text, *node_of; /* node_of: an error message if the text is wrong */
  } cases[] = {
      {"a0 a0 a0 a0 a0", "0,1", "0 1 0 1 0"},
      {"a0 a0 a0", "5", "0 0 0"},
      {"a0 a0 a0 a0", "7,7,0,7,3", "0 0 1 0"},
      {"a0 a1 a0 a1", "0,0", "0 1 0 1"},
      {"a0", "", "character 1: expected a number below 1048576"},
      {"a0", "0,", "character 3: expected a number"},
      {"a0", "0,-1", "character 3"},
      {"a0", "0, 1", "character 3"},
      {"a0", "0;1", "character 1"},
      {"a0", "1,1048576", "character 3"},
  };
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const int ranks = placements_of(cases[k].placements);
    if (tt_placement_fake(cases[k].text, ranks, placements)) {
      if (!strstr(tutti_error(), cases[k].node_of))
        fail_msg("'%s' does not say '%s'", tutti_error(), cases[k].node_of);
      continue;
    }
    assert_int_equal(tt_placement_arrange(placements, ranks, NULL, "here", &layout), TUTTI_OK);
    assert_string_equal(listed(node_of, ranks), cases[k].node_of);
  }
}

static void files_are_told_from_levels(void **state) {
  char path[] = "./topo-XXXXXX", name[200], *text;
  (void)state;
  assert_int_equal(tt_topology_read("node:4", &text, name, sizeof name), TUTTI_OK);
  assert_string_equal(text, "node:4");
  assert_string_equal(name, "TUTTI_TOPO");
  free(text);
  const int fd = mkstemp(path);
  assert_true(fd >= 0 && write(fd, "a: n1\n", 6) == 6 && close(fd) == 0);
  for (int bare = 0; bare < 3; bare += 2) {
    assert_int_equal(tt_topology_read(path + bare, &text, name, sizeof name), TUTTI_OK);
    assert_string_equal(text, "a: n1\n");
    assert_non_null(strstr(name, path + bare));
    free(text);
  }
  unlink(path);
  for (int i = 0; i < 3; i++) {
    static const char *const none[] = {"/no:4", "./no:4", "nothing"};
    assert_int_equal(tt_topology_read(none[i], &text, name, sizeof name), TUTTI_ERR_ARG);
    assert_non_null(strstr(tutti_error(), "cannot be read: No such file"));
  }
}

/* ---- random placements ---- */

static bool together(const tt_placement *a, const tt_placement *b, const char *level) {
  const int depth = strcmp(level, "rack") == 0      ? 1
                    : strcmp(level, "node") == 0    ? 2
                    : strcmp(level, "package") == 0 ? 3
                    : strcmp(level, "numa") == 0    ? 4
                                                    : 5;
  return a->rack == b->rack && (depth < 2 || a->node == b->node) &&
         (depth < 3 || a->package == b->package) &&
         (depth < 4 || !strstr(layout.levels, "numa") || a->numa == b->numa) &&
         (depth < 5 || a->cache == b->cache);
}

/* Fills in the positions below the g-th domain above level l: the domain of level `of` that each is in. */
static void fill(const tt_tree *t, int l, int g, int of, int domain, int *domains, int *places) {
  for (int i = 0; i < tt_tree_count(t, l, g); i++) {
    const int child = tt_tree_first(t, l, g) + i, here = l == of ? child : domain;
    if (l + 1 == t->levels)
      domains[(*places)++] = here;
    else
      fill(t, l + 1, child, of, here, domains, places);
  }
}

/* The colours that remain of a forgotten topology give the same levels. Restores the placement. */
static void colors_say_the_same(int ranks) {
  tt_placement *kept = malloc((size_t)ranks * sizeof *kept);
  int was[MOST];
  char text[sizeof layout.levels];
  snprintf(text, sizeof text, "%s", layout.levels);
  memcpy(kept, placements, (size_t)ranks * sizeof *kept);
  memcpy(was, node_of, (size_t)ranks * sizeof *was);
  assert_int_equal(tt_placement_color(&layout, ranks, kept), TUTTI_OK);
  assert_int_equal(tt_placement_arrange(kept, ranks, NULL, "here", &layout), TUTTI_OK);
  assert_string_equal(text, layout.levels);
  assert_memory_equal(was, node_of, (size_t)ranks * sizeof *was);
  free(kept);
  assert_int_equal(tt_placement_arrange(placements, ranks, NULL, "here", &layout), TUTTI_OK);
}

static void what_sits_together_stands_together(void **state) {
  unsigned seed = 1;
  (void)state;
  for (int trial = 0; trial < 3000; trial++) {
    const int ranks = 1 + rand_r(&seed) % (trial % 100 ? 24 : MOST), racks = 1 + rand_r(&seed) % 3,
              nodes = 1 + rand_r(&seed) % (trial % 100 ? 4 : 400), cores = 1 + rand_r(&seed) % 3;
    bool seen[MOST] = {0}, sorted = true;
    int new_nodes = 0;
    for (int r = 0; r < ranks; r++)
      placements[r] = (tt_placement){.rack = rand_r(&seed) % racks,
                                     .node = rand_r(&seed) % nodes - 1,
                                     .package = rand_r(&seed) % cores,
                                     .numa = rand_r(&seed) % cores,
                                     .cache = rand_r(&seed) % cores};
    assert_int_equal(tt_placement_arrange(placements, ranks, NULL, "here", &layout), TUTTI_OK);
    for (int r = 0; r < ranks; r++) {
      assert_true(order[r] >= 0 && order[r] < ranks && !seen[order[r]]);
      seen[order[r]] = true;
      sorted &= order[r] == r;
      assert_true(node_of[r] <= new_nodes);
      new_nodes += node_of[r] == new_nodes;
    }
    assert_int_equal(new_nodes, layout.nodes);
    for (int v = 1; v < ranks; v++)
      assert_true((node_of[order[v]] == node_of[order[v - 1]]) ==
                  together(&placements[order[v]], &placements[order[v - 1]], "node"));
    tt_tree tree;
    if (!*layout.levels) continue;
    assert_int_equal(tt_tree_parse(layout.levels, &tree), TUTTI_OK);
    assert_int_equal(tree.ranks, ranks);
    for (int l = 0; l + 1 < tree.levels; l++) {
      int domains[MOST], places = 0;
      fill(&tree, 0, 0, l, 0, domains, &places);
      assert_int_equal(places, ranks);
      for (int v = 1; v < ranks; v++)
        assert_true((domains[v] == domains[v - 1]) ==
                    together(&placements[order[v]], &placements[order[v - 1]], tree.level[l].name));
    }
    colors_say_the_same(ranks);
    /* arranging them again changes nothing */
    if (sorted) continue;
    tt_placement *again = malloc((size_t)ranks * sizeof *again);
    char levels[sizeof layout.levels];
    snprintf(levels, sizeof levels, "%s", layout.levels);
    for (int v = 0; v < ranks; v++) again[v] = placements[order[v]];
    assert_int_equal(tt_placement_arrange(again, ranks, NULL, "here", &layout), TUTTI_OK);
    for (int v = 0; v < ranks; v++) assert_int_equal(order[v], v);
    assert_string_equal(levels, layout.levels);
    free(again);
  }
}

/* A hundred nodes of different sizes do not fit into the text, so only the racks remain. */
static void a_forgotten_topology_stays_in_colors(void **state) {
  (void)state;
  static const char *const topologies[] = {"rack:2 node:2 core:2", "rack:2 node:(1,2) core:(2,3,3)",
                                           "node:4 core:2", "numa:2 cache:2 core:2"};
  for (size_t i = 0; i < sizeof topologies / sizeof *topologies; i++) {
    int again[8];
    char text[sizeof layout.levels];
    memset(placements, 0, 8 * sizeof *placements);
    assert_int_equal(tt_placement_arrange(placements, 8, topologies[i], "here", &layout), TUTTI_OK);
    memcpy(again, layout.node_of, sizeof again);
    snprintf(text, sizeof text, "%s", layout.levels);
    assert_int_equal(tt_placement_color(&layout, 8, placements), TUTTI_OK);
    assert_int_equal(tt_placement_arrange(placements, 8, NULL, "here", &layout), TUTTI_OK);
    assert_string_equal(layout.levels, text);
    assert_memory_equal(again, layout.node_of, sizeof again);
  }
}

/* Levels within a machine: those below the nodes, or from the first level with such a name. */
static void levels_inside_are_counted(void **state) {
  static const struct {
    const char *levels;
    int inside;
  } cases[] = {{"package:2 numa:4 cache:8 core:8", 4},
               {"numa:2 core:2", 2},
               {"node:2 package:2 core:2", 2},
               {"node:2 socket:2 core:2", 2},
               {"rack:2 cache:2 core:2", 2},
               {"rack:2 node:2", 0},
               {"node:2 core:2", 1},
               {"island:2 core:2", 0},
               {"core:8", 0}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tt_tree tree;
    assert_int_equal(tt_tree_parse(cases[i].levels, &tree), TUTTI_OK);
    if (tt_levels_inside(&tree) != cases[i].inside)
      fail_msg("%s: %d levels", cases[i].levels, tt_levels_inside(&tree));
  }
}

/* Levels keep their names as colours if the name is one of the machine's; other levels are identified by their
 * order. */
static void colors_keep_names(void **state) {
  static const struct {
    const char *topology, *again;
  } cases[] = {{"package:2 numa:2 cache:2 core:2", "package:2 numa:2 cache:2 core:2"},
               {"cache:4 core:4", "cache:4 core:4"},
               {"socket:2 die:2 core:4", "package:2 numa:2 core:4"},
               {"socket:2 cache:4 core:2", "package:2 cache:4 core:2"},
               {"cache:2 numa:2 core:4", "cache:2 core:8"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    memset(placements, 0, 16 * sizeof *placements);
    assert_int_equal(tt_placement_arrange(placements, 16, cases[i].topology, "here", &layout),
                     TUTTI_OK);
    assert_int_equal(tt_placement_color(&layout, 16, placements), TUTTI_OK);
    assert_int_equal(tt_placement_arrange(placements, 16, NULL, "here", &layout), TUTTI_OK);
    assert_string_equal(layout.levels, cases[i].again);
  }
}

/* Lists that are long in the order of the ranks are short if larger domains come first. */
static void long_lists_are_sorted(void **state) {
  (void)state;
  for (int r = 0; r < 1000; r++)
    placements[r] =
        (tt_placement){.rack = r / 500, .node = r / 5 - (r % 10 == 5), .package = r % 2};
  assert_int_equal(tt_placement_arrange(placements, 1000, NULL, "here", &layout), TUTTI_OK);
  assert_string_equal(layout.levels, "rack:2 node:100 package:2 core:(3*100,2*100,3*100,2*100)");
  assert_int_equal(layout.inside, 2);
  assert_int_equal(layout.nodes, 200);
  for (int v = 0; v < 6; v++) assert_int_equal(order[v] / 10, 0); /* the first node, of six */
}

/* 10,000 nodes of 4 ranks, some of which lack one or two. */
static void incomplete_nodes_are_said_in_runs(void **state) {
  enum { NODES = 10000, ALL = 4 * NODES };
  static const struct {
    int one,
        two; /* nodes with these multiples as numbers lack one rank, or two; 0: no node lacks them */
    const char *levels;
  } cases[] = {{0, 0, "node:10000 core:4"},
               {9999, 0, "node:10000 core:(3,4*9998,3)"},
               {113, 0, "node:10000 core:(4*9911,3*89)"},
               {7, 13, "node:10000 core:(4*7911,3*1319,2*770)"}};
  tt_placement *many = calloc(ALL, sizeof *many);
  tt_layout out = {.order = malloc(ALL * sizeof *out.order),
                   .node_of = malloc(ALL * sizeof *out.node_of)};
  (void)state;
  assert_true(many && out.order && out.node_of);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int ranks = 0;
    for (int node = 0; node < NODES; node++) {
      const int lacks = cases[i].two && node % cases[i].two == 0   ? 2
                        : cases[i].one && node % cases[i].one == 0 ? 1
                                                                   : 0;
      for (int k = lacks; k < 4; k++) many[ranks++] = (tt_placement){.node = node};
    }
    assert_int_equal(tt_placement_arrange(many, ranks, NULL, "here", &out), TUTTI_OK);
    assert_string_equal(out.levels, cases[i].levels);
    assert_int_equal(out.nodes, NODES);
    assert_int_equal(out.inside, 1);
    tt_tree tree;
    assert_int_equal(tt_tree_parse(out.levels, &tree), TUTTI_OK);
    assert_int_equal(tree.ranks, ranks);
    for (int node = 0; node < NODES; node++) /* a node of the tree is one of the ranks' */
      for (int k = 1; k < tt_tree_count(&tree, 1, node); k++) {
        const int at = tt_tree_rank(&tree, 0, node);
        assert_int_equal(out.node_of[out.order[at + k]], out.node_of[out.order[at]]);
      }
  }
  free(many);
  free(out.order);
  free(out.node_of);
}

/* Lists that are too long even when sorted are left out, from the innermost level outwards: here 48 sizes, each
 * in three packages of unequal sizes. */
static void long_lists_are_left_out(void **state) {
  int ranks = 0;
  (void)state;
  for (int node = 0; ranks + node % 48 + 1 <= MOST; node++)
    for (int k = 0; k <= node % 48; k++)
      placements[ranks++] = (tt_placement){.node = node, .rack = node / 16, .package = k % 7 % 3};
  assert_int_equal(tt_placement_arrange(placements, ranks, NULL, "here", &layout), TUTTI_OK);
  if (strstr(layout.levels, "package")) fail_msg("%s", layout.levels);
  if (!strstr(layout.levels, "node")) fail_msg("%s", layout.levels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_are_arranged),
      cmocka_unit_test(mistakes_are_said),
      cmocka_unit_test(hosts_are_counted),
      cmocka_unit_test(nodes_are_faked),
      cmocka_unit_test(files_are_told_from_levels),
      cmocka_unit_test(a_forgotten_topology_stays_in_colors),
      cmocka_unit_test(levels_inside_are_counted),
      cmocka_unit_test(colors_keep_names),
      cmocka_unit_test(long_lists_are_sorted),
      cmocka_unit_test(incomplete_nodes_are_said_in_runs),
      cmocka_unit_test(long_lists_are_left_out),
      cmocka_unit_test(what_sits_together_stands_together),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
