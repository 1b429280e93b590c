/* kept.h - texts that are kept once each, so that equal ones are the same pointer.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEPT_H
#define KEPT_H

typedef struct kept_name {
  struct kept_name *next;
  char text[];
} kept_name;

/* The text in this list, added if it is new; "?": out of memory. */
const char *kept_text(kept_name **all, const char *text);
void kept_free(kept_name **all);

#endif
