/* mpi_gain.c - shows how much faster a program was with tutti, from the reports of its runs.
 *
 * Idea      The report is JSON with an entry per line (shim/report.c), so each line is parsed by
 *           the names in it. A difference counts as a gain only if the ranges of the two sides do
 *           not overlap.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_run.h"

/* ---- the report ---- */

/* Reads the number that follows "NAME": in a line of JSON. Returns false if the line does not contain that name. */
static bool number_of(const char *line, const char *name, double *value) {
  char key[40];
  snprintf(key, sizeof key, "\"%s\": ", name);
  const char *at = strstr(line, key);
  if (at) *value = strtod(at + strlen(key), NULL);
  return at;
}

static mpi_function *function_of(mpi_gain *g, const char *line) {
  char name[40];
  const char *at = strstr(line, "{\"function\": \"");
  if (!at || sscanf(at, "{\"function\": \"%39[^\"]", name) != 1) return NULL;
  for (int i = 0; i < g->functions; i++)
    if (strcmp(g->function[i].name, name) == 0) return &g->function[i];
  if (g->functions == MPI_FUNCTIONS) return NULL;
  mpi_function *f = &g->function[g->functions++];
  strcpy(f->name, name);
  return f;
}

bool mpi_gain_read(mpi_gain *g, FILE *report, int round, int side) {
  char line[8192];
  bool is = false;
  for (int i = 0; i < g->functions; i++) {
    g->function[i].calls[side] = 0;
    if (side == MPI_WITH) g->function[i].bytes = g->function[i].by_tutti = 0;
  }
  while (fgets(line, sizeof line, report)) {
    double calls, seconds, bytes;
    if (strncmp(line, "{\"tutti\":", 9) == 0) is = true;
    mpi_function *f = function_of(g, line);
    if (!f || !number_of(line, "calls", &calls) || !number_of(line, "seconds", &seconds)) continue;
    f->calls[side] += calls;
    f->seconds[side][round] += seconds;
    if (!number_of(line, "bytes", &bytes)) continue;
    f->bytes += bytes;
    f->by_tutti += calls;
  }
  return is;
}

/* ---- both sides ---- */

typedef struct range {
  double least, median, most;
} range;

static range range_of(const double *seconds, int n) {
  double sorted[MPI_ROUNDS];
  memcpy(sorted, seconds, (size_t)n * sizeof *sorted);
  cli_sort(sorted, (size_t)n);
  return (range){sorted[0], sorted[n / 2], sorted[n - 1]};
}

typedef struct line { /* one line of the table */
  const char *name;
  range side[2];
  double calls, by_tutti, bytes;
} line;

static line line_of(const mpi_gain *g, const mpi_function *f) {
  return (line){f->name,
                {range_of(f->seconds[0], g->rounds), range_of(f->seconds[1], g->rounds)},
                f->calls[MPI_WITH],
                f->by_tutti,
                f->bytes};
}

/* Returns the line for all collectives together. */
static line sum_of(const mpi_gain *g) {
  double all[2][MPI_ROUNDS] = {{0}};
  line sum = {.name = "in collectives"};
  for (int i = 0; i < g->functions; i++) {
    const mpi_function *f = &g->function[i];
    for (int s = 0; s < 2; s++)
      for (int k = 0; k < g->rounds; k++) all[s][k] += f->seconds[s][k];
    sum.calls += f->calls[MPI_WITH];
    sum.by_tutti += f->by_tutti;
    sum.bytes += f->bytes;
  }
  for (int s = 0; s < 2; s++) sum.side[s] = range_of(all[s], g->rounds);
  return sum;
}

static bool overlap(const line *l) {
  return l->side[0].least <= l->side[1].most && l->side[1].least <= l->side[0].most;
}

static void size_text(char *text, size_t size, double bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; unit++) bytes /= 1024;
  snprintf(text, size, unit && bytes < 10 ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

static void show_range(const range *r) {
  char text[40];
  const int digits = r->median < 0.1 ? 4 : r->median < 10 ? 3 : 2;
  snprintf(text, sizeof text, "(%.*f to %.*f)", digits, r->least, digits, r->most);
  printf(" %9.*f %-18s", digits, r->median, text);
}

static void show_line(const line *l) {
  char data[32] = "", calls[24] = "", by[24] = "";
  const double gained = l->side[0].median - l->side[1].median;
  if (l->calls > 0) {
    snprintf(calls, sizeof calls, "%.0f", l->calls);
    snprintf(by, sizeof by, "%.0f %%", 100 * l->by_tutti / l->calls);
    if (l->by_tutti > 0) size_text(data, sizeof data, l->bytes);
  }
  printf("%-26s %10s %8s %9s", l->name, calls, by, data);
  show_range(&l->side[0]);
  show_range(&l->side[1]);
  printf(" %9.*f", l->side[0].median < 0.1 ? 4 : l->side[0].median < 10 ? 3 : 2, gained);
  if (l->side[0].median >= 1e-3) printf(" %4.0f %%", 100 * gained / l->side[0].median);
  printf("%s\n", overlap(l) ? "  within the spread" : "");
}

static void show_text(const mpi_options *o, const mpi_gain *g) {
  printf("# tutti %s:", tutti_version(NULL, NULL, NULL));
  for (char **a = o->argv; *a; a++) printf(" %s", *a);
  printf(
      "\n# %d rounds, each with a run without and a run with tutti; medians and ranges, in "
      "seconds\n",
      g->rounds);
  printf(
      "# without: the MPI runs all calls (TUTTI_DROPIN=0), and the drop-in only takes their time\n"
      "# wall time: of the whole command; the other times, calls and data: of rank 0\n");
  printf("%-26s %10s %8s %9s %9s %-18s %9s %-18s %9s\n", "", "calls", "by tutti", "data", "without",
         "", "with", "", "gained");
  const line wall = {.name = "wall time",
                     .side = {range_of(g->wall[0], g->rounds), range_of(g->wall[1], g->rounds)}};
  const line sum = sum_of(g);
  show_line(&wall);
  show_line(&sum);
  for (int i = 0; i < g->functions; i++) {
    const line l = line_of(g, &g->function[i]);
    show_line(&l);
  }
  if (!g->functions)
    printf("The program made no collective calls that tutti could run (docs/dropin.md)\n");
}

static void print_data(const line *l, bool json, bool last) {
  const range *w = &l->side[0], *t = &l->side[1];
  if (json)
    printf(
        "  {\"name\": \"%s\", \"calls\": %.0f, \"calls_by_tutti\": %.0f, \"bytes_by_tutti\": %.0f, "
        "\"without_s\": %.9f, \"without_least_s\": %.9f, \"without_most_s\": %.9f, "
        "\"with_s\": %.9f, \"with_least_s\": %.9f, \"with_most_s\": %.9f, \"within_spread\": "
        "%s}%s\n",
        l->name, l->calls, l->by_tutti, l->bytes, w->median, w->least, w->most, t->median, t->least,
        t->most, overlap(l) ? "true" : "false", last ? "" : ",");
  else
    printf("%s,%.0f,%.0f,%.0f,%.9f,%.9f,%.9f,%.9f,%.9f,%.9f\n", l->name, l->calls, l->by_tutti,
           l->bytes, w->median, w->least, w->most, t->median, t->least, t->most);
}

void mpi_gain_show(const mpi_options *o, const mpi_gain *g) {
  const bool json = o->format == CLI_JSON;
  if (o->format == CLI_TEXT) {
    show_text(o, g);
    return;
  }
  const line wall = {.name = "wall time",
                     .side = {range_of(g->wall[0], g->rounds), range_of(g->wall[1], g->rounds)}};
  const line sum = sum_of(g);
  if (json)
    printf("{\"tutti\": \"%s\", \"rounds\": %d, \"rows\": [\n", tutti_version(NULL, NULL, NULL),
           g->rounds);
  else
    printf(
        "name,calls,calls_by_tutti,bytes_by_tutti,without_s,without_least_s,without_most_s,with_s,"
        "with_least_s,"
        "with_most_s\n");
  print_data(&wall, json, false);
  print_data(&sum, json, !g->functions);
  for (int i = 0; i < g->functions; i++) {
    const line l = line_of(g, &g->function[i]);
    print_data(&l, json, i + 1 == g->functions);
  }
  if (json) printf("]}\n");
}
