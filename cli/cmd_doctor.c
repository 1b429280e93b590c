/* cmd_doctor.c - `tutti doctor`: shows what the ranks of a job are doing, and diagnoses problems.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "tutti_launch.h"
#include "tutti_plan.h"

static const char usage[] =
    "usage: tutti doctor PID [--format json] [--watch S]\n"
    "\n"
    "Shows what every rank of a running or hanging job on this machine is doing: its process,\n"
    "its current or last call, the rank that it waits for, and for how long. The last lines\n"
    "name the cause of a hang: a rank is stopped, dead or outside tutti while others wait for\n"
    "it; two ranks made different calls; or ranks wait for each other.\n"
    "\n"
    "PID is the process id of `tutti run`, of mpirun, or of any rank. The ranks must share\n"
    "memory. The job must be yours, unless you are root. It is not disturbed.\n"
    "\n"
    "      --format F text (default), or json (one object)\n"
    "  -w, --watch S  repeat every S seconds, until the job has ended\n"
    "\n"
    "Exit status: 0; 2 wrong command line; 125 no such job, or not yours.\n";

static const struct option long_options[] = {{"format", required_argument, NULL, 'F'},
                                             {"watch", required_argument, NULL, 'w'},
                                             {NULL, 0, NULL, 0}};

static int print(char *text) {
  fputs(text, stdout);
  tutti_text_free(text);
  if (fflush(stdout)) return cli_fail(CLI_FAILED, "doctor", "cannot write: %s", strerror(errno));
  return 0;
}

/* Prints one report or, if `seconds` is positive, a report every `seconds` seconds until the job has ended. */
static int watch(long pid, bool json, double seconds) {
  const struct timespec pause = {(time_t)seconds,
                                 (long)(1e9 * (seconds - (double)(time_t)seconds))};
  char *text;
  if (tutti_job_report(pid, json, &text))
    return cli_fail(CLI_FAILED, "doctor", "%s", tutti_error());
  int status = print(text);
  while (seconds > 0 && !status) {
    nanosleep(&pause, NULL);
    if (tutti_job_report(pid, json, &text)) return 0;
    if (!json) printf("\n");
    status = print(text);
  }
  return status;
}

static int run(int argc, char **argv) {
  cli_form form = CLI_TEXT;
  double seconds = 0;
  long pid;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":w:", long_options, NULL)) != -1;) {
    if (c != 'F' && c != 'w') return cli_bad_option("doctor", c, argv, long_options);
    if (c == 'F' && cli_format("doctor", optarg, false, &form)) return CLI_USAGE;
    if (c == 'w' && !cli_seconds(optarg, &seconds))
      return cli_fail(CLI_USAGE, "doctor", "--watch '%s' is not a positive number of seconds",
                      optarg);
  }
  if (optind == argc)
    return cli_fail(CLI_USAGE, "doctor", "which process? the PID of `tutti run`, or of a rank");
  if (optind + 1 < argc)
    return cli_fail(CLI_USAGE, "doctor", "'%s' is one argument too many; see `tutti help doctor`",
                    argv[optind + 1]);
  if (!cli_int(argv[optind], 1, 1L << 30, &pid))
    return cli_fail(CLI_USAGE, "doctor", "'%s' is not the number of a process", argv[optind]);
  return watch(pid, form == CLI_JSON, seconds);
}

const cli_command cmd_doctor = {
    "doctor", "show what each rank of a job is doing, and why the job hangs", usage, run, false};
