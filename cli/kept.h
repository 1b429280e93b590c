/* kept.h - a set of texts, so that equal texts have the same pointer.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef KEPT_H
#define KEPT_H

/* The root of a search tree (tsearch). NULL: the set is empty. */
typedef void *kept_names;

/* Returns the text in this set, and adds it if it is new. Returns "?" if out of memory. */
const char *kept_text(kept_names *all, const char *text);
void kept_free(kept_names *all);

#endif
