/* peer_files.c - writes a comparison as JSON or CSV, or draws it with gnuplot.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "peer.h"

static void text(FILE *f, const char *from) {
  fputc('"', f);
  for (; *from; from++)
    if (*from == '"' || *from == '\\')
      fprintf(f, "\\%c", *from);
    else
      fputc((unsigned char)*from < ' ' ? ' ' : *from, f);
  fputc('"', f);
}

static const char *const states[PEER_STATES] = {"near", "far", "shared"};

static void json_rounds(FILE *f, const char *name, const double *seconds, int n) {
  fprintf(f, ", \"%s\": [", name);
  for (int i = 0; i < n; i++) fprintf(f, "%s%.4f", i ? ", " : "", 1e6 * seconds[i]);
  fprintf(f, "]");
}

static void json_row(FILE *f, const peer_memory *m, const peer_row *row) {
  const char *comma = "";
  fprintf(f, "      {\"bytes\": %zu, \"count\": %zu, \"plan\": ", row->bytes, row->count);
  text(f, row->plan);
  fprintf(f, ", \"states\": {");
  for (int s = 0; s < PEER_STATES; s++) {
    const peer_cell c = peer_cell_of(m, row, (peer_state)s);
    if (c.ratio <= 0) continue;
    fprintf(f,
            "%s\"%s\": {\"rounds\": %d, \"tutti_us\": %.4f, \"us\": %.4f, \"ratio\": %.4f, "
            "\"ratio_quartiles\": "
            "[%.4f, %.4f]}",
            comma, states[s], c.rounds, 1e6 * c.tutti, 1e6 * c.seconds, c.ratio, c.least, c.most);
    comma = ", ";
  }
  fprintf(f, "}, \"tutti_calls\": %ld, \"calls\": %ld", row->calls[PEER_TUTTI],
          row->calls[PEER_OTHER]);
  json_rounds(f, "tutti_rounds_us", row->seconds[PEER_TUTTI], row->rounds);
  json_rounds(f, "rounds_us", row->seconds[PEER_OTHER], row->rounds);
  json_rounds(f, "line_before_us", row->line[0], row->rounds);
  json_rounds(f, "line_after_us", row->line[1], row->rounds);
  fprintf(f, "}");
}

static void json_peer(FILE *f, peer_memory *m) {
  char title[32], settings[400];
  peer_title(m, title);
  peer_settings(m, settings);
  fprintf(f, "    {\"name\": \"%s\", \"title\": ", m->name);
  text(f, title);
  fprintf(f, ", \"version\": ");
  text(f, m->version);
  fprintf(f, ", \"library\": ");
  text(f, m->library);
  fprintf(f, ", \"settings\": ");
  text(f, settings);
  fprintf(f, ", \"cores_of_rank_0\": %d, \"rows\": [\n", m->bound);
  for (size_t k = 0; k < m->sizes; k++) {
    json_row(f, m, &peer_rows(m)[k]);
    fprintf(f, k + 1 < m->sizes ? ",\n" : "]}");
  }
}

/* One line for each library, size and state. */
static void csv(FILE *f, peer_memory *const *all, int n) {
  fprintf(f,
          "library,bytes,cores,rounds,tutti_us,us,ratio,ratio_lower_quartile,ratio_upper_quartile,"
          "plan\n");
  for (int i = 0; i < n; i++) {
    char title[32];
    peer_title(all[i], title);
    for (size_t k = 0; k < all[i]->sizes; k++)
      for (int s = 0; s < PEER_STATES; s++) {
        const peer_row *row = &peer_rows(all[i])[k];
        const peer_cell c = peer_cell_of(all[i], row, (peer_state)s);
        if (c.ratio > 0)
          fprintf(f, "%s,%zu,%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,\"%s\"\n", title, row->bytes, states[s],
                  c.rounds, 1e6 * c.tutti, 1e6 * c.seconds, c.ratio, c.least, c.most, row->plan);
      }
  }
}

static void json(FILE *f, const bench_options *o, peer_memory *const *all, int n) {
  fprintf(f,
          "{\"program\": \"tutti bench --compare\", \"version\": \"%s\", \"coll\": \"%s\", "
          "\"type\": \"%s\", "
          "\"op\": \"%s\", \"ranks\": %ld, \"cores\": %d, \"measure\": \"%s\", \"in_place\": %s, "
          "\"slice_ms\": %g,\n"
          "  \"peers\": [\n",
          tutti_version(NULL, NULL, NULL), tutti_coll_name(o->coll), tutti_type_name(o->type),
          bench_reduces(o->coll) ? tutti_op_name(o->op) : "none", o->ranks, all[0]->cores,
          o->cycle ? "cycle" : "loop", peer_in_place(o) ? "true" : "false", 1e3 * o->budget);
  for (int i = 0; i < n; i++) {
    json_peer(f, all[i]);
    fprintf(f, i + 1 < n ? ",\n" : "\n  ]}\n");
  }
}

int peer_results(const bench_options *o, peer_memory *const *all, int n) {
  FILE *f = bench_output("bench", o);
  if (!f) return CLI_FAILED;
  if (o->format == CLI_CSV)
    csv(f, all, n);
  else
    json(f, o, all, n);
  return bench_output_close("bench", o, f);
}

/* ---- a picture ---- */

static const char *const dashes[PEER_STATES] = {"1", "2", "1"};

static void data(FILE *p, peer_memory *const *all, int n, peer_state state) {
  for (int i = -1; i < n; i++) {
    fprintf(p, "$data%d_%d << EOD\n", (int)state, i + 1);
    for (size_t k = 0; k < all[0]->sizes; k++) {
      const peer_row *row = &peer_rows(all[i < 0 ? 0 : i])[k];
      const double s =
          i < 0 ? peer_tutti(all, n, k, state) : peer_cell_of(all[i], row, state).seconds;
      if (s > 0) fprintf(p, "%zu %g\n", row->bytes, 1e6 * s);
    }
    fprintf(p, "EOD\n");
  }
}

/* Each library has its own color. If a plot shows both near and far cores, lines for far cores are dashed. */
int peer_plot(const bench_options *o, peer_memory *const *all, int n) {
  FILE *p = cli_gnuplot("bench", o->plot);
  const bool both = peer_has_state(all, n, PEER_NEAR) && peer_has_state(all, n, PEER_FAR);
  const char *between = "plot ";
  if (!p) return CLI_FAILED;
  for (int s = 0; s < PEER_STATES; s++)
    if (peer_has_state(all, n, (peer_state)s)) data(p, all, n, (peer_state)s);
  fprintf(p,
          "set title '%s of %s, %ld ranks, %s' noenhanced\nset logscale xy\n@BYTES\n@TIMES\nset "
          "xlabel 'vector'\n"
          "set ylabel 'time'\n",
          tutti_coll_name(o->coll), tutti_type_name(o->type), o->ranks,
          o->cycle ? "cycle" : "loop");
  for (int s = 0; s < PEER_STATES; s++) {
    if (!peer_has_state(all, n, (peer_state)s)) continue;
    for (int i = 0; i <= n; i++) {
      char title[32] = "tutti";
      if (i) peer_title(all[i - 1], title);
      fprintf(p, "%s$data%d_%d using 1:2 with linespoints lt %d dt %s title '%s%s%s'", between, s,
              i, i + 1, both ? dashes[s] : "1", title, both ? ", " : "",
              both ? peer_state_text[s] : "");
      between = ", ";
    }
  }
  fprintf(p, "\n");
  return cli_gnuplot_close("bench", p, o->plot);
}
