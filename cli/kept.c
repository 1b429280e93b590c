/* kept.c - see kept.h. There are at most a few hundred names of plans.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

const char *kept_text(kept_name **all, const char *text) {
  kept_name *k = *all;
  while (k && strcmp(k->text, text) != 0) k = k->next;
  if (k) return k->text;
  k = malloc(sizeof *k + strlen(text) + 1);
  if (!k) return "?";
  strcpy(k->text, text);
  k->next = *all;
  *all = k;
  return k->text;
}

void kept_free(kept_name **all) {
  while (*all) {
    kept_name *next = (*all)->next;
    free(*all);
    *all = next;
  }
}
