/* cli.c - error messages, numbers, suggestions for misspelt names, starting a program. Each error
 * message is written with a single call, so that the lines of several processes do not mix.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"
#include "kept.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tutti_plan.h"

int cli_fail(int status, const char *command, const char *format, ...) {
  char line[2048];
  int n = command ? snprintf(line, sizeof line, "tutti %s: ", command)
                  : snprintf(line, sizeof line, "tutti: ");
  va_list args;
  va_start(args, format);
  int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
  va_end(args);
  size_t length = strlen(line);
  if (m < 0) length = (size_t)n;
  line[length++] = '\n';
  fflush(stdout);
  if (write(2, line, length) < 0) return status;
  return status;
}

int cli_help(const cli_command *command) {
  fputs(command->usage, stdout);
  return fflush(stdout) ? cli_fail(CLI_FAILED, NULL, "cannot write: %s", strerror(errno)) : 0;
}

static int name_of(const char *command, const char *what, const char *text,
                   const char *(*name)(int), int n) {
  const char *names[TUTTI_TYPE_COUNT + TUTTI_OP_COUNT + TUTTI_COLL_COUNT + 1] = {NULL};
  for (int i = 0; i < n; i++) {
    names[i] = name(i);
    if (strcmp(names[i], text) == 0) return i;
  }
  const char *near = cli_nearest(text, names);
  if (near)
    cli_fail(0, command, "no %s '%s'; did you mean '%s'?", what, text, near);
  else
    cli_fail(0, command, "no %s '%s'; see `tutti help %s`", what, text, command);
  return -1;
}

static const char *type_name(int i) {
  return tutti_type_name((tutti_type)i);
}
static const char *op_name(int i) {
  return tutti_op_name((tutti_op)i);
}
static const char *coll_name(int i) {
  return tutti_coll_name((tutti_coll)i);
}

int cli_type(const char *command, const char *text) {
  return name_of(command, "type", text, type_name, TUTTI_TYPE_COUNT);
}

int cli_op(const char *command, const char *text) {
  return name_of(command, "op", text, op_name, TUTTI_OP_COUNT);
}

int cli_coll(const char *command, const char *text) {
  return name_of(command, "collective", text, coll_name, TUTTI_COLL_COUNT);
}

int cli_format(const char *command, const char *text, bool csv, cli_form *form) {
  static const char *const names[] = {"text", "json", "csv"};
  for (int i = 0; i < 2 + csv; i++) {
    if (strcmp(names[i], text) != 0) continue;
    *form = (cli_form)i;
    return 0;
  }
  return cli_fail(CLI_USAGE, command, "--format is text%s json%s, not '%s'", csv ? "," : " or",
                  csv ? " or csv" : "", text);
}

void cli_json_string(const char *text, int length) {
  putchar('"');
  for (; *text && length > 0; text++, length--) {
    unsigned char c = (unsigned char)*text;
    if (c == '"' || c == '\\')
      printf("\\%c", c);
    else if (c < 32)
      printf("\\u%04x", c);
    else
      putchar(c);
  }
  putchar('"');
}

/* Returns the edit distance, counting a swap of adjacent letters as 1. Returns 99 if a word is longer than 63 bytes. */
static size_t distance(const char *a, const char *b) {
  size_t n = strlen(a), m = strlen(b);
  if (n > 63 || m > 63) return 99;
  size_t d[65][65];
  for (size_t i = 0; i <= n; i++) d[i][0] = i;
  for (size_t j = 0; j <= m; j++) d[0][j] = j;
  for (size_t i = 1; i <= n; i++)
    for (size_t j = 1; j <= m; j++) {
      size_t best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (d[i - 1][j] + 1 < best) best = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < best) best = d[i][j - 1] + 1;
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped && d[i - 2][j - 2] + 1 < best) best = d[i - 2][j - 2] + 1;
      d[i][j] = best;
    }
  return d[n][m];
}

const char *cli_nearest(const char *word, const char *const *names) {
  const char *best = NULL;
  size_t least = 99;
  for (; *names; names++) {
    size_t d = distance(word, *names);
    size_t limit = strlen(*names) / 3 + 1;
    bool begins = strlen(word) > 1 && strncmp(word, *names, strlen(word)) == 0;
    if (begins) d = 1;
    if (d <= limit && d < least) {
      least = d;
      best = *names;
    }
  }
  return best;
}

/* Options that were renamed: the old and the current name. */
static const struct {
  const char *old, *now;
} renamed[] = {{"-P", "-n N (or --ranks N)"},
               {"-j", "--format json"},
               {"--json", "--format json"},
               {"-J", "--format json -o FILE"},
               {"-t", "--levels"},
               {"--topo", "--levels"},
               {"-T", "--network"},
               {"--topology", "--network"},
               {"--net", "--network"},
               {"-r", "--root"},
               {"-w", "-o FILE"},
               {"--write", "-o FILE"}};

/* If the rejected option was renamed and the command has it under its new name, prints an error message that says so. */
static bool was_renamed(const char *command, const char *word, const struct option *options) {
  for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
    const char *now = renamed[i].now;
    if (strcmp(renamed[i].old, word) != 0) continue;
    for (const struct option *o = options; o->name; o++) {
      const bool is =
          now[1] == '-' ? strncmp(o->name, now + 2, strlen(o->name)) == 0 : o->val == now[1];
      if (is) return cli_fail(CLI_USAGE, command, "'%s' is no option; use %s", word, now);
    }
  }
  return false;
}

int cli_bad_option(const char *command, int got, char **argv, const struct option *options) {
  const char *word = argv[optind - 1];
  char letter[3] = {'-', (char)optopt, 0}, before[64];
  snprintf(before, sizeof before, "%.*s", (int)strcspn(word, "="), word);
  if (got != ':' && was_renamed(command, strncmp(word, "--", 2) ? letter : before, options))
    return CLI_USAGE;
  if (got == ':')
    return cli_fail(CLI_USAGE, command, "option '%s' needs a value; see `tutti help %s`", word,
                    command);
  if (strncmp(word, "--", 2) != 0)
    return cli_fail(CLI_USAGE, command, "no option '-%c'; see `tutti help %s`", optopt, command);
  const char *names[64];
  size_t n = 0;
  for (const struct option *o = options; o->name && n < 63; o++) names[n++] = o->name;
  names[n] = NULL;
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
  for (size_t i = 0; i < n; i++)
    if (strcmp(name, names[i]) == 0)
      return cli_fail(CLI_USAGE, command, "option '--%s' takes no value", name);
  const char *near = cli_nearest(name, names);
  if (near)
    return cli_fail(CLI_USAGE, command, "no option '--%s'; did you mean '--%s'?", name, near);
  return cli_fail(CLI_USAGE, command, "no option '--%s'; see `tutti help %s`", name, command);
}

bool cli_int(const char *text, long lo, long hi, long *value) {
  char *end;
  errno = 0;
  long n = strtol(text, &end, 10);
  bool good = end != text && *end == 0 && errno == 0 && n >= lo && n <= hi;
  if (good) *value = n;
  return good;
}

bool cli_size(const char *text, uint64_t *bytes) {
  static const char units[] = "KMGT";
  char *end;
  *bytes = 0;
  if (*text < '0' || *text > '9') return false;
  double value = strtod(text, &end);
  const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
  for (const char *u = units; unit && u <= unit; u++) value *= 1024;
  end += unit != NULL;
  if (*end && strcasecmp(end, "B") && strcasecmp(end, "iB")) return false;
  if (!(value >= 1 && value <= (double)((uint64_t)1 << 50))) return false;
  *bytes = (uint64_t)value;
  return true;
}

bool cli_seconds(const char *text, double *value) {
  char *end;
  errno = 0;
  double s = strtod(text, &end);
  bool good = end != text && *end == 0 && errno == 0 && s > 0 && s <= 3.2e8;
  if (good) *value = s;
  return good;
}

const char *cli_kept(const char *text) {
  static kept_names all;
  return kept_text(&all, text);
}

const char *cli_plan_name(const char *name, int slices, char text[CLI_PLAN]) {
  snprintf(text, CLI_PLAN, slices > 1 ? "%s in %d slices" : "%s", name, slices);
  return text;
}

double cli_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void cli_sort(double *numbers, size_t n) {
  qsort(numbers, n, sizeof *numbers, ascending);
}

static double middle(const double *sorted, size_t n, double part) {
  return sorted[(size_t)(part * (double)(n - 1) + 0.5)];
}

double cli_spread(double *numbers, size_t n) {
  cli_sort(numbers, n);
  return (middle(numbers, n, 0.75) - middle(numbers, n, 0.25)) / middle(numbers, n, 0.5);
}

/* Returns true if a folder of PATH contains a file with this name. */
static bool is_in_path(const char *name) {
  const char *path = getenv("PATH");
  if (strchr(name, '/') || !path) return true;
  for (size_t n; *path; path += n + (path[n] == ':')) {
    char file[PATH_MAX];
    n = strcspn(path, ":");
    const int length = snprintf(file, sizeof file, "%.*s/%s", (int)n, n ? path : ".", name);
    if (length < (int)sizeof file && access(file, F_OK) == 0) return true;
  }
  return false;
}

void cli_exec(char **argv) {
  execvp(argv[0], argv);
  if (errno == EACCES && !is_in_path(argv[0])) errno = ENOENT;
}
