/* gnuplot.c - draws pictures with gnuplot.
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

/* Removes every passage of the text that begins with `first` and ends with `last`. */
static void erase(char *text, const char *first, const char *last) {
  for (char *at = strstr(text, first); at; at = strstr(at, first)) {
    char *end = strstr(at + strlen(first), last);
    if (!end) return;
    end += strlen(last);
    memmove(at, end, strlen(end) + 1);
  }
}

/* Removes the names that gnuplot gives to the parts of an SVG picture, because browsers show them as tooltips. In a picture
 * for light pages, also inserts style.css before the first definition. Returns false if the file cannot be written. */
static bool finish(const char *path, bool dark) {
  FILE *f = fopen(path, "re");
  char *text = NULL, *at = NULL;
  size_t n = 0;
  if (!f) return false;
  bool written = getdelim(&text, &n, 0, f) > 0;
  fclose(f);
  if (written && (f = fopen(path, "we"))) {
    erase(text, "<title>Gnuplot", "</title>\n");
    erase(text, "<desc>Produced by", "</desc>\n");
    erase(text, "<title>gnuplot_plot", "</title>");
    erase(text, "gnuplot_", "");
    if (!dark) at = strstr(text, "<defs>");
    written =
        at ? fprintf(f, "%.*s<style>\n%s</style>\n%s", (int)(at - text), text, style_css, at) > 0
           : fputs(text, f) >= 0;
    written = fclose(f) == 0 && written;
  } else {
    written = false;
  }
  free(text);
  return written;
}

int cli_gnuplot_close(const char *command, FILE *p, const char *path) {
  if (pclose(p) == 0 && (!ends(path, ".svg") || finish(path, ends(path, "-dark.svg")))) return 0;
  return cli_fail(CLI_FAILED, command, "gnuplot could not draw '%s'", path);
}
