/* log.c - log lines for the user: to the program's callback, and to the target of TUTTI_LOG.
 *
 * Idea       TUTTI_LOG consists of words separated by commas: a level (warn, info, debug), stderr, off, or the name of
 *            a file, to which lines are appended. Without it, lines go to the callback if there is one. Otherwise they
 *            go to stderr if TUTTI_EXPLAIN is set or a launcher started the job (`tutti run`), and are dropped if not.
 * Cost       Each line opens and closes its file. Lines are rare.
 * Invariant  Each line is written by a single call, so lines of several ranks do not mix.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

enum { OFF = -1, WARN, INFO, DEBUG };

typedef struct place {
  int level;       /* the highest level that is logged */
  bool chosen;     /* set by TUTTI_LOG, so lines go here in addition to a callback */
  char file[4096]; /* "": stderr */
} place;

static bool word_is(const char *word, size_t n, const char *name) {
  return strlen(name) == n && strncmp(word, name, n) == 0;
}

static void take_word(place *p, const char *word, size_t n) {
  static const char *const levels[] = {[WARN] = "warn", [INFO] = "info", [DEBUG] = "debug"};
  for (int i = WARN; i <= DEBUG; i++)
    if (word_is(word, n, levels[i])) {
      p->level = i;
      return;
    }
  if (word_is(word, n, "off"))
    p->level = OFF;
  else if (word_is(word, n, "stderr"))
    *p->file = 0;
  else if (n < sizeof p->file)
    snprintf(p->file, sizeof p->file, "%.*s", (int)n, word);
}

static bool env_is_set(const char *name) {
  const char *value = tt_env(name);
  return value && strcmp(value, "0") != 0;
}

static place find_place(void) {
  const char *said = tt_env("TUTTI_LOG");
  const bool explains = env_is_set("TUTTI_EXPLAIN"),
             run = tt_env("TUTTI_SHM_FD") || tt_env("TUTTI_ID");
  place p = {.level = explains ? INFO : said || run ? WARN : OFF, .chosen = said != NULL};
  while (said && *said) {
    const size_t n = strcspn(said, ",");
    if (n) take_word(&p, said, n);
    said += n + (said[n] == ',');
  }
  return p;
}

/* Returns the log's file descriptor: stderr or a file. Opening a pipe fails, instead of blocking, if it has no reader. */
static int open_place(const place *p) {
  if (!*p->file) return STDERR_FILENO;
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  return open(p->file, flags, 0666);
}

static void write_log_line(int fd, const char *line) {
  char text[700];
  const int n = snprintf(text, sizeof text, "tutti[%ld]: %s\n", (long)getpid(), line);
  if (write(fd, text, tt_min((size_t)n, sizeof text - 1)) < 0) return; /* the line is lost */
}

static void put_at(const place *p, const char *line) {
  const int fd = open_place(p);
  if (fd < 0) {
    char why[4400];
    snprintf(why, sizeof why, "TUTTI_LOG: '%.200s' cannot be written: %s; lines go to stderr",
             p->file, strerror(errno));
    if (tt_news("TUTTI_LOG", p->file)) write_log_line(STDERR_FILENO, why);
    write_log_line(STDERR_FILENO, line);
    return;
  }
  write_log_line(fd, line);
  if (fd != STDERR_FILENO) close(fd);
}

bool tt_log_heard(int level) {
  return tt_process.log.fn || find_place().level >= level;
}

void tt_log(int level, const char *format, ...) {
  tutti_log_fn *fn = tt_process.log.fn;
  const place p = find_place();
  const bool here = p.level >= level && (p.chosen || !fn);
  if (!fn && !here) return;
  const int before = errno;
  char line[600];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (fn) fn(tt_process.log.ctx, level, line);
  if (here) put_at(&p, line);
  errno = before;
}

void tutti_log_set(tutti_log_fn *fn, void *ctx) {
  tt_process.log.fn = fn;
  tt_process.log.ctx = ctx;
}
