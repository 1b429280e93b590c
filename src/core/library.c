/* library.c - opens tutti's optional libraries by name.
 *
 * Idea       A library is searched for in the folder of libtutti, or of the program that contains it, and then on the
 *            system's path.
 * Invariant  A library is never unloaded, because threads may be running its code.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core.h"

/* Stores the folder of the file that contains this code. For a program that was started by its bare name, the folder is
 * found through /proc/self/exe. */
static void folder_here(char *folder, size_t size) {
  Dl_info info;
  if (!dladdr((void *)(uintptr_t)folder_here, &info) || !info.dli_fname) info.dli_fname = "";
  snprintf(folder, size, "%s", info.dli_fname);
  if (!strchr(folder, '/')) {
    const ssize_t n = readlink("/proc/self/exe", folder, size - 1);
    folder[n > 0 ? n : 0] = 0;
  }
  char *slash = strrchr(folder, '/');
  folder[slash ? slash - folder + 1 : 0] = 0;
}

static void *load(const char *of) {
  char folder[PATH_MAX], name[64], path[PATH_MAX + 64];
  if (strchr(of, '/')) return dlopen(of, RTLD_NOW | RTLD_LOCAL);
  snprintf(name, sizeof name, "libtutti_%s.so.%d", of, TUTTI_VERSION_MAJOR);
  folder_here(folder, sizeof folder);
  static const char *const places[] = {"", "../", "../lib/"}; /* for programs in build/ and bin/ */
  for (size_t i = 0; *folder && i < sizeof places / sizeof *places; i++) {
    snprintf(path, sizeof path, "%s%s%s", folder, places[i], name);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *tt_library_symbol(const char *of, const char *symbol, char *why, size_t size) {
  void *library = load(of), *found = library ? dlsym(library, symbol) : NULL;
  if (!library)
    snprintf(why, size, "%s", dlerror());
  else if (!found)
    snprintf(why, size, "it lacks %s", symbol);
  return found;
}
