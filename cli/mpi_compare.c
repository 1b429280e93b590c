/* mpi_compare.c - `tutti mpi --compare`: runs a program without and with tutti's collectives, alternately.
 *
 * Idea      Both kinds of runs preload the drop-in, so the same code measures both. Without tutti,
 *           TUTTI_DROPIN=0 makes it pass every call to the MPI and time it, which adds two clock reads to
 *           a call. The order within a round changes from round to round.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi_run.h"

/* Reads the last line of the program's output. The rest of the output is not shown. */
static void last_words(int log, char *text, size_t size) {
  char all[4096];
  const off_t end = lseek(log, 0, SEEK_END),
              from = end > (off_t)sizeof all - 1 ? end - (off_t)sizeof all + 1 : 0;
  const ssize_t n = pread(log, all, sizeof all - 1, from);
  *text = 0;
  all[n > 0 ? n : 0] = 0;
  for (char *line = strtok(all, "\n"); line; line = strtok(NULL, "\n"))
    if (strspn(line, " \t-=") < strlen(line)) snprintf(text, size, "%s", line);
}

static int failed(const char *how, int status, int log) {
  char line[400];
  last_words(log, line, sizeof line);
  if (WIFSIGNALED(status))
    return cli_fail(CLI_FAILED, "mpi", "--compare: the program %s tutti was ended by signal %d%s%s",
                    how, WTERMSIG(status), *line ? "; the last line of its output: " : "", line);
  return cli_fail(CLI_FAILED, "mpi", "--compare: the program %s tutti ended with status %d%s%s",
                  how, WEXITSTATUS(status), *line ? "; the last line of its output: " : "", line);
}

/* Runs the program once, and stores the wall time of the run and the report about it. */
static int run_once(const mpi_options *o, const char *library, mpi_gain *g, int round, int side) {
  mpi_options mine = *o;
  const int log = memfd_create("tutti-mpi-output", MFD_CLOEXEC);
  const int report = memfd_create("tutti-mpi-report", MFD_CLOEXEC);
  int status = 0;
  if (log < 0 || report < 0)
    return cli_fail(CLI_FAILED, "mpi", "no file in memory: %s", strerror(errno));
  snprintf(mine.report, sizeof mine.report, "/proc/%d/fd/%d", (int)getpid(), report);
  mine.off = side == MPI_WITHOUT;
  const double since = cli_now();
  const pid_t child = fork();
  if (child < 0) return cli_fail(CLI_FAILED, "mpi", "no process: %s", strerror(errno));
  if (child == 0) {
    dup2(log, 1);
    dup2(log, 2);
    _exit(mpi_start(&mine, library));
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  g->wall[side][round] = cli_now() - since;
  if (status) {
    status = failed(side == MPI_WITHOUT ? "without" : "with", status, log);
  } else {
    FILE *f = fdopen(dup(report), "r");
    if (!f || fseek(f, 0, SEEK_SET) || !mpi_gain_read(g, f, round, side))
      status = cli_fail(CLI_FAILED, "mpi",
                        "--compare: no report: the program did not reach MPI_Finalize, the library "
                        "is for another "
                        "MPI, or rank 0 ran on another host (docs/dropin.md)");
    if (f) fclose(f);
  }
  close(log);
  close(report);
  return status;
}

static void progress(int done, int all) {
  if (!isatty(2)) return;
  fprintf(stderr, done < all ? "\r\033[Krun %d of %d" : "\r\033[K", done + 1, all);
  fflush(stderr);
}

int mpi_compare(const mpi_options *o, const char *library) {
  mpi_gain *g = calloc(1, sizeof *g);
  int status = g ? 0 : cli_fail(CLI_FAILED, "mpi", "out of memory");
  for (int run = 0; run < 2 * o->rounds && !status; run++) {
    const int round = run / 2, side = (run + round) % 2;
    progress(run, 2 * (int)o->rounds);
    status = run_once(o, library, g, round, side);
    if (g) g->rounds = round + 1;
  }
  progress(1, 1);
  if (!status) mpi_gain_show(o, g);
  free(g);
  return status ? status : fflush(stdout) ? CLI_FAILED : 0;
}
