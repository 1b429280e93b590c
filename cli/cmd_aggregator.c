/* cmd_aggregator.c - `tutti aggregator`: sums in the network, for jobs on several hosts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tutti_create.h"
#include "tutti_launch.h"

static const char usage[] =
    "usage: tutti aggregator [--port P] [--memory SIZE] [--jobs N] [--above HOST[:P]]\n"
    "\n"
    "Sums the vectors of the hosts of a job, so that each host's link carries a vector only\n"
    "once in each direction (docs/aggregator.md). Run it on a host whose link is about as fast\n"
    "as the links of the job's hosts together. Start the job with TUTTI_AGGREGATOR=HOST:P.\n"
    "\n"
    "The jobs and the aggregator need the same values of TUTTI_KEY and TUTTI_TLS. Without a\n"
    "key, it serves only processes of the same user on this host. With TUTTI_INSECURE=1, it\n"
    "then serves every process that reaches the port. It listens on the device or address\n"
    "TUTTI_INTERFACE. It runs until SIGINT or SIGTERM, and with TUTTI_LOG=info logs each\n"
    "session to stderr.\n"
    "\n"
    "  -p, --port P       the port to listen on (4747); 0: any free port, which it prints\n"
    "  -m, --memory SIZE  memory for the sums of all sessions (256MiB)\n"
    "  -j, --jobs N       the largest number of simultaneous sessions (64). A communicator\n"
    "                     needs one session for each rank of a host. Further jobs get a warning\n"
    "                     and run without aggregator\n"
    "  -a, --above HOST[:P]\n"
    "                     the aggregator that sums the results of the racks' aggregators. A job\n"
    "                     in several racks names one aggregator for each rack:\n"
    "                     TUTTI_AGGREGATOR=R1,R2\n"
    "\n"
    "Exit status: 0 after a signal; 2 wrong command line; 125 it cannot listen.\n";

static const struct option long_options[] = {{"port", required_argument, NULL, 'p'},
                                             {"memory", required_argument, NULL, 'm'},
                                             {"jobs", required_argument, NULL, 'j'},
                                             {"above", required_argument, NULL, 'a'},
                                             {NULL, 0, NULL, 0}};

static void warn(void *ctx, int level, const char *line) {
  (void)ctx;
  if (level == 0) fprintf(stderr, "tutti aggregator: %s\n", line);
}

/* Returns true if SIGINT or SIGTERM is pending. Both signals are blocked, so the aggregator calls this function
 * several times a second to find out when to end. */
static int is_ended(void *ctx) {
  sigset_t pending;
  (void)ctx;
  return !sigpending(&pending) &&
         (sigismember(&pending, SIGINT) > 0 || sigismember(&pending, SIGTERM) > 0);
}

static void say_port(void *ctx, int port) {
  (void)ctx;
  printf("tutti aggregator: listens on port %d\n", port);
  fflush(stdout);
}

static int run(int argc, char **argv) {
  tutti_aggregator a = {.size = sizeof a, .port = 4747, .ready = say_port};
  long port = 4747, jobs = 64;
  uint64_t memory = (uint64_t)256 << 20;
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, ":p:m:j:a:", long_options, NULL)) != -1;) {
    if (c == 'p' && !cli_int(optarg, 0, 65535, &port))
      return cli_fail(CLI_USAGE, "aggregator", "--port '%s' is not a number from 0 to 65535",
                      optarg);
    if (c == 'm' && !cli_size(optarg, &memory))
      return cli_fail(CLI_USAGE, "aggregator", "--memory '%s' is not a size such as 256MiB",
                      optarg);
    if (c == 'j' && !cli_int(optarg, 1, 1 << 20, &jobs))
      return cli_fail(CLI_USAGE, "aggregator", "--jobs '%s' is not a positive number", optarg);
    if (c == 'a') a.above = optarg;
    if (!strchr("pmja", c)) return cli_bad_option("aggregator", c, argv, long_options);
  }
  if (optind < argc)
    return cli_fail(CLI_USAGE, "aggregator", "'%s' is one argument too many", argv[optind]);
  a.port = (int)port;
  a.jobs = (int)jobs;
  a.memory = (size_t)memory;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  tutti_interrupt_set(is_ended, NULL);
  if (!tutti_setting("TUTTI_LOG")) tutti_log_set(warn, NULL);
  const tutti_status status = tutti_aggregator_serve(&a);
  if (status)
    return cli_fail(status == TUTTI_ERR_ARG ? CLI_USAGE : CLI_FAILED, "aggregator", "%s",
                    tutti_error());
  return 0;
}

const cli_command cmd_aggregator = {
    "aggregator", "sum vectors in the network, for jobs on several hosts", usage, run, false};
