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
  const bool dark = ends(path, "-dark.svg") || ends(path, "-dark.png");
  fprintf(p, "set terminal %s font 'sans,12' background '%s'\nset output '%s'\ndark = %d\n%s",
          ends(path, ".svg") ? "svg size 900,520" : "pngcairo size 1200,700",
          dark ? "#14181d" : "#ffffff", path, dark, style_gp);
  return p;
}

/* Insert style.css before the picture's first definition; false if the file cannot be written. */
static bool adapt(const char *path) {
  static const char before[] = "<defs>";
  FILE *f = fopen(path, "r+e");
  char *text = NULL, *at;
  size_t n = 0;
  if (!f) return false;
  const bool read = getdelim(&text, &n, 0, f) > 0;
  bool written = read;
  if (read && (at = strstr(text, before))) {
    rewind(f);
    written = fprintf(f, "%.*s<style>\n%s</style>\n%s", (int)(at - text), text, style_css, at) > 0;
  }
  free(text);
  return fclose(f) == 0 && written;
}

int cli_gnuplot_close(const char *command, FILE *p, const char *path) {
  if (pclose(p) == 0 && (!ends(path, ".svg") || ends(path, "-dark.svg") || adapt(path))) return 0;
  return cli_fail(CLI_FAILED, command, "gnuplot could not draw '%s'", path);
}
