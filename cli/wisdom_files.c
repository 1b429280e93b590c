/* wisdom_files.c - reads, replaces and shows files of wisdom.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wisdom_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4 << 20 };

int wisdom_file_read(const char *path, bool may_lack) {
  FILE *f = fopen(path, "re");
  if (!f && may_lack && errno == ENOENT) return 0;
  char *text = f ? malloc(MOST + 1) : NULL;
  size_t n = 0;
  if (!text) {
    const int why = f ? ENOMEM : errno;
    if (f) fclose(f);
    return cli_fail(CLI_FAILED, "wisdom", "%s: %s", path, strerror(why));
  }
  n = fread(text, 1, MOST, f);
  int status = ferror(f) ? cli_fail(CLI_FAILED, "wisdom", "%s: %s", path, strerror(errno)) : 0;
  if (!status && n == MOST)
    status = cli_fail(CLI_FAILED, "wisdom", "%s: longer than any wisdom", path);
  text[n] = 0;
  fclose(f);
  if (!status && (n || !may_lack) && tutti_wisdom_import(text))
    status = cli_fail(CLI_FAILED, "wisdom", "%s: %s", path, tutti_error());
  free(text);
  return status;
}

int wisdom_file_write(const char *path) {
  return tutti_wisdom_save(path) ? cli_fail(CLI_FAILED, "wisdom", "%s", tutti_error()) : 0;
}

/* What follows the ranks: the machine. */
static const char *machine_of(const char *place) {
  const char *at = strrchr(place, ';');
  return at ? at : "";
}

/* "on 8f3c21aa: 7 processes share memory, ..." */
static const char *fits(const char *place) {
  char here[400];
  const char *colon = strstr(place, ": ");
  const int ranks = colon ? atoi(colon + 2) : 0;
  if (ranks < 1 || tutti_wisdom_here(ranks, here, sizeof here)) return "";
  if (strncmp(place, here, 9) == 0) return "fits: `tutti run` starts such ranks here";
  if (strcmp(machine_of(place), machine_of(here)) == 0)
    return "this machine: fits ranks that sit so";
  return "does not fit: another machine";
}

int wisdom_show(const char *title) {
  char *text;
  if (tutti_wisdom_export(&text)) return cli_fail(CLI_FAILED, "wisdom", "%s", tutti_error());
  if (title) printf("# %s\n", title);
  for (char *line = text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = 0;
    printf("%s\n", line);
    if (strncmp(line, "on ", 3) == 0) printf("# %s\n", fits(line + 3));
  }
  tutti_text_free(text);
  return fflush(stdout) ? cli_fail(CLI_FAILED, "wisdom", "cannot write: %s", strerror(errno)) : 0;
}
