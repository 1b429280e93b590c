/* refuse.h - checks the status and the error message of a call that must fail.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REFUSE_H
#define REFUSE_H

#include <stdio.h>
#include <string.h>

#include "tutti.h"

/* Returns 1 and prints a line if the check fails. `words` are separated by '|'. */
static inline int check_error(tutti_status got, tutti_status want, const char *words, int line) {
  char copy[300], *save = NULL;
  const char *missing = NULL, *sentence = tutti_error();
  snprintf(copy, sizeof copy, "%s", words);
  for (char *w = strtok_r(copy, "|", &save); w && !missing; w = strtok_r(NULL, "|", &save))
    if (!strstr(sentence, w)) missing = w;
  if (got == want && !missing) return 0;
  fprintf(stderr, "line %d: expected '%s' with '%s', got '%s': %s\n", line, tutti_strerror(want),
          words, tutti_strerror(got), got ? sentence : "");
  return 1;
}
#define BAD(call, want, words)     (check_error((call), (want), (words), __LINE__))
#define REFUSES(call, want, words) assert_int_equal(BAD(call, want, words), 0)

#endif
