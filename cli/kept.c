/* kept.c - see kept.h. A trace may have many names of marks, so the set is a search tree of the C library.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kept.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int by_text(const void *a, const void *b) {
  return strcmp(a, b);
}

const char *kept_text(kept_names *all, const char *text) {
  char *const *found = tfind(text, all, by_text);
  if (found) return *found;
  char *copy = strdup(text);
  if (!copy) return "?";
  if (tsearch(copy, all, by_text)) return copy;
  free(copy);
  return "?";
}

void kept_free(kept_names *all) {
  tdestroy(*all, free);
  *all = NULL;
}
