/* gnuplot.c - pictures that gnuplot draws.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static bool have_gnuplot(void) {
  const char *path = getenv("PATH");
  char file[4096];
  while (path && *path) {
    int length = (int)strcspn(path, ":");
    snprintf(file, sizeof file, "%.*s/gnuplot", length, path);
    if (access(file, X_OK) == 0) return true;
    path += length + (path[length] == ':');
  }
  return false;
}

static bool ends(const char *path, const char *end) {
  const size_t n = strlen(path), m = strlen(end);
  return n > m && strcmp(path + n - m, end) == 0;
}

int cli_plot_ready(const char *command, const char *path) {
  if (!ends(path, ".svg") && !ends(path, ".png"))
    return cli_fail(CLI_USAGE, command, "--plot '%s' is neither a .svg nor a .png", path);
  if (strpbrk(path, "'\n"))
    return cli_fail(CLI_USAGE, command, "--plot takes no file name with quotes or newlines");
  FILE *f = fopen(path, "ae");
  if (!f) return cli_fail(CLI_FAILED, command, "cannot write '%s': %s", path, strerror(errno));
  fclose(f);
  if (!have_gnuplot())
    return cli_fail(CLI_FAILED, command, "--plot needs gnuplot, which is not in the PATH");
  return 0;
}

FILE *cli_gnuplot(const char *command, const char *path) {
  if (cli_plot_ready(command, path)) return NULL;
  FILE *p = popen("gnuplot", "we");
  if (!p) {
    cli_fail(0, command, "gnuplot: %s", strerror(errno));
    return NULL;
  }
  fprintf(p, "set terminal %s\nset output '%s'\n",
          ends(path, ".svg") ? "svg size 900,600 background '#ffffff'" : "pngcairo size 1200,800",
          path);
  return p;
}

int cli_gnuplot_close(const char *command, FILE *p, const char *path) {
  if (pclose(p) == 0) return 0;
  return cli_fail(CLI_FAILED, command, "gnuplot could not draw '%s'", path);
}
