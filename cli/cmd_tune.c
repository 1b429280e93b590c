/* cmd_tune.c - `tutti tune`: measures this machine or this network, so that predicted times are
 * accurate.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpus.h"
#include "ranked.h"
#include "tune.h"
#include "tutti_plan.h"

static const char usage[] =
    "usage: tutti tune [-o FILE] [--seconds S]\n"
    "       mpirun -n N tutti tune [-o FILE]\n"
    "       tutti tune --wisdom -n N [options] [-o FILE]   measure plans, and keep the fastest\n"
    "       tutti tune --wisdom FILE ...                   show files of wisdom\n"
    "       tutti tune --wisdom --merge FILE ... -o FILE   merge files of wisdom\n"
    "\n"
    "Measures this machine in half a minute, and writes a profile, which every program that uses\n"
    "tutti reads at its start. It times arithmetic on each type, copies, compression, wake-ups,\n"
    "and plans on ranks with a core each and on ranks that share two cores, and fits the model\n"
    "parameters to these times. It also measures the extra cost of a cache line and of a\n"
    "byte between packages, NUMA nodes and caches.\n"
    "Under an MPI's mpirun, with ranks on several hosts, it also measures messages and streams on\n"
    "each level of the network. A host whose link is at least a fifth slower or faster than the\n"
    "median gets its own parameters.\n"
    "Parameters in the file that this run did not measure are kept.\n"
    "\n"
    "  -o, --output FILE  write the profile to this file; - is stdout (default:\n"
    "                     $XDG_CONFIG_HOME/tutti/profile or ~/.config/tutti/profile)\n"
    "      --seconds S    approximate duration (25); little longer on a busy machine\n"
    "\n"
    "Programs look for a profile in TUTTI_PROFILE, then in that folder, then in\n"
    "/etc/tutti/profile. TUTTI_PROFILE=none selects the built-in parameters.\n"
    "\n"
    "With --wisdom, it times at several sizes the plans that may be the fastest. Programs with\n"
    "TUTTI_WISDOM=FILE run the plans that were the fastest (docs/wisdom.md). A file is shown\n"
    "with the entries that fit this machine.\n"
    "\n"
    "  -b, --minbytes SIZE   first size (4)\n"
    "  -e, --maxbytes SIZE   last size (4M; up to 64M)\n"
    "  -f, --factor F        factor between sizes (4). Up to 16, entries also serve the sizes in\n"
    "                        between\n"
    "  -c, --coll NAME       allreduce (default), reduce_scatter, allgather, broadcast,\n"
    "                        reduce, barrier, scan, exscan, gather, scatter, alltoall\n"
    "  -d, --type TYPE       float (default), bf16, int32, ...\n"
    "      --op OP           sum (default), min, max, ...\n"
    "  -o, --output FILE     add to this file, or create it\n"
    "  -m, --merge           merge the files into -o. If two entries are for the same call, the\n"
    "                        newer one is kept\n"
    "  -n, --ranks N         start N ranks on this machine\n"
    "\n"
    "The columns are the size of the vector; the plan with the best estimate, and its time;\n"
    "the fastest plan, and its time; how much faster it was; how much the rounds differed; and\n"
    "the number of plans that were timed.\n";

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"seconds", required_argument, NULL, 's'},
    {"wisdom", no_argument, NULL, 'w'},       /* tune_wisdom.c reads its options */
    {"points", required_argument, NULL, 'p'}, /* for a rank that `tutti tune` has started */
    {NULL, 0, NULL, 0},
};

typedef struct tune_options {
  char path[PATH_MAX];
  double seconds;
  const char *points;
} tune_options;

void tune_progress(double done, const char *what) {
  static const char cells[] = "##############################";
  if (!isatty(2)) return;
  if (done < 0)
    fprintf(stderr, "\r\033[K");
  else
    fprintf(stderr, "\r\033[K[%-30.*s] %s", (int)(30 * done), cells, what);
  fflush(stderr);
}

static int parse(tune_options *o, int argc, char **argv) {
  *o = (tune_options){.seconds = 25};
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:o:", long_options, NULL)) != -1;) {
    if (c == 'o' && (!*optarg || strlen(optarg) >= sizeof o->path))
      return cli_fail(CLI_USAGE, "tune", "-o: '%.40s' is not a file name", optarg);
    if (c == 'o')
      strcpy(o->path, optarg);
    else if (c == 'p')
      o->points = optarg;
    else if (c != 's')
      return cli_bad_option("tune", c, argv, long_options);
    else if (!cli_seconds(optarg, &o->seconds) || o->seconds < 1 || o->seconds > 3600)
      return cli_fail(CLI_USAGE, "tune", "--seconds '%s' is not a number from 1 to 3600", optarg);
  }
  if (o->points && optind < argc && cli_seconds(argv[optind], &o->seconds)) return 0;
  if (optind < argc)
    return cli_fail(CLI_USAGE, "tune", "'%s' is one argument too many; see `tutti help tune`",
                    argv[optind]);
  if (!*o->path && !tune_own_path(o->path, sizeof o->path))
    return cli_fail(
        CLI_USAGE, "tune",
        "no folder for the profile: neither XDG_CONFIG_HOME nor HOME is set; say -o FILE");
  return 0;
}

/* Writes the profile, and prints the other results. */
static int hand_over(const tune_options *o, const tune_result *r) {
  const int status = tune_write(o->path, r);
  if (status || strcmp(o->path, "-") == 0) return status;
  for (int i = 0; i < r->notes; i++) printf("%s\n", r->note[i]);
  printf("written to %s\n", o->path);
  return 0;
}

/* ---- this machine ---- */

static void note_bounce(const double *seconds, int n, double far, tune_result *r) {
  double least = seconds[0], most = seconds[0];
  for (int i = 1; i < n; i++) {
    if (seconds[i] < least) least = seconds[i];
    if (seconds[i] > most) most = seconds[i];
  }
  if (least > 0 && most > 2 * least)
    tune_note(
        r,
        "a cache line goes to another core and back in %.0f to %.0f ns: the cores MOVE, and the "
        "times of few ranks change as much; the parameters hold for %.0f ns",
        1e9 * least, 1e9 * most, 1e9 * far);
  else if (least > 0)
    tune_note(r, "a cache line goes to another core and back in %.0f to %.0f ns", 1e9 * least,
              1e9 * most);
}

#define FIT   0.16 /* of the time; the remaining time is for the ranks */
#define LEAST 0.05 /* minimum time in s of any part, even if the previous parts took too long */

static double of_time(double seconds) {
  return seconds > LEAST ? seconds : LEAST;
}

/* Fits the model parameters to all points, until `end`. */
static void find_figures(tune_points *points, const double *bounce, int launches, double end,
                         tune_result *r) {
  const double far = tune_far(points);
  note_bounce(bounce, launches, far, r);
  if (far > 0)
    tune_add(r, "shm.between", far,
             "s: for a cache line to another core and back during the measurement; not used in "
             "predictions");
  tune_fit(points, false, cli_now() + of_time((end - cli_now()) / 2), r);
  tune_fit(points, true, cli_now() + of_time(end - cli_now()), r);
  cpu_list cpus = cpus_allowed();
  tune_levels(&cpus, &tune_measured, r);
  cpus_free(&cpus);
}

/* Launches jobs with different numbers of ranks and cores. Each launch gets a share of the remaining time, because earlier
 * launches may have been late. The parameters measured for two shared cores are assumed to hold for more cores. */
static int on_this_machine(const tune_options *o) {
  const double end = cli_now() + o->seconds, ranks_end = end - FIT * o->seconds;
  size_t bytes;
  cpu_set_t *mine = cpus_mask(0, &bytes);
  const int have = mine ? CPU_COUNT_S(bytes, mine) : 1;
  CPU_FREE(mine);
  const int few = have < 2 ? have : 2, many = have < 8 ? have : 8;
  const struct {
    int ranks, cores, part;
  } all[] = {{2, few, 20},       {many > 2 ? many : 2, many, 16}, {2 * few, few, 12},
             {4 * few, few, 16}, {3 * few + 1, few, 16},          {2 * few, few, 9}};
  enum { LAUNCHES = sizeof all / sizeof *all };
  tune_result *r = calloc(1, sizeof *r);
  tune_points points = {NULL, 0};
  double bounce[LAUNCHES];
  int to_come = 0;
  int status = r ? 0 : cli_fail(CLI_FAILED, "tune", "out of memory");
  tune_progress(0, "arithmetic, copies, wake-ups");
  if (!status) tune_parts(r);
  for (int i = 0; i < LAUNCHES; i++) to_come += all[i].part;
  for (int i = 0; i < LAUNCHES && !status; i++) {
    char what[80];
    snprintf(what, sizeof what, "plans on %d ranks, %d cores", all[i].ranks, all[i].cores);
    tune_progress(1 - (end - cli_now()) / o->seconds, what);
    bounce[i] = cli_bounce();
    const double seconds = of_time((ranks_end - cli_now()) * all[i].part / to_come);
    status = tune_launch(all[i].ranks, all[i].cores, seconds, &points);
    to_come -= all[i].part;
  }
  tune_progress(1 - FIT, "parameters");
  if (!status) find_figures(&points, bounce, LAUNCHES, end, r);
  tune_progress(-1, NULL);
  if (!status) status = hand_over(o, r);
  free(points.at);
  free(r);
  return status;
}

/* ---- a network ---- */

/* Measures how fast compression runs when all ranks compress at the same time, because ranks that share cores also
 * share them during a collective. Rank 0 gets the speeds of the slowest rank. */
static tutti_status codes_at_once(tutti_comm *comm, tune_result *r) {
  double mine[TUNE_CODES], most[TUNE_CODES];
  bool apart = false;
  for (int i = 0; i < tutti_comm_size(comm); i++) apart |= tutti_comm_apart(comm, 0, i, NULL) > 0;
  if (!apart) return TUTTI_OK;
  tutti_status status = tutti_barrier(comm);
  if (!status && !tune_codes(true, mine)) status = TUTTI_ERR_MEMORY;
  if (!status) status = tutti_allreduce(comm, mine, most, TUNE_CODES, TUTTI_DOUBLE, TUTTI_MAX);
  if (!status && tutti_comm_rank(comm) == 0) tune_add_codes(r, most);
  return status;
}

static int between_hosts(const tune_options *o) {
  tutti_comm *comm;
  tune_result *r = calloc(1, sizeof *r);
  if (!r) return cli_fail(CLI_FAILED, "tune", "out of memory");
  if (job_join(&comm)) return cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
  const int rank = tutti_comm_rank(comm);
  int status = 0;
  if (tune_network(comm, r) || tune_hosts(comm, r) || tune_aggregator(comm, r) ||
      codes_at_once(comm, r))
    status = cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
  if (rank == 0) tune_progress(-1, NULL);
  if (!status && rank == 0 && !r->figures)
    status = cli_fail(CLI_USAGE, "tune",
                      "these ranks all share memory: run `tutti tune` once, without a launcher");
  if (!status && rank == 0) status = hand_over(o, r);
  free(r->host);
  free(r);
  tutti_comm_free(comm);
  job_leave();
  return status;
}

static int run(int argc, char **argv) {
  tune_options o;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--wisdom") == 0) return tune_wisdom(argc, argv);
  const int saved = job_mute();
  const int status = parse(&o, argc, argv);
  job_unmute(saved);
  if (status) return job_fail_alike(status);
  if (o.points) return tune_measure(o.seconds, o.points);
  if (job_rank() == 0 && tune_ready(o.path)) return CLI_FAILED;
  return job_inside() ? between_hosts(&o) : on_this_machine(&o);
}

const cli_command cmd_tune = {
    "tune", "measure this machine for better estimates, or plans (--wisdom)", usage, run, true};
