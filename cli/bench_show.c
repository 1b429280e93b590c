/* bench_show.c - prints the table, which starts with the columns of nccl-tests, and the progress
 * bar.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "tutti_plan.h"

void bench_show_head(const bench_job *job, const bench_options *o) {
  char helpers[40] = "";
  if (o->helpers) snprintf(helpers, sizeof helpers, ", the last %ld only help", o->helpers);
  printf("# tutti %s bench: %s, %d rank%s%s, %s buffers, %s\n", tutti_version(NULL, NULL, NULL),
         tutti_coll_name(o->coll), job->size, job->size == 1 ? "" : "s", helpers,
         o->alloc ? "tutti_mem_alloc" : "malloc",
         o->cycle ? "cycle (write, call, read, minus the same without the call)" : "loop");
  if (job->size == 1)
    printf("# one rank: nothing travels; for more: tutti run -n N tutti bench, or -n N\n");
  printf("#\n#%39s  %-31s  %s", "", "out of place", "in place");
  if (o->spread) printf("%25s%-31s  %s", "", "out of place (us)", "in place (us)");
  printf("\n#%9s %10s %6s %6s %4s", "size", "count", "type", "redop", "root");
  for (int i = 0; i < 2; i++) printf(" %9s %7s %7s %6s", "time", "algbw", "busbw", "#wrong");
  for (int i = 0; i < 2 && o->spread; i++) printf(" %10s %10s %10s", "min", "p99", "max");
  printf("  plan\n#%9s %10s %6s %6s %4s", "(B)", "(elements)", "", "", "");
  for (int i = 0; i < 2; i++) printf(" %9s %7s %7s %6s", "(us)", "(GB/s)", "(GB/s)", "");
  printf("\n");
  fflush(stdout);
}

/* Prints a time in microseconds in a column of nine characters, with as many decimals as fit. */
static void show_us(double seconds, int width) {
  double us = 1e6 * seconds;
  printf(" %*.*f", width, us < 1000 ? 3 : us < 100000 ? 1 : 0, us);
}

void bench_show_row(const bench_options *o, const bench_row *row) {
  printf("%10zu %10zu %6s %6s %4ld", o->coll == TUTTI_BARRIER ? 0 : row->bytes, row->count,
         tutti_type_name(o->type), bench_reduces(o->coll) ? tutti_op_name(o->op) : "none",
         bench_rooted(o->coll) ? o->root : -1);
  for (int i = 0; i < 2; i++) {
    const bench_side *s = &row->side[i];
    if (!s->measured) {
      printf(" %9s %7s %7s %6s", "-", "-", "-", "-");
      continue;
    }
    show_us(s->median, 9);
    printf(" %7.3f %7.3f ", s->algbw, s->busbw);
    if (s->wrong < 0)
      printf("%6s", "N/A");
    else
      printf("%6lld", (long long)s->wrong);
  }
  for (int i = 0; i < 2 && o->spread; i++) {
    const double of[] = {row->side[i].least, row->side[i].p99, row->side[i].most};
    for (int k = 0; k < 3; k++)
      if (of[k] > 0)
        show_us(of[k], 10);
      else
        printf(" %10s", "-");
  }
  printf("  %s\n", row->plan);
  fflush(stdout);
}

void bench_show_foot(const bench_options *o, const bench_row *rows, size_t n) {
  long long wrong = 0;
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < 2; k++) {
      if (!o->side[k]) continue;
      if (rows[i].side[k].wrong > 0) wrong += rows[i].side[k].wrong;
      sum += rows[i].side[k].busbw;
    }
  if (o->check && o->coll != TUTTI_BARRIER)
    printf("# Out of bounds values : %lld %s\n", wrong, wrong ? "FAILED" : "OK");
  printf("# Avg bus bandwidth    : %g\n#\n", sum / (double)((size_t)(o->side[0] + o->side[1]) * n));
  printf("# time is the median of %ld repeats%s;\n", o->repeats,
         o->spread ? "" : " (--spread shows the others)");
  if (o->iterations)
    printf("# a repeat is the mean of %ld calls, of the slowest rank.\n", o->iterations);
  else
    printf(
        "# a repeat is the mean of the calls that fit into %g s (3 to 20000), of the\n"
        "# slowest rank.\n",
        o->budget);
}

void bench_progress(size_t done, size_t all, size_t bytes) {
  enum { WIDTH = 30 };
  if (!isatty(2)) return;
  char bar[WIDTH + 1];
  size_t full = all ? WIDTH * done / all : 0;
  for (size_t i = 0; i < WIDTH; i++) bar[i] = i < full ? '#' : '.';
  bar[WIDTH] = 0;
  if (all)
    fprintf(stderr, "\r\033[K[%s] %zu of %zu: %zu bytes", bar, done + 1, all, bytes);
  else
    fprintf(stderr, "\r\033[K");
  fflush(stderr);
}
