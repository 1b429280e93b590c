/* kept.h - texts that are kept once each, so that equal ones are the same pointer.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEPT_H
#define KEPT_H

typedef struct kept {
  struct kept *next;
  char text[];
} kept;

/* The text in this list, added if it is new; "?": out of memory. */
const char *kept_text(kept **all, const char *text);
void kept_free(kept **all);

#endif
