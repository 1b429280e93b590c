/* setting.c - what the user says of this machine: its figures, or those that are built in;
 * how ranks sit.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"

enum { MOST = 1 << 16 }; /* bytes of a file */

/* The text of a small file; NULL, and errno says why. */
static char *read_file(const char *path) {
  FILE *f = fopen(path, "re");
  char *text = f ? malloc(MOST + 1) : NULL;
  if (text) {
    const size_t n = fread(text, 1, MOST, f);
    text[n] = 0;
    if (ferror(f) || n == MOST) {
      if (!ferror(f)) errno = EFBIG;
      free(text);
      text = NULL;
    }
  }
  const int why = errno;
  if (f) fclose(f);
  errno = why;
  return text;
}

tutti_status tt_machine_read(const char *path, tt_machine *machine) {
  char *text = read_file(path);
  if (!text) return tt_fail(TUTTI_ERR_ARG, "the profile '%s' can not be read: %s", path, strerror(errno));
  char what[300];
  snprintf(what, sizeof what, "profile '%.250s'", path);
  tutti_status status = tt_machine_parse(machine, text, what);
  free(text);
  return status;
}

void tt_machine_here(tt_machine *machine) {
  const char *path = tt_env("TUTTI_PROFILE");
  tt_machine_shm(machine);
  if (path && tt_machine_read(path, machine))
    tt_log(0, "%s; the built-in figures are used", tutti_error());
}

tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks) {
  if ((unsigned)contract > TUTTI_CONTRACT_EXACT)
    return tt_fail(TUTTI_ERR_ARG, "%s: there is no contract %d", who, (int)contract);
  return contract == TUTTI_CONTRACT_EXACT ? tt_exact_ranks(who, ranks) : TUTTI_OK;
}

tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract) {
  static const char *const words[] = {[TUTTI_CONTRACT_SAME] = "same",
                                      [TUTTI_CONTRACT_ANY] = "any",
                                      [TUTTI_CONTRACT_RUN] = "run",
                                      [TUTTI_CONTRACT_EXACT] = "exact"};
  *contract = TUTTI_CONTRACT_SAME;
  if (!word) return TUTTI_OK;
  for (int i = 0; i <= TUTTI_CONTRACT_EXACT; i++)
    if (strcmp(word, words[i]) == 0) {
      *contract = (tutti_contract)i;
      return tt_contract_check("TUTTI_CONTRACT", *contract, ranks);
    }
  return tt_fail(TUTTI_ERR_ARG, "TUTTI_CONTRACT is '%.40s'; it can be same, any, run or exact",
                 word);
}

tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size) {
  const bool file = *value == '/' || *value == '.' || !strchr(value, ':');
  *text = file ? read_file(value) : strdup(value);
  snprintf(name, size, file ? "topology '%.150s'" : "TUTTI_TOPO", value);
  if (*text) return TUTTI_OK;
  if (!file) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the topology");
  return tt_fail(TUTTI_ERR_ARG,
                 "the topology '%.150s' can not be read: %s; it is a file, or levels such as "
                 "node:4 core:8",
                 value, strerror(errno));
}
