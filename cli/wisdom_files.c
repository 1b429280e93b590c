/* wisdom_files.c - reads, replaces and shows wisdom files.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wisdom_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tutti_plan.h"

enum { MOST = 4 << 20 };

static int torn(const char *path, const char *text) {
  const size_t at = strlen(text);
  int line = 1, column = 1;
  for (size_t i = 0; i < at; i++, column++)
    if (text[i] == '\n') line++, column = 0;
  return cli_fail(CLI_FAILED, "tune", "%s: line %d, column %d: expected text, found a NUL byte",
                  path, line, column);
}

/* Reads the text of a regular file. Pipes are rejected, because a process may never open the other end. */
static int read_text(const char *path, int fd, char *text, size_t *length) {
  struct stat is;
  if (fstat(fd, &is) == 0 && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode))
    return cli_fail(CLI_FAILED, "tune", "%s: it is not a regular file", path);
  ssize_t got;
  *length = 0;
  while ((got = read(fd, text + *length, MOST - *length)) > 0) *length += (size_t)got;
  if (got < 0) return cli_fail(CLI_FAILED, "tune", "%s: %s", path, strerror(errno));
  if (*length == MOST) return cli_fail(CLI_FAILED, "tune", "%s: it is too long for wisdom", path);
  return strlen(text) < *length ? torn(path, text) : 0;
}

int wisdom_file_read(const char *path, bool may_lack) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (fd < 0 && may_lack && errno == ENOENT) return 0;
  if (fd < 0) return cli_fail(CLI_FAILED, "tune", "%s: %s", path, strerror(errno));
  char *text = calloc(1, MOST + 1);
  size_t n = 0;
  int status = text ? read_text(path, fd, text, &n)
                    : cli_fail(CLI_FAILED, "tune", "%s: out of memory", path);
  close(fd);
  if (!status && (n || !may_lack) && tutti_wisdom_import(text))
    status = cli_fail(CLI_FAILED, "tune", "%s: %s", path, tutti_error());
  free(text);
  return status;
}

int wisdom_file_write(const char *path) {
  return tutti_wisdom_save(path) ? cli_fail(CLI_FAILED, "tune", "%s", tutti_error()) : 0;
}

/* Returns the part of the text that describes the machine, which follows the part about the ranks. */
static const char *machine_of(const char *place) {
  const char *at = strrchr(place, ';');
  return at ? at : "";
}

/* Returns a phrase that tells whether an entry such as "on 8f3c21aa: 7 processes share memory, ..." fits this machine. */
static const char *fits(const char *place) {
  char here[400];
  const char *colon = strstr(place, ": ");
  const int ranks = colon ? atoi(colon + 2) : 0;
  if (ranks < 1 || tutti_wisdom_here(ranks, here, sizeof here)) return "";
  if (strncmp(place, here, 9) == 0) return "fits: `tutti run` starts such ranks here";
  if (strcmp(machine_of(place), machine_of(here)) == 0)
    return "this machine: fits ranks that are placed like this";
  return "does not fit: another machine";
}

int wisdom_show(const char *title) {
  char *text;
  if (tutti_wisdom_export(&text)) return cli_fail(CLI_FAILED, "tune", "%s", tutti_error());
  if (title) printf("# %s\n", title);
  for (char *line = text, *next; *line; line = next) {
    next = line + strcspn(line, "\n");
    if (*next) *next++ = 0;
    printf("%s\n", line);
    if (strncmp(line, "on ", 3) == 0) printf("# %s\n", fits(line + 3));
  }
  tutti_text_free(text);
  return fflush(stdout) ? cli_fail(CLI_FAILED, "tune", "cannot write: %s", strerror(errno)) : 0;
}
