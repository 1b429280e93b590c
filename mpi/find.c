/* find.c - finds the program's MPI among the loaded libraries.
 *
 * Idea       tutti's libraries contain no MPI. The drop-in is preloaded into shells and launchers, which have none, and into
 *            programs with an MPI that may not be the one installed on this machine. MPI's functions, and Open MPI's
 *            predefined handles, are therefore looked up by name at the first call, in a loaded library that has the name of
 *            an MPI. dlsym may not see that library, because Python loads an extension, and the MPI that it needs, late and
 *            with local scope.
 * Names      The sonames. With MPICH's interface libmpi.so.12 (MPICH, Intel MPI, MVAPICH, ParaStation), libmpich.so.12 (Debian),
 *            libmpi_cray.so.12, libmpi_gnu_123.so.12 (HPE Cray); Open MPI's libmpi.so.40; the standard ABI's libmpi_abi.so.N.
 *            Some MPIs have the functions of the profiling interface in a separate library, libpmpi*.
 * Others     An MPI with another name is found if the caller of MPI_Init is linked with it; mpi_is_ours verifies it.
 * Several    The program's MPI is the one that the caller of MPI_Init uses, which may have a different interface than this
 *            library (mpi_is_ours). Otherwise, an MPI with this interface is chosen. If two have the same interface, a
 *            message reports it.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#ifndef TUTTI_MPI_SIMULATED

#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8 };

typedef struct loaded {
  int n;
  const char *family[MOST];
  char path[MOST][512];
  void *library[MOST];
} loaded;

/* The binary interfaces of MPI, and for each the patterns (see fnmatch) that the names of its libraries match. */
static const struct {
  const char *family, *patterns[6];
} interfaces[] = {
    {"the MPI ABI", {"libmpi_abi.so.*", "libpmpi_abi.so.*"}},
    {"Open MPI", {"libmpi.so.40*"}},
    {"MPICH",
     {"libmpi.so.12*", "libmpich.so.12*", "libmpi_*.so.12*", "libpmpi.so.12*", "libpmpich.so.12*"}},
};
enum { INTERFACES = sizeof interfaces / sizeof *interfaces };

/* Returns the family of the MPI that has a library with this name, or NULL if no MPI has. */
static const char *family_of(const char *soname) {
  for (int f = 0; f < INTERFACES; f++)
    for (int i = 0; interfaces[f].patterns[i]; i++)
      if (fnmatch(interfaces[f].patterns[i], soname, 0) == 0) return interfaces[f].family;
  return NULL;
}

static int is_ours(const char *family) {
  return family && strcmp(family, TUTTI_MPI_FAMILY) == 0;
}

/* Returns the soname of a loaded library, or its file name if it has none. */
static const char *name_of(const struct dl_phdr_info *info) {
  const ElfW(Dyn) *d = NULL;
  const char *strings = NULL, *slash = strrchr(info->dlpi_name, '/');
  size_t at = 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; d && d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SONAME) at = d->d_un.d_val;
    if (d->d_tag == DT_STRTAB) /* some loaders replace it by an address, others do not */
      strings =
          (const char *)(d->d_un.d_ptr + (d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0));
  }
  return strings && at ? strings + at : slash ? slash + 1 : info->dlpi_name;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *of) {
  loaded *all = of;
  const char *family = *info->dlpi_name ? family_of(name_of(info)) : NULL;
  (void)size;
  if (!family || all->n == MOST) return 0;
  all->family[all->n] = family;
  snprintf(all->path[all->n++], sizeof *all->path, "%s", info->dlpi_name);
  return 0;
}

/* Returns the path of the library that contains a function. */
static const char *path_of(const void *function) {
  Dl_info info;
  return function && dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Removes the libraries that an MPI consists of from the list, so that each MPI remains once. Opens only libraries that
 * are already loaded. */
static void find_loaded(loaded *all) {
  int n = 0;
  dl_iterate_phdr(look_at, all);
  for (int i = 0; i < all->n; i++) {
    void *library = dlopen(all->path[i], RTLD_LAZY | RTLD_NOLOAD);
    const char *init = library ? path_of(dlsym(library, "PMPI_Init")) : "";
    if (strcmp(init, all->path[i]) == 0) {
      if (n != i) memmove(all->path[n], all->path[i], sizeof *all->path);
      all->family[n] = all->family[i];
      all->library[n++] = library;
    } else if (library) {
      dlclose(library);
    }
  }
  all->n = n;
}

/* Returns the path of the MPI whose functions the code at this address calls, or "" if that is unknown. The program itself is
 * not a library that can be opened, so for its code the global symbols are used. */
static const char *seen_from(const void *caller) {
  void *library = caller ? dlopen(path_of(caller), RTLD_LAZY | RTLD_NOLOAD) : NULL;
  const char *seen = path_of(dlsym(library ? library : RTLD_NEXT, "PMPI_Init"));
  if (library) dlclose(library);
  return seen;
}

static void *own;      /* the program's MPI */
static char two[1200]; /* a sentence, if there are two MPIs */

/* Returns the index of the program's MPI. */
static int choose(const loaded *all, const void *caller) {
  const char *theirs = seen_from(caller), *everybodys = seen_from(NULL);
  int best = 0, points[MOST];
  for (int i = 0; i < all->n; i++) {
    points[i] = 4 * (strcmp(all->path[i], theirs) == 0) + 2 * is_ours(all->family[i]) +
                (strcmp(all->path[i], everybodys) == 0);
    if (points[i] > points[best]) best = i;
  }
  return best;
}

int mpi_find_library(const void *caller) {
  loaded all = {.n = 0};
  if (own) return 1;
  find_loaded(&all);
  if (!all.n) {
    const char *seen = seen_from(caller);
    own = *seen ? dlopen(seen, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return own != NULL;
  }
  const int is = choose(&all, caller);
  for (int i = 0; i < all.n; i++)
    if (i != is && strcmp(all.family[i], all.family[is]) == 0)
      snprintf(two, sizeof two,
               "this process has two MPIs, %s and %s; the collectives of %s are taken over",
               all.path[i < is ? i : is], all.path[i < is ? is : i], all.path[is]);
  own = all.library[is];
  return 1;
}

const char *mpi_two(void) {
  return *two ? two : NULL;
}

void *mpi_find(void *from, const char *name) {
  void *symbol = mpi_find_library(NULL) ? dlsym(own, name) : NULL;
  return symbol ? symbol : dlsym(from, name);
}

static int name_at(struct dl_phdr_info *info, size_t size, void *of) {
  const char **path = of;
  (void)size;
  if (!*info->dlpi_name || strcmp(info->dlpi_name, *path) != 0) return 0;
  *path = name_of(info);
  return 1;
}

const char *mpi_family_at(const void *address) {
  const char *path = path_of(address);
  return dl_iterate_phdr(name_at, (void *)&path) ? family_of(path) : NULL;
}

void *mpi_find_object(const char *name) {
  void *own_object = mpi_find(RTLD_NEXT, name), *seen = dlsym(RTLD_DEFAULT, name);
  return seen && !is_ours(mpi_family_at(seen)) ? seen : own_object;
}

#ifdef TUTTI_LATE_HANDLES
#define H(name) void *late_##name;
#include "abi/handles.def"
#endif

void mpi_find_handles(void) {
#ifdef TUTTI_LATE_HANDLES
#define H(name) late_##name = mpi_find_object(#name);
#include "abi/handles.def"
#endif
}

#endif
