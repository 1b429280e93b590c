/* variables.c - the environment variables that tutti knows, and a warning for those that it does not.
 *
 * Idea       variables.def is the one table. A variable that begins with TUTTI_ and is not in it is probably
 *            misspelled, and has no effect. The log has a warning, once, with the most similar name.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "tutti_plan.h"

extern char **environ;

static const char plans[] = "Which plan runs", logs[] = "Log and trace", waits[] = "Waiting",
                  places[] = "Where ranks are, and how they meet",
                  mpi[] = "MPI programs under tutti mpi", python[] = "Python and PyTorch",
                  launcher[] = "Set by launchers, not by you", others[] = "Not read by tutti",
                  tests[] = "Tests";

static const struct {
  const char *name, *group, *example, *meaning;
} variables[] = {
#define TT_VARIABLE(name, group, example, meaning) {"TUTTI_" #name, group, example, meaning},
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

/* How many letters must be changed, added or left out to make n letters of a name the name b. */
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

/* The nearest name that a user may set; NULL: all are too different. Sets *known if `name` is a variable itself. */
static const char *nearest_variable(const char *name, size_t n, bool *known) {
  const char *best = NULL;
  size_t least = (n - 6) / 3 + 1; /* more than a third of the letters off is another word */
  *known = false;
  for (int i = 0; i < VARIABLES && !*known; i++) {
    const size_t off = edits(name, n, variables[i].name);
    *known = off == 0;
    if (off >= least || variables[i].group == tests || variables[i].group == launcher) continue;
    least = off;
    best = variables[i].name;
  }
  return best;
}

void tt_variables_check(void) {
  for (char **entry = environ; entry && *entry; entry++) {
    const size_t n = strcspn(*entry, "=");
    bool known;
    char name[80];
    if (strncmp(*entry, "TUTTI_", 6) != 0) continue;
    const char *near = nearest_variable(*entry, n, &known);
    snprintf(name, sizeof name, "%.*s", (int)tt_min(n, sizeof name - 1), *entry);
    if (known || !tt_news(name, "unknown")) continue;
    tt_log(0, "%s is not a variable of tutti and has no effect%s%s%s (`tutti help variables`)", name,
           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
}
