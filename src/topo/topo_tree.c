/* topo_tree.c - parses a tree of nested groups of ranks.
 *
 * Idea       A level gives the number of its domains in each domain of the level above. This is either one number for
 *            all, or a list with one number for each, in which 40*99 means 99 times 40. If a final list is longer by an
 *            integer factor, it lists ranks: node:(4,3,4) means node:3 and a level of ranks with that list.
 * Cost       A binary search among the runs of equal numbers, not among the domains.
 * Invariant  Every domain contains at least one rank, and there are at most 2^20 ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "topo_tree.h"

#include <ctype.h>
#include <stdarg.h>
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

/* Appends numbers to the list of a level. Extends the last run if it has the same size. */
static bool add_run(tt_tree *t, int level, int size, int times) {
  const int first = t->level[level].at;
  int *n = &t->level[level].n;
  tt_tree_run *last = *n ? &t->run[first + *n - 1] : NULL;
  const int64_t before = last ? last->before + (int64_t)last->times : 0;
  const int64_t holds = last ? last->first + (int64_t)last->size * last->times : 0;
  if (before + times > MOST_RANKS || holds + (int64_t)size * times > MOST_RANKS) return false;
  if (size > t->level[level].most) t->level[level].most = size;
  t->level[level].parents = (int)before + times;
  if (last && last->size == size) {
    last->times += times;
    return true;
  }
  if (first + *n == TT_TREE_RUNS) return false;
  t->run[first + (*n)++] = (tt_tree_run){size, times, (int)before, (int)holds};
  return true;
}

/* Reads the list of a level, such as "(4,3*9,4)". */
static bool read_list(tt_tree *t, int level, const char **at) {
  do {
    int size, times = 1;
    ++*at;
    if (!parse_count(at, &size)) return false;
    if (**at == '*') {
      ++*at;
      if (!parse_count(at, &times)) return false;
    }
    if (!add_run(t, level, size, times)) return false;
  } while (**at == ',');
  t->even = false;
  return *(*at)++ == ')';
}

/* Adds a level of ranks, for a list with the number of ranks in each domain. The list has `times` entries per parent. */
static void list_of_ranks(tt_tree *t, int times) {
  int level = t->levels - 1;
  t->level[level + 1] = t->level[level];
  t->level[level].each = t->level[level].most = times;
  t->level[level].n = 0;
  snprintf(t->level[level + 1].name, sizeof t->level[level + 1].name, "rank");
  t->levels++;
}

/* Returns the sum of the list. */
static int listed_in_all(const tt_tree *t, int level) {
  const tt_tree_run *last = &t->run[t->level[level].at + t->level[level].n - 1];
  return last->first + last->size * last->times;
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
      if (!read_list(t, level, &at))
        return topology_error(text, at, "a list such as (4,3,4) or (40*99,39)");
      const int n = t->level[level].parents;
      if (n != domains) {
        if (n % domains || at[strspn(at, " ")])
          return topology_error(text, at, "a number in the list for each thing of the level above");
        list_of_ranks(t, n / (int)domains);
      }
      domains = listed_in_all(t, t->levels - 1);
    }
    if (domains > MOST_RANKS) return topology_error(text, at, "at most 1048576 ranks");
    if (*at && *at != ' ') return topology_error(text, at, "a blank");
  }
  t->ranks = (int)domains;
  return TUTTI_OK;
}

bool tt_tree_equal(const tt_tree *a, const tt_tree *b) {
  return memcmp(a, b, sizeof *a) == 0; /* unused bytes are 0 in both */
}

/* Returns the run of the list that contains the g-th domain. If g is past the end, returns the last run. */
static const tt_tree_run *run_of_domain(const tt_tree *t, int level, int g) {
  const tt_tree_run *run = &t->run[t->level[level].at];
  int lo = 0, hi = t->level[level].n - 1;
  while (lo < hi) {
    const int mid = (lo + hi + 1) / 2;
    if (run[mid].before <= g)
      lo = mid;
    else
      hi = mid - 1;
  }
  return &run[lo];
}

int tt_tree_count(const tt_tree *t, int level, int g) {
  return t->level[level].each ? t->level[level].each : run_of_domain(t, level, g)->size;
}

int tt_tree_first(const tt_tree *t, int level, int g) {
  if (t->level[level].each) return g * t->level[level].each;
  const tt_tree_run *run = run_of_domain(t, level, g);
  return run->first + (g - run->before) * run->size;
}

int tt_tree_rank(const tt_tree *t, int level, int g) {
  while (++level < t->levels) g = tt_tree_first(t, level, g);
  return g;
}

int tt_tree_domain(const tt_tree *t, int level, int g, int rank) {
  int lo = tt_tree_first(t, level, g), hi = lo + tt_tree_count(t, level, g) - 1;
  while (lo < hi) {
    const int mid = lo + (hi - lo + 1) / 2;
    if (tt_tree_rank(t, level, mid) <= rank)
      lo = mid;
    else
      hi = mid - 1;
  }
  return lo;
}

void tt_levels_add(char *text, size_t size, size_t *at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const size_t from = tt_min(*at, size - 1);
  *at += (size_t)vsnprintf(text + from, size - from, format, args);
  va_end(args);
}

void tt_levels_add_numbers(char *text, size_t size, size_t *at, const int *each, int n) {
  for (int i = 0, times; i < n; i += times) {
    char one[32];
    for (times = 1; i + times < n && each[i + times] == each[i];) times++;
    snprintf(one, sizeof one, "%d*%d", each[i], times);
    const bool shorter = strlen(one) < strcspn(one, "*") * (size_t)times + (size_t)times - 1;
    if (!shorter) times = 1;
    tt_levels_add(text, size, at, "%s%.*s", i ? "," : "",
                  (int)(shorter ? strlen(one) : strcspn(one, "*")), one);
  }
}
