/* price_plot.c - time against size, drawn by gnuplot: of each family of plans the cheapest, thin;
 * those that would run thick, in their family's colour, each where it does.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pricing.h"

static const double step = 1.4142135623730951; /* from point to point */
enum { NAMES = 4096, FAMILIES = 48, POINTS = 256 };

typedef struct families {
  int n;
  char name[FAMILIES][40];
  double best[FAMILIES][POINTS]; /* s; HUGE_VAL: none of it can run */
} families;

/* Which family "fold(ring), 2 slices" is of; a new one has no points. More than there is room for
 * are not drawn: -1. */
static int family_of(families *f, const char *plan) {
  const size_t n = strcspn(plan, "(, \n");
  for (int i = 0; i < f->n; i++)
    if (strlen(f->name[i]) == n && strncmp(f->name[i], plan, n) == 0) return i;
  if (f->n == FAMILIES || n >= sizeof *f->name) return -1;
  memcpy(f->name[f->n], plan, n);
  for (int k = 0; k < POINTS; k++) f->best[f->n][k] = HUGE_VAL;
  return f->n++;
}

/* A block of points per family. */
static void data_of_families(FILE *p, tutti_prices *prices, const price_picture *pic, families *f) {
  tutti_offer o = {.size = sizeof o};
  int k = 0;
  for (double b = pic->first; b <= 1.001 * pic->last && k < POINTS; b *= step, k++)
    for (int i = 0; !tutti_prices_offer(prices, (uint64_t)b, i, 0, &o); i++) {
      const int at = o.possible ? family_of(f, o.name) : -1;
      if (at >= 0) f->best[at][k] = fmin(f->best[at][k], o.seconds);
    }
  fprintf(p, "$families << EOD\n");
  for (int i = 0; i < f->n; i++) {
    double b = pic->first;
    for (int n = 0; n < k; n++, b *= step) /* at what is no number the line is broken */
      fprintf(p, "%g %g\n", b, f->best[i][n] < HUGE_VAL ? 1e6 * f->best[i][n] : NAN);
    fprintf(p, "\n\n");
  }
  fprintf(p, "EOD\n");
}

/* A block of points per plan that is chosen; their names, apart by newlines, in `names`. */
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

/* Of a family: colours, then the same dashed. */
static const char *look(int family, char text[40]) {
  static const char *const colours[] = {"#1f5fa8", "#e07b00", "#2e8b57", "#a8325e",
                                        "#6a51a3", "#8c6d1f", "#17a2b8", "#d64545",
                                        "#5b8c00", "#c35bb0", "#4d5666", "#00897b"};
  const int n = (int)(sizeof colours / sizeof *colours);
  snprintf(text, 40, "lc rgb '%s' dt %d", colours[family % n], 1 + family / n % 4);
  return text;
}

int price_plot(tutti_prices *prices, const price_picture *pic) {
  char names[NAMES], text[40];
  FILE *p = cli_gnuplot(pic->command, pic->path);
  families *f = p ? calloc(1, sizeof *f) : NULL;
  if (!f) return p ? cli_fail(CLI_FAILED, pic->command, "out of memory") : CLI_FAILED;
  data_of_families(p, prices, pic, f);
  const int chosen = data_of_chosen(p, prices, pic, names);
  if (pic->data) pic->data(p, pic->ctx);
  fprintf(p,
          "set title '%s' noenhanced\n"
          "set logscale xy\nset grid\nset key left top noenhanced\nset xlabel 'bytes'\n"
          "set ylabel 'time (us)'\nset xrange [%g:%g]\nset format x '%%.0b %%B'\nset xtics 4,16\n"
          "plot ",
          pic->title, pic->first, pic->last);
  const char *name = names;
  for (int i = 0; i < chosen && *name; i++) {
    const int length = (int)strcspn(name, "\n"), family = family_of(f, name);
    fprintf(p, "$chosen index %d using 1:2 with lines lw 5 %s title 'runs: %.*s', \\\n  ", i,
            look(family < 0 ? 0 : family, text), length, name);
    name += length + (name[length] == '\n');
  }
  for (int i = 0; i < f->n; i++)
    fprintf(p, "%s$families index %d using 1:2 with lines lw 1.5 %s title '%s'",
            i ? ", \\\n  " : "", i, look(i, text), f->name[i]);
  if (pic->lines) fprintf(p, ", \\\n  %s", pic->lines);
  fprintf(p, "\n");
  free(f);
  return cli_gnuplot_close(pic->command, p, pic->path);
}
