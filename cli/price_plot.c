/* price_plot.c - plots time against size with gnuplot. Thin lines show the fastest plan of each
 * family. Thick lines, in the colour of their family, show the chosen plans at the sizes where they
 * are chosen. A family has its own colour if one of its plans is chosen, or is near the best at
 * some size. All other families are grey.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pricing.h"
#include "tutti_plan.h"

static const double step = 1.4142135623730951; /* factor between points */
enum { NAMES = 4096, FAMILIES = 48, POINTS = 256, COLOURS = 10, GREY = 0 };

typedef struct families {
  int n;
  char name[FAMILIES][40];
  double best[FAMILIES][POINTS]; /* in s; HUGE_VAL if no plan of the family can run */
  int points;
  int line[FAMILIES]; /* its linetype: 1 or higher, or GREY */
} families;

/* Returns the index of a plan's family. For example, the plan "fold(ring), 2 slices" is in the family "fold". Adds a
 * new family without points if necessary. Returns -1 if there is no space for it, and the plan is then not drawn. */
static int family_of(families *f, const char *plan) {
  const size_t n = strcspn(plan, "(, \n");
  for (int i = 0; i < f->n; i++)
    if (strlen(f->name[i]) == n && strncmp(f->name[i], plan, n) == 0) return i;
  if (f->n == FAMILIES || n >= sizeof *f->name) return -1;
  memcpy(f->name[f->n], plan, n);
  for (int k = 0; k < POINTS; k++) f->best[f->n][k] = HUGE_VAL;
  return f->n++;
}

/* Writes a block of points for each family. */
static void data_of_families(FILE *p, tutti_prices *prices, const price_picture *pic, families *f) {
  tutti_offer o = {.size = sizeof o};
  int k = 0;
  for (double b = pic->first; b <= 1.001 * pic->last && k < POINTS; b *= step, k++)
    for (int i = 0; !tutti_prices_offer(prices, (uint64_t)b, i, 0, &o); i++) {
      const int at = o.possible ? family_of(f, o.name) : -1;
      if (at >= 0) f->best[at][k] = fmin(f->best[at][k], o.seconds);
    }
  f->points = k;
  fprintf(p, "$families << EOD\n");
  for (int i = 0; i < f->n; i++) {
    double b = pic->first;
    for (int n = 0; n < k; n++, b *= step) /* a NAN interrupts the line */
      fprintf(p, "%g %g\n", b, f->best[i][n] < HUGE_VAL ? 1e6 * f->best[i][n] : NAN);
    fprintf(p, "\n\n");
  }
  fprintf(p, "EOD\n");
}

/* Writes a block of points for each chosen plan. Stores the names of these plans in `names`, separated by newlines. */
static int data_of_chosen(FILE *p, tutti_prices *prices, const price_picture *pic,
                          char names[NAMES]) {
  tutti_offer o = {.size = sizeof o};
  char before[CLI_PLAN] = "", name[CLI_PLAN];
  int n = 0;
  size_t at = 0;
  names[0] = 0;
  fprintf(p, "$chosen << EOD\n");
  for (double b = pic->first; b <= 1.001 * pic->last; b *= step) {
    if (tutti_prices_chosen(prices, (uint64_t)b, &o)) continue;
    cli_plan_name(o.name, o.slices, name);
    if (strcmp(name, before) != 0) {
      if (n) fprintf(p, "%g %g\n\n\n", b, 1e6 * o.seconds);
      if (at < NAMES) at += (size_t)snprintf(names + at, NAMES - at, "%s\n", name);
      n++;
    }
    snprintf(before, sizeof before, "%s", name);
    fprintf(p, "%g %g\n", b, 1e6 * o.seconds);
  }
  fprintf(p, "EOD\n");
  return n;
}

/* Returns the smallest ratio of the family's time to the best time, over all message sizes. The ratio is 1 if the
 * family has the best time for some size. */
static double nearness(const families *f, int family) {
  double nearest = HUGE_VAL;
  for (int k = 0; k < f->points; k++) {
    double best = HUGE_VAL;
    for (int i = 0; i < f->n; i++) best = fmin(best, f->best[i][k]);
    nearest = fmin(nearest, f->best[family][k] / best);
  }
  return nearest;
}

/* Assigns the available colours. Families of chosen plans come first, followed by the families whose times are
 * closest to the best. */
static void give_colours(families *f, const char *chosen) {
  int given = 0;
  for (; *chosen; chosen += strcspn(chosen, "\n"), chosen += *chosen == '\n') {
    const int family = family_of(f, chosen);
    if (family >= 0 && f->line[family] == GREY && given < COLOURS) f->line[family] = ++given;
  }
  while (given < COLOURS) {
    int next = -1;
    for (int i = 0; i < f->n; i++)
      if (f->line[i] == GREY && (next < 0 || nearness(f, i) < nearness(f, next))) next = i;
    if (next < 0 || !(nearness(f, next) < HUGE_VAL)) return;
    f->line[next] = ++given;
  }
}

/* Writes the lines of the plot. Grey families are written first, so that they are in the background. */
static void draw_families(FILE *p, const families *f, bool grey) {
  bool titled = false;
  for (int i = 0; i < f->n; i++) {
    if ((f->line[i] == GREY) != grey) continue;
    fprintf(p, "$families index %d using 1:2 with lines lw %g ", i, grey ? 1.0 : 1.5);
    if (grey)
      fprintf(p, "lc rgb GREY %s, \\\n  ", titled ? "notitle" : "title 'other families'");
    else
      fprintf(p, "lt %d title '%s', \\\n  ", f->line[i], f->name[i]);
    titled = true;
  }
}

static void draw_chosen(FILE *p, families *f, int chosen, const char *name) {
  for (int i = 0; i < chosen && *name; i++) {
    const int length = (int)strcspn(name, "\n"), family = family_of(f, name);
    char line[24] = "lc rgb INK";
    if (family >= 0 && f->line[family]) snprintf(line, sizeof line, "lt %d", f->line[family]);
    fprintf(p, "$chosen index %d using 1:2 with lines %s lw 5 title 'runs: %.*s', \\\n  ", i, line,
            length, name);
    name += length + (name[length] == '\n');
  }
}

int price_plot(tutti_prices *prices, const price_picture *pic) {
  char names[NAMES];
  FILE *p = cli_gnuplot(pic->command, pic->path);
  families *f = p ? calloc(1, sizeof *f) : NULL;
  if (!f) return p ? cli_fail(CLI_FAILED, pic->command, "out of memory") : CLI_FAILED;
  data_of_families(p, prices, pic, f);
  const int chosen = data_of_chosen(p, prices, pic, names);
  if (pic->data) pic->data(p, pic->ctx);
  give_colours(f, names);
  fprintf(p,
          "set title '%s'\nset logscale xy\n@BYTES\n@TIMES\nset xlabel 'vector'\n"
          "set ylabel 'time'\nset xrange [%g:%g]\nplot ",
          pic->title, pic->first, pic->last);
  draw_families(p, f, true);
  draw_families(p, f, false);
  draw_chosen(p, f, chosen, names);
  fprintf(p, "%s\n", pic->lines ? pic->lines : "NaN notitle");
  free(f);
  return cli_gnuplot_close(pic->command, p, pic->path);
}
