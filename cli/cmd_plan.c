/* cmd_plan.c - `tutti plan`: schedules for people. list what there is, show one,
 * check one (tutti's own or a person's) with the prover.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const char usage[] =
    "usage: tutti plan list [-P N] [--coll COLLECTIVE]\n"
    "       tutti plan show ALGORITHM -P N [--rank R]\n"
    "       tutti plan check ALGORITHM -P N | FILE | -\n"
    "\n"
    "Schedules: list the algorithms with what the prover finds out about each, show\n"
    "one as text (docs/schedules.md), or prove one: tutti's own, or one in a file.\n"
    "\n"
    "  -P, --ranks N          how many ranks (list: 7)\n"
    "  -c, --coll COLLECTIVE  allreduce (default), reduce_scatter, all_gather,\n"
    "                         broadcast, reduce or barrier\n"
    "  -r, --rank R           show only this rank's steps\n"
    "      --root R           of broadcast and reduce (0)\n"
    "  -i, --in-place         src and dst are one buffer\n"
    "\n"
    "check exits with 0 if the schedule is proven, 1 if it is refused.\n";

static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'P'}, {"coll", required_argument, NULL, 'c'},
    {"rank", required_argument, NULL, 'r'},  {"root", required_argument, NULL, 'R'},
    {"in-place", no_argument, NULL, 'i'},    {NULL, 0, NULL, 0},
};

typedef struct options {
  tutti_coll coll;
  long ranks, rank, root;
  int in_place;
} options;

static int wrong_coll(const char *text) {
  const char *names[TUTTI_COLL_COUNT + 1] = {NULL};
  for (int c = 0; c < TUTTI_COLL_COUNT; c++) names[c] = tutti_coll_name((tutti_coll)c);
  const char *near = cli_nearest(text, names);
  return cli_fail(CLI_USAGE, "plan", "no collective '%s'; did you mean '%s'?", text,
                  near ? near : "allreduce");
}

static int read_options(int argc, char **argv, options *o) {
  opterr = 0;
  optind = 1;
  for (int c; (c = getopt_long(argc, argv, ":P:c:r:i", long_options, NULL)) != -1;) {
    long *number = c == 'P' ? &o->ranks : c == 'r' ? &o->rank : c == 'R' ? &o->root : NULL;
    if (number && !cli_int(optarg, c == 'P', 65536, number))
      return cli_fail(CLI_USAGE, "plan", "'%s' is not a number from %d to 65536", optarg, c == 'P');
    if (number) continue;
    if (c == 'i') {
      o->in_place = 1;
    } else if (c == 'c') {
      int coll = 0;
      while (coll < TUTTI_COLL_COUNT && strcmp(tutti_coll_name((tutti_coll)coll), optarg)) coll++;
      if (coll == TUTTI_COLL_COUNT) return wrong_coll(optarg);
      o->coll = (tutti_coll)coll;
    } else {
      return cli_bad_option("plan", c, argv, long_options);
    }
  }
  return 0;
}

/* The text of an algorithm's schedules; NULL and a complaint if it has none. */
static char *text_of(const char *algo, const options *o, long rank) {
  char *text;
  if (!tutti_schedule_text(algo, o->coll, (int)o->ranks, (int)rank, (int)o->root, o->in_place,
                           &text))
    return text;
  cli_fail(0, "plan", "%s", tutti_error());
  return NULL;
}

static int list(const options *o) {
  printf("%-30s %5s %8s %7s %7s  %-5s %-5s\n", "algorithm", "steps", "messages", "vectors",
         "scratch", "order", "same");
  for (int i = 0; tutti_algo_name(i, NULL); i++) {
    const char *sentence, *name = tutti_algo_name(i, &sentence);
    char *text;
    if (tutti_schedule_text(name, o->coll, (int)o->ranks, -1, (int)o->root, o->in_place, &text))
      continue; /* it does not do this collective */
    tutti_report r = {.size = sizeof r};
    tutti_status status = tutti_schedule_check(text, &r);
    tutti_text_free(text);
    if (status) return cli_fail(CLI_FAILED, "plan", "%s", tutti_error());
    printf("%-30s %5d %8d %7.2f %7.2f  %-5s %-5s %s\n", name, r.steps, r.messages,
           (double)r.sent_blocks / r.blocks, (double)r.scratch_blocks / r.blocks,
           r.rank_order ? "kept" : "lost", r.same_grouping ? "yes" : "no", sentence);
  }
  printf(
      "\n%s on %ld ranks. Steps: messages on the longest chain. Messages, vectors sent and\n"
      "scratch (in vectors): of the busiest rank. Order kept: fit for ops that do not\n"
      "commute. Same: the same bits on all ranks. All derived by the prover.\n",
      tutti_coll_name(o->coll), o->ranks);
  return 0;
}

static int show(const char *algo, const options *o) {
  char *text = text_of(algo, o, o->rank);
  if (!text) return CLI_USAGE;
  fputs(text, stdout);
  tutti_text_free(text);
  return fflush(stdout) ? CLI_FAILED : 0;
}

/* A whole file, or standard input for "-"; NULL and a complaint. */
static char *read_all(const char *path) {
  FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
  size_t length = 0, room = 1 << 16;
  char *text = f ? malloc(room) : NULL;
  while (text) {
    length += fread(text + length, 1, room - length - 1, f);
    if (length + 1 < room) break;
    char *more = realloc(text, room *= 2);
    if (!more) free(text);
    text = more;
  }
  if (!text || ferror(f))
    cli_fail(0, "plan", "'%s' can not be read: %s", path, strerror(errno ? errno : ENOMEM));
  else
    text[length] = 0;
  if (f && f != stdin) fclose(f);
  return text;
}

static int verdict(const char *text, const char *what) {
  tutti_report r = {.size = sizeof r};
  if (tutti_schedule_check(text, &r)) return cli_fail(CLI_USAGE, "plan", "%s", tutti_error());
  if (!r.proven) {
    printf("%s: refused\n  %s\n", what, r.witness);
    return 1;
  }
  printf("%s: proven\n", what);
  printf(
      "  %d steps on the longest chain; the busiest rank sends %d messages, %lld of %d blocks,\n"
      "  reduces %lld, copies %lld, needs scratch for %d\n",
      r.steps, r.messages, (long long)r.sent_blocks, r.blocks, (long long)r.reduced,
      (long long)r.copied, r.scratch_blocks);
  printf("  %s; %s; %s\n", r.rank_order ? "keeps the ranks' order" : "needs an op that commutes",
         r.same_grouping ? "the same grouping on all ranks" : "grouped differently on some ranks",
         r.transitive ? "every rank does the same, shifted" : "ranks differ");
  return 0;
}

static int check(const char *what, const options *o) {
  char *text = o->ranks && access(what, R_OK) ? text_of(what, o, -1) : read_all(what);
  if (!text) return CLI_USAGE;
  int status = verdict(text, what);
  free(text); /* tutti_text_free is free; read_all used malloc */
  return status;
}

static int run(int argc, char **argv) {
  options o = {.coll = TUTTI_ALLREDUCE, .ranks = 0, .rank = -1};
  if (argc < 2) return cli_fail(CLI_USAGE, "plan", "list, show or check? see `tutti help plan`");
  const char *verb = argv[1];
  int status = read_options(argc - 1, argv + 1, &o);
  if (status) return status;
  const char *what = argv[1 + optind];
  if (strcmp(verb, "list") == 0) {
    if (!o.ranks) o.ranks = 7;
    return list(&o);
  }
  const char *const verbs[] = {"list", "show", "check", NULL};
  bool showing = strcmp(verb, "show") == 0;
  if (!showing && strcmp(verb, "check") != 0) {
    const char *near = cli_nearest(verb, verbs);
    return cli_fail(CLI_USAGE, "plan", "no 'plan %s'; did you mean '%s'?", verb,
                    near ? near : "list");
  }
  if (!what)
    return cli_fail(CLI_USAGE, "plan", "%s what? an algorithm%s; see `tutti plan list`", verb,
                    showing ? "" : " or a file");
  if (showing && !o.ranks) return cli_fail(CLI_USAGE, "plan", "show for how many ranks? -P N");
  return showing ? show(what, &o) : check(what, &o);
}

const cli_command cmd_plan = {"plan", "list, show and prove schedules", usage, run};
