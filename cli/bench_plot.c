/* bench_plot.c - writes the results as JSON or CSV, or as a picture drawn by gnuplot.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "tutti_plan.h"

static int cannot(const char *command, const char *path) {
  return cli_fail(CLI_FAILED, command, "cannot write '%s': %s", path, strerror(errno));
}

int bench_files_ready(const char *command, const bench_options *o) {
  FILE *f = o->output ? fopen(o->output, "ae") : NULL;
  if (o->output && !f) return cannot(command, o->output);
  if (f) fclose(f);
  return o->plot ? cli_plot_ready(command, o->plot) : 0;
}

bool bench_table(const bench_options *o) {
  return !o->format || o->output;
}

FILE *bench_output(const char *command, const bench_options *o) {
  FILE *f = o->output ? fopen(o->output, "we") : stdout;
  if (!f) cannot(command, o->output);
  return f;
}

int bench_output_close(const char *command, const bench_options *o, FILE *f) {
  const bool bad = ferror(f) || fflush(f);
  if (f == stdout)
    return bad ? cli_fail(CLI_FAILED, command, "cannot write: %s", strerror(errno)) : 0;
  return fclose(f) || bad ? cannot(command, o->output) : 0;
}

/* ---- JSON, CSV ---- */

static void json_side(FILE *f, const char *name, const bench_side *s) {
  if (!s->measured) {
    fprintf(f, "     \"%s\": null", name);
    return;
  }
  fprintf(f, "     \"%s\": {\"us_min\": %.4f, \"us_median\": %.4f, \"us_max\": %.4f, \"us_p99\": ",
          name, 1e6 * s->least, 1e6 * s->median, 1e6 * s->most);
  if (s->p99 > 0)
    fprintf(f, "%.4f", 1e6 * s->p99);
  else
    fprintf(f, "null");
  fprintf(f, ", \"algbw_GBps\": %.4f, \"busbw_GBps\": %.4f, \"iterations\": %ld, \"wrong\": ",
          s->algbw, s->busbw, s->iterations);
  if (s->wrong < 0)
    fprintf(f, "null}");
  else
    fprintf(f, "%lld}", (long long)s->wrong);
}

static void json_row(FILE *f, const bench_row *row, bool last) {
  fprintf(f, "    {\"bytes\": %zu, \"count\": %zu, \"plan\": \"%s\",\n", row->bytes, row->count,
          row->plan);
  json_side(f, "out_of_place", &row->side[0]);
  fprintf(f, ",\n");
  json_side(f, "in_place", &row->side[1]);
  fprintf(f, "}%s\n", last ? "" : ",");
}

/* One line for each size and side. */
static void csv(FILE *f, const bench_row *rows, size_t n) {
  fprintf(f,
          "bytes,count,side,us_min,us_median,us_max,algbw_GBps,busbw_GBps,iterations,wrong,plan\n");
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      const bench_side *s = &rows[i].side[k];
      if (!s->measured) continue;
      fprintf(f, "%zu,%zu,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%ld,%lld,\"%s\"\n", rows[i].bytes,
              rows[i].count, k ? "in" : "out", 1e6 * s->least, 1e6 * s->median, 1e6 * s->most,
              s->algbw, s->busbw, s->iterations, (long long)s->wrong, rows[i].plan);
    }
}

static void json(FILE *f, const bench_job *job, const bench_options *o, const bench_row *rows,
                 size_t n) {
  char date[32];
  time_t t = time(NULL);
  struct tm utc;
  strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
  struct utsname u;
  uname(&u);
  fprintf(f, "{\n  \"program\": \"tutti bench\",\n  \"version\": \"%s\",\n  \"date\": \"%s\",\n",
          tutti_version(NULL, NULL, NULL), date);
  fprintf(f, "  \"machine\": \"%s\",\n  \"cores\": %ld,\n  \"ranks\": %d,\n", u.machine,
          sysconf(_SC_NPROCESSORS_ONLN), job->size);
  fprintf(f, "  \"coll\": \"%s\",\n  \"type\": \"%s\",\n  \"op\": \"%s\",\n  \"root\": %ld,\n",
          tutti_coll_name(o->coll), tutti_type_name(o->type),
          bench_reduces(o->coll) ? tutti_op_name(o->op) : "none",
          bench_rooted(o->coll) ? o->root : -1);
  fprintf(f, "  \"measure\": \"%s\",\n  \"buffers\": \"%s\",\n  \"repeats\": %ld,\n",
          o->cycle ? "cycle" : "loop", o->alloc ? "tutti_mem_alloc" : "malloc", o->repeats);
  fprintf(f, "  \"rows\": [\n");
  for (size_t i = 0; i < n; i++) json_row(f, &rows[i], i + 1 == n);
  fprintf(f, "  ]\n}\n");
}

int bench_results(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n) {
  FILE *f = bench_output("bench", o);
  if (!f) return CLI_FAILED;
  if (o->format == CLI_CSV)
    csv(f, rows, n);
  else
    json(f, job, o, rows, n);
  return bench_output_close("bench", o, f);
}

/* ---- a picture ---- */

static void plot_data(FILE *p, const bench_row *rows, size_t n) {
  for (int k = 0; k < 2; k++) {
    fprintf(p, "$side%d << EOD\n", k);
    for (size_t i = 0; i < n; i++) {
      const bench_side *s = &rows[i].side[k];
      if (s->least > 0)
        fprintf(p, "%zu %g %g %g\n", rows[i].bytes, 1e6 * s->median, 1e6 * s->least, 1e6 * s->most);
    }
    fprintf(p, "EOD\n");
  }
}

int bench_plot(const bench_job *job, const bench_options *o, const bench_row *rows, size_t n) {
  FILE *p = cli_gnuplot("bench", o->plot);
  if (!p) return CLI_FAILED;
  plot_data(p, rows, n);
  fprintf(p,
          "set title '%s of %s, %d ranks, %s, %s buffers' noenhanced\n"
          "set logscale xy\n@BYTES\n@TIMES\nset xlabel 'vector'\n"
          "set ylabel 'time: median; least to greatest of the repeats'\n"
          "plot $side0 using 1:2:3:4 with yerrorbars lt 1 ps 0.2 notitle, \\\n"
          "  $side1 using 1:2:3:4 with yerrorbars lt 2 ps 0.2 notitle, \\\n"
          "  $side0 using 1:2 lt 1 title 'out of place', $side1 using 1:2 lt 2 title 'in place'\n",
          tutti_coll_name(o->coll), tutti_type_name(o->type), job->size,
          o->cycle ? "cycle" : "loop", o->alloc ? "tutti_mem_alloc" : "malloc");
  return cli_gnuplot_close("bench", p, o->plot);
}
