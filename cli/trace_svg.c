/* trace_svg.c - draws a section of a trace as a picture, with one row per rank.
 *
 * Idea       a row shows the rank's steps, in a colour for each kind of step. The program's own marks
 *            are above the steps. A bar below them has a height proportional to the number of
 *            operations in flight.
 * Invariant  an event narrower than a third of a pixel is drawn with that width. It is not drawn if
 *            the previous event in its row already covers its end, so that the file stays small.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

enum {
  WIDTH = 1000,
  LEFT = 72,
  RIGHT = 20,
  TOP = 60,
  MARKS = 16, /* heights, in pixels */
  STEPS = 22,
  FLIGHTS = 10,
  BETWEEN = 10,
  DEEPEST = 5, /* the bar of operations in flight does not grow beyond this number */
  MOST_RANKS = 64
};

/* The class of a kind of step, and its name in the legend. */
static const struct {
  const char *class, *name;
} looks[TRACE_KINDS] = {
    [TRACE_WAIT] = {"w", "waiting"},        [TRACE_REDUCE] = {"r", "arithmetic"},
    [TRACE_COPY] = {"c", "copy"},           [TRACE_SEND] = {"s", "send"},
    [TRACE_RECEIVE] = {"v", "receive"},     [TRACE_CALL] = {"o", "else in tutti"},
    [TRACE_KERNEL] = {"k", "kernel"},       [TRACE_FROM_DEVICE] = {"d", "from device"},
    [TRACE_TO_DEVICE] = {"e", "to device"},
};

typedef struct canvas {
  FILE *f;
  const trace_data *d;
  int64_t from, to;
  bool marks, flights, device;
} canvas;

static double x_of(const canvas *c, int64_t time) {
  const double at = (double)(time - c->from) / (double)(c->to - c->from);
  return LEFT + (at < 0 ? 0 : at > 1 ? 1 : at) * (WIDTH - LEFT - RIGHT);
}

static int height_of_row(const canvas *c) {
  return (c->marks ? MARKS : 0) + STEPS + (c->flights ? FLIGHTS : 0) + BETWEEN;
}

static void write_xml(FILE *f, const char *text) {
  for (; *text; text++) switch (*text) {
      case '<': fputs("&lt;", f); break;
      case '&': fputs("&amp;", f); break;
      case '"': fputs("&quot;", f); break;
      default: fputc((unsigned char)*text < ' ' ? ' ' : *text, f);
    }
}

/* Draws a bar with a tooltip. *end is the right end of the previous bar. */
static void draw_bar(const canvas *c, const char *class, const trace_event *e, double y,
                     double high, double *end) {
  static const double least = 1. / 3;
  double x = x_of(c, e->begin), right = x_of(c, e->end);
  if (right - x < least) right = x + least;
  if (right <= *end) return;
  *end = right;
  fprintf(c->f, "<rect class=\"%s\" x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\"><title>",
          class, x, y, right - x, high);
  const trace_call *call = &c->d->calls[e->what];
  if (e->kind == TRACE_MARK)
    write_xml(c->f, call->plan);
  else
    fprintf(c->f, "%s", trace_kind_names[e->kind]);
  fprintf(c->f, ", %.2f us", (double)(e->end - e->begin) / 1e3);
  if (e->kind >= TRACE_WAIT)
    fprintf(c->f, ", operation %u, step %u", (unsigned)e->seq, (unsigned)e->step);
  if (e->kind >= TRACE_WAIT && e->peer >= 0) fprintf(c->f, ", rank %d", (int)e->peer);
  fprintf(c->f, "</title></rect>\n");
}

static bool is_drawn(const canvas *c, const trace_event *e, int pid) {
  return c->d->lanes[e->lane].pid == pid && e->end >= c->from && e->begin <= c->to;
}

static void draw_marks(const canvas *c, int pid, double y) {
  double end = 0;
  for (size_t i = 0; i < c->d->nevents; i++) {
    const trace_event *e = &c->d->events[i];
    if (e->kind != TRACE_MARK || !is_drawn(c, e, pid)) continue;
    draw_bar(c, e->what % 2 ? "m" : "n", e, y, MARKS - 2, &end);
    const double room = x_of(c, e->end) - x_of(c, e->begin);
    if (room < 8 + 6.5 * (double)strlen(c->d->calls[e->what].plan)) continue;
    fprintf(c->f, "<text class=\"t\" x=\"%.1f\" y=\"%g\">", x_of(c, e->begin) + 4, y + MARKS - 5);
    write_xml(c->f, c->d->calls[e->what].plan);
    fprintf(c->f, "</text>\n");
  }
}

/* Draws the calls first, then the steps on top of them. */
static void draw_steps(const canvas *c, int pid, double y) {
  for (int steps = 0; steps < 2; steps++) {
    double end[TRACE_KINDS] = {0};
    for (size_t i = 0; i < c->d->nevents; i++) {
      const trace_event *e = &c->d->events[i];
      if (e->kind == TRACE_MARK || e->kind == TRACE_FLIGHT || !is_drawn(c, e, pid)) continue;
      if ((e->kind >= TRACE_WAIT) != steps) continue;
      const char *class = looks[e->kind].class ? looks[e->kind].class : "o";
      draw_bar(c, class, e, y, STEPS - 2, &end[steps ? e->kind : 0]);
    }
  }
}

typedef struct turn { /* the begin or end of an operation */
  int64_t at;
  int by;
} turn;

static int by_time(const void *a, const void *b) {
  const turn *x = a, *y = b;
  return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : x->by - y->by;
}

/* Returns false if out of memory. */
static bool draw_flights(const canvas *c, int pid, double y) {
  turn *turns = malloc((2 * c->d->nevents + 1) * sizeof *turns);
  size_t n = 0;
  int deep = 0;
  if (!turns) return false;
  for (size_t i = 0; i < c->d->nevents; i++) {
    const trace_event *e = &c->d->events[i];
    if (e->kind != TRACE_FLIGHT || !is_drawn(c, e, pid)) continue;
    turns[n++] = (turn){e->begin, 1};
    turns[n++] = (turn){e->end, -1};
  }
  qsort(turns, n, sizeof *turns, by_time);
  for (size_t i = 0; i + 1 < n; i++) {
    deep += turns[i].by;
    const double x = x_of(c, turns[i].at), right = x_of(c, turns[i + 1].at);
    const double high = (FLIGHTS - 2) * (deep < DEEPEST ? deep : DEEPEST) / (double)DEEPEST;
    if (deep && right > x)
      fprintf(c->f,
              "<rect class=\"f\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\">"
              "<title>%d in flight</title></rect>\n",
              x, y + FLIGHTS - 2 - high, right - x, high, deep);
  }
  free(turns);
  return true;
}

/* Returns a round number of microseconds, about an eighth of the drawn period. */
static double tick_of(const canvas *c) {
  const double wanted = (double)(c->to - c->from) / 8e3;
  double tick = 0.001;
  while (tick * 10 <= wanted) tick *= 10;
  return tick * (wanted >= 5 * tick ? 5 : wanted >= 2 * tick ? 2 : 1);
}

static void draw_axis(const canvas *c, double bottom) {
  const double tick = tick_of(c), length = (double)(c->to - c->from) / 1e3;
  const double unit = length < 1e4 ? 1 : length < 1e7 ? 1e3 : 1e6;
  const char *name = unit > 1e3 ? "s" : unit > 1 ? "ms" : "us";
  for (int i = 0; i * tick <= length; i++) {
    const double x = x_of(c, c->from + (int64_t)(i * tick * 1e3));
    fprintf(c->f,
            "<path class=\"g\" d=\"M%.1f %d V%g\"/><text class=\"t\" x=\"%.1f\" y=\"%d\" "
            "text-anchor=\"middle\">%g %s</text>\n",
            x, TOP - 4, bottom, x, TOP - 8, i * tick / unit, name);
  }
}

static void draw_legend(const canvas *c, double y) {
  static const uint8_t kinds[] = {TRACE_REDUCE,  TRACE_COPY,        TRACE_SEND,
                                  TRACE_RECEIVE, TRACE_WAIT,        TRACE_CALL,
                                  TRACE_KERNEL,  TRACE_FROM_DEVICE, TRACE_TO_DEVICE};
  const size_t shown = c->device ? sizeof kinds : sizeof kinds - 3;
  const double each = c->device ? 90 : 110;
  double x = LEFT;
  for (size_t i = 0; i < shown; i++, x += each)
    fprintf(c->f,
            "<rect class=\"%s\" x=\"%g\" y=\"%g\" width=\"11\" height=\"11\"/>"
            "<text x=\"%g\" y=\"%g\">%s</text>\n",
            looks[kinds[i]].class, x, y, x + 16, y + 10, looks[kinds[i]].name);
  if (c->flights)
    fprintf(c->f,
            "<rect class=\"f\" x=\"%g\" y=\"%g\" width=\"11\" height=\"11\"/>"
            "<text x=\"%g\" y=\"%g\">in flight</text>\n",
            x, y, x + 16, y + 10);
}

static const char style[] =
    "<style>text{font:12px system-ui,sans-serif;fill:#1f2328}.t{font-size:11px;fill:#57606a}"
    ".p{fill:#fff}.g{stroke:#d0d7de}.r{fill:#4269b8}.c{fill:#a86a00}.s{fill:#3a7d4a}"
    ".k{fill:#6a4fc4}.d{fill:#b0564a}.e{fill:#8a6d3b}.v{fill:#0e7c86}.w{fill:#d9dde2}.o{fill:#"
    "8c959f}.f{fill:#9a6fb0}.m{fill:#eef3fb}.n{fill:#"
    "edf7ef}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.t{fill:#9da7b3}.p{fill:#1e2129}"
    ".g{stroke:#3a414b}.k{fill:#a493ee}.d{fill:#e58f83}.e{fill:#c8ab7a}.r{fill:#7ea2e8}.c{fill:#"
    "dba04a}.s{fill:#6fbf83}.v{fill:#5cc4cf}"
    ".w{fill:#3d444d}.o{fill:#768390}.f{fill:#b994cc}.m{fill:#1c2a44}.n{fill:#17301f}}</style>\n";

static bool draw(canvas *c, const trace_sums *s) {
  const size_t ranks = s->nranks < MOST_RANKS ? s->nranks : MOST_RANKS;
  const double bottom = TOP + (double)(ranks * (size_t)height_of_row(c));
  bool good = true;
  fprintf(c->f,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %g\" role=\"img\">\n"
          "<title>a piece of a trace</title>\n%s<rect class=\"p\" width=\"%d\" height=\"%g\"/>\n",
          WIDTH, bottom + 34, style, WIDTH, bottom + 34);
  fprintf(c->f, "<text x=\"%d\" y=\"24\">%.3f ms of a job, from %.3f ms on%s</text>\n", LEFT,
          (double)(c->to - c->from) / 1e6, (double)c->from / 1e6,
          s->nranks > MOST_RANKS ? ", the first 64 ranks" : "");
  draw_axis(c, bottom);
  for (size_t r = 0; r < ranks && good; r++) {
    double y = TOP + (double)(r * (size_t)height_of_row(c));
    const int pid = s->ranks[r].pid;
    fprintf(c->f, "<text x=\"%d\" y=\"%g\" text-anchor=\"end\">rank %d</text>\n", LEFT - 8,
            y + (c->marks ? MARKS : 0) + STEPS - 7, pid);
    if (c->marks) draw_marks(c, pid, y);
    y += c->marks ? MARKS : 0;
    draw_steps(c, pid, y);
    if (c->flights) good = draw_flights(c, pid, y + STEPS);
  }
  draw_legend(c, bottom + 10);
  fprintf(c->f, "</svg>\n");
  return good;
}

int trace_svg(const trace_data *d, const trace_sums *s, double from_ms, double length_ms,
              const char *path) {
  canvas c = {.d = d};
  const char *end = strrchr(path, '.');
  if (!end || strcmp(end, ".svg") != 0)
    return cli_fail(CLI_USAGE, "trace", "%s: the picture of a trace is an SVG: name it .svg", path);
  trace_window(s, from_ms, length_ms, &c.from, &c.to);
  for (size_t i = 0; i < d->nevents; i++) {
    c.marks |= d->events[i].kind == TRACE_MARK;
    c.flights |= d->events[i].kind == TRACE_FLIGHT;
    c.device |= trace_of_device(&d->events[i]);
  }
  c.f = fopen(path, "w");
  if (!c.f) return cli_fail(CLI_FAILED, "trace", "cannot write %s: %s", path, strerror(errno));
  const bool good = draw(&c, s), written = !ferror(c.f);
  if (fclose(c.f) || !written)
    return cli_fail(CLI_FAILED, "trace", "cannot write %s: %s", path, strerror(errno));
  return good ? 0 : cli_fail(CLI_FAILED, "trace", "out of memory for a picture");
}
