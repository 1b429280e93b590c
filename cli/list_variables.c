/* list_variables.c - `tutti help variables`, and a complaint about variables that tutti does not know.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "tutti_plan.h"

extern char **environ;

enum { WIDTH = 88, INDENT = 6 };

/* Prints a text in lines of at most WIDTH columns. */
static void print_wrapped(const char *text) {
  int column = 0;
  while (*text) {
    const int n = (int)strcspn(text, " ");
    if (column && column + 1 + n > WIDTH - INDENT) column = 0, putchar('\n');
    printf("%*s%.*s", column ? 1 : INDENT, "", n, text);
    column += (column != 0) + n;
    text += n + (text[n] == ' ');
  }
  putchar('\n');
}

int cli_list_variables(void) {
  const char *group, *before = "", *example, *meaning, *name;
  puts(
      "Settings are environment variables. If a value is invalid, the log reports it once and\n"
      "tutti uses the default. The log also reports TUTTI_ variables that are not in this list.");
  for (int i = 0; (name = tutti_variable(i, &group, &example, &meaning)); i++) {
    if (strcmp(group, before) != 0) printf("\n%s\n", group);
    before = group;
    printf("\n  %s=%s\n", name, example);
    print_wrapped(meaning);
  }
  return fflush(stdout) ? CLI_FAILED : 0;
}

void cli_check_variables(const char *command) {
  const char *names[100], *name;
  int n = 0;
  while (n < 99 && (name = tutti_variable(n, NULL, NULL, NULL))) names[n++] = name;
  names[n] = NULL;
  for (char **entry = environ; *entry; entry++) {
    char word[64];
    bool known = strncmp(*entry, "TUTTI_", 6) != 0;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(*entry, "="), *entry);
    for (int i = 0; i < n && !known; i++) known = strcmp(word, names[i]) == 0;
    if (known) continue;
    const char *near = cli_nearest(word, names);
    cli_fail(0, command,
             "%s is not a variable of tutti and has no effect%s%s%s (`tutti help variables`)", word,
             near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
  }
}
