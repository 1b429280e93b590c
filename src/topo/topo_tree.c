/* topo_tree.c - parses a tree of nested groups of ranks.
 *
 * Idea       A level says how many of its domains are in each domain of the level above: one number
 *            for all, or a list with a number each. A final list that is longer by a factor lists
 *            ranks: node:(4,3,4) is node:3 and a level of ranks with that list.
 * Invariant  Every domain holds at least one rank, and there are at most 2^20 ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topo_tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1 << 20 };

static tutti_status topology_error(const char *text, const char *at, const char *expected) {
  return tt_fail(TUTTI_ERR_ARG, "topology '%.80s', character %d: expected %s", text,
                 (int)(at - text) + 1, expected);
}

static bool parse_count(const char **at, int *n) {
  char *end;
  if (!isdigit((unsigned char)**at)) return false;
  long value = strtol(*at, &end, 10);
  *at = end;
  *n = (int)value;
  return value >= 1 && value <= MOST_RANKS;
}

/* Read "(4,3,4)" into the level's list. */
static bool read_list(tt_tree *t, int level, const char **at) {
  const int first = t->level[level].at;
  do {
    ++*at;
    if (first + t->level[level].n == TT_TREE_LIST) return false;
    int *n = &t->list[first + t->level[level].n++];
    if (!parse_count(at, n)) return false;
    t->level[level].most = (int)tt_max((size_t)t->level[level].most, (size_t)*n);
  } while (**at == ',');
  t->even = false;
  return *(*at)++ == ')';
}

/* A list `times` as long as the number of parents gives the number of ranks of each domain. */
static void list_of_ranks(tt_tree *t, int times) {
  int level = t->levels - 1;
  t->level[level + 1] = t->level[level];
  t->level[level].each = t->level[level].most = times;
  t->level[level].n = 0;
  snprintf(t->level[level + 1].name, sizeof t->level[level + 1].name, "rank");
  t->levels++;
}

tutti_status tt_tree_parse(const char *text, tt_tree *t) {
  const char *at = text;
  int64_t domains = 1;
  memset(t, 0, sizeof *t);
  t->even = true;
  for (;;) {
    at += strspn(at, " ");
    if (!*at && t->levels) break;
    const int level = t->levels;
    size_t name = strcspn(at, ": (),");
    if (!name || at[name] != ':') return topology_error(text, at, "a level such as node:4");
    if (level + 2 > TT_TREE_LEVELS) return topology_error(text, at, "at most 11 levels");
    snprintf(t->level[level].name, sizeof t->level[level].name, "%.*s", (int)name, at);
    if (level) t->level[level].at = t->level[level - 1].at + t->level[level - 1].n;
    at += name + 1;
    t->levels++;
    if (*at != '(') {
      if (!parse_count(&at, &t->level[level].each))
        return topology_error(text, at, "a number of at least 1");
      t->level[level].most = t->level[level].each;
      domains *= t->level[level].each;
    } else {
      if (!read_list(t, level, &at)) return topology_error(text, at, "a list such as (4,3,4)");
      const int n = t->level[level].n;
      if (n != domains) {
        if (n % domains || at[strspn(at, " ")])
          return topology_error(text, at, "a number in the list for each thing of the level above");
        list_of_ranks(t, n / (int)domains);
      }
      domains = 0;
      for (int i = 0; i < n; i++) domains += t->list[t->level[t->levels - 1].at + i];
    }
    if (domains > MOST_RANKS) return topology_error(text, at, "at most 1048576 ranks");
    if (*at && *at != ' ') return topology_error(text, at, "a blank");
  }
  t->ranks = (int)domains;
  return TUTTI_OK;
}

int tt_tree_count(const tt_tree *t, int level, int g) {
  return t->level[level].each ? t->level[level].each : t->list[t->level[level].at + g];
}

int tt_tree_first(const tt_tree *t, int level, int g) {
  if (t->level[level].each) return g * t->level[level].each;
  int first = 0;
  for (int i = 0; i < g; i++) first += t->list[t->level[level].at + i];
  return first;
}
