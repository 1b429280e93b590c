/* bench_options.c - the command line of `tutti bench`, compatible with nccl-tests
 * in the options that both have. SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bench.h"
#include "tutti_plan.h"

const char bench_usage[] =
    "usage: tutti run -n N tutti bench [options]\n"
    "       tutti bench -n N [options]\n"
    "       tutti bench --compare openmpi,mpich,... -n N [options]\n"
    "\n"
    "Times a collective at several sizes, out of place and in place, and checks its\n"
    "results. The columns, and most options, are those of nccl-tests.\n"
    "\n"
    "  -b, --minbytes SIZE   first size: 4 (default), 16K, 64M, 1G\n"
    "  -e, --maxbytes SIZE   last size (64M)\n"
    "  -f, --factor F        factor between sizes (4)\n"
    "  -d, --type TYPE       float (default), bf16, int32, ...\n"
    "      --op OP           sum (default), min, max, ...\n"
    "  -c, --coll NAME       allreduce (default), reduce_scatter, allgather, broadcast,\n"
    "                        reduce, barrier, scan, exscan, gather, scatter, alltoall\n"
    "      --algo PLANS      the plans that may run, as in TUTTI_ALGO: 'ring:64k-', '^tree'\n"
    "      --root R          the root, if the collective has one (0)\n"
    "      --helpers N       the last N ranks contribute no data, but sum for the others (0)\n"
    "      --iters N         calls per repeat (default: as many as fit into --budget)\n"
    "      --budget S        seconds per repeat (0.02)\n"
    "      --repeats N       number of repeats (11). The time shown is the median of their\n"
    "                        mean times\n"
    "      --spread          also show the fastest and the slowest repeat and, with 100 repeats\n"
    "                        or more, the 99th percentile\n"
    "  -w, --warmup N        warm-up calls (5)\n"
    "      --check 0|1       count wrong results (1)\n"
    "      --loop            time consecutive calls on the same buffer (default)\n"
    "      --cycle           every rank writes its vector, calls, and reads the result; the\n"
    "                        time without the call is subtracted\n"
    "      --side out|in     only out of place, or only in place\n"
    "      --alloc           use buffers from tutti_mem_alloc instead of malloc\n"
    "      --format F        text (default); json or csv: on stdout instead of the table\n"
    "  -o, --output FILE     write json or csv to this file; the table remains on stdout\n"
    "      --plot FILE       plot time against size, as .svg or .png (needs gnuplot). The SVG\n"
    "                        adapts to a dark page. NAME-dark.png is drawn for dark pages\n"
    "  -n, --ranks N         start N ranks on this machine\n"
    "      --compare LIST    time other libraries alternately with tutti, on N ranks (2) of\n"
    "                        this machine: openmpi, mpich, intelmpi, gloo, nccl, oneccl;\n"
    "                        mpich=FOLDER if it is not installed. Each library runs for 4 ms\n"
    "                        (--budget) in each of 15 rounds (--repeats). The defaults are\n"
    "                        --side in and --cycle\n"
    "\n"
    "Times are those of the slowest rank, in microseconds. The size is that of the whole\n"
    "vector, with all blocks. algbw is the size divided by the time. busbw is algbw times a\n"
    "factor: 2(P-1)/P for allreduce; (P-1)/P for reduce_scatter, allgather, gather, scatter\n"
    "and alltoall; otherwise 1.\n"
    "\n"
    "Exit status: 0; 1 if a result was wrong.\n";

/* The command whose options are parsed: `tutti bench`, or `tutti explain --measured`, which has the same options. */
static const char *command = "bench";

enum {
  BUDGET = 256,
  REPEATS,
  LOOP,
  CYCLE,
  ALLOC,
  PLOT,
  SIDE,
  HELPERS,
  ALGO,
  SPREAD,
  COMPARE,
  OP,
  ROOT,
  ITERS,
  CHECK,
  FORMAT
};

static const struct option long_options[] = {
    {"minbytes", required_argument, NULL, 'b'},
    {"maxbytes", required_argument, NULL, 'e'},
    {"factor", required_argument, NULL, 'f'},
    {"type", required_argument, NULL, 'd'},
    {"op", required_argument, NULL, OP},
    {"coll", required_argument, NULL, 'c'},
    {"root", required_argument, NULL, ROOT},
    {"iters", required_argument, NULL, ITERS},
    {"budget", required_argument, NULL, BUDGET},
    {"repeats", required_argument, NULL, REPEATS},
    {"warmup", required_argument, NULL, 'w'},
    {"check", required_argument, NULL, CHECK},
    {"loop", no_argument, NULL, LOOP},
    {"cycle", no_argument, NULL, CYCLE},
    {"alloc", no_argument, NULL, ALLOC},
    {"output", required_argument, NULL, 'o'},
    {"plot", required_argument, NULL, PLOT},
    {"ranks", required_argument, NULL, 'n'},
    {"side", required_argument, NULL, SIDE},
    {"helpers", required_argument, NULL, HELPERS},
    {"algo", required_argument, NULL, ALGO},
    {"spread", no_argument, NULL, SPREAD},
    {"compare", required_argument, NULL, COMPARE},
    {"format", required_argument, NULL, FORMAT},
    {NULL, 0, NULL, 0},
};

static int take_name(bench_options *o, int c) {
  int i;
  if (c == 'd') { /* two names from nccl-tests */
    const char *text = strcmp(optarg, "half") == 0       ? "fp16"
                       : strcmp(optarg, "bfloat16") == 0 ? "bf16"
                                                         : optarg;
    i = cli_type(command, text);
    o->type = (tutti_type)i;
  } else if (c == OP) {
    i = cli_op(command, optarg);
    o->op = (tutti_op)i;
  } else {
    i = cli_coll(command, optarg);
    o->coll = (tutti_coll)i;
  }
  return i < 0 ? CLI_USAGE : 0;
}

static int take_size(int c, size_t *size) {
  uint64_t n = 0;
  cli_size(optarg, &n);
  *size = (size_t)n;
  if (*size) return 0;
  return cli_fail(CLI_USAGE, command, "-%c '%s' is not a size such as 4, 16K or 64M", c, optarg);
}

static int take_number(const char *what, long lo, long hi, long *value) {
  if (cli_int(optarg, lo, hi, value)) return 0;
  return cli_fail(CLI_USAGE, command, "%s '%s' is not a whole number from %ld to %ld", what, optarg,
                  lo, hi);
}

static int take_factor(bench_options *o) {
  char *end;
  o->factor = strtod(optarg, &end);
  if (end != optarg && *end == 0 && o->factor > 1 && o->factor <= 1e9) return 0;
  return cli_fail(CLI_USAGE, command, "-f '%s' is not a number above 1", optarg);
}

static int take_file(const char **file) {
  *file = optarg;
  return *optarg ? 0 : cli_fail(CLI_USAGE, command, "a file name is empty");
}

/* Reports an error if the argument is the name of an op, because in nccl-tests -o selects the op. */
static int take_output(bench_options *o) {
  for (int i = 0; i < TUTTI_OP_COUNT; i++)
    if (strcmp(optarg, tutti_op_name((tutti_op)i)) == 0)
      return cli_fail(CLI_USAGE, command, "-o is the output file; for the op use --op %s", optarg);
  return take_file(&o->output);
}

static int take_side(bench_options *o) {
  o->side[0] = strcmp(optarg, "out") == 0;
  o->side[1] = strcmp(optarg, "in") == 0;
  if (o->side[0] || o->side[1]) return 0;
  return cli_fail(CLI_USAGE, command, "--side '%s' is neither 'out' nor 'in'", optarg);
}

static int take_option(bench_options *o, int c, char **argv) {
  long flag;
  int status = 0;
  switch (c) {
    case 'b': return take_size(c, &o->first);
    case 'e': return take_size(c, &o->last);
    case 'f': return take_factor(o);
    case 'd':
    case OP:
    case 'c': return take_name(o, c);
    case ROOT: return take_number("--root", 0, 1 << 20, &o->root);
    case ITERS: return take_number("--iters", 1, 1000000000, &o->iterations);
    case 'w': return take_number("-w", 0, 1000000000, &o->warmup);
    case 'n': return take_number("-n", 1, 4096, &o->ranks);
    case REPEATS: return take_number("--repeats", 1, BENCH_MOST_REPEATS, &o->repeats);
    case BUDGET:
      if (cli_seconds(optarg, &o->budget)) return 0;
      return cli_fail(CLI_USAGE, command, "--budget '%s' is not a positive number of seconds",
                      optarg);
    case CHECK:
      status = take_number("--check", 0, 1, &flag);
      if (status == 0) o->check = flag;
      return status;
    case SIDE: return take_side(o);
    case HELPERS: return take_number("--helpers", 0, 4095, &o->helpers);
    case ALGO: o->algo = optarg; return 0;
    case COMPARE: o->compare = optarg; return 0;
    case LOOP: o->cycle = false; return 0;
    case CYCLE: o->cycle = true; return 0;
    case SPREAD: o->spread = true; return 0;
    case ALLOC: o->alloc = true; return 0;
    case 'o': return take_output(o);
    case FORMAT: return cli_format(command, optarg, true, &o->format);
    case PLOT: return take_file(&o->plot);
    default: return cli_bad_option(command, c, argv, long_options);
  }
}

bool bench_reduces(tutti_coll coll) {
  return coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_REDUCE ||
         coll == TUTTI_SCAN || coll == TUTTI_EXSCAN;
}
bool bench_rooted(tutti_coll coll) {
  return coll == TUTTI_BROADCAST || coll == TUTTI_REDUCE || coll == TUTTI_GATHER ||
         coll == TUTTI_SCATTER;
}

static int agree(bench_options *o) {
  if (o->first > o->last)
    return cli_fail(CLI_USAGE, command, "the first size, %zu, is above the last, %zu", o->first,
                    o->last);
  if (bench_reduces(o->coll) && !tutti_type_has_op(o->type, o->op))
    return cli_fail(CLI_USAGE, command, "type %s has no op %s", tutti_type_name(o->type),
                    tutti_op_name(o->op));
  if (o->op == TUTTI_AVG && (o->coll == TUTTI_SCAN || o->coll == TUTTI_EXSCAN))
    return cli_fail(CLI_USAGE, command, "%s has no avg", tutti_coll_name(o->coll));
  if (o->coll == TUTTI_BARRIER) o->first = o->last = 1;
  if (o->output && !o->format)
    return cli_fail(CLI_USAGE, command, "-o %s: in which format? --format json or --format csv",
                    o->output);
  return 0;
}

const bench_options bench_defaults = {.type = TUTTI_FLOAT,
                                      .op = TUTTI_SUM,
                                      .first = 4,
                                      .last = 64 << 20,
                                      .factor = 4,
                                      .budget = 0.02,
                                      .warmup = 5,
                                      .repeats = 11,
                                      .check = true,
                                      .side = {true, true}};

int bench_parse(const char *of, bench_options *o, int argc, char **argv) {
  command = of;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:b:e:f:d:o:n:w:c:", long_options, NULL)) != -1;) {
    int status = take_option(o, c, argv);
    if (status) return status;
  }
  if (optind < argc)
    return cli_fail(CLI_USAGE, command, "'%s' is one argument too many; see `tutti help %s`",
                    argv[optind], command);
  return agree(o);
}

size_t bench_next(const bench_options *o, size_t bytes) {
  double next = ceil((double)bytes * o->factor);
  return next > (double)o->last ? o->last + 1 : (size_t)next;
}

size_t bench_sizes(const bench_options *o) {
  size_t n = 0;
  for (size_t b = o->first; b <= o->last; b = bench_next(o, b)) n++;
  return n;
}
