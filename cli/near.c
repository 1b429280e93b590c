/* near.c - draws which processors are near each other.
 *
 * Idea      processors are sorted by domain, so a domain begins where its number changes. Each line
 *           shows an innermost domain. Outer domains are named on the line where they begin. Levels
 *           that do not separate any processors are omitted.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cpus.h"

/* Prints a range of processors, as in "0-3 8-11". */
static void print_cpus(FILE *to, const cpu_list *list, int from, int end) {
  for (int i = from, first; i < end; i++) {
    first = i;
    while (i + 1 < end && list->cpu[i + 1] == list->cpu[i] + 1) i++;
    fprintf(to, "%s%d", first > from ? " " : "", list->cpu[first]);
    if (i > first) fprintf(to, "-%d", list->cpu[i]);
  }
}

/* Returns true if two neighbouring processors in the list are in different domains of this level. */
static bool separates(const cpu_list *list, int level) {
  for (int i = 1; i < list->n; i++)
    if (cpus_apart(list, i - 1, i) == level) return true;
  return false;
}

/* Returns the end of the domain that begins at `from`. */
static int end_of(const cpu_list *list, int from) {
  int end = from + 1;
  while (end < list->n && cpus_apart(list, from, end) == CPUS_LEVELS) end++;
  return end;
}

void near_draw(FILE *to, const char *title, const cpu_list *list) {
  int number[CPUS_LEVELS] = {-1, -1, -1};
  for (int from = 0, end; from < list->n; from = end) {
    const int apart = from ? cpus_apart(list, from - 1, from) : 0;
    end = end_of(list, from);
    fprintf(to, "%-18s ", from ? "" : title);
    for (int l = 0; l < CPUS_LEVELS; l++) {
      char name[24] = "";
      if (!separates(list, l)) continue;
      if (l >= apart) snprintf(name, sizeof name, "%s %d", cpus_level[l], ++number[l]);
      fprintf(to, "%-*s", (int)strlen(cpus_level[l]) + 5, name);
    }
    print_cpus(to, list, from, end);
    fprintf(to, "\n");
  }
}

void near_json(FILE *to, const cpu_list *list) {
  for (int from = 0, end; from < list->n; from = end) {
    end = end_of(list, from);
    const tutti_net_site *s = &list->site[from];
    fprintf(to, "%s{\"package\": %d, \"numa\": %d, \"cache\": %d, \"cores\": \"", from ? ", " : "",
            s->package, s->numa, s->cache);
    print_cpus(to, list, from, end);
    fprintf(to, "\"}");
  }
}
