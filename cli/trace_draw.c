/* trace_draw.c - draws a section of a trace on the terminal, as lines of letters.
 *
 * Idea       each column is a period of time. Its letter shows what the rank did for most of the
 *            period. Each rank has a line for the program's marks, one for its work in tutti, and
 *            one that counts the operations in flight. If the first and the last line are both
 *            filled, computation and communication overlap.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

enum { COLUMNS = 100, MOST_RANKS = 16, LETTERS = 128 };

typedef struct line {
  int64_t time[COLUMNS][LETTERS]; /* in ns, for each letter */
} line;

typedef struct picture {
  const trace_data *d;
  int64_t from, to;
  line program, tutti;
  int flying[COLUMNS];
} picture;

static int64_t edge(const picture *p, int column) {
  return p->from + (p->to - p->from) / COLUMNS * column;
}

/* Returns the column for a time, -1 if the time is before the picture, or COLUMNS if it is after the picture. */
static int column_of(const picture *p, int64_t time) {
  if (time < p->from) return -1;
  const int64_t column = (time - p->from) / ((p->to - p->from) / COLUMNS);
  return column < COLUMNS ? (int)column : COLUMNS;
}

static void paint(const picture *p, line *l, const trace_event *e, char letter) {
  const int first = column_of(p, e->begin), last = column_of(p, e->end);
  for (int c = first < 0 ? 0 : first; c <= last && c < COLUMNS; c++) {
    const int64_t begin = e->begin > edge(p, c) ? e->begin : edge(p, c);
    const int64_t end = e->end < edge(p, c + 1) ? e->end : edge(p, c + 1);
    if (end > begin) trace_add(&l->time[c][(unsigned char)letter % LETTERS], end - begin);
  }
}

static char letter_of(const trace_event *e) {
  switch (e->kind) {
    case TRACE_WAIT: return '.';
    case TRACE_REDUCE: return '+';
    case TRACE_COPY: return 'c';
    case TRACE_SEND: return '>';
    case TRACE_RECEIVE: return '<';
    case TRACE_KERNEL: return '*';
    case TRACE_FROM_DEVICE: return '(';
    case TRACE_TO_DEVICE: return ')';
    default: return '-';
  }
}

static void add(picture *p, const trace_event *e) {
  if (e->end < p->from || e->begin > p->to) return;
  if (e->kind == TRACE_MARK) {
    paint(p, &p->program, e, p->d->calls[e->what].plan[0]);
  } else if (e->kind == TRACE_FLIGHT) {
    const int first = column_of(p, e->begin), last = column_of(p, e->end);
    for (int c = first < 0 ? 0 : first; c <= last && c < COLUMNS; c++) p->flying[c]++;
  } else {
    paint(p, &p->tutti, e, letter_of(e));
  }
}

/* Returns the letter that fills most of a column, or ' ' if the column is mostly empty. The time counted for '-'
 * includes times that are also counted for other letters. */
static char most_of(const picture *p, const line *l, int column) {
  int64_t free = edge(p, column + 1) - edge(p, column), inside = l->time[column]['-'];
  int best = ' ';
  int64_t most = 0;
  for (int i = 0; i < LETTERS; i++) {
    const int64_t t = l->time[column][i];
    if (i != '-') trace_add(&inside, -t), trace_add(&free, -t);
    if (i != '-' && t > most) most = t, best = i;
  }
  if (inside > 0) free -= inside;
  if (inside > most) most = inside, best = '-';
  return free > most ? ' ' : (char)best;
}

static void show_line(const picture *p, const line *l, const char *name) {
  char text[COLUMNS + 1];
  for (int c = 0; c < COLUMNS; c++) text[c] = most_of(p, l, c);
  text[COLUMNS] = 0;
  printf("  %-16s|%s|\n", name, text);
}

static void show_flights(const picture *p) {
  char text[COLUMNS + 1];
  for (int c = 0; c < COLUMNS; c++)
    text[c] = (char)(!p->flying[c] ? ' ' : p->flying[c] > 9 ? '9' : '0' + p->flying[c]);
  text[COLUMNS] = 0;
  printf("  %-16s|%s|\n", "  in flight", text);
}

/* Chooses a period around the median call of the kind of call that took the most time. */
static void choose(const trace_sums *s, int64_t *from, int64_t *to) {
  const trace_op *op = &s->ops[s->sorts[0].from + s->sorts[0].n / 2];
  *from = s->parts[op->from].begin;
  for (int i = 1; i < op->n; i++)
    if (s->parts[op->from + (size_t)i].begin < *from) *from = s->parts[op->from + (size_t)i].begin;
  *to = *from + 2 * op->longest;
  *from -= op->longest / 2;
}

void trace_window(const trace_sums *s, double from_ms, double length_ms, int64_t *from,
                  int64_t *to) {
  *from = (int64_t)(from_ms * 1e6);
  *to = *from + (int64_t)(length_ms * 1e6);
  if (length_ms <= 0 && s->nsorts) choose(s, from, to);
  if (*to < *from + COLUMNS) *to = *from + COLUMNS;
}

static void show_names(const trace_data *d) {
  for (size_t i = 1; i < d->ncalls; i++)
    if (!*d->calls[i].coll) printf(", %c %s", d->calls[i].plan[0], d->calls[i].plan);
}

int trace_draw(const trace_data *d, const trace_sums *s, double from_ms, double length_ms) {
  picture *p = malloc(sizeof *p);
  if (!p) return cli_fail(CLI_FAILED, "trace", "out of memory for a picture");
  int64_t from, to;
  trace_window(s, from_ms, length_ms, &from, &to);
  printf(
      "from %.3f ms, %.3f us per column: + arithmetic, c copy, > send, < receive, . wait, - else",
      (double)from / 1e6, (double)(to - from) / COLUMNS / 1e3);
  bool marks = false, flights = false, device = false;
  for (size_t i = 0; i < d->nevents; i++) device |= trace_of_device(&d->events[i]);
  if (device) printf(", * a kernel, ( copy from a device, ) copy to it");
  show_names(d);
  printf("\n");
  for (size_t i = 0; i < d->nevents; i++)
    *(d->events[i].kind == TRACE_MARK ? &marks : &flights) |=
        d->events[i].kind == TRACE_MARK || d->events[i].kind == TRACE_FLIGHT;
  for (size_t r = 0; r < s->nranks && r < MOST_RANKS; r++) {
    char name[24];
    memset(p, 0, sizeof *p);
    p->d = d, p->from = from, p->to = to;
    for (size_t i = 0; i < d->nevents; i++)
      if (d->lanes[d->events[i].lane].pid == s->ranks[r].pid) add(p, &d->events[i]);
    snprintf(name, sizeof name, "rank %d", s->ranks[r].pid);
    if (marks) show_line(p, &p->program, name);
    show_line(p, &p->tutti, marks ? "  in tutti" : name);
    if (flights) show_flights(p);
  }
  if (s->nranks > MOST_RANKS) printf("  (%zu more ranks)\n", s->nranks - MOST_RANKS);
  free(p);
  return 0;
}
