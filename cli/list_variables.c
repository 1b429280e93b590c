/* list_variables.c - `tutti help variables`, and warnings about unknown variables.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "cli.h"
#include "tutti_plan.h"

enum { WIDTH = 88, INDENT = 6 };

/* Prints a text in lines of at most WIDTH columns. */
static void print_wrapped(const char *text) {
  int column = 0;
  while (*text) {
    const int n = (int)strcspn(text, " \n");
    if (column && column + 1 + n > WIDTH - INDENT) column = 0, putchar('\n');
    printf("%*s%.*s", column ? 1 : INDENT, "", n, text);
    column += (column != 0) + n;
    if (text[n] == '\n') column = WIDTH;
    text += n + (text[n] != 0);
  }
  putchar('\n');
}

int cli_list_variables(void) {
  const char *group, *before = "", *example, *meaning, *name;
  puts(
      "A setting is an environment variable, or a line NAME = value of /etc/tutti.conf or\n"
      "~/.config/tutti.conf. If a value is invalid, the log reports it once, and tutti uses the\n"
      "default. The log also reports TUTTI_ variables that are not in this list.");
  for (int i = 0; (name = tutti_variable(i, &group, &example, &meaning)); i++) {
    if (!*group) continue;
    if (strcmp(group, before) != 0) printf("\n%s\n", group);
    before = group;
    printf("\n  %s=%s\n", name, example);
    print_wrapped(meaning);
  }
  return fflush(stdout) ? CLI_FAILED : 0;
}

static const char *whose; /* the command that prints the warnings */

static void warn_of_it(void *ctx, int level, const char *line) {
  (void)ctx, (void)level;
  cli_fail(0, whose, "%s", line);
}

void cli_check_variables(const char *command) {
  whose = command;
  tutti_log_set(warn_of_it, NULL);
  tutti_setting("TUTTI_CONF"); /* reports wrong lines of configuration files to the log */
  tutti_log_set(NULL, NULL);
}
