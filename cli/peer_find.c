/* peer_find.c - finds the installed libraries for --compare.
 *
 * Idea      An MPI is found through its launcher, whose --version identifies the MPI. The command
 *           searches for the launcher in the folder that --compare names, in the active virtual
 *           environment, in ~/.local (where PyPI's packages install it), and in PATH (where
 *           Debian's is). The library is near the launcher. gloo and NCCL are part of PyTorch.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "family.h"
#include "peer.h"

#ifndef MULTIARCH
#define MULTIARCH ""
#endif
#define VENV "python3 -m venv peers && peers/bin/pip install "

/* A library that can be named in --compare. `says` has patterns for the version text that the launcher prints.
 * `other` is a pattern that this text must not match. */
typedef struct known {
  const char *name;
  peer_kind kind;
  const char *launchers[5], *libraries[3], *says[4], *other, *get;
} known;
static const known all[] = {
    {"openmpi",
     PEER_OMPI,
     {"mpirun.openmpi", "mpirun", "mpiexec", NULL},
     {"libmpi.so.40", NULL},
     {"*Open MPI*", "*OpenRTE*", "*PRRTE*", NULL},
     "",
     "apt install openmpi-bin, or " VENV "openmpi, and --compare openmpi=peers"},
    {"mpich",
     PEER_MPICH,
     {"mpirun.mpich", "mpiexec.hydra", "mpirun", "mpiexec", NULL},
     {"libmpich.so.12", "libmpi.so.12", NULL},
     {"*HYDRA*", "*MPICH*", NULL},
     "*Intel*",
     "apt install mpich, or " VENV "mpich, and --compare mpich=peers"},
    {"intelmpi",
     PEER_MPICH,
     {"mpiexec.hydra", "mpirun", "mpiexec", NULL},
     {"libmpi.so.12", NULL},
     {"*Intel*MPI*", NULL},
     "",
     VENV "impi-rt, and --compare intelmpi=peers"},
    {"gloo", PEER_TORCH, {NULL}, {NULL}, {NULL}, "", "apt install python3-torch, or " VENV "torch"},
    {"nccl", PEER_TORCH, {NULL}, {NULL}, {NULL}, "", VENV "torch, and --compare nccl=peers"},
    {"oneccl", PEER_NONE, {NULL}, {NULL}, {NULL}, "", VENV "oneccl-cpu"},
};
enum { KNOWN = sizeof all / sizeof *all };

/* ---- MPIs ---- */

/* Returns true if the library is installed near the launcher, or in a folder that the dynamic loader searches. */
static bool find_library(const known *k, peer_place *p) {
  static const char *const folders[] = {"lib", "lib64", "lib/" MULTIARCH, "lib/release"};
  char real[PATH_MAX];
  if (!realpath(p->launcher, real)) return false;
  for (int up = 0; up < 2; up++) { /* skips bin/NAME */
    char *slash = strrchr(real, '/');
    if (slash) *slash = 0;
  }
  for (int f = 0; f < 4; f++)
    for (int i = 0; k->libraries[i]; i++)
      if (snprintf(p->library, sizeof p->library, "%s/%s/%s", real, folders[f], k->libraries[i]) <
              (int)sizeof p->library &&
          access(p->library, R_OK) == 0)
        return true;
  for (int i = 0; k->libraries[i]; i++) {
    void *library = dlopen(k->libraries[i], RTLD_LAZY | RTLD_LOCAL);
    snprintf(p->library, sizeof p->library, "%s", k->libraries[i]);
    if (library) return true;
  }
  return false;
}

static bool is_its_launcher(const known *k, const char *path) {
  char text[8192];
  bool is = false;
  if (access(path, X_OK) != 0) return false;
  family_version(path, text, sizeof text);
  for (int i = 0; k->says[i] && !is; i++) is = fnmatch(k->says[i], text, 0) == 0;
  return is && !(*k->other && fnmatch(k->other, text, 0) == 0);
}

/* Searches this folder for the launcher and its library. */
static bool find_in(const known *k, const char *folder, size_t length, peer_place *p) {
  for (int i = 0; k->launchers[i]; i++) {
    const int n =
        snprintf(p->launcher, sizeof p->launcher, "%.*s/%s", (int)length, folder, k->launchers[i]);
    if (n < (int)sizeof p->launcher && is_its_launcher(k, p->launcher) && find_library(k, p))
      return true;
  }
  return false;
}

static bool find_in_path(const known *k, peer_place *p) {
  for (const char *at = getenv("PATH"); at && *at;) {
    const size_t n = strcspn(at, ":");
    if (n && find_in(k, at, n, p)) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

static bool find_below(const known *k, const char *prefix, const char *below, peer_place *p) {
  char folder[PATH_MAX];
  if (!prefix || !*prefix) return false;
  snprintf(folder, sizeof folder, "%s%s", prefix, below);
  return find_in(k, folder, strlen(folder), p);
}

static bool find_mpi(const known *k, const char *given, peer_place *p) {
  if (given) return find_below(k, given, "/bin", p) || find_below(k, given, "", p);
  return find_below(k, getenv("VIRTUAL_ENV"), "/bin", p) || find_in_path(k, p) ||
         find_below(k, getenv("HOME"), "/.local/bin", p);
}

/* ---- libraries of PyTorch ---- */

/* Checks whether this Python can import torch with the wanted backend. Stores the path of the Python, or "" and the
 * reason why it cannot be used. */
static bool try_python(const known *k, const char *python, peer_place *p) {
  static const char nccl[] =
      "import torch, torch.distributed as d\n"
      "print('COUNT', torch.cuda.device_count() if d.is_available() and d.is_nccl_available() else "
      "-1)";
  static const char gloo[] =
      "import torch.distributed as d\nd.GradBucket\nprint('COUNT', d.is_gloo_available() "
      "if hasattr(d, 'is_gloo_available') else 1)";
  const bool is_nccl = strcmp(k->name, "nccl") == 0;
  char text[4096];
  const char *argv[] = {python, "-c", is_nccl ? nccl : gloo, NULL};
  family_output((char *const *)argv, text, sizeof text);
  const char *at = strstr(text, "COUNT ");
  if (!at) return false;
  snprintf(p->library, sizeof p->library, "%s", python);
  p->gpus = is_nccl ? atoi(at + 6) : 0;
  const int count = strncmp(at + 6, "True", 4) == 0 ? 1 : atoi(at + 6);
  if (is_nccl && count < 0)
    snprintf(p->why, sizeof p->why, "the PyTorch of %s was built without NCCL", python);
  else if (is_nccl && count == 0)
    snprintf(p->why, sizeof p->why, "NCCL needs GPUs, and PyTorch finds none here");
  else if (count == 0)
    snprintf(p->why, sizeof p->why, "the PyTorch of %s was built without gloo", python);
  else
    p->kind = PEER_TORCH;
  return true;
}

static bool find_torch(const known *k, const char *given, peer_place *p) {
  static const char *const forms[] = {"%s/bin/python3", "%s/bin/python", "%s"};
  const char *venv = getenv("VIRTUAL_ENV");
  char python[PATH_MAX];
  for (int i = 0; i < 3 && (given || venv); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(python, sizeof python, forms[i], given ? given : venv);
#pragma GCC diagnostic pop
    if (access(python, X_OK) == 0 && try_python(k, python, p)) return true;
  }
  return !given && (try_python(k, "python3", p) || try_python(k, "/usr/bin/python3", p));
}

/* ---- the list ---- */

static const known *known_named(const char *name, size_t length) {
  for (int i = 0; i < KNOWN; i++)
    if (strlen(all[i].name) == length && strncmp(all[i].name, name, length) == 0) return &all[i];
  return NULL;
}

static int unknown(const char *name, size_t length) {
  const char *names[KNOWN + 1] = {NULL};
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)length, name);
  for (int i = 0; i < KNOWN; i++) names[i] = all[i].name;
  const char *near = cli_nearest(word, names);
  return cli_fail(
      CLI_USAGE, "bench",
      "--compare: no library '%s'%s%s%s; there are openmpi, mpich, intelmpi, oneccl, gloo and nccl",
      word, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* oneCCL is not measured, because its C++ interface can only be used by compiled code. Reports which part is
 * missing. */
static void look_at_oneccl(const known *k, const char *given, peer_place *p) {
  const char *venv = given ? given : getenv("VIRTUAL_ENV");
  static const char through[] = "oneCCL sums between CPUs through Intel MPI: --compare intelmpi";
  snprintf(p->library, sizeof p->library, "%s%slibccl.so.1", venv ? venv : "", venv ? "/lib/" : "");
  if (dlopen(p->library, RTLD_LAZY | RTLD_LOCAL))
    snprintf(p->why, sizeof p->why,
             "%.200s has a C++ interface only, which this command cannot call. %s", p->library,
             through);
  else if (venv && access(p->library, R_OK) == 0)
    snprintf(p->why, sizeof p->why, "it cannot be loaded: %.250s. %s", dlerror(), through);
  else
    snprintf(p->why, sizeof p->why, "not found. To get it: %s. %s", k->get, through);
}

static void look(const known *k, const char *given, peer_place *p) {
  *p = (peer_place){.name = k->name, .kind = PEER_NONE};
  if (k->kind == PEER_NONE) {
    look_at_oneccl(k, given, p);
    return;
  }
  const bool found = k->kind == PEER_TORCH ? find_torch(k, given, p) : find_mpi(k, given, p);
  if (found && k->kind != PEER_TORCH) p->kind = k->kind;
  if (!found && given)
    snprintf(p->why, sizeof p->why, "%s has no %s", given,
             k->kind == PEER_TORCH ? "Python with PyTorch" : k->name);
  else if (!found)
    snprintf(p->why, sizeof p->why, "not found. To get it: %s", k->get);
}

int peer_list(const char *text, peer_place places[PEERS], int *n) {
  for (*n = 0; *text;) {
    char given[PATH_MAX] = "";
    const size_t whole = strcspn(text, ","), name = strcspn(text, ",=");
    const known *k = known_named(text, name);
    if (!k) return unknown(text, name);
    if (*n == PEERS) return cli_fail(CLI_USAGE, "bench", "--compare: at most %d libraries", PEERS);
    if (name < whole)
      snprintf(given, sizeof given, "%.*s", (int)(whole - name - 1), text + name + 1);
    look(k, *given ? given : NULL, &places[(*n)++]);
    text += whole + (text[whole] == ',');
  }
  return *n ? 0
            : cli_fail(CLI_USAGE, "bench",
                       "--compare: with which library? --compare openmpi,mpich");
}
