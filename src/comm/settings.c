/* settings.c - the user's settings for this machine: model parameters, measured by `tutti tune` or built in; the
 * contract; the topology.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "settings.h"
#include "topo.h"

enum { MOST = 1 << 16 }; /* maximum size of a file, in bytes */

/* Reads a small file into *text, which the caller frees. Accepts only regular files, because reading from a pipe
 * might block forever. Error messages begin with `what` and end with `hint`. */
static tutti_status read_file(const char *path, const char *what, const char *hint, char **text) {
  struct stat is;
  size_t n = 0;
  int column;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  const bool odd = fd >= 0 && !fstat(fd, &is) && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode);
  *text = fd < 0 || odd ? NULL : tt_file_read(fd, MOST, &n);
  const char *why = odd ? "it is not a regular file" : *text ? NULL : strerror(errno);
  if (fd >= 0) close(fd);
  if (why) return tt_fail(TUTTI_ERR_ARG, "%s cannot be read: %s%s", what, why, hint);
  if (strlen(*text) == n) return TUTTI_OK;
  const int line = tt_line_of_text(*text, *text + strlen(*text), &column);
  free(*text);
  *text = NULL;
  return tt_fail(TUTTI_ERR_ARG, "%s, line %d, column %d: expected text, found a NUL byte", what,
                 line, column);
}

/* ---- profiles ---- */

/* Writes the path of a file in the user's configuration folder. Returns false if the environment does not define one. */
static bool user_folder(char *path, size_t size, const char *file) {
  const char *config = tt_env("XDG_CONFIG_HOME"), *home = tt_env("HOME");
  if (config && *config == '/')
    return (size_t)snprintf(path, size, "%s/tutti/%s", config, file) < size;
  if (!home || *home != '/') return false;
  return (size_t)snprintf(path, size, "%s/.config/tutti/%s", home, file) < size;
}

/* Finds the profile: the file that TUTTI_PROFILE names, which must exist, or else the profile of the user, or else
 * the profile of the system. Returns false if none exists, or if TUTTI_PROFILE is "none". */
static bool find_profile(char *path, size_t size) {
  const char *said = tt_env("TUTTI_PROFILE");
  if (said) return strcmp(said, "none") != 0 && (size_t)snprintf(path, size, "%s", said) < size;
  if (user_folder(path, size, "profile") && access(path, F_OK) == 0) return true;
  return (size_t)snprintf(path, size, "/etc/tutti/profile") < size && access(path, F_OK) == 0;
}

const char *tt_profile_path(char *text, size_t size) {
  if (!find_profile(text, size))
    snprintf(text, size, "none, so the built-in parameters (`tutti tune` measures this machine)");
  return text;
}

/* Rejects parameters that were measured on another machine, because they are worse than the built-in ones. */
static tutti_status check_machine(const char *path, const char *text, const tt_profile *m) {
  char here[TT_STAMP];
  int column;
  if (!*m->of || strcmp(m->of, tt_machine_name(here, sizeof here)) == 0) return TUTTI_OK;
  const int line = tt_profile_said(text, &column);
  return tt_fail(
      TUTTI_ERR_ARG,
      "profile '%.250s', line %d, column %d: its parameters are of '%s', and this machine "
      "is '%s'; measure it with `tutti tune`, or remove the line",
      path, line, column, m->of, here);
}

static tutti_status read_profile(const char *path, tt_profile *profile) {
  char what[300], *text;
  snprintf(what, sizeof what, "profile '%.250s'", path);
  tutti_status status = read_file(path, what, "", &text);
  tt_profile m = *profile;
  if (!status) status = tt_profile_parse(&m, text, what);
  if (!status) status = check_machine(path, text, &m);
  if (!status) *profile = m;
  free(text);
  return status;
}

void tt_profile_here(tt_profile *profile) {
  char path[4096];
  tt_profile_shm(profile);
  if (find_profile(path, sizeof path) && read_profile(path, profile))
    tt_log(0, "%s; the built-in parameters are used", tutti_error());
}

void tt_profile_over(tt_profile *profile, const char *network) {
  char path[400];
  if (!*profile->over || strcmp(profile->over, network) == 0) return;
  if (tt_news(profile->over, network))
    tt_log(
        0,
        "profile '%.250s': its network parameters are of '%s', and this one is '%s'; the "
        "built-in ones are used; measure it with `tutti tune` (docs/prices.md), or take the line "
        "`network =` out",
        tt_profile_path(path, sizeof path), profile->over, network);
  tt_profile_forget_net(profile);
}

static const char *const contract_words[] = {[TUTTI_CONTRACT_SAME] = "same",
                                             [TUTTI_CONTRACT_ANY] = "any",
                                             [TUTTI_CONTRACT_RUN] = "run",
                                             [TUTTI_CONTRACT_ELEMENT] = "element",
                                             [TUTTI_CONTRACT_EXACT] = "exact"};

tutti_status tt_contract_check(const char *who, tutti_contract contract, int ranks) {
  if ((unsigned)contract > TUTTI_CONTRACT_EXACT)
    return tt_fail(TUTTI_ERR_ARG, "%s: unknown contract %d", who, (int)contract);
  return contract == TUTTI_CONTRACT_EXACT ? tt_exact_ranks(who, ranks) : TUTTI_OK;
}

tutti_status tt_code_contract(const char *who, const tt_code_wish *wish, tutti_contract contract) {
  if (contract < TUTTI_CONTRACT_ELEMENT || !tt_code_lossy(wish->code)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_UNSUPPORTED,
                 "%s: the contract '%s' allows no error; use 'lossless', or another contract", who,
                 contract_words[contract]);
}

tutti_status tt_contract_read(const char *word, int ranks, tutti_contract *contract) {
  *contract = TUTTI_CONTRACT_SAME;
  if (!word) return TUTTI_OK;
  for (int i = TUTTI_CONTRACT_SAME; i <= TUTTI_CONTRACT_EXACT; i++)
    if (strcmp(word, contract_words[i]) == 0) {
      *contract = (tutti_contract)i;
      return tt_contract_check("TUTTI_CONTRACT", *contract, ranks);
    }
  return tt_fail(TUTTI_ERR_ARG,
                 "TUTTI_CONTRACT is '%.40s'; it can be same, any, run, element or exact", word);
}

tutti_status tt_topology_read(const char *value, char **text, char *name, size_t size) {
  const bool file = *value == '/' || *value == '.' || !strchr(value, ':');
  snprintf(name, size, file ? "topology '%.150s'" : "TUTTI_TOPO", value);
  if (file) return read_file(value, name, "; it is a file, or levels such as node:4 core:8", text);
  *text = strdup(value);
  return *text ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for the topology");
}

double tt_connect_timeout(double otherwise) {
  const double limit = tt_env_seconds("TUTTI_CONNECT_TIMEOUT");
  return limit > 0 ? limit : otherwise;
}
