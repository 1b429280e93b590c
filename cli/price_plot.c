/* price_plot.c - time against size, drawn by gnuplot: all plans thin, those that would run
 * thick, each where it does.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pricing.h"

static const double step = 1.4142135623730951; /* from point to point */
enum { NAMES = 4096 };

static void data_of_all(FILE *p, tutti_prices *prices, const price_picture *pic) {
  tutti_offer o = {.size = sizeof o};
  fprintf(p, "$all << EOD\n");
  for (int i = 0; !tutti_prices_offer(prices, 4, i, 0, &o); i++) {
    for (double b = pic->first; b <= pic->last; b *= step)
      if (!tutti_prices_offer(prices, (uint64_t)b, i, 0, &o) && o.possible)
        fprintf(p, "%g %g\n", b, 1e6 * o.seconds);
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
  for (double b = pic->first; b <= pic->last; b *= step) {
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

int price_plot(tutti_prices *prices, const price_picture *pic) {
  static const char *const colours[] = {"#1f5fa8", "#e07b00", "#2e8b57", "#a8325e", "#6a51a3",
                                        "#8c6d1f"};
  char names[NAMES];
  FILE *p = cli_gnuplot(pic->command, pic->path);
  if (!p) return CLI_FAILED;
  data_of_all(p, prices, pic);
  const int chosen = data_of_chosen(p, prices, pic, names);
  if (pic->data) pic->data(p, pic->ctx);
  fprintf(p,
          "set title '%s' noenhanced\n"
          "set logscale xy\nset grid\nset key left top noenhanced\nset xlabel 'bytes'\n"
          "set ylabel 'time (us)'\nset xrange [%g:%g]\nset format x '%%.0b %%B'\nset xtics 4,16\n"
          "plot $all using 1:2 with lines lc rgb '#c8ccd4' title '%s'",
          pic->title, pic->first, pic->last, pic->all);
  const char *name = names;
  for (int i = 0; i < chosen && *name; i++) {
    const int length = (int)strcspn(name, "\n");
    fprintf(p, ", \\\n  $chosen index %d using 1:2 with lines lw 4 lc rgb '%s' title '%.*s'", i,
            colours[i % 6], length, name);
    name += length + (name[length] == '\n');
  }
  if (pic->lines) fprintf(p, ", \\\n  %s", pic->lines);
  fprintf(p, "\n");
  return cli_gnuplot_close(pic->command, p, pic->path);
}
