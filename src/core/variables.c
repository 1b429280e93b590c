/* variables.c - tutti's environment variables, and a warning about unknown ones.
 *
 * Idea       variables.def is the only table. A variable that starts with TUTTI_ and is not in the table is probably
 *            misspelled, and has no effect. It is reported once, with the most similar name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "tutti_plan.h"

extern char **environ;

static const char
    plans[] = "Which plan runs",
    logs[] = "Log and trace", waits[] = "Waiting",
    places[] = "Where ranks are, and how they connect", mpi[] = "MPI programs under tutti mpi",
    python[] = "Python and PyTorch", files[] = "Configuration files",
    debug[] = "For debugging\nAny version may change these variables. Some make tutti slower.",
    hidden[] = "";

static const struct {
  const char *name, *group, *example, *meaning;
} variables[] = {
#define TT_VARIABLE(name, group, in_file, type, otherwise, scope, example, meaning) \
  {"TUTTI_" #name, group, example,                                                  \
   "Type: " type ". Default: " otherwise ". Scope: " scope ".\n" meaning},
#define TT_HIDDEN(name, example, meaning) {"TUTTI_" #name, hidden, example, meaning},
#include "variables.def"
};
enum { VARIABLES = sizeof variables / sizeof *variables, LONGEST = 40 };

const char *tutti_variable(int i, const char **group, const char **example, const char **meaning) {
  if (i < 0 || i >= VARIABLES) return NULL;
  if (group) *group = variables[i].group;
  if (example) *example = variables[i].example;
  if (meaning) *meaning = variables[i].meaning;
  return variables[i].name;
}

/* Returns the number of letters that must be changed, added or removed to turn the first n letters of a name into b. */
static size_t edits(const char *a, size_t n, const char *b) {
  size_t row[LONGEST + 1];
  const size_t m = strlen(b);
  if (n > LONGEST || m > LONGEST) return LONGEST;
  for (size_t j = 0; j <= m; j++) row[j] = j;
  for (size_t i = 1; i <= n; i++) {
    size_t before = row[0];
    row[0] = i;
    for (size_t j = 1; j <= m; j++) {
      const size_t changed = before + (a[i - 1] != b[j - 1]);
      before = row[j];
      row[j] = tt_min(changed, tt_min(row[j], row[j - 1]) + 1);
    }
  }
  return row[m];
}

/* Finds the most similar name among those that users may set, or NULL if no name is similar enough. Sets *known if
 * `name` itself is a variable. */
static const char *nearest_variable(const char *name, size_t n, bool *known) {
  const char *best = NULL;
  size_t least = (n - 6) / 3 + 1; /* if more than a third of the letters differ, it is another
                                   * word */
  *known = false;
  for (int i = 0; i < VARIABLES && !*known; i++) {
    const size_t off = edits(name, n, variables[i].name);
    *known = off == 0;
    if (off >= least || variables[i].group == hidden) continue;
    least = off;
    best = variables[i].name;
  }
  return best;
}

/* Returns true if a name of n letters is a variable of tutti, otherwise reports it. `place` is empty or a line of a
 * file. */
static bool is_known(const char *place, const char *text, size_t n) {
  bool known;
  char name[80];
  const char *near = nearest_variable(text, n, &known);
  snprintf(name, sizeof name, "%.*s", (int)tt_min(n, sizeof name - 1), text);
  if (!known && tt_news(name, *place ? place : "unknown"))
    tt_log(0, "%s%s is not a variable of tutti and has no effect%s%s%s (`tutti help variables`)",
           place, name, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  return known;
}

static void check_config_line(const tt_config_line *l) {
  char place[300], number[16] = "";
  if (l->line) snprintf(number, sizeof number, ":%d", l->line);
  snprintf(place, sizeof place, "%.260s%s: ", l->file, number);
  if (!l->name && tt_news(place, l->value))
    tt_log(0, "%s%s; ignored", place, l->value);
  if (l->name && is_known(place, l->name, strlen(l->name)) && !tt_config_takes(l->name) &&
      tt_news(place, l->name))
    tt_log(0, "%s%s has no effect in a file; set it in the environment", place, l->name);
}

void tt_variables_check(void) {
  int n;
  const tt_config_line *lines = tt_config_lines(&n);
  for (int i = 0; i < n; i++) check_config_line(&lines[i]);
  for (char **entry = environ; entry && *entry; entry++)
    if (strncmp(*entry, "TUTTI_", 6) == 0) is_known("", *entry, strcspn(*entry, "="));
}

const char *tutti_setting(const char *name) {
  if (!name || strcmp(name, "TUTTI_CONF") != 0) return name ? tt_env(name) : NULL;
  tt_variables_check();
  return tt_config_files();
}
