/* ranked.c - starts the ranks of a command, and lets only one of them print error messages.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "ranked.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables of launchers that set a rank's number. */
static const struct {
  const char *variable, *family;
} launchers[] = {
    {"TUTTI_RANK", NULL}, {"OMPI_COMM_WORLD_RANK", "ompi"}, {"PMI_RANK", "mpich"}};
enum { LAUNCHERS = sizeof launchers / sizeof *launchers };

static int launcher(void) {
  for (int i = 0; i < LAUNCHERS; i++)
    if (getenv(launchers[i].variable)) return i;
  return -1;
}

bool job_inside(void) {
  return launcher() >= 0;
}

int job_rank(void) {
  const int l = launcher();
  return l < 0 ? 0 : atoi(getenv(launchers[l].variable));
}

/* Stores the path of this command's executable. Returns false if the path cannot be determined. */
static bool own_path(char path[PATH_MAX]) {
  const ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
  path[n > 0 ? n : 0] = 0;
  return n > 0;
}

int job_start(const char *command, long ranks, int argc, char **argv) {
  char number[16], self[PATH_MAX];
  if (!own_path(self)) return cli_fail(CLI_FAILED, command, "/proc/self/exe: %s", strerror(errno));
  snprintf(number, sizeof number, "%ld", ranks);
  char *front[] = {"tutti", "run", "--for", (char *)command, "-n", number, self};
  enum { FRONT = sizeof front / sizeof *front };
  char **args = calloc(FRONT + (size_t)argc + 1, sizeof *args);
  if (!args) return cli_fail(CLI_FAILED, command, "out of memory");
  memcpy(args, front, sizeof front);
  memcpy(args + FRONT, argv, (size_t)argc * sizeof *args); /* argv[0] is the command */
  execv(self, args);
  const int error = errno;
  free(args);
  return cli_fail(CLI_FAILED, command, "%s: %s", self, strerror(error));
}

int job_hand_over(const char *command, char **argv) {
  const int l = launcher();
  const char *family = l < 0 ? NULL : launchers[l].family;
  char self[PATH_MAX], other[PATH_MAX + 32];
  if (!family || job_family) return 0;
  if (!own_path(self)) return cli_fail(CLI_FAILED, command, "/proc/self/exe: %s", strerror(errno));
  snprintf(other, sizeof other, "%s-%s", self, family);
  execv(other, argv);
  if (job_rank() == 0)
    cli_fail(0, command, "an MPI started this, but %s cannot be run (%s); `make mpi` builds it",
             other, strerror(errno));
  return CLI_FAILED;
}

int job_mute(void) {
  const int rank = job_rank();
  const int saved = rank ? dup(2) : -1, null = rank ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
  if (null >= 0) {
    dup2(null, 2);
    close(null);
  }
  return saved;
}

void job_unmute(int saved) {
  if (saved < 0) return;
  dup2(saved, 2);
  close(saved);
}

int job_fail_alike(int status) {
  if (job_rank()) sleep(2);
  return status;
}
