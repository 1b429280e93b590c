/* tune_file.c - writes a profile: model parameters with their units, and how, where and when they
 * were measured.
 *
 * Invariant  a file is replaced completely or not at all. Parameters of this machine in the old
 *            file that were not measured now (those of a network, for example) are kept, unless
 *            they belong to a different network than the one measured now.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tune.h"
#include "tutti_plan.h"

void tune_add(tune_result *r, const char *name, double value, const char *meaning, ...) {
  if (r->figures == TUNE_FIGURES) return;
  tune_figure *f = &r->figure[r->figures++];
  va_list args;
  va_start(args, meaning);
  snprintf(f->name, sizeof f->name, "%s", name);
  f->value = value;
  vsnprintf(f->meaning, sizeof f->meaning, meaning, args);
  va_end(args);
}

void tune_note(tune_result *r, const char *format, ...) {
  if (r->notes == TUNE_NOTES) return;
  va_list args;
  va_start(args, format);
  vsnprintf(r->note[r->notes++], sizeof r->note[0], format, args);
  va_end(args);
}

/* ---- the path ---- */

bool tune_own_path(char *path, size_t size) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  if (config && *config == '/')
    return (size_t)snprintf(path, size, "%s/tutti/profile", config) < size;
  if (!home || *home != '/') return false;
  return (size_t)snprintf(path, size, "%s/.config/tutti/profile", home) < size;
}

/* Creates the missing folders in the path. */
static void make_folders(const char *path) {
  char folder[PATH_MAX];
  snprintf(folder, sizeof folder, "%s", path);
  for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(folder, 0755);
    *slash = '/';
  }
}

/* ---- the contents ---- */

/* Returns the description of this machine, in the words that the library prints. */
static const char *machine(void) {
  const char *line;
  for (int i = 0; (line = tutti_info(i)); i++)
    if (strncmp(line, "machine: ", 9) == 0) return line + 9;
  return "";
}

void tune_number(double value, char text[24]) {
  snprintf(text, 24, value >= 1 ? "%.0f" : "%.4g", value);
}

static void write_new(FILE *f, const tune_result *r) {
  char date[32], host[80] = "a host";
  const time_t now = time(NULL);
  struct tm utc;
  gethostname(host, sizeof host - 1);
  strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
  fprintf(
      f,
      "# Measured by `tutti tune` %s on %s, %s: the parameters of the cost model.\n"
      "# See docs/prices.md. You may change and remove lines; a missing parameter has its built-in "
      "value.\n",
      tutti_version(NULL, NULL, NULL), host, date);
  fprintf(f, "%-22s = %s\n", "machine", machine());
  if (*r->network) fprintf(f, "%-22s = %s\n", "network", r->network);
  for (int i = 0; i < r->figures; i++) {
    char value[24];
    tune_number(r->figure[i].value, value);
    fprintf(f, "%-22s = %-10s  # %s\n", r->figure[i].name, value, r->figure[i].meaning);
  }
  for (int i = 0; i < r->notes; i++) fprintf(f, "# %s\n", r->note[i]);
}

/* Reads NAME from a line of the form "NAME = VALUE". Returns false if the line does not have that form. */
static bool name_of(const char *line, char name[64]) {
  const char *at = line + strspn(line, " \t");
  const size_t n = strcspn(at, "= \t\r\n,#");
  if (!n || n >= 64 || at[n + strspn(at + n, " \t")] != '=') return false;
  memcpy(name, at, n);
  name[n] = 0;
  return true;
}

/* Returns true if this is a parameter of one of the compared hosts. A host number in a name may refer to any host. */
static bool of_host(const tune_result *r, const char *name) {
  if (strncmp(name, "host.", 5) != 0 || !strchr(name + 5, '.')) return false;
  const char *host = name + 5;
  const size_t n = (size_t)(strrchr(host, '.') - host);
  bool is = r->hosts && strspn(host, "0123456789-") == n;
  for (int i = 0; i < r->hosts && !is; i++) {
    const size_t length = strlen(r->host[i].name);
    is = length <= n && strncmp(r->host[i].name, host, length) == 0 &&
         (host[length] == '.' || length == n);
  }
  return is;
}

static bool measured(const tune_result *r, const char *name) {
  for (int i = 0; i < r->figures; i++)
    if (strcmp(r->figure[i].name, name) == 0) return true;
  if (of_host(r, name)) return true;
  return strcmp(name, "machine") == 0 || (*r->network && strcmp(name, "network") == 0);
}

/* Returns true if the old file is a profile of this machine or network. */
static bool says(FILE *old, const char *what, const char *which) {
  char line[512], name[64];
  bool is = false;
  while (old && fgets(line, sizeof line, old))
    if (name_of(line, name) && strcmp(name, what) == 0) is = strstr(line, which) != NULL;
  if (old) rewind(old);
  return is;
}

static bool of_network(const char *name) {
  return strncmp(name, "shm.", 4) != 0 && strncmp(name, "gamma", 5) != 0 &&
         strncmp(name, "code.", 5) != 0;
}

static void keep_old(FILE *f, FILE *old, const tune_result *r) {
  char line[512], name[64];
  const bool another = says(old, "network", "") && !says(old, "network", r->network);
  bool first = true;
  while (fgets(line, sizeof line, old)) {
    if (!name_of(line, name) || measured(r, name)) continue;
    if (*r->network && another && of_network(name)) continue;
    fprintf(f, "%s%s", first ? "# from before:\n" : "", line);
    first = false;
  }
}

static int cannot(const char *path, int why) {
  return cli_fail(CLI_FAILED, "tune", "cannot write '%s': %s", path, strerror(why));
}

/* Stores the name of the new file until it is complete. */
static int part_of(const char *path, char part[PATH_MAX]) {
  if ((size_t)snprintf(part, PATH_MAX, "%s.%ld", path, (long)getpid()) < PATH_MAX) return 0;
  return cli_fail(CLI_USAGE, "tune", "that name is too long");
}

int tune_ready(const char *path) {
  char part[PATH_MAX];
  if (strcmp(path, "-") == 0) return 0;
  const int status = part_of(path, part);
  if (status) return status;
  make_folders(path);
  FILE *f = fopen(part, "we");
  if (!f) return cannot(path, errno);
  fclose(f);
  unlink(part);
  return 0;
}

int tune_write(const char *path, const tune_result *r) {
  char part[PATH_MAX];
  if (strcmp(path, "-") == 0) {
    write_new(stdout, r);
    return fflush(stdout) ? cannot("stdout", errno) : 0;
  }
  const int status = part_of(path, part);
  if (status) return status;
  FILE *f = fopen(part, "we"), *old = fopen(path, "re");
  bool good = f != NULL;
  if (good) write_new(f, r);
  if (good && says(old, "machine", machine())) keep_old(f, old, r);
  if (good && ferror(f)) good = false;
  if (f && fclose(f)) good = false;
  if (old) fclose(old);
  if (good && rename(part, path) == 0) return 0;
  const int why = errno;
  unlink(part);
  return cannot(path, why);
}
