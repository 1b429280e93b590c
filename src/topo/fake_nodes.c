/* fake_nodes.c - simulated node boundaries, for experiments on one machine.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"

enum { MOST = 1 << 20 };

/* The length of the list; 0: not a list of numbers. */
static int length(const char *text) {
  int n = 0;
  for (const char *at = text;; at++) {
    const size_t digits = strspn(at, "0123456789");
    if (!digits || digits > 7 || atoi(at) >= MOST || (at[digits] && at[digits] != ',')) {
      tt_fail(TUTTI_ERR_ARG,
              "the nodes '%.80s', character %d: expected a number below %d, as in 0,1,0,1", text,
              (int)(at - text) + 1, MOST);
      return 0;
    }
    n++;
    at += digits;
    if (!*at) return n;
  }
}

/* A node and a number in it form a new colour: that of the first rank that has both. */
typedef struct both {
  int32_t rack, node, number;
  int rank;
} both;

static int by_rack_and_node(const void *a, const void *b) {
  const both *x = a, *y = b;
  if (x->rack != y->rack) return x->rack < y->rack ? -1 : 1;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->number != y->number) return x->number < y->number ? -1 : 1;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

tutti_status tt_placement_fake(const char *text, int ranks, tt_placement *placements) {
  const int n = length(text);
  if (!n) return TUTTI_ERR_ARG;
  both *all = malloc((size_t)ranks * sizeof *all);
  if (!all) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the nodes of %d ranks", ranks);
  const char *at = text;
  for (int r = 0; r < ranks; r++) {
    const int number = atoi(at);
    at += strspn(at, "0123456789");
    at = *at ? at + 1 : text;
    all[r] = (both){placements[r].rack, placements[r].node, number, r};
    snprintf(placements[r].host, sizeof placements[r].host, "n%d", number);
  }
  qsort(all, (size_t)ranks, sizeof *all, by_rack_and_node);
  for (int i = 0, first = 0; i < ranks; i++) {
    const both *x = &all[i], *f = &all[first];
    if (x->rack != f->rack || x->node != f->node || x->number != f->number) first = i;
    placements[x->rank].node = all[first].rank;
  }
  free(all);
  return TUTTI_OK;
}
