/* measured_files.c - writes predicted and measured times as JSON or CSV, or draws them as a
 * picture.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "measured.h"
#include "pricing.h"
#include "tutti_plan.h"

static void json_plan(FILE *f, const survey_plan *p, bool first) {
  fprintf(f, "%s\n      {\"plan\": \"%s\", \"slices\": %d, \"predicted_s\": %.6g", first ? "" : ",",
          p->name, p->slices, p->predicted);
  if (p->rounds)
    fprintf(f, ", \"measured_s\": %.6g, \"spread\": %.3f, \"rounds\": %d", p->median, p->spread,
            p->rounds);
  fprintf(f, "}");
}

static void json_size(FILE *f, const measured_size *r, bool last) {
  char best[CLI_PLAN] = "";
  if (r->best >= 0) cli_plan_name(r->plan[r->best].name, r->plan[r->best].slices, best);
  fprintf(f,
          "    {\"bytes\": %zu, \"chosen\": \"%s\", \"predicted_s\": %.6g, \"measured_s\": %.6g, "
          "\"best\": \"%s\", \"best_s\": %.6g, \"chosen_over_best\": %.4f, \"noise\": %.4f,\n"
          "     \"plans\": [",
          r->bytes, r->chosen, r->predicted, r->seconds, best,
          r->best >= 0 ? r->best_seconds : 0, r->ratio, r->noise);
  for (int i = 0; i < r->plans; i++) json_plan(f, &r->plan[i], i == 0);
  fprintf(f, "]}%s\n", last ? "" : ",");
}

/* One line for each size. */
static void csv(FILE *f, const measured_size *rows, size_t n) {
  fprintf(f, "bytes,chosen,predicted_s,measured_s,best,best_s,chosen_over_best,noise\n");
  for (size_t i = 0; i < n; i++) {
    const measured_size *r = &rows[i];
    char best[CLI_PLAN] = "";
    if (r->best >= 0) cli_plan_name(r->plan[r->best].name, r->plan[r->best].slices, best);
    fprintf(f, "%zu,\"%s\",%.6g,%.6g,\"%s\",%.6g,%.4f,%.4f\n", r->bytes, r->chosen, r->predicted,
            r->seconds, best, r->best >= 0 ? r->best_seconds : 0, r->ratio, r->noise);
  }
}

static void json(FILE *f, const bench_job *job, const bench_options *o, const measured_size *rows,
                 size_t n) {
  const measured_sum s = measured_sum_up(rows, n);
  fprintf(
      f,
      "{\"program\": \"tutti explain\", \"version\": \"%s\", \"coll\": \"%s\", \"type\": \"%s\", "
      "\"op\": \"%s\", \"ranks\": %d, \"measure\": \"%s\",\n"
      "  \"chosen_over_best\": %.4f, \"noise\": %.4f, \"worst\": %.4f, \"worst_bytes\": %zu, "
      "\"near\": %d, \"sizes\": %d, \"rounds\": %d, \"rounds_as_tuned\": %d,\n  \"rows\": [\n",
      tutti_version(NULL, NULL, NULL), tutti_coll_name(o->coll), tutti_type_name(o->type),
      tutti_op_name(o->op), job->size, o->cycle ? "cycle" : "loop", s.mean, s.noise, s.worst,
      s.worst_at, s.near, s.sizes, s.rounds, s.kept);
  for (size_t i = 0; i < n; i++) json_size(f, &rows[i], i + 1 == n);
  fprintf(f, "  ]}\n");
}

int measured_results(const bench_job *job, const bench_options *o, const measured_size *rows,
                     size_t n) {
  FILE *f = bench_output("explain", o);
  if (!f) return CLI_FAILED;
  if (o->format == CLI_CSV)
    csv(f, rows, n);
  else
    json(f, job, o, rows, n);
  return bench_output_close("explain", o, f);
}

/* ---- the picture ---- */

typedef struct points {
  const measured_size *rows;
  size_t n;
} points;

/* Writes the points of all plans, then the predicted and the measured time of each chosen plan. */
static void data(FILE *p, void *ctx) {
  const points *of = ctx;
  fprintf(p, "$measured << EOD\n");
  for (size_t i = 0; i < of->n; i++)
    for (int k = 0; k < of->rows[i].plans; k++)
      if (of->rows[i].plan[k].rounds)
        fprintf(p, "%zu %g\n", of->rows[i].bytes, 1e6 * of->rows[i].plan[k].median);
  fprintf(p, "EOD\n$ran << EOD\n");
  for (size_t i = 0; i < of->n; i++)
    fprintf(p, "%zu %g\n", of->rows[i].bytes, 1e6 * of->rows[i].seconds);
  fprintf(p, "EOD\n");
}

int measured_plot(const bench_job *job, const bench_options *o, const measured_size *rows,
                  size_t n) {
  points of = {rows, n};
  tutti_prices *prices;
  price_picture picture = {
      .command = "explain",
      .path = o->plot,
      .first = (double)rows[0].bytes,
      .last = (double)rows[n - 1].bytes,
      .data = data,
      .ctx = &of,
      .lines =
          "$measured using 1:2 with points pt 7 ps 0.4 lc rgb GREY title 'all plans, "
          "measured', $ran using 1:2 with points pt 6 ps 1.6 lw 2 lc rgb INK title "
          "'the chosen plan, measured'"};
  snprintf(picture.title, sizeof picture.title, "%s of %s on %d ranks, predicted and measured",
           tutti_coll_name(o->coll), tutti_type_name(o->type), job->size);
  if (tutti_comm_prices(job->comm, o->coll, o->type, o->op, (int)o->root, &prices))
    return cli_fail(CLI_FAILED, "explain", "%s", tutti_error());
  const int status = price_plot(prices, &picture);
  tutti_prices_free(prices);
  return status;
}
