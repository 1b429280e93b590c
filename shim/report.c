/* report.c - TUTTI_REPORT: rank 0 prints a table on stderr, or writes JSON to a file.
 *
 * Idea       A served call belongs to a row, which is given by its function, its range of sizes (powers of 4)
 *            and the plan that ran. A communicator remembers the row of its last call.
 * Cost       Only if the report is requested: two clock reads and three additions per call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "tutti_mpi.h"
#include "tutti_plan.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct row {
  shim_function function;
  int range; /* sizes in bytes below 4 to this power; 0 for empty calls */
  char plan[TUTTI_PLAN_TEXT];
  _Atomic uint64_t calls, bytes, ns;
};

enum { MOST_ROWS = 512, RANGES = 33, SENTENCE = 400 };

int report_wanted;
handed report_handed[SHIM_FUNCTIONS][SHIM_WHY_COUNT];
/* The number of communicators that are left to the MPI for each reason, and the name of the first one. The entry of
 * WHY_SERVED is for communicators that tutti serves. */
static struct {
  unsigned long n;
  char first[48];
} communicators[SHIM_WHY_COUNT];
static const char *file; /* NULL for stderr */
static int my_rank;
static row rows[MOST_ROWS + 1]; /* the last row is for calls that fit in no other row */
static int nrows;
/* The kinds of calls for which tutti and the MPI were compared. The list covers all communicators, and is in the order in
 * which the comparisons ended. */
typedef struct contest {
  shim_function function;
  int size;
  double mpi_ns, tutti_ns;
  bool mpi;
} contest;
enum { MOST_CONTESTS = 256 };
static contest contests[MOST_CONTESTS];
static int ncontests;
static uint64_t failures;
static char failure[SENTENCE];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *const names[SHIM_FUNCTIONS] = {
#define PLAIN(name, lower, parameters, arguments)                 \
  [SHIM_##name] = "MPI_" #name, [SHIM_I##lower] = "MPI_I" #lower, \
  [SHIM_##name##_init] = "MPI_" #name "_init",
#define X PLAIN
#include "collectives.def"
};

static const char *const whys[SHIM_WHY_COUNT] = {
#define W(name, sentence) sentence,
    SHIM_WHYS(W)
#undef W
};

/* Returns the value of TUTTI_REPORT, or NULL if the user has not requested a report. */
static const char *wish(void) {
  const char *value = tutti_setting("TUTTI_REPORT");
  return value && *value && strcmp(value, "0") != 0 ? value : NULL;
}

void report_begin(int rank) {
  const char *value = wish();
  my_rank = rank;
  if (!value) return;
  if (strcmp(value, "1") != 0) file = value;
  report_wanted = 1;
}

void report_nothing(const char *why) {
  static atomic_bool reported;
  if (wish() && !atomic_exchange(&reported, true))
    fprintf(stderr, "tutti: nothing is taken over: %s\n", why);
}

uint64_t report_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- counting ---- */

static int range_of(size_t bytes) {
  int range = 0;
  for (; bytes; bytes /= 4) range++;
  return range;
}

static row *row_of(shim_function function, int range, const char *plan) {
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < nrows && (rows[i].function != function || rows[i].range != range ||
                       strcmp(rows[i].plan, plan) != 0))
    i++;
  row *r = &rows[i];
  if (i == nrows && nrows < MOST_ROWS) {
    nrows++;
    r->function = function;
    r->range = range;
    snprintf(r->plan, sizeof r->plan, "%s", plan);
  }
  pthread_mutex_unlock(&lock);
  return r;
}

void report_served(tutti_comm *comm, last_row *last, const served_call *c, uint64_t since) {
  const uint64_t ns = report_now() - since;
  const size_t key = c->plans ? c->count : c->bytes;
  if (!last->row || last->count != key || last->type != c->type || last->op != c->op) {
    char plan[TUTTI_PLAN_TEXT] = "by counts";
    if (c->plans && tutti_comm_plan(comm, c->coll, c->count, c->type, c->op, plan, sizeof plan))
      snprintf(plan, sizeof plan, "?");
    *last = (last_row){key, c->type, c->op, row_of(c->function, range_of(c->bytes), plan)};
  }
  atomic_fetch_add_explicit(&last->row->calls, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&last->row->bytes, c->bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&last->row->ns, ns, memory_order_relaxed);
}

void report_turns(shim_function function, int size, double mpi_ns, double tutti_ns, bool mpi) {
  pthread_mutex_lock(&lock);
  if (report_wanted && ncontests < MOST_CONTESTS)
    contests[ncontests++] = (contest){function, size, mpi_ns, tutti_ns, mpi};
  pthread_mutex_unlock(&lock);
}

void report_communicator(const char *name, shim_why why) {
  pthread_mutex_lock(&lock);
  if (!communicators[why].n++)
    snprintf(communicators[why].first, sizeof communicators[why].first, "%s", name);
  pthread_mutex_unlock(&lock);
}

static unsigned long left_to_mpi(void) {
  unsigned long n = 0;
  for (int w = WHY_SERVED + 1; w < SHIM_WHY_COUNT; w++) n += communicators[w].n;
  return n;
}

void report_failure(const char *sentence) {
  pthread_mutex_lock(&lock);
  if (!failures++) snprintf(failure, sizeof failure, "%s", sentence);
  pthread_mutex_unlock(&lock);
}

/* ---- as a table ---- */

static int by_place(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->function != y->function) return x->function < y->function ? -1 : 1;
  if (x->range != y->range) return x->range < y->range ? -1 : 1;
  return strcmp(x->plan, y->plan);
}

static void size_text(char *text, size_t size, uint64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double n = (double)bytes;
  for (; n >= 1024 && unit < 6; unit++) n /= 1024;
  snprintf(text, size, unit && n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
}

static uint64_t below(int range) {
  return range > 31 ? UINT64_MAX : UINT64_C(1) << 2 * range;
}

static void print_rows(FILE *out) {
  if (nrows)
    fprintf(out, "  %-26s %10s %10s %10s %10s %10s  %s\n", "served", "below", "calls", "data",
            "seconds", "mean us", "plan");
  for (int i = 0; i < nrows; i++) {
    const row *r = &rows[i];
    char limit[32] = "-", data[32];
    const double seconds = (double)r->ns * 1e-9;
    if (r->range) size_text(limit, sizeof limit, below(r->range));
    size_text(data, sizeof data, r->bytes);
    fprintf(out, "  %-26s %10s %10" PRIu64 " %10s %10.3f %10.2f  %s\n", names[r->function], limit,
            r->calls, data, seconds, seconds * 1e6 / (double)(r->calls ? r->calls : 1), r->plan);
  }
}

static void print_handed(FILE *out) {
  int any = 0;
  for (int f = 0; f < SHIM_FUNCTIONS; f++)
    for (int w = 0; w < SHIM_WHY_COUNT; w++) {
      if (!report_handed[f][w].calls) continue;
      if (!any++) fprintf(out, "  %-26s %10s %10s  %s\n", "handed on", "", "calls", "why");
      fprintf(out, "  %-26s %10s %10" PRIu64 "  %s\n", names[f], "", report_handed[f][w].calls,
              whys[w]);
    }
}

static void print_contests(FILE *out) {
  if (ncontests)
    fprintf(out, "  %-26s %10s %10s %10s %10s  %s\n", "measured", "up to", "", "MPI us", "tutti us",
            "served by");
  for (int i = 0; i < ncontests; i++) {
    const contest *c = &contests[i];
    char limit[32] = "-";
    if (c->function != SHIM_Barrier) size_text(limit, sizeof limit, UINT64_C(1) << c->size);
    fprintf(out, "  %-26s %10s %10s %10.2f %10.2f  %s\n", names[c->function], limit, "",
            c->mpi_ns * 1e-3, c->tutti_ns * 1e-3, c->mpi ? "the MPI" : "tutti");
  }
}

static void print_left(FILE *out) {
  for (int w = WHY_SERVED + 1; w < SHIM_WHY_COUNT; w++) {
    const unsigned long n = communicators[w].n;
    if (n > 1)
      fprintf(out, "  left to the MPI: %lu communicators, the first is %s (%s)\n", n,
              communicators[w].first, whys[w]);
    else if (n)
      fprintf(out, "  left to the MPI: %s (%s)\n", communicators[w].first, whys[w]);
  }
}

static void print(FILE *out) {
  const unsigned long served = communicators[WHY_SERVED].n;
  fprintf(out, "tutti %s: %lu communicator%s served, %lu left to the MPI (as rank 0 saw it)\n",
          tutti_version(NULL, NULL, NULL), served, served == 1 ? "" : "s", left_to_mpi());
  print_left(out);
  print_rows(out);
  print_handed(out);
  print_contests(out);
  if (failures) fprintf(out, "  failed %" PRIu64 " times; first: %s\n", failures, failure);
}

/* ---- as JSON ---- */

static void quote(FILE *out, const char *text) {
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') fputc('\\', out);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
  }
  fputc('"', out);
}

static void json_communicators(FILE *out) {
  const char *comma = "";
  fprintf(out, " \"communicators\": {\"served\": %lu, \"handed_on\": %lu, \"why\": [",
          communicators[WHY_SERVED].n, left_to_mpi());
  for (int w = WHY_SERVED + 1; w < SHIM_WHY_COUNT; w++) {
    if (!communicators[w].n) continue;
    fprintf(out, "%s\n  {\"communicators\": %lu, \"first\": ", comma, communicators[w].n);
    quote(out, communicators[w].first);
    fprintf(out, ", \"why\": ");
    quote(out, whys[w]);
    fputc('}', out);
    comma = ",";
  }
  fprintf(out, "]},\n");
}

static void json_contests(FILE *out) {
  const char *comma = "";
  fprintf(out, "],\n \"measured\": [");
  for (int i = 0; i < ncontests; i++, comma = ",") {
    const contest *c = &contests[i];
    fprintf(out,
            "%s\n  {\"function\": \"%s\", \"bytes_to\": %" PRIu64
            ", \"mpi_seconds\": %.9f, \"tutti_seconds\": %.9f, \"by\": \"%s\"}",
            comma, names[c->function], c->function == SHIM_Barrier ? 0 : UINT64_C(1) << c->size,
            c->mpi_ns * 1e-9, c->tutti_ns * 1e-9, c->mpi ? "MPI" : "tutti");
  }
}

static void print_json(FILE *out) {
  const char *comma = "";
  fprintf(out, "{\"tutti\": \"%s\",\n", tutti_version(NULL, NULL, NULL));
  json_communicators(out);
  fprintf(out, " \"served\": [");
  for (int i = 0; i < nrows; i++, comma = ",") {
    const row *r = &rows[i];
    fprintf(out,
            "%s\n  {\"function\": \"%s\", \"bytes_from\": %" PRIu64 ", \"bytes_below\": %" PRIu64,
            comma, names[r->function], r->range ? below(r->range - 1) : 0,
            r->range ? below(r->range) : 1);
    fprintf(out, ", \"plan\": ");
    quote(out, r->plan);
    fprintf(out, ", \"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"seconds\": %.9f}", r->calls,
            r->bytes, (double)r->ns * 1e-9);
  }
  fprintf(out, "],\n \"handed_on\": [");
  comma = "";
  for (int f = 0; f < SHIM_FUNCTIONS; f++)
    for (int w = 0; w < SHIM_WHY_COUNT; w++) {
      if (!report_handed[f][w].calls) continue;
      fprintf(out,
              "%s\n  {\"function\": \"%s\", \"calls\": %" PRIu64 ", \"seconds\": %.9f, \"why\": ",
              comma, names[f], report_handed[f][w].calls, (double)report_handed[f][w].ns * 1e-9);
      quote(out, whys[w]);
      fputc('}', out);
      comma = ",";
    }
  json_contests(out);
  fprintf(out, "],\n \"failures\": {\"calls\": %" PRIu64 ", \"first\": ", failures);
  quote(out, failure);
  fprintf(out, "}}\n");
}

void report_end(void) {
  if (!report_wanted || my_rank != 0) return;
  qsort(rows, (size_t)nrows, sizeof rows[0], by_place);
  if (!file) {
    print(stderr);
    return;
  }
  FILE *out = fopen(file, "w");
  if (out) print_json(out);
  if (!out || fclose(out)) fprintf(stderr, "tutti: the report cannot be written to %s\n", file);
}
