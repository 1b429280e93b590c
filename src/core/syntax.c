/* syntax.c - what all readers of texts say about a text that is wrong, and where.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "core.h"

enum { MOST = 40 }; /* characters of the text in a sentence */

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
