/* draw_svg.c - a schedule as a single drawing: ranks are columns, time runs down, with a band of arrows for each round,
 * and between the bands the contents of every rank, with one cell per block.
 *
 * Idea       A cell is filled in proportion to its sum. Cells and labels that would be too small to read are left out
 *            above certain limits. If the machine's levels are known, a frame encloses the ranks of a domain, and the
 *            colour of an arrow shows the level that it crosses rather than its block. The drawing uses dark colours if
 *            the reader prefers them.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "picture.h"

enum {
  CELL = 14,          /* side length of a cell */
  ACROSS = 8,         /* cells per row */
  MOST_CELLS = 16384, /* limit for the whole drawing */
  MOST_RANKS = 32,    /* limit for a drawing with labels */
  LEFT = 64,
  TOP = 100,
  FRAME = 18, /* height of a frame's name, per level */
  LABEL = 14  /* number of characters of a label */
};

typedef struct canvas {
  tt_text *t;
  tt_picture *p;
  int column, strip, band; /* widths and heights */
  int text;                /* width of the title lines */
  int cell;                /* width of a cell; 0 means no cells */
  int top;                 /* top of the first strip */
  bool labels, bars;
  uint32_t *sent; /* for each rank, the arrows drawn in this round */
} canvas;

static int rank_center_x(const canvas *c, int rank) {
  return LEFT + c->column * rank + c->column / 2;
}
/* Returns the y coordinate of the strip for the end of a round. The strip is below the band of arrows for that round. */
static int strip_top(const canvas *c, uint32_t round) {
  return c->top + (int)round * (c->strip + c->band);
}
static int bottom(const canvas *c) {
  return strip_top(c, c->p->rounds) + c->strip;
}
static int total_width(const canvas *c) {
  int width = LEFT + c->column * c->p->ranks + 24;
  return width < c->text ? c->text : width;
}

static void lay_out_canvas(canvas *c) {
  const tt_picture *p = c->p;
  uint64_t cells = (uint64_t)p->ranks * p->blocks * (p->rounds + 1);
  int across = p->blocks < ACROSS ? (int)p->blocks : ACROSS;
  c->top = TOP + FRAME * (int)tt_max(p->levels - 1, 0);
  c->labels = p->ranks <= MOST_RANKS;
  c->column = c->labels ? 56 : 12;
  c->bars = cells > MOST_CELLS || p->blocks > 64 || !c->labels;
  c->bars = c->bars && (uint64_t)p->ranks * (p->rounds + 1) <= MOST_CELLS;
  c->strip = 16;
  c->band = 1600 / (int)(p->rounds + 1);
  c->band = c->band > 96 ? 96 : c->band < 34 ? 34 : c->band;
  if (!c->labels) c->band = p->rounds > 40 ? 24 : 132;
  if (!c->labels || cells > MOST_CELLS || p->blocks > 64) return;
  c->cell = p->blocks == 1 ? 64 : CELL;
  if (c->column < across * c->cell + 20) c->column = across * c->cell + 20;
  c->strip = CELL * (int)((p->blocks + ACROSS - 1) / ACROSS) + 12;
}

/* Returns the colour of a level. Colour-blind readers can distinguish these colours; the innermost level is grey. */
static const char *level_color(const canvas *c, int level) {
  static const char *const colors[] = {"#d55e00", "#0072b2", "#009e73", "#cc79a7"};
  return level == c->p->levels - 1 ? "#777" : colors[level % 4];
}

/* Colours for dark screens: paper, ink, the halos of labels, the backgrounds of rank numbers, and bars. Full cells stay
 * light (.f), and therefore their text stays dark. */
static const char dark_style[] =
    "@media(prefers-color-scheme:dark){text{fill:#d5dbe3}.f{fill:#222}.s{fill:#a3abb5}"
    ".b,.l{stroke:#14181d}.w,.f{stroke:none}.o{fill:#14181d}path.i{fill:#aab2bc}"
    ".r{fill:#2a333d}.u{fill:#4a3350}.g{stroke:#5b646e}.n{stroke:#aab2bc}"
    ".p{fill:#2a333d}.q{fill:#6aa5d6}}";

static void style(const canvas *c) {
  tt_text_add(
      c->t,
      "<style>text{font:12px system-ui,sans-serif;fill:#222}"
      ".h{font-size:17px;font-weight:600}.s{fill:#555}.m{text-anchor:middle}"
      ".b{font-size:8.5px;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:2px;"
      "stroke-opacity:.8}.w{fill:#fff;stroke:none}.f{stroke:none}"
      ".l{font-size:10.5px;text-anchor:middle;paint-order:stroke;stroke:#fff;"
      "stroke-width:5px}"
      "path{fill:none}.a{stroke-width:%s}.k{stroke-dasharray:5 3}"
      ".g{stroke:#999;stroke-width:.7}.n{stroke:#555}.p{fill:#e6eef5}.q{fill:#30628c}"
      ".o{fill:#fff}path.i{fill:#333}.r{fill:#e4ebf2}.u{fill:#efd9f2}",
      c->labels ? "1.5" : ".6;stroke-opacity:.75");
  for (uint32_t b = 0; c->p->blocks <= 1024 && b < c->p->blocks; b++) {
    uint32_t color = tt_label_color(b, c->p->blocks);
    tt_text_add(c->t, ".c%u{fill:#%06x}.e%u{stroke:#%06x}", b, color, b, color);
  }
  for (int l = 0; l < c->p->levels; l++) tt_text_add(c->t, ".v%d{stroke:%s}", l, level_color(c, l));
  tt_text_add(c->t, "%s</style>\n", dark_style);
}

static void draw_svg_head(canvas *c) {
  tt_text line = {0};
  tt_label_title(&line, c->p, TT_ESCAPE_NONE);
  c->text = (int)tt_max(720, 11 * line.length + 32);
  if (line.failed) c->t->failed = true;
  free(line.at);
  int width = total_width(c), height = bottom(c) + 62 + FRAME * c->p->levels;
  tt_text_add(c->t,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
              "viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
              width, height, width, height);
  tt_label_title(c->t, c->p, TT_ESCAPE_XML);
  tt_text_add(c->t, "</title>\n");
  style(c);
  tt_text_add(c->t,
              "<defs><marker id=\"h\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" "
              "markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
              "<path class=\"i\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n"
              "<rect class=\"o\" width=\"%d\" height=\"%d\"/>\n"
              "<text class=\"h\" x=\"16\" y=\"28\">",
              width, height);
  tt_label_title(c->t, c->p, TT_ESCAPE_XML);
  tt_text_add(c->t, "</text>\n<text class=\"s\" x=\"16\" y=\"47\">");
  tt_label_facts(c->t, c->p);
  tt_text_add(c->t, "</text>\n");
}

/* Draws a frame around the ranks of each domain, starting with the outermost level. */
static void frames(const canvas *c) {
  const tt_picture *p = c->p;
  for (int l = 0; l < p->levels - 1; l++)
    for (int first = 0, end; first < p->ranks; first = end) {
      const int domain = tt_picture_domain(p, l, first), inset = 3 * l;
      for (end = first; end < p->ranks && tt_picture_domain(p, l, end) == domain;) end++;
      if (domain < 0) continue;
      const int x = LEFT + c->column * first + 2 + inset, y = TOP - 28 + FRAME * l;
      const int width = c->column * (end - first) - 4 - 2 * inset;
      tt_text_add(c->t,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\" fill=\"%s\" "
                  "fill-opacity=\".05\" stroke=\"%s\" stroke-opacity=\".5\"/>\n",
                  x, y, width, bottom(c) + 8 - y - 3 * l, level_color(c, l), level_color(c, l));
      if (width > 40)
        tt_text_add(c->t, "<text class=\"s\" x=\"%d\" y=\"%d\">%s %d</text>\n", x + 6, y + 14,
                    p->tree.level[l].name, domain);
    }
}

/* Draws a vertical line for each rank with its number at the top, and the numbers of the rounds on the left. */
static void grid(const canvas *c) {
  int every = c->labels ? 1 : 8;
  for (int r = 0; r < c->p->ranks; r++) {
    bool helps = r >= c->p->data;
    int x = rank_center_x(c, r);
    tt_text_add(c->t, "<path class=\"g\" %sd=\"M%d %dV%d\"/>",
                helps ? "stroke-dasharray=\"2 3\" " : "", x, c->top, bottom(c));
    if (c->labels)
      tt_text_add(c->t,
                  "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"30\" height=\"20\" rx=\"4\"/>",
                  helps ? "u" : "r", x - 15, c->top - 26);
    if (r % every == 0)
      tt_text_add(c->t, "<text class=\"m\" x=\"%d\" y=\"%d\">%d</text>\n", x, c->top - 12, r);
  }
  tt_text_add(c->t, "<text class=\"s\" x=\"12\" y=\"%d\">rank</text>\n", c->top - 12);
  for (uint32_t k = 1; k <= c->p->rounds; k++)
    if (k == 1 || c->labels || k % 4 == 0 || c->band > 60)
      tt_text_add(c->t, "<text class=\"s\" x=\"12\" y=\"%d\">%s%u</text>\n",
                  strip_top(c, k) - c->band / 2 + 4, k == 1 ? "round " : "", k);
}

static void label(const canvas *c, const tt_message *m) {
  tt_text line = {0};
  tt_label_message(&line, c->p, m);
  if (line.failed) c->t->failed = true;
  int x0 = rank_center_x(c, m->sender), y0 = strip_top(c, tt_picture_leaves(c->p, m)) - c->band;
  int x1 = rank_center_x(c, m->reader), y1 = strip_top(c, tt_picture_arrives(c->p, m));
  /* The position of the label on the arrow, in percent. Arrows in opposite directions have labels at different heights. */
  int at = (m->reader > m->sender ? 20 : 35) + 13 * (int)(c->sent[m->sender]++ % 4);
  tt_text_add(c->t, "<text class=\"l\" x=\"%d\" y=\"%d\">%.*s%s</text>\n",
              x0 + (x1 - x0) * at / 100, y0 + (y1 - y0) * at / 100 + 4, LABEL,
              line.at ? line.at : "", line.length > LABEL ? "..." : "");
  free(line.at);
}

static void draw_svg_arrow(const canvas *c, const tt_message *m) {
  uint32_t single = tt_label_single(c->p, m), leaves = tt_picture_leaves(c->p, m);
  int x0 = rank_center_x(c, m->sender), y0 = strip_top(c, leaves) - c->band;
  int x1 = rank_center_x(c, m->reader), y1 = strip_top(c, tt_picture_arrives(c->p, m));
  tt_text_add(c->t, "<path class=\"a%s", tt_picture_sums(c->p, m) ? "" : " k");
  if (c->p->levels)
    tt_text_add(c->t, " v%d", tt_picture_crosses(c->p, m));
  else if (single < 1024 && c->p->blocks <= 1024 && c->p->blocks > 1)
    tt_text_add(c->t, " e%u", single);
  else
    tt_text_add(c->t, " n");
  tt_text_add(c->t, "\" %sd=\"M%d %dL%d %d\"", c->labels ? "marker-end=\"url(#h)\" " : "", x0, y0,
              x1, y1);
  if (!c->labels) {
    tt_text_add(c->t, "/>\n");
    return;
  }
  tt_text_add(c->t, "><title>round %u: rank %d to rank %d, block ", leaves, m->sender, m->reader);
  tt_label_message(c->t, c->p, m);
  tt_text_add(c->t, "%s</title></path>\n", tt_picture_sums(c->p, m) ? ", added there" : "");
}

/* Draws the labels of messages [from, to) in the sorted order, all of the same round, unless there are too many to be
 * readable. */
static void labels(const canvas *c, uint32_t from, uint32_t to) {
  if (to - from > 4 * (uint32_t)c->p->ranks) return;
  memset(c->sent, 0, (size_t)c->p->ranks * sizeof *c->sent);
  for (uint32_t i = from; i < to; i++) label(c, &c->p->graph.messages[c->p->order[i]]);
}

static void arrows(const canvas *c) {
  const tt_picture *p = c->p;
  uint32_t n = p->graph.nmessages;
  tt_text_add(c->t, "<g id=\"arrows\">\n");
  for (uint32_t i = 0; i < n; i++) draw_svg_arrow(c, &p->graph.messages[p->order[i]]);
  tt_text_add(c->t, "</g>\n");
  for (uint32_t i = 0, end; c->labels && p->blocks > 1 && i < n; i = end) {
    uint32_t round = tt_picture_arrives(p, &p->graph.messages[p->order[i]]);
    for (end = i; end < n && tt_picture_arrives(p, &p->graph.messages[p->order[end]]) == round;)
      end++;
    labels(c, i, end);
  }
}

/* Returns true if the text of a cell must be white, because the cell is at least half full of a dark colour. */
static bool dark(const canvas *c, uint32_t block, int height) {
  uint32_t rgb = tt_label_color(block, c->p->blocks);
  uint32_t light = 3 * (rgb >> 16) + 6 * (rgb >> 8 & 255) + (rgb & 255);
  return light < 1250 && 2 * height > CELL;
}

static void draw_svg_cell(const canvas *c, tt_value held, uint32_t block, int x, int y) {
  uint32_t full = tt_picture_full(c->p), has = c->p->inputs[held];
  int height = (int)(has * (CELL - 2) / full);
  if (held && height == 0) height = 1;
  tt_text_add(c->t, "<rect class=\"c%u\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" %s/>", block,
              x + 1, y + 1, c->cell - 2, CELL - 2, held ? "opacity=\".2\"" : "opacity=\".05\"");
  if (held)
    tt_text_add(c->t, "<rect class=\"c%u\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", block,
                x + 1, y + CELL - 1 - height, c->cell - 2, height);
  if (!held) return;
  tt_text_add(c->t, "<text class=\"b%s\" x=\"%d\" y=\"%d\">",
              dark(c, block, height) ? " w"
              : height == CELL - 2   ? " f"
                                     : "",
              x + c->cell / 2, y + CELL - 4);
  if (c->p->blocks > 1) {
    tt_text_add(c->t, "%u</text>\n", block);
    return;
  }
  tt_text line = {0};
  tt_label_value(&line, c->p, held);
  if (line.failed) c->t->failed = true;
  if (line.length <= LABEL)
    tt_text_add(c->t, "%s</text>\n", line.at ? line.at : "");
  else
    tt_text_add(c->t, "%u of %u</text>\n", has, full);
  free(line.at);
}

static void strip(const canvas *c, const tt_snapshot *now, uint32_t round, int r) {
  const tt_picture *p = c->p;
  int across = p->blocks < ACROSS ? (int)p->blocks : ACROSS;
  int x = rank_center_x(c, r) - across * c->cell / 2, y = strip_top(c, round) + 6;
  tt_text_add(c->t,
              "<rect class=\"o\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
              "stroke=\"%s\" stroke-width=\".7\"/>\n",
              x - 1, y - 1, across * c->cell + 2, c->strip - 10, r < p->data ? "#999" : "#9b4da8");
  for (uint32_t b = 0; b < p->blocks; b++)
    draw_svg_cell(c, tt_snapshot_best(now, r, b), b, x + (int)(b % ACROSS) * c->cell,
                  y + (int)(b / ACROSS) * CELL);
}

/* Draws a single bar for all blocks of a rank. Used if separate cells for the blocks would be too small. */
static void bar(const canvas *c, const tt_snapshot *now, uint32_t round, int r) {
  const tt_picture *p = c->p;
  uint64_t full = (uint64_t)tt_picture_full(p) * p->blocks, has = 0;
  for (uint32_t b = 0; b < p->blocks; b++) has += p->inputs[tt_snapshot_best(now, r, b)];
  int height = (int)(has * (uint64_t)(c->strip - 2) / full);
  int width = c->labels ? 30 : c->column - 2, y = strip_top(c, round) + 1;
  int x = rank_center_x(c, r) - width / 2;
  tt_text_add(c->t, "<path d=\"M%d %dh%dv%dh-%dz\" class=\"p\"/>\n", x, y, width, c->strip - 2,
              width);
  if (height)
    tt_text_add(c->t, "<path d=\"M%d %dh%dv-%dh-%dz\" class=\"q\"/>\n", x, y + c->strip - 2, width,
                height, width);
}

static void contents(const canvas *c) {
  tt_snapshot now;
  if (!tt_snapshot_begin(&now, c->p)) c->t->failed = true;
  for (uint32_t round = 0; !c->t->failed && round <= c->p->rounds; round++) {
    tt_snapshot_advance(&now, round);
    for (int r = 0; r < c->p->ranks; r++) (c->cell ? strip : bar)(c, &now, round, r);
  }
  tt_snapshot_free(&now);
}

/* Writes how many messages and vectors cross each level. */
static void crossings(const canvas *c) {
  const tt_picture *p = c->p;
  for (int l = 0; l < p->levels; l++) {
    const int y = bottom(c) + 26 + FRAME * (l + 1);
    double vectors = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->graph.nmessages; i++) {
      if (tt_picture_crosses(p, &p->graph.messages[i]) != l) continue;
      vectors += tt_picture_carries(p, &p->graph.messages[i]);
      n++;
    }
    tt_text_add(
        c->t,
        "<path class=\"a v%d\" d=\"M16 %dh34\"/><text class=\"s\" x=\"56\" y=\"%d\">from %s "
        "to %s: %u messages, %.3g vectors</text>\n",
        l, y - 4, y, p->tree.level[l].name, p->tree.level[l].name, n, vectors);
  }
}

static void legend(const canvas *c) {
  int y = bottom(c) + 26;
  tt_text_add(
      c->t,
      "<path class=\"a n\" d=\"M16 %dh34\"/><text class=\"s\" x=\"56\" y=\"%d\">added where it "
      "arrives</text><path class=\"a n k\" d=\"M220 %dh34\"/>"
      "<text class=\"s\" x=\"260\" y=\"%d\">kept as it is</text>\n",
      y - 4, y, y - 4, y);
  if (c->cell || c->bars)
    tt_text_add(c->t, "<text class=\"s\" x=\"370\" y=\"%d\">%s complete</text>\n", y,
                c->cell ? "a cell fills as its block's sum becomes"
                        : "a bar rises as a rank's sums, of all blocks, become");
  if (c->p->data < c->p->ranks)
    tt_text_add(c->t,
                "<rect class=\"u\" x=\"16\" y=\"%d\" width=\"34\" height=\"14\" rx=\"4\"/>"
                "<text class=\"s\" x=\"56\" y=\"%d\">brings no data, only helps</text>\n",
                y + 9 + FRAME * c->p->levels, y + 20 + FRAME * c->p->levels);
  crossings(c);
}

void tt_draw_svg(tt_text *t, tt_picture *p) {
  canvas c = {.t = t, .p = p, .sent = calloc((size_t)p->ranks, sizeof *c.sent)};
  if (!c.sent) {
    t->failed = true;
    return;
  }
  lay_out_canvas(&c);
  draw_svg_head(&c);
  frames(&c);
  grid(&c);
  arrows(&c);
  if (c.cell || c.bars) contents(&c);
  legend(&c);
  tt_text_add(t, "</svg>\n");
  free(c.sent);
}
