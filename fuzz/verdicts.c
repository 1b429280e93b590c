/* verdicts.c - prints the prover's verdicts on many schedules. stdin has the texts, each followed
 * by a line `.`. stdout gets a line for each: `proven`, or `refused` or `unreadable` with the
 * reason.
 *
 * Idea       it calls the same function as `tutti plan check`, but needs no process for each text
 *            (models/prove_fuzz.py).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tutti.h"
#include "tutti_plan.h"

static void say_verdict(const char *text) {
  tutti_report report = {.size = sizeof report};
  const tutti_status status = tutti_schedule_check(text, &report);
  if (status == TUTTI_ERR_SCHEDULE)
    printf("unreadable %s\n", tutti_error());
  else if (status)
    printf("failed %s\n", tutti_error());
  else
    printf(report.proven ? "proven\n" : "refused %s\n", report.witness);
}

int main(void) {
  char *line = NULL, *text = NULL;
  size_t room = 0, length = 0, most = 0;
  for (ssize_t n; (n = getline(&line, &room, stdin)) >= 0;) {
    if (strcmp(line, ".\n") == 0) {
      say_verdict(text ? text : "");
      length = 0;
      if (text) *text = 0;
      continue;
    }
    if (length + (size_t)n + 1 > most) {
      char *more = realloc(text, most = 2 * (length + (size_t)n + 1));
      if (!more) return fprintf(stderr, "verdicts: out of memory\n"), 2;
      text = more;
    }
    memcpy(text + length, line, (size_t)n + 1);
    length += (size_t)n;
  }
  free(line);
  free(text);
  return fflush(stdout) ? 2 : 0;
}
