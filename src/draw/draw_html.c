/* draw_html.c - a page that steps through a schedule. It is page.html, which the Makefile converts to a string,
 * with the picture's JSON inserted. The page is self-contained and works offline.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "picture.h"

static const char page[] = {
#include "page.inc"
};

/* Appends the page as far as the mark `mark`, and returns the rest of the page after the mark. */
static const char *until(tt_text *t, const char *from, const char *mark) {
  const char *at = strstr(from, mark);
  if (!at) return from;
  tt_text_add(t, "%.*s", (int)(at - from), from);
  return at + strlen(mark);
}

static void colors(tt_text *t, const tt_picture *p) {
  tt_text_add(t, "[");
  for (uint32_t b = 0; b < p->blocks; b++)
    tt_text_add(t, "%s\"#%06x\"", b ? "," : "", tt_label_color(b, p->blocks));
  tt_text_add(t, "]");
}

void tt_draw_html(tt_text *t, tt_picture *p) {
  const char *rest = until(t, page, "@TITLE@");
  tt_label_title(t, p, TT_ESCAPE_XML);
  rest = until(t, rest, "@TITLE@");
  tt_label_title(t, p, TT_ESCAPE_XML);
  rest = until(t, rest, "@FACTS@");
  tt_label_facts(t, p);
  rest = until(t, rest, "@DATA@");
  tt_draw_json(t, p, -1, false);
  rest = until(t, rest, "@COLORS@");
  colors(t, p);
  tt_text_add(t, "%s", rest);
}
