/* cmd_trace.c - `tutti trace`: summarizes a trace that TUTTI_TRACE wrote.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

static const char usage[] =
    "usage: tutti trace FILE [FILE ...] [--all | --format json | --draw[=FROM+LENGTH] [-o "
    "PICTURE]]\n"
    "\n"
    "Summarizes the trace that a job wrote with TUTTI_TRACE=FILE. It shows each rank's time in\n"
    "arithmetic, copying and waiting, and which rank came last. For each kind of call, it\n"
    "shows the number of calls, and the median and the longest time. For the kind that took\n"
    "the most time in total, it shows the critical paths of the median and the slowest call.\n"
    "If the machines of a job share no folder, pass the files of all machines.\n"
    "\n"
    "  -a, --all      show all ranks, all kinds of calls, and complete critical paths\n"
    "      --format F text (default), or json (one object, with the paths of all calls)\n"
    "  -d, --draw[=FROM+LENGTH]\n"
    "                 draw LENGTH ms, starting at FROM ms, in one to three lines per rank\n"
    "                 (default: around the median call of the kind that took the most time)\n"
    "  -o, --output PICTURE\n"
    "                 draw into a file: .svg\n"
    "\n"
    "The trace itself opens in ui.perfetto.dev and chrome://tracing (docs/trace.md).\n";

static const struct option long_options[] = {{"all", no_argument, NULL, 'a'},
                                             {"format", required_argument, NULL, 'F'},
                                             {"draw", optional_argument, NULL, 'd'},
                                             {"output", required_argument, NULL, 'o'},
                                             {NULL, 0, NULL, 0}};

typedef struct wanted {
  bool all, json, draw;
  double from, length; /* in ms */
  const char *output;  /* file name, or NULL for the terminal */
} wanted;

/* Parses FROM+LENGTH, both in ms. */
static bool take_span(const char *text, wanted *w) {
  char *end;
  w->from = strtod(text, &end);
  if (end == text || *end != '+' || !(w->from >= 0 && w->from < 1e9)) return false;
  return cli_seconds(end + 1, &w->length) && w->length < 1e9;
}

static int show(const trace_data *d, const wanted *w) {
  trace_sums s;
  int status = 0;
  if (trace_sum(d, &s) && w->draw)
    status = w->output ? trace_svg(d, &s, w->from, w->length, w->output)
                       : trace_draw(d, &s, w->from, w->length);
  else if (s.sorts)
    w->json ? trace_show_json(d, &s) : trace_show(d, &s, w->all);
  else
    status = cli_fail(CLI_FAILED, "trace", "out of memory for %zu events", d->nevents);
  trace_sums_free(&s);
  return status;
}

static int run(int argc, char **argv) {
  wanted w = {.json = false};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":ad::o:", long_options, NULL)) != -1;) {
    if (c == 'o') w.output = optarg, w.draw = true;
    if (c == 'o') continue;
    if (!strchr("aFd", c)) return cli_bad_option("trace", c, argv, long_options);
    cli_form form = CLI_TEXT;
    if (c == 'F' && cli_format("trace", optarg, false, &form)) return CLI_USAGE;
    if (c == 'F') w.json = form == CLI_JSON;
    if (c == 'a') w.all = true;
    if (c == 'd') w.draw = true;
    if (c == 'd' && optarg && !take_span(optarg, &w))
      return cli_fail(CLI_USAGE, "trace", "--draw=%s is not of the form FROM+LENGTH, in ms",
                      optarg);
  }
  if (optind == argc)
    return cli_fail(CLI_USAGE, "trace", "which file? TUTTI_TRACE=FILE writes one");
  trace_data d = {.events = NULL};
  int status = 0;
  for (int i = optind; i < argc && !status; i++) status = trace_read(argv[i], &d);
  if (!status) status = show(&d, &w);
  trace_free(&d);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "trace", "cannot write: %s", strerror(errno));
  return status;
}

const cli_command cmd_trace = {"trace", "show where the time of a job went, from its trace", usage, run,
                               false};
