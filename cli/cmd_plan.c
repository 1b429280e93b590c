/* cmd_plan.c - `tutti plan`: works with schedules. It lists, shows, draws and runs them, checks
 * them with the prover (tutti's own or those in a file), writes them to a file, and reads those of
 * MSCCL.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plan.h"
#include "pricing.h"
#include "tutti_plan.h"

static const char usage[] =
    "usage: tutti plan list [-n N] [--coll COLLECTIVE]\n"
    "       tutti plan show ALGORITHM -n N | FILE | -   [--rank R] [--text]\n"
    "       tutti plan check ALGORITHM -n N | FILE | -\n"
    "       tutti plan draw ALGORITHM -n N | FILE | -   [-o PICTURE] [-w COLUMNS]\n"
    "       tutti plan export ALGORITHM -n N            [-o FILE]\n"
    "       tutti plan import FILE.xml                  [-o FILE]\n"
    "       tutti plan run ALGORITHM -n N [options of `tutti bench`]\n"
    "       tutti plan price ALGORITHM|all -n N --size SIZE ... (tutti plan price --help)\n"
    "\n"
    "Lists the algorithms, with the properties that the prover finds. The other commands use\n"
    "the schedule of one algorithm, built in or from a file (docs/schedules.md).\n"
    "\n"
    "  -n, --ranks N          number of ranks (default for list: 7)\n"
    "  -c, --coll COLLECTIVE  allreduce (default), reduce_scatter, allgather, broadcast,\n"
    "                         reduce, barrier, scan, exscan, gather, scatter, alltoall\n"
    "      --root R           the root, if the collective has one (0)\n"
    "  -i, --in-place         for in-place calls: src and dst are one buffer\n"
    "      --format F         text (default), or json\n"
    "  -r, --rank R           show only the steps of this rank\n"
    "  -t, --text             show the schedule as text, which check and draw read\n"
    "  -o, --output PICTURE   draw into a file: .svg, .html (shows the rounds one by one),\n"
    "                         .json or .txt (default: draw on the terminal)\n"
    "  -w, --width COLUMNS    the largest width of the drawing (default: the terminal's)\n"
    "      --levels LEVELS    draw these levels of the machine, \"node:4 core:3\" (default: those\n"
    "                         in the algorithm's name). Arrows have the colour of their level\n"
    "      --plain            draw in ASCII\n"
    "      --color            draw in colours, even if the output is not a terminal\n"
    "\n"
    "check: the exit status is 0 if the schedule is proven, and 1 if it is refused.\n"
    "export writes the text form of a schedule, which show, check and draw read.\n"
    "import converts the XML file of an MSCCL algorithm (allreduce, allgather or\n"
    "reduce_scatter) to this form, if it can be proven.\n"
    "run times an algorithm on N ranks, and checks its results. --algo of `tutti bench` also\n"
    "takes ranges of sizes.\n";

enum { ROOT = 256, PLAIN, COLOR, LEVELS, FORMAT };
static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'n'},
    {"coll", required_argument, NULL, 'c'},
    {"rank", required_argument, NULL, 'r'},
    {"root", required_argument, NULL, ROOT},
    {"in-place", no_argument, NULL, 'i'},
    {"format", required_argument, NULL, FORMAT},
    {"text", no_argument, NULL, 't'},
    {"output", required_argument, NULL, 'o'},
    {"width", required_argument, NULL, 'w'},
    {"plain", no_argument, NULL, PLAIN},
    {"color", no_argument, NULL, COLOR},
    {"levels", required_argument, NULL, LEVELS},
    {NULL, 0, NULL, 0},
};

static int read_coll(const char *text, plan_options *o) {
  const int coll = cli_coll("plan", text);
  o->coll = (tutti_coll)coll;
  return coll < 0 ? CLI_USAGE : 0;
}

/* Parses an option whose argument is a number. Returns false if c is not such an option. */
static bool read_number(int c, plan_options *o, int *status) {
  long *number = c == 'n'    ? &o->ranks
                 : c == 'r'  ? &o->rank
                 : c == ROOT ? &o->root
                 : c == 'w'  ? &o->width
                             : NULL;
  int least = c == 'n' ? 1 : c == 'w' ? 20 : 0;
  if (!number) return false;
  if (!cli_int(optarg, least, 65536, number))
    *status = cli_fail(CLI_USAGE, "plan", "'%s' is not a number from %d to 65536", optarg, least);
  return true;
}

static int read_options(int argc, char **argv, plan_options *o) {
  opterr = 0;
  optind = 1;
  int status = 0;
  for (int c;
       !status && (c = getopt_long(argc, argv, ":n:c:r:ito:w:", long_options, NULL)) != -1;) {
    if (read_number(c, o, &status)) continue;
    switch (c) {
      case 'c': status = read_coll(optarg, o); break;
      case 'i': o->in_place = 1; break;
      case FORMAT: {
        cli_form form = CLI_TEXT;
        status = cli_format("plan", optarg, false, &form);
        o->json = form == CLI_JSON;
        break;
      }
      case 't': o->text = true; break;
      case 'o': o->out = optarg; break;
      case PLAIN: o->plain = true; break;
      case COLOR: o->color = true; break;
      case LEVELS: o->topo = optarg; break;
      default: status = cli_bad_option("plan", c, argv, long_options);
    }
  }
  if (!status && argc - optind > 1)
    status = cli_fail(CLI_USAGE, "plan",
                      "'%s' is one argument too many; put a name with spaces in "
                      "quotes",
                      argv[optind + 1]);
  return status;
}

/* Returns the schedules of an algorithm as text. If the algorithm has no schedules, prints an error message and returns NULL. */
static char *text_of(const char *algo, const plan_options *o, long rank) {
  char *text;
  if (!tutti_schedule_text(algo, o->coll, (int)o->ranks, (int)rank, (int)o->root, o->in_place,
                           &text))
    return text;
  cli_fail(0, "plan", "%s", tutti_error());
  return NULL;
}

/* Reads a whole file, or standard input if the name is "-". Returns NULL after an error message. */
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
  if (!text || ferror(f)) {
    cli_fail(0, "plan", "'%s' cannot be read: %s", path, strerror(errno ? errno : ENOMEM));
    free(text);
    text = NULL;
  } else {
    text[length] = 0;
  }
  if (f && f != stdin) fclose(f);
  return text;
}

/* Returns the schedules of all ranks as text. If a file has the given name, reads the schedules from it. Otherwise
 * the name must be that of an algorithm, and the number of ranks must be given. Returns NULL after an error message. The
 * caller frees the text with free. */
static char *schedules(const char *what, const plan_options *o) {
  bool file = strcmp(what, "-") == 0 || access(what, R_OK) == 0;
  if (file) return read_all(what);
  if (o->ranks) return text_of(what, o, -1);
  cli_fail(0, "plan",
           "'%s' cannot be read: %s; if it is an algorithm, say for how many ranks: -n N", what,
           strerror(errno));
  return NULL;
}

static int show(const char *what, const plan_options *o) {
  char *text = NULL;
  if (o->text && o->json)
    return cli_fail(CLI_USAGE, "plan", "--text and --format json exclude each other");
  bool alone = o->text && o->ranks && o->rank >= 0 && access(what, R_OK) != 0;
  text = alone ? text_of(what, o, o->rank) : schedules(what, o);
  if (!text) return CLI_USAGE;
  int status = 0;
  if (o->text)
    fputs(text, stdout);
  else
    status = plan_print(text, o, o->json ? TUTTI_PICTURE_JSON : TUTTI_PICTURE_WORDS);
  free(text);
  return status ? status : fflush(stdout) ? CLI_FAILED : 0;
}

static int write_text(const char *text, const plan_options *o) {
  FILE *f = o->out ? fopen(o->out, "we") : stdout;
  bool bad = !f || fputs(text, f) < 0;
  if (f) bad = (f == stdout ? fflush(f) : fclose(f)) || bad;
  if (!bad) return 0;
  return cli_fail(CLI_FAILED, "plan", "cannot write '%s': %s", o->out ? o->out : "stdout",
                  strerror(errno));
}

/* Writes the schedules as text. */
static int export(const char *what, const plan_options *o) {
  char *text = schedules(what, o);
  if (!text) return CLI_USAGE;
  const int status = write_text(text, o);
  free(text);
  return status;
}

/* Converts an MSCCL algorithm to a schedule, verifies the schedule with the prover, and writes it as text. */
static int import(const char *what, const plan_options *o) {
  char *xml = read_all(what), *text = xml ? plan_import(what, xml) : NULL;
  tutti_report r = {.size = sizeof r};
  free(xml);
  if (!text) return CLI_USAGE;
  int status = 0;
  if (tutti_schedule_check(text, &r))
    status = cli_fail(CLI_USAGE, "plan", "%s: %s", what, tutti_error());
  else if (!r.proven)
    status = cli_fail(1, "plan", "%s: refused: %s", what, r.witness);
  if (!status) status = write_text(text, o);
  free(text);
  return status;
}

/* Runs `tutti bench --algo ALGORITHM`, with all other arguments unchanged. */
static int run_plan(int argc, char **argv) {
  if (argc < 3 || argv[2][0] == '-')
    return cli_fail(CLI_USAGE, "plan",
                    "run needs an algorithm first: tutti plan run two-shot -n 2");
  if (access(argv[2], R_OK) == 0)
    return cli_fail(CLI_USAGE, "plan",
                    "'%s' is a file, and tutti runs its own algorithms only; "
                    "docs/tutorials/algorithm.md says how to "
                    "add one",
                    argv[2]);
  char **words = calloc((size_t)argc + 2, sizeof *words);
  if (!words) return cli_fail(CLI_FAILED, "plan", "out of memory");
  words[0] = "bench";
  words[1] = "--algo";
  for (int i = 2; i < argc; i++) words[i] = argv[i];
  return cmd_bench.run(argc, words); /* not freed: options point into the words */
}

static void say_verdict(const tutti_report *r, const char *what) {
  if (!r->proven) {
    printf("%s: refused\n  %s\n", what, r->witness);
    return;
  }
  printf("%s: proven\n", what);
  printf(
      "  %d steps on the longest chain; the busiest rank sends %d messages, %lld of %d blocks,\n"
      "  reduces %lld, copies %lld, needs scratch for %d\n",
      r->steps, r->messages, (long long)r->sent_blocks, r->blocks, (long long)r->reduced,
      (long long)r->copied, r->scratch_blocks);
  printf("  %s; %s; %s\n", r->rank_order ? "keeps the ranks' order" : "needs an op that commutes",
         r->element         ? "each sum in one step, in rank order"
         : r->same_grouping ? "the same grouping on all ranks"
                            : "grouped differently on some ranks",
         r->transitive ? "every rank does the same, shifted" : "ranks differ");
}

static int check(const char *what, const plan_options *o) {
  char *text = schedules(what, o);
  if (!text) return CLI_USAGE;
  tutti_report r = {.size = sizeof r};
  tutti_status status = tutti_schedule_check(text, &r);
  free(text);
  if (status) return cli_fail(CLI_USAGE, "plan", "%s", tutti_error());
  if (o->json) {
    printf("{\"schedule\": ");
    cli_json_string(what, 1000);
    printf(", ");
    plan_json_report(&r);
    printf("}\n");
  } else {
    say_verdict(&r, what);
  }
  return fflush(stdout) ? CLI_FAILED : !r.proven;
}

static int draw(const char *what, const plan_options *o) {
  char *text = schedules(what, o);
  if (!text) return CLI_USAGE;
  int status = plan_draw(text, o);
  free(text);
  return status;
}

static int run(int argc, char **argv) {
  static const char *const verbs[] = {"list",   "show",  "check", "draw", "export",
                                      "import", "price", "run",   NULL};
  plan_options o = {.coll = TUTTI_ALLREDUCE, .rank = -1};
  if (argc < 2)
    return cli_fail(CLI_USAGE, "plan",
                    "list, show, check, draw, export, import, run or price? see `tutti help plan`");
  const char *verb = argv[1];
  if (strcmp(verb, "price") == 0) {
    for (int i = 2; i < argc; i++)
      if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
        return fputs(plan_price_usage, stdout) < 0 || fflush(stdout) ? CLI_FAILED : 0;
    return plan_price(argc - 1, argv + 1);
  }
  if (strcmp(verb, "run") == 0) return run_plan(argc, argv);
  int which = 0, status = read_options(argc - 1, argv + 1, &o);
  if (status) return status;
  while (verbs[which] && strcmp(verbs[which], verb) != 0) which++;
  if (!verbs[which]) {
    const char *near = cli_nearest(verb, verbs);
    return cli_fail(CLI_USAGE, "plan", "no 'plan %s'; did you mean '%s'?", verb,
                    near ? near : "list");
  }
  if (which == 0) {
    if (!o.ranks) o.ranks = 7;
    return plan_list(&o);
  }
  const char *what = argv[1 + optind];
  if (!what)
    return cli_fail(CLI_USAGE, "plan", "%s needs an algorithm or a file; see `tutti plan list`",
                    verb);
  if (which == 1) return show(what, &o);
  if (which == 2) return check(what, &o);
  if (which == 3) return draw(what, &o);
  return which == 4 ? export(what, &o) : import(what, &o);
}

const cli_command cmd_plan = {"plan", "list, show, prove, draw, export and run schedules", usage,
                              run, false};
