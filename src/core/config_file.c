/* config_file.c - reads variables from configuration files.
 *
 * Idea       A file consists of lines NAME = value and of comments that start with #. /etc/tutti.conf is read first,
 *            and then the user's file, whose lines take precedence. If TUTTI_CONF is set, it names the only file.
 *            tt_env searches these lines if the environment lacks a variable. The files are read once per process, when
 *            the first variable is read.
 * Invariant  An invalid line has no effect. It is kept for tt_variables_check, which reports its file and number.
 *            Variables that launchers set, or that are not read with tt_env, are never taken from a file.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

enum { MOST_BYTES = 1 << 16, MOST_LINES = 512, FILES = 2 };

/* Network libraries contain a separate copy of this file, but no copy of tt_process. */
static struct {
  pthread_once_t once;
  int n;
  tt_config_line lines[MOST_LINES];
  char paths[FILES][PATH_MAX + 32]; /* file names, which the lines point to */
  char *texts[FILES];               /* their contents, never freed, because lines point to them */
  int ntexts;
  char files[FILES * (PATH_MAX + 32)];
} tt_config = {.once = PTHREAD_ONCE_INIT};

static const char blanks[] = " \t\r";
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

bool tt_config_takes(const char *name) {
#define TT_VARIABLE(variable, group, in_file, type, otherwise, scope, example, meaning) \
  if (!in_file && strcmp(name, "TUTTI_" #variable) == 0) return false;
#define TT_HIDDEN(variable, example, meaning) \
  if (strcmp(name, "TUTTI_" #variable) == 0) return false;
#include "variables.def"
  return true;
}

/* Removes blanks at the beginning and the end of a text. */
static char *trimmed(char *text) {
  text += strspn(text, blanks);
  for (size_t n = strlen(text); n > 0 && strchr(blanks, text[n - 1]);) text[--n] = 0;
  return text;
}

/* Returns the value without quotes and without a comment after it. Returns NULL if a closing quote is missing, or if
 * anything but a comment follows it. */
static char *value_in(char *text) {
  char quote[2] = {*text, 0}, *end;
  if (*text != '"' && *text != '\'') {
    for (end = text; *end && !(*end == '#' && (end == text || strchr(blanks, end[-1]))); end++)
      continue;
    *end = 0;
    return trimmed(text);
  }
  end = text + 1 + strcspn(text + 1, quote);
  const char *rest = *end ? end + 1 + strspn(end + 1, blanks) : "missing";
  if (*rest && *rest != '#') return NULL;
  *end = 0;
  return text + 1;
}

int tt_config_parse(const char *file, char *text, tt_config_line *to, int most) {
  int n = 0, number = 0;
  for (char *next; text && n < most; text = next) {
    next = strchr(text, '\n');
    if (next) *next++ = 0;
    number++;
    text = trimmed(text);
    if (!*text || *text == '#') continue;
    char *equals = strchr(text, '='),
         *value = equals ? value_in(equals + 1 + strspn(equals + 1, blanks)) : NULL;
    if (equals) *equals = 0;
    const char *name = trimmed(text);
    const bool good = value && strncmp(name, "TUTTI_", 6) == 0 && !name[strspn(name, letters)];
    to[n++] = (tt_config_line){file, number, good ? name : NULL,
                               good ? value : "expected TUTTI_NAME = value"};
  }
  return n;
}

static void read_config(const char *path, bool must) {
  size_t length;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  char *text = fd < 0 ? NULL : tt_file_read(fd, MOST_BYTES, &length);
  const int why = errno;
  if (fd >= 0) close(fd);
  if (text) {
    tt_config.texts[tt_config.ntexts++] = text;
    snprintf(tt_config.files + strlen(tt_config.files),
             sizeof tt_config.files - strlen(tt_config.files), "%s%s", *tt_config.files ? ", " : "",
             path);
    tt_config.n +=
        tt_config_parse(path, text, tt_config.lines + tt_config.n, MOST_LINES - tt_config.n);
  } else if ((must || why != ENOENT) && tt_config.n < MOST_LINES) {
    tt_config.lines[tt_config.n++] = (tt_config_line){path, 0, NULL, strerror(why)};
  }
}

static void read_all_configs(void) {
  const char *only = secure_getenv("TUTTI_CONF"), *config = secure_getenv("XDG_CONFIG_HOME"),
             *home = secure_getenv("HOME");
  snprintf(tt_config.paths[0], sizeof *tt_config.paths, "%s",
           only && *only ? only : "/etc/tutti.conf");
  read_config(tt_config.paths[0], only && *only);
  if ((only && *only) || !((config && *config) || (home && *home))) return;
  if (config && *config)
    snprintf(tt_config.paths[1], sizeof *tt_config.paths, "%s/tutti.conf", config);
  else
    snprintf(tt_config.paths[1], sizeof *tt_config.paths, "%s/.config/tutti.conf", home);
  read_config(tt_config.paths[1], false);
}

const tt_config_line *tt_config_lines(int *n) {
  pthread_once(&tt_config.once, read_all_configs);
  *n = tt_config.n;
  return tt_config.lines;
}

const char *tt_config_files(void) {
  int n;
  tt_config_lines(&n);
  return *tt_config.files ? tt_config.files : NULL;
}

const char *tt_config_value(const char *name) {
  int n;
  const tt_config_line *all = tt_config_lines(&n);
  if (n == 0 || !tt_config_takes(name)) return NULL;
  while (n-- > 0)
    if (all[n].name && strcmp(all[n].name, name) == 0) return all[n].value;
  return NULL;
}
