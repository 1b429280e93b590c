/* draw_terminal.c - the drawing of draw_svg.c for a terminal: ranks are columns, time runs down, with an arrow for each
 * message and, after each round, a glyph for the contents of each block.
 *
 * Idea       The messages of a round are packed into lines such that no two messages of a line share a column. If a
 *            rank's column is too narrow for a glyph per block, one glyph represents all of its blocks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "picture.h"

enum {
  MARGIN = 5,      /* width of the rounds' numbers */
  COLUMN = 12,     /* maximum width per rank */
  MOST_LINES = 40, /* maximum number of lines of a round */
};

enum { NONE, DOWN, HELP, ACROSS, DOTS, START_R, START_L, HEAD_R, HEAD_L }; /* glyphs */
static const char *const plain_glyphs[] = {" ", "|", ":", "-", ".", "+", "+", ">", "<"};
static const char *const fine_glyphs[] = {" ", "│", "┊", "─", "╌", "├", "┤", "►", "◄"};

typedef struct cell {
  unsigned char glyph;
  char letter;    /* letter of a label, if one covers the glyph */
  uint32_t block; /* block whose colour is used, or UINT32_MAX */
} cell;

typedef struct screen {
  tt_text *t;
  tt_picture *p;
  bool color, utf8;
  int column, width; /* width per rank; width of all columns, without the margin */
  int limit;         /* maximum length of a line */
  cell *cells;       /* the current line, one cell per column */
  int *reach;        /* first free column of each line of the round */
} screen;

static int rank_center_column(const screen *s, int rank) {
  return rank * s->column + s->column / 2;
}

static void paint(const screen *s, uint32_t block) {
  uint32_t c = tt_label_color(block, s->p->blocks);
  tt_text_add(s->t, "\033[38;2;%u;%u;%um", c >> 16, c >> 8 & 255, c & 255);
}

static void clear(const screen *s) {
  for (int x = 0; x < s->width; x++) s->cells[x] = (cell){NONE, 0, UINT32_MAX};
  for (int r = 0; r < s->p->ranks; r++)
    s->cells[rank_center_column(s, r)].glyph = r < s->p->data ? DOWN : HELP;
}

/* Prints the current line up to its last glyph. */
static void flush_screen_line(const screen *s, uint32_t round) {
  int end = s->width;
  uint32_t painted = UINT32_MAX;
  while (end && s->cells[end - 1].glyph == NONE && !s->cells[end - 1].letter) end--;
  tt_text_add(s->t, round ? "%4u " : "     ", round);
  for (const cell *x = s->cells; x < s->cells + end; x++) {
    if (s->color && x->block != painted) {
      if (painted != UINT32_MAX) tt_text_add(s->t, "\033[0m");
      painted = x->block;
      if (painted != UINT32_MAX) paint(s, painted);
    }
    if (x->letter)
      tt_text_add(s->t, "%c", x->letter);
    else
      tt_text_add(s->t, "%s", (s->utf8 ? fine_glyphs : plain_glyphs)[x->glyph]);
  }
  tt_text_add(s->t, s->color && painted != UINT32_MAX ? "\033[0m\n" : "\n");
}

static void arrow_columns(const screen *s, const tt_message *m, int *lo, int *hi) {
  int a = rank_center_column(s, m->sender), b = rank_center_column(s, m->reader);
  *lo = a < b ? a : b;
  *hi = a < b ? b : a;
}

static void draw_text_arrow(const screen *s, const tt_message *m) {
  bool right = m->sender < m->reader;
  int lo, hi;
  arrow_columns(s, m, &lo, &hi);
  uint32_t single = tt_label_single(s->p, m);
  for (int x = lo; x <= hi; x++) {
    s->cells[x].glyph = tt_picture_sums(s->p, m) ? ACROSS : DOTS;
    s->cells[x].block = s->p->blocks > 1 ? single : UINT32_MAX;
  }
  s->cells[lo].glyph = right ? START_R : HEAD_L;
  s->cells[hi].glyph = right ? HEAD_R : START_L;
  tt_text label = {0};
  if (s->p->blocks > 1) tt_label_message(&label, s->p, m);
  if (label.failed) s->t->failed = true;
  int length = (int)label.length; /* next to the sender, between blanks if they fit */
  const bool fits = label.at && length <= hi - lo - 1, blanks = length + 2 <= hi - lo - 2;
  const int at = blanks ? right ? lo + 3 : hi - 2 - length : lo + 1;
  if (fits && blanks) s->cells[at - 1].letter = s->cells[at + length].letter = ' ';
  for (int i = 0; fits && i < length; i++) s->cells[at + i].letter = label.at[i];
  free(label.at);
}

/* Draws messages [from, to) in the sorted order, all of one round, in as few lines as first-fit packing finds. */
static void draw_round(const screen *s, uint32_t round, uint32_t from, uint32_t to) {
  const tt_picture *p = s->p;
  int *line = malloc((to - from) * sizeof *line), lines = 0;
  if (!line) {
    s->t->failed = true;
    return;
  }
  for (uint32_t i = from; i < to; i++) {
    int lo, hi, k = 0;
    arrow_columns(s, &p->graph.messages[p->order[i]], &lo, &hi);
    while (k < lines && s->reach[k] > lo) k++;
    if (k == lines) lines++;
    s->reach[k] = hi + 1;
    line[i - from] = k;
  }
  uint32_t left = to - from;
  for (int k = 0; k < lines && k < MOST_LINES; k++) {
    clear(s);
    for (uint32_t i = from; i < to; i++) {
      if (line[i - from] != k) continue;
      draw_text_arrow(s, &p->graph.messages[p->order[i]]);
      left--;
    }
    flush_screen_line(s, k ? 0 : round);
  }
  if (left) tt_text_add(s->t, "     and %u more\n", left);
  free(line);
}

/* Prints one glyph for an amount. 0 means nothing, and 1 to 8 mean eighths of the full sum. */
static void amount(const screen *s, uint32_t has, uint64_t full, uint32_t block) {
  static const char *const plain[] = {".", "1", "2", "3", "4", "5", "6", "7", "#"};
  static const char *const fine[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  uint32_t eighths = has == 0 ? 0 : has >= full ? 8 : 1 + (uint32_t)(7 * (uint64_t)has / full);
  eighths = has < full && eighths > 7 ? 7 : eighths;
  if (s->color && block != UINT32_MAX) paint(s, block);
  tt_text_add(s->t, "%s", (s->utf8 ? fine : plain)[eighths]);
  if (s->color && block != UINT32_MAX) tt_text_add(s->t, "\033[0m");
}

static void draw_cells(const screen *s, const tt_snapshot *now) {
  const tt_picture *p = s->p;
  uint32_t full = tt_picture_full(p);
  bool each = (int)p->blocks < s->column;
  int wide = each ? (int)p->blocks : 1, at = 0;
  tt_text_add(s->t, "     ");
  for (int r = 0; r < p->ranks; r++) {
    int x = rank_center_column(s, r) - wide / 2;
    tt_text_add(s->t, "%*s", x - at, "");
    at = x + wide;
    uint64_t sum = 0;
    for (uint32_t b = 0; b < p->blocks; b++) {
      uint32_t has = p->inputs[tt_snapshot_best(now, r, b)];
      if (each) amount(s, has, full, b);
      sum += has;
    }
    if (!each) amount(s, (uint32_t)sum, (uint64_t)full * p->blocks, UINT32_MAX);
  }
  tt_text_add(s->t, "\n");
}

/* Breaks the text into lines of limited length. */
static void wrap_text(const screen *s, const char *text) {
  int at = 0;
  for (size_t n; *text; text += n) {
    n = strcspn(text, " ");
    size_t cut = tt_min(n, (size_t)s->limit);
    if (at && at + 1 + (int)cut > s->limit) {
      tt_text_add(s->t, "\n");
      at = 0;
    }
    tt_text_add(s->t, "%s%.*s", at ? " " : "", (int)cut, text);
    at += (int)cut + (at > 0);
    n = cut < n ? cut : n + strspn(text + n, " ");
  }
  tt_text_add(s->t, "\n");
}

static void write_wrapped(const screen *s, bool title) {
  tt_text line = {0};
  if (title)
    tt_label_title(&line, s->p, TT_ESCAPE_NONE);
  else
    tt_label_facts(&line, s->p);
  if (line.failed || !line.at) s->t->failed = true;
  if (line.at) wrap_text(s, line.at);
  free(line.at);
}

static void draw_text_head(const screen *s) {
  write_wrapped(s, true);
  write_wrapped(s, false);
  tt_text_add(s->t, "\n");
  int digits = s->p->ranks > 100 ? 3 : s->p->ranks > 10 ? 2 : 1, at = 0;
  int every = 1;
  while (s->column * every <= digits) every *= 2;
  tt_text_add(s->t, "rank ");
  for (int r = 0; r < s->p->ranks; r += every) {
    char number[16];
    int n = snprintf(number, sizeof number, "%d", r), x = rank_center_column(s, r) - (n - 1) / 2;
    if (x < at || x + n > s->width) continue;
    tt_text_add(s->t, "%*s%s", x - at, "", number);
    at = x + n;
  }
  tt_text_add(s->t, "\n");
}

static void foot(const screen *s) {
  tt_text_add(s->t, "\n");
  wrap_text(s, s->utf8 ? "── added where it arrives, ╌╌ kept as it is;"
                       : "-- added where it arrives, .. kept as it is;");
  wrap_text(s, s->utf8 ? "· nothing, ▁▄▇ a part of the sum, █ all of it"
                       : ". nothing, 1 to 7 eighths of the sum, # all of it");
}

static void draw_screen(const screen *s) {
  const tt_picture *p = s->p;
  tt_snapshot now;
  if (!tt_snapshot_begin(&now, p)) s->t->failed = true;
  draw_text_head(s);
  for (uint32_t round = 0, i = 0; !s->t->failed && round <= p->rounds; round++) {
    uint32_t from = i;
    while (i < p->graph.nmessages &&
           tt_picture_arrives(p, &p->graph.messages[p->order[i]]) == round)
      i++;
    if (i > from) draw_round(s, round, from, i);
    tt_snapshot_advance(&now, round);
    draw_cells(s, &now);
  }
  foot(s);
  tt_snapshot_free(&now);
}

tutti_status tt_draw_terminal(tt_text *t, tt_picture *p, int width, int color) {
  int column = width > 0 ? (width - MARGIN) / p->ranks : COLUMN;
  if (column < 1)
    return tt_fail(TUTTI_ERR_ARG,
                   "%d ranks need %d columns, there are %d: ask for more, or for a .svg", p->ranks,
                   p->ranks + MARGIN, width);
  screen s = {.t = t,
              .p = p,
              .color = color == 1 || color == 3,
              .utf8 = color == 1 || color == 2,
              .column = column < COLUMN ? column : COLUMN};
  s.width = s.column * p->ranks;
  s.limit = width > 0 ? width : s.width + MARGIN > 80 ? s.width + MARGIN : 80;
  s.cells = malloc((size_t)s.width * sizeof *s.cells);
  s.reach = calloc(p->graph.nmessages + 1, sizeof *s.reach);
  if (s.cells && s.reach)
    draw_screen(&s);
  else
    t->failed = true;
  free(s.cells);
  free(s.reach);
  return TUTTI_OK;
}
