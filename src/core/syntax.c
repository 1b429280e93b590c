/* syntax.c - shared helpers for parsers: sizes with units, and the positions of errors.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "core.h"

enum { MOST = 40 }; /* maximum number of characters quoted in a message */

const char *tt_skip_comments(const char *at, const char *blanks) {
  for (at += strspn(at, blanks); *at == '#'; at += strspn(at, blanks)) at += strcspn(at, "\n");
  return at;
}

int tt_line_of_text(const char *text, const char *at, int *column) {
  int line = 1;
  *column = 1;
  for (const char *c = text; c < at; c++) {
    *column = *c == '\n' ? 1 : *column + 1;
    line += *c == '\n';
  }
  return line;
}

tutti_status tt_syntax_error(tutti_status status, const char *what, const char *text,
                             const char *at, const char *stops, const char *expected) {
  const int n = (int)tt_min(strcspn(at, stops), MOST);
  int column;
  const int line = tt_line_of_text(text, at, &column);
  return tt_fail(status, "%.200s, line %d, column %d: expected %s, found %s%.*s%s", what, line,
                 column, expected, n ? "'" : "the end of the line", n, at, n ? "'" : "");
}

const char *tt_size_read(const char *text, uint64_t *bytes) {
  static const char units[] = "kMGT";
  char *end;
  if (*text < '0' || *text > '9') return NULL;
  const double value = strtod(text, &end);
  uint64_t unit = 1;
  for (int i = 0; units[i]; i++)
    if ((*end | 32) == (units[i] | 32)) {
      unit <<= 10 * (i + 1);
      end++;
      if (*end == 'i') end++;
      break;
    }
  if (*end == 'B') end++;
  if (!(value * (double)unit < 9e18)) return NULL;
  *bytes = (uint64_t)(value * (double)unit + 0.5);
  return end;
}

int tt_by_first_u64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}
