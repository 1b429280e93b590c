/* price_options.c - the options of `tutti plan price` and `tutti explain`, and times and sizes as
 * text.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pricing.h"
#include "topology.h"
#include "tutti_plan.h"

enum { ROOT = 256, SHM, PROFILE, CONTRACT, ALGO, PLOT, CODE, ALL, LEVELS, NETWORK, OP, FORMAT };
static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'n'},
    {"size", required_argument, NULL, 's'},
    {"network", required_argument, NULL, NETWORK},
    {"levels", required_argument, NULL, LEVELS},
    {"shm", optional_argument, NULL, SHM},
    {"profile", required_argument, NULL, PROFILE},
    {"coll", required_argument, NULL, 'c'},
    {"root", required_argument, NULL, ROOT},
    {"type", required_argument, NULL, 'd'},
    {"op", required_argument, NULL, OP},
    {"contract", required_argument, NULL, CONTRACT},
    {"algo", required_argument, NULL, ALGO},
    {"plot", required_argument, NULL, PLOT},
    {"all", no_argument, NULL, ALL},
    {"format", required_argument, NULL, FORMAT},
    {"code", required_argument, NULL, CODE},
    {NULL, 0, NULL, 0},
};

const char *price_time(double s, char text[24]) {
  static const char *const unit[] = {"s", "ms", "us", "ns"};
  int u = 0;
  while (u < 3 && s < 1) s *= 1000, u++;
  snprintf(text, 24, "%.*f %s", s >= 99.95 ? 0 : s >= 9.995 ? 1 : 2, s, unit[u]);
  return text;
}

const char *price_size(double bytes, char text[24]) {
  static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int u = 0;
  while (u < 4 && bytes >= 1024) bytes /= 1024, u++;
  const bool whole = bytes == (double)(int64_t)bytes;
  snprintf(text, 24, "%.*f %s", whole || bytes >= 100 ? 0 : bytes >= 10 ? 1 : 2, bytes, unit[u]);
  return text;
}

/* Appends model parameters as new lines of text. A later line overrides an earlier one for the same parameter. */
static int add_figures(const char *command, price_options *o, const char *text) {
  const size_t before = o->figures ? strlen(o->figures) : 0;
  char *more = realloc(o->figures, before + strlen(text) + 2);
  if (!more) return cli_fail(CLI_FAILED, command, "out of memory");
  o->figures = more;
  snprintf(more + before, strlen(text) + 2, "%s%s", before ? "\n" : "", text);
  return 0;
}

static int add_file(const char *command, price_options *o, const char *path) {
  char text[1 << 16];
  FILE *f = fopen(path, "re");
  const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
  const bool bad = !f || ferror(f) || n == sizeof text - 1;
  const int why = errno;
  if (f) fclose(f);
  if (bad)
    return cli_fail(CLI_USAGE, command, "'%s' cannot be read: %s", path,
                    n == sizeof text - 1 ? "it is too long for a profile" : strerror(why));
  text[n] = 0;
  return add_figures(command, o, text);
}

/* Adds the parameters that describe shared memory on this machine. Parameters from files and options have priority. */
static int figures_of_here(const char *command, price_options *o) {
  char *said = o->figures, *here = NULL;
  o->figures = NULL;
  int status = tutti_profile_text(&here) ? cli_fail(CLI_FAILED, command, "%s", tutti_error())
                                         : add_figures(command, o, here);
  if (!status && said) status = add_figures(command, o, said);
  tutti_text_free(here);
  free(said);
  return status;
}

static int read_shm(const char *command, price_options *o) {
  double crowd = 1;
  if (optarg && (!cli_seconds(optarg, &crowd) || crowd > 4096))
    return cli_fail(CLI_USAGE, command,
                    "--shm=%s is not a number of ranks per core, such as 1 or 2.5", optarg);
  o->q.crowd = crowd;
  return 0;
}

static int read_contract(const char *command, price_options *o) {
  static const char *const words[] = {[TUTTI_CONTRACT_SAME] = "same",
                                      [TUTTI_CONTRACT_ANY] = "any",
                                      [TUTTI_CONTRACT_RUN] = "run",
                                      [TUTTI_CONTRACT_ELEMENT] = "element",
                                      [TUTTI_CONTRACT_EXACT] = "exact"};
  for (int i = TUTTI_CONTRACT_SAME; i <= TUTTI_CONTRACT_EXACT; i++) {
    if (strcmp(optarg, words[i]) != 0) continue;
    o->q.contract = (tutti_contract)i;
    return 0;
  }
  return cli_fail(CLI_USAGE, command, "--contract is same, any, run, element or exact, not '%s'",
                  optarg);
}

static int read_count(const char *command, int c, price_options *o) {
  long n;
  if (!cli_int(optarg, c == 'n' ? 1 : 0, 1 << 20, &n))
    return cli_fail(
        CLI_USAGE, command, "'%s' is not a number from %d to 1048576%s", optarg, c == 'n',
        c == 'n' && strchr(optarg, '=') ? "; parameters of a network go to --network" : "");
  *(c == 'n' ? &o->q.ranks : &o->q.root) = (int)n;
  return 0;
}

static int read_size(const char *command, price_options *o) {
  if (cli_size(optarg, &o->bytes)) return 0;
  return cli_fail(CLI_USAGE, command, "'%s' is not a size such as 428, 9KB, 64k or 1MiB", optarg);
}

static int read_name(const char *command, int c, price_options *o) {
  int i;
  if (c == 'c') {
    i = cli_coll(command, optarg);
    o->q.coll = (tutti_coll)i;
  } else if (c == 'd') {
    i = cli_type(command, optarg);
    o->q.type = (tutti_type)i;
  } else {
    i = cli_op(command, optarg);
    o->q.op = (tutti_op)i;
  }
  return i < 0 ? CLI_USAGE : 0;
}

/* Reads the argument of --network: parameters, or a name, which does not have a '=' before its first ':' or ','. */
static int read_network(const char *command, price_options *o) {
  if (optarg[strcspn(optarg, "=:,")] == '=') return add_figures(command, o, optarg);
  if (o->topology)
    return cli_fail(CLI_USAGE, command, "--network has two names, '%s' and '%s'", o->topology,
                    optarg);
  o->topology = optarg;
  return 0;
}

static int read_one(const char *command, int c, char **argv, price_options *o) {
  switch (c) {
    case 'n':
    case ROOT: return read_count(command, c, o);
    case 's': return read_size(command, o);
    case NETWORK: return read_network(command, o);
    case PROFILE: o->profile = true; return add_file(command, o, optarg);
    case LEVELS: o->q.topo = optarg; return 0;
    case SHM: return read_shm(command, o);
    case 'c':
    case 'd':
    case OP: return read_name(command, c, o);
    case CONTRACT: return read_contract(command, o);
    case CODE: o->q.compression = optarg; return 0;
    case ALGO: o->q.algorithm = optarg; return 0;
    case PLOT: o->plot = optarg; return 0;
    case ALL: o->all = true; return 0;
    case FORMAT: {
      cli_form form = CLI_TEXT;
      const int status = cli_format(command, optarg, true, &form);
      o->json = form == CLI_JSON;
      o->csv = form == CLI_CSV;
      return status;
    }
    default: return cli_bad_option(command, c, argv, long_options);
  }
}

/* Inserts the parameters of the named network before those of any other --network, which therefore override them. */
static int use_topology(const char *command, price_options *o) {
  topology t;
  if (o->q.topo)
    return cli_fail(CLI_USAGE, command, "--network %s says the levels; leave out --levels",
                    o->topology);
  int status = topology_read(command, o->topology, o->q.ranks, &t);
  char *said = o->figures;
  o->figures = NULL;
  if (!status) status = add_figures(command, o, t.figures);
  if (!status && said) status = add_figures(command, o, said);
  free(said);
  o->q.ranks = t.ranks;
  o->q.topo = strcpy(o->levels, t.levels);
  return status;
}

int price_options_read(const char *command, int argc, char **argv, price_options *o) {
  *o = (price_options){.q = {.size = sizeof o->q, .type = TUTTI_FLOAT}};
  opterr = 0;
  optind = 1;
  int status = 0;
  for (int c; !status && (c = getopt_long(argc, argv, ":n:s:c:d:", long_options, NULL)) != -1;)
    status = read_one(command, c, argv, o);
  if (!status && argc - optind > 1)
    status = cli_fail(CLI_USAGE, command,
                      "'%s' is one argument too many; put a name with spaces in quotes",
                      argv[optind + 1]);
  if (!status && o->topology) status = use_topology(command, o);
  if (!status && !o->q.ranks) status = cli_fail(CLI_USAGE, command, "on how many ranks? -n N");
  if (!status) o->what = argv[optind];
  if (!status && o->q.coll == TUTTI_BARRIER) o->bytes = 1;
  if (!status && o->q.crowd > 0 && !o->profile) status = figures_of_here(command, o);
  o->here = !o->figures && !o->q.crowd && !o->q.topo;
  if (o->here) o->q.crowd = TUTTI_CROWD_HERE;
  o->q.net = o->figures;
  return status;
}

void price_options_free(price_options *o) {
  free(o->figures);
  o->figures = NULL;
}
