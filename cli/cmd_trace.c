/* cmd_trace.c - `tutti trace`: what a trace that TUTTI_TRACE wrote says.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "cli.h"
#include "trace_data.h"

static const char usage[] =
    "usage: tutti trace FILE [FILE ...] [--json]\n"
    "\n"
    "Where the time of a job went that ran with TUTTI_TRACE=FILE: arithmetic, copying,\n"
    "waiting, per rank; who came late; per kind of call how many, the median and the\n"
    "worst; and the critical paths of the median and of the slowest call. Several files\n"
    "are parts of one job, from machines that share no folder.\n"
    "\n"
    "  -j, --json     the same as one JSON object, with the paths of all kinds of calls\n"
    "\n"
    "The file itself opens in ui.perfetto.dev and chrome://tracing; see docs/trace.md.\n";

static const struct option long_options[] = {{"json", no_argument, NULL, 'j'}, {NULL, 0, NULL, 0}};

static int show(const trace_data *d, bool json) {
  trace_sums s;
  int status = 0;
  if (trace_sum(d, &s))
    (json ? trace_show_json : trace_show)(d, &s);
  else
    status = cli_fail(CLI_FAILED, "trace", "out of memory for %zu events", d->nevents);
  trace_sums_free(&s);
  return status;
}

static int run(int argc, char **argv) {
  bool json = false;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":j", long_options, NULL)) != -1;) {
    if (c != 'j') return cli_bad_option("trace", c, argv, long_options);
    json = true;
  }
  if (optind == argc)
    return cli_fail(CLI_USAGE, "trace", "which file? TUTTI_TRACE=FILE writes one");
  trace_data d = {.events = NULL};
  int status = 0;
  for (int i = optind; i < argc && !status; i++) status = trace_read(argv[i], &d);
  if (!status) status = show(&d, json);
  trace_free(&d);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "trace", "cannot write: %s", strerror(errno));
  return status;
}

const cli_command cmd_trace = {"trace", "where the time went, from a TUTTI_TRACE", usage, run};
