/* cmd_mpi.c - `tutti mpi`: starts an MPI program in which tutti's collectives replace the MPI's.
 *
 * Idea      tutti's library for that MPI is preloaded into the ranks (docs/dropin.md). The
 *           launchers of Open MPI and MPICH can set a variable for the ranks only. With any other
 *           launcher the variable is set in the environment. A program of the standard ABI can run
 *           under any launcher, so the library and the launcher's options are chosen separately.
 *           The launcher then replaces this process, so signals, output and exit status are
 *           directly those of the launcher.
 * Invariant Libraries that were already preloaded stay first: a profiler still sees the program's
 *           calls, and a sanitizer remains the first library.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "family.h"
#include "mpi_run.h"
#include "tutti_plan.h"

static const char usage[] =
    "usage: tutti mpi [options] COMMAND [arguments]\n"
    "       tutti mpi --report mpirun -n 8 ./app\n"
    "       tutti mpi --compare [--rounds N] mpirun -n 8 ./app\n"
    "\n"
    "Starts an unmodified MPI program. tutti runs its collectives, where it supports them and\n"
    "is faster than the MPI (docs/dropin.md). The MPI runs all other calls.\n"
    "COMMAND is the command that usually starts the program: mpirun or mpiexec, another\n"
    "launcher such as srun, or the program itself. The program may be compiled for Open MPI,\n"
    "for MPICH or an MPI with the same binary interface (Intel MPI, MVAPICH, Cray MPICH,\n"
    "ParaStation MPI), or for the standard ABI of MPI 5.0.\n"
    "\n"
    "  -r, --report[=FILE]  at the end, rank 0 writes a report on stderr, or to FILE as JSON:\n"
    "                       the calls that tutti ran, their times, and which calls the MPI ran\n"
    "                       and why\n"
    "      --compare        run COMMAND alternately without and with tutti, and show the wall\n"
    "                       time, and the time, calls and bytes of each collective. Without\n"
    "                       tutti, the library only measures the MPI's calls. COMMAND's output\n"
    "                       is shown only if it fails\n"
    "      --rounds N       number of runs of each kind (5)\n"
    "      --format F       write the comparison as text (default), json or csv\n"
    "  -f, --family NAME    the MPI that the program is compiled for: ompi, mpich (also for\n"
    "                       MPIs with its binary interface), or abi, the standard ABI\n"
    "                       (default: detected from the launcher and the program's libraries)\n"
    "\n"
    "tutti looks for its library (libtutti_pmpi_NAME.so) in TUTTI_LIBRARY (a folder or file),\n"
    "in the folder of this command, in ../lib, in ../lib64, in Debian's folder for this\n"
    "processor, such as ../lib/x86_64-linux-gnu, and in .. (in a Python wheel). It is appended\n"
    "to an existing LD_PRELOAD.\n"
    "With the first calls of each kind, tutti measures whether it or the MPI is faster. With\n"
    "TUTTI_DROPIN=always, tutti runs all calls that it supports; with 0, it runs none.\n"
    "\n"
    "Exit status: COMMAND's; 2 wrong command line; 125 no MPI or no library found; 126\n"
    "COMMAND cannot be executed; 127 not found.\n";

enum { ROUNDS = 256, FORMAT, COMPARE };
static const struct option long_options[] = {
    {"report", optional_argument, NULL, 'r'},    {"compare", no_argument, NULL, COMPARE},
    {"rounds", required_argument, NULL, ROUNDS}, {"format", required_argument, NULL, FORMAT},
    {"family", required_argument, NULL, 'f'},    {NULL, 0, NULL, 0},
};

/* Makes the file name absolute, because ranks may run in another folder. */
static int take_report(mpi_options *o, const char *file) {
  char here[PATH_MAX] = "";
  if (!file)
    strcpy(o->report, "1");
  else if (*file == 0)
    return cli_fail(CLI_USAGE, "mpi", "--report= needs the name of a file; or leave out the '='");
  else if (*file != '/' && !getcwd(here, sizeof here))
    return cli_fail(CLI_FAILED, "mpi", "the current folder: %s", strerror(errno));
  else if (snprintf(o->report, sizeof o->report, "%s%s%s", here, *here ? "/" : "", file) >=
           PATH_MAX)
    return cli_fail(CLI_USAGE, "mpi", "--report: that name is too long");
  return 0;
}

static int take_option(mpi_options *o, int c, char **argv) {
  switch (c) {
    case 'r': return take_report(o, optarg);
    case 'f':
      o->family = family_named(optarg);
      if (o->family) return 0;
      return cli_fail(CLI_USAGE, "mpi", "--family '%s' is none of ompi, mpich and abi", optarg);
    case COMPARE: o->compare = true; return 0;
    case ROUNDS:
      o->compare = true;
      if (cli_int(optarg, 1, MPI_ROUNDS, &o->rounds)) return 0;
      return cli_fail(CLI_USAGE, "mpi", "--rounds '%s' is not a whole number from 1 to %d", optarg,
                      MPI_ROUNDS);
    case FORMAT: return cli_format("mpi", optarg, true, &o->format);
    default: return cli_bad_option("mpi", c, argv, long_options);
  }
}

static int parse(mpi_options *o, int argc, char **argv) {
  opterr = 0;
  for (int c; (c = getopt_long(argc, argv, "+:r::f:", long_options, NULL)) != -1;) {
    const int status = take_option(o, c, argv);
    if (status) return status;
  }
  o->argv = argv + optind;
  if (o->compare && *o->report)
    return cli_fail(CLI_USAGE, "mpi", "--compare makes its own reports: leave out --report");
  if (o->format && !o->compare)
    return cli_fail(CLI_USAGE, "mpi", "--format belongs to --compare; --report=FILE writes JSON");
  if (optind < argc) return 0;
  return cli_fail(CLI_USAGE, "mpi", "which command? tutti mpi mpirun -n 8 ./app");
}

/* ---- the MPI and its library ---- */

/* Determines the MPI from the output of the launcher's --version, or from the first argument that is an MPI program.
 * If the two disagree, prints an error message, because a program crashes with the library of another MPI. A program
 * that uses the standard ABI works with every launcher. */
static int find_family(mpi_options *o) {
  const bool launcher = family_is_launcher(o->argv[0]);
  if (o->family) {
    const bool any = o->family == FAMILY_ABI;
    o->launcher = !launcher ? FAMILY_UNKNOWN : any ? family_of_launcher(o->argv[0]) : o->family;
    return 0;
  }
  if (launcher) o->family = o->launcher = family_of_launcher(o->argv[0]);
  mpi_family needed = FAMILY_UNKNOWN;
  for (char **a = o->argv + launcher; !needed && *a; a++) {
    needed = family_of_program(*a);
    if (needed == FAMILY_ABI)
      o->family = needed;
    else if (needed && o->family && needed != o->family)
      return cli_fail(CLI_FAILED, "mpi",
                      "'%s' is of %s, but '%s' is a program of %s; start it with that one's "
                      "launcher, or say which library with --family",
                      o->argv[0], family_title(o->family), *a, family_title(needed));
  }
  if (!o->family) o->family = needed;
  if (launcher && o->family != FAMILY_ABI) o->launcher = o->family;
  if (o->family) return 0;
  if (launcher)
    return cli_fail(CLI_FAILED, "mpi",
                    "'%s --version' names none of Open MPI, MPICH, Intel MPI, MVAPICH and ParaStation "
                    "MPI, and no argument is a program of either or of the standard ABI; say which "
                    "with --family ompi, mpich or abi",
                    o->argv[0]);
  return cli_fail(CLI_FAILED, "mpi",
                  "'%s' is not an mpirun, and no argument is a program that needs Open MPI's "
                  "libmpi.so.40, MPICH's libmpi.so.12 or libmpich.so.12, or the standard ABI's "
                  "libmpi_abi.so; choose one with --family ompi, mpich or abi (a statically linked "
                  "MPI cannot be replaced)",
                  o->argv[0]);
}

/* Stores the folder that contains this command. */
static void own_folder(char folder[PATH_MAX]) {
  const ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  folder[n > 0 ? n : 0] = 0;
  char *slash = strrchr(folder, '/');
  if (slash) *slash = 0;
}

/* Folders that may contain the library, relative to this command. On Debian, the compiler provides the name of a
 * further folder. Other systems have no such folder. */
#ifndef MULTIARCH
#define MULTIARCH ""
#endif
static const char *const lib_folders[] = {"", "../lib/", "../lib64/", "../lib/" MULTIARCH "/",
                                          "../"};
enum { LIB_FOLDERS = sizeof lib_folders / sizeof *lib_folders };

/* Determines the library file from the value of TUTTI_LIBRARY, which may name the file, its folder, or another
 * library in that folder. */
static void named_place(const char *said, const char *name, char *place, size_t size) {
  const char *slash = strrchr(said, '/'), *base = slash ? slash + 1 : said;
  if (strncmp(base, "libtutti_pmpi_", 14) == 0)
    snprintf(place, size, "%s", said);
  else if (strstr(base, ".so"))
    snprintf(place, size, "%.*s%s", (int)(base - said), said, name);
  else
    snprintf(place, size, "%s/%s", said, name);
}

static int find_library(mpi_family family, char path[PATH_MAX]) {
  char own[PATH_MAX], name[64], places[LIB_FOLDERS][PATH_MAX + 160];
  const char *said = tutti_setting("TUTTI_LIBRARY");
  if (!said) said = getenv("TUTTI_LIB"); /* alternative name of the setting */
  int n = 0;
  own_folder(own);
  snprintf(name, sizeof name, "libtutti_pmpi_%s.so", family_tag(family));
  if (said && *said) {
    named_place(said, name, places[n++], sizeof *places);
  } else {
    for (; n < LIB_FOLDERS; n++)
      snprintf(places[n], sizeof *places, "%s/%s%s", own, lib_folders[n], name);
  }
  for (int i = 0; i < n; i++)
    if (access(places[i], R_OK) == 0 && realpath(places[i], path)) {
      if (!strpbrk(path, " :")) return 0;
      return cli_fail(CLI_FAILED, "mpi",
                      "the loader cannot preload '%s': LD_PRELOAD allows neither a blank nor a "
                      "colon in a name",
                      path);
    }
  if (said && *said)
    return cli_fail(CLI_FAILED, "mpi", "TUTTI_LIBRARY says '%s', but there is no %s", said,
                    places[0]);
  return cli_fail(
      CLI_FAILED, "mpi",
      "no library for %s: neither %s nor %s exists; build it with `make dropin`, or set "
      "TUTTI_LIBRARY to the folder that contains it",
      family_title(family), places[0], places[1]);
}

/* ---- the command line ---- */

typedef struct words {
  char **word;
  size_t n;
} words;

static void put(words *w, const char *word) {
  w->word[w->n++] = (char *)word;
}

/* Adds the environment variables for the ranks in one part of a command line. */
static void put_settings(words *w, mpi_family launcher, const char *const *settings) {
  for (const char *const *s = settings; *s; s++) {
    if (launcher == FAMILY_OMPI) {
      put(w, "-x");
      put(w, *s);
    } else { /* -genv NAME value, as two words */
      char *name = strdup(*s), *value = name ? strchr(name, '=') : NULL;
      if (!value) continue;
      *value++ = 0;
      put(w, "-genv");
      put(w, name);
      put(w, value);
    }
  }
}

/* Inserts the settings after the name of the launcher. With Open MPI, settings apply to only one program of a
 * command line, so they are also inserted after every ':' between programs. Returns NULL if out of memory. */
static char **launch_line(const mpi_options *o, const char *const *settings) {
  size_t n = 0, parts = 1;
  for (; o->argv[n]; n++) parts += strcmp(o->argv[n], ":") == 0;
  words w = {calloc(n + parts * 9 + 1, sizeof *w.word), 0};
  if (!w.word) return NULL;
  for (size_t i = 0; i < n; i++) {
    put(&w, o->argv[i]);
    if (i == 0 || (o->launcher == FAMILY_OMPI && strcmp(o->argv[i], ":") == 0))
      put_settings(&w, o->launcher, settings);
  }
  return w.word;
}

int mpi_start(const mpi_options *o, const char *library) {
  static char preload[2 * PATH_MAX + 65536], report[PATH_MAX + 16];
  const char *before = getenv("LD_PRELOAD");
  const bool keeps = before && *before;
  const int n = snprintf(preload, sizeof preload, "LD_PRELOAD=%s%s%s", keeps ? before : "",
                         keeps ? ":" : "", library);
  if (n >= (int)sizeof preload)
    return cli_fail(CLI_FAILED, "mpi", "LD_PRELOAD is too long already");
  snprintf(report, sizeof report, "TUTTI_REPORT=%s", o->report);
  const char *settings[4] = {preload};
  int used = 1;
  if (*o->report) settings[used++] = report;
  if (o->off) settings[used++] = "TUTTI_DROPIN=0";
  char **argv = o->argv;
  if (o->launcher) {
    argv = launch_line(o, settings);
  } else {
    for (int i = 0; settings[i]; i++) putenv((char *)settings[i]);
  }
  if (!argv) return cli_fail(CLI_FAILED, "mpi", "out of memory");
  cli_exec(argv);
  const int why = errno;
  return cli_fail(why == ENOENT ? CLI_NOT_FOUND : CLI_NO_EXEC, "mpi", "cannot execute '%s': %s",
                  argv[0], strerror(why));
}

static int run_mpi(int argc, char **argv) {
  mpi_options o = {.family = FAMILY_UNKNOWN, .rounds = 5};
  char library[PATH_MAX];
  if (argc < 2) {
    fputs(usage, stdout);
    return CLI_USAGE;
  }
  int status = parse(&o, argc, argv);
  if (!status) status = find_family(&o);
  if (!status) status = find_library(o.family, library);
  if (status) return status;
  return o.compare ? mpi_compare(&o, library) : mpi_start(&o, library);
}

const cli_command cmd_mpi = {"mpi", "start an unmodified MPI program with tutti's collectives",
                             usage, run_mpi, false};
