/* tune_wisdom.c - `tutti tune --wisdom`: measures in advance which plans are the fastest, shows
 * wisdom, and merges files.
 *
 * Idea       the library measures, and converts wisdom to text and back (tutti_wisdom_import,
 *            _export). The command iterates over a series of sizes, and handles files. As in `tutti
 *            bench`, every rank runs it, and only rank 0 prints.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "ranked.h"
#include "tune.h"
#include "tutti_plan.h"
#include "wisdom_files.h"

enum { WISDOM = 256, OP };
static const struct option long_options[] = {
    {"minbytes", required_argument, NULL, 'b'},
    {"maxbytes", required_argument, NULL, 'e'},
    {"factor", required_argument, NULL, 'f'},
    {"type", required_argument, NULL, 'd'},
    {"op", required_argument, NULL, OP},
    {"coll", required_argument, NULL, 'c'},
    {"output", required_argument, NULL, 'o'},
    {"merge", no_argument, NULL, 'm'},
    {"ranks", required_argument, NULL, 'n'},
    {"wisdom", no_argument, NULL, WISDOM},
    {NULL, 0, NULL, 0},
};

typedef struct wanted {
  bench_options row; /* sizes, collective, type, op, ranks */
  const char *file;
  bool merge;
} wanted;

/* ---- the command line ---- */

static int take_size(int c, size_t *size) {
  uint64_t n = 0;
  if (!cli_size(optarg, &n))
    return cli_fail(CLI_USAGE, "tune", "-%c '%s' is not a size such as 4, 16K or 4M", c, optarg);
  *size = (size_t)n;
  return 0;
}

static int take_option(wanted *w, int c, char **argv) {
  int i;
  char *end;
  switch (c) {
    case 'b': return take_size(c, &w->row.first);
    case 'e': return take_size(c, &w->row.last);
    case 'f':
      w->row.factor = strtod(optarg, &end);
      if (end != optarg && !*end && w->row.factor > 1 && w->row.factor <= 1e9) return 0;
      return cli_fail(CLI_USAGE, "tune", "-f '%s' is not a number above 1", optarg);
    case 'c':
      i = cli_coll("tune", optarg);
      w->row.coll = (tutti_coll)i;
      return i < 0 ? CLI_USAGE : 0;
    case 'd':
      i = cli_type("tune", optarg);
      w->row.type = (tutti_type)i;
      return i < 0 ? CLI_USAGE : 0;
    case OP:
      i = cli_op("tune", optarg);
      w->row.op = (tutti_op)i;
      return i < 0 ? CLI_USAGE : 0;
    case WISDOM: return 0;
    case 'n':
      if (cli_int(optarg, 1, 4096, &w->row.ranks)) return 0;
      return cli_fail(CLI_USAGE, "tune", "-n '%s' is not a whole number from 1 to 4096", optarg);
    case 'o':
      w->file = optarg;
      return *optarg ? 0 : cli_fail(CLI_USAGE, "tune", "a file name is empty");
    case 'm': w->merge = true; return 0;
    default: return cli_bad_option("tune", c, argv, long_options);
  }
}

static int agree(const wanted *w, bool in_job, int files) {
  const bench_options *o = &w->row;
  if (w->merge && (!files || !w->file || o->ranks))
    return cli_fail(CLI_USAGE, "tune", "--merge takes files, and -o says where they go");
  if (!w->merge && files && (w->file || o->ranks))
    return cli_fail(CLI_USAGE, "tune",
                    "files are shown, or put together with --merge; -o and -n "
                    "are for measuring");
  if (!files && !o->ranks && !in_job)
    return cli_fail(CLI_USAGE, "tune",
                    "--wisdom: what? A file to show, or -n and a number of ranks; see "
                    "`tutti help tune`");
  if (o->first > o->last)
    return cli_fail(CLI_USAGE, "tune", "the first size, %zu, is above the last, %zu", o->first,
                    o->last);
  if (bench_reduces(o->coll) && !tutti_type_has_op(o->type, o->op))
    return cli_fail(CLI_USAGE, "tune", "type %s has no op %s", tutti_type_name(o->type),
                    tutti_op_name(o->op));
  return 0;
}

static int parse(wanted *w, bool in_job, int argc, char **argv) {
  *w = (wanted){.row = {.type = TUTTI_FLOAT, .first = 4, .last = 4 << 20, .factor = 4}};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":b:e:f:c:d:o:mn:", long_options, NULL)) != -1;) {
    const int status = take_option(w, c, argv);
    if (status) return status;
  }
  if (w->row.coll == TUTTI_BARRIER) w->row.first = w->row.last = 1;
  return agree(w, in_job, argc - optind);
}

/* ---- measuring ---- */

static void show_head(const wanted *w, int ranks) {
  printf("# tutti %s tune --wisdom: %s, %d rank%s%s%s%s%s\n", tutti_version(NULL, NULL, NULL),
         tutti_coll_name(w->row.coll), ranks, ranks == 1 ? "" : "s",
         bench_reduces(w->row.coll) ? ", " : "",
         bench_reduces(w->row.coll) ? tutti_type_name(w->row.type) : "",
         bench_reduces(w->row.coll) ? " " : "",
         bench_reduces(w->row.coll) ? tutti_op_name(w->row.op) : "");
  printf("#%10s  %-28s %10s  %-28s %10s %7s %5s %6s\n", "size (B)", "by estimate", "us", "what won",
         "us", "faster", "+-", "plans");
}

static void show_row(size_t bytes, const tutti_measured *m) {
  char own[CLI_PLAN], won[CLI_PLAN];
  if (!m->candidates) {
    printf("%11zu  not measured: %s\n", bytes, m->why);
    return;
  }
  printf("%11zu  %-28s", bytes, cli_plan_name(m->own, m->own_slices, own));
  if (m->own_seconds > 0)
    printf(" %10.2f", 1e6 * m->own_seconds);
  else
    printf(" %10s", "-");
  printf("  %-28s %10.2f", cli_plan_name(m->plan, m->slices, won), 1e6 * m->seconds);
  if (m->own_seconds > 0)
    printf(" %6.1f%%", 100 * (m->own_seconds / m->seconds - 1));
  else
    printf(" %7s", "-");
  printf(" %4.0f%% %6d\n", 100 * m->spread / m->seconds, m->candidates);
}

static int measure_all(const wanted *w, tutti_comm *comm) {
  const bench_options *o = &w->row;
  const int ranks = tutti_comm_size(comm), rank = tutti_comm_rank(comm);
  const size_t n = bench_sizes(o);
  size_t i = 0, whole;
  double spent = 0;
  if (rank == 0) show_head(w, ranks);
  for (size_t b = o->first; b <= o->last; b = bench_next(o, b), i++) {
    tutti_measured m = {.size = sizeof m};
    const size_t count = bench_count(ranks, o, b, &whole);
    if (rank == 0) bench_progress(i, n, b);
    const tutti_status status = tutti_comm_measure(comm, o->coll, count, o->type, o->op, &m);
    if (rank == 0) bench_progress(0, 0, 0);
    if (status) return cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
    if (rank == 0) show_row(o->coll == TUTTI_BARRIER ? 0 : whole, &m);
    fflush(stdout);
    spent += m.spent;
  }
  if (rank == 0) printf("# %.2f s of measuring\n", spent);
  return 0;
}

/* Prints warnings of the library. */
static void say(void *ctx, int level, const char *line) {
  (void)ctx;
  fprintf(stderr, "%s%s\n", level == 0 ? "tutti tune: " : "# ", line);
}

/* Measures in a running job. The wisdom file is read first, because a file that cannot be read must not be overwritten. */
static int measure(const wanted *w, int rank) {
  tutti_comm *comm;
  int status = rank == 0 && w->file ? wisdom_file_read(w->file, true) : 0;
  if (status) return status;
  tutti_log_set(say, NULL);
  if (job_join(&comm)) return cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
  if (w->row.ranks && w->row.ranks != tutti_comm_size(comm))
    status = rank ? CLI_USAGE
                  : cli_fail(CLI_USAGE, "tune", "-n %ld, but the job has %d ranks", w->row.ranks,
                             tutti_comm_size(comm));
  if (!status) status = measure_all(w, comm);
  if (!status && rank == 0 && w->file) status = wisdom_file_write(w->file);
  tutti_comm_free(comm);
  job_leave();
  if (rank == 0 && fflush(stdout))
    status = cli_fail(CLI_FAILED, "tune", "cannot write: %s", strerror(errno));
  return status;
}

int tune_wisdom(int argc, char **argv) {
  const bool in_job = job_inside();
  wanted w;
  int status = parse(&w, in_job, argc, argv);
  if (status) return status;
  unsetenv("TUTTI_WISDOM"); /* measurements are stored only in the file of -o */
  unsetenv("TUTTI_MEASURE");
  if (optind == argc && !in_job) return job_start("tune", w.row.ranks, argc, argv);
  if (optind == argc) return measure(&w, job_rank());
  for (int i = optind; i < argc && !status; i++) {
    status = wisdom_file_read(argv[i], false);
    if (!status && !w.merge) status = wisdom_show(argc - optind > 1 ? argv[i] : NULL);
    if (!w.merge) tutti_wisdom_forget();
  }
  return status || !w.merge ? status : wisdom_file_write(w.file);
}
