/* kept.h - a list of texts without duplicates, so that equal texts have the same pointer.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEPT_H
#define KEPT_H

typedef struct kept_name {
  struct kept_name *next;
  char text[];
} kept_name;

/* Returns the list's copy of the text, and adds the copy if necessary. Returns "?" if out of memory. */
const char *kept_text(kept_name **all, const char *text);
void kept_free(kept_name **all);

#endif
