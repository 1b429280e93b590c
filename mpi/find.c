/* find.c - the program's own MPI among the libraries that are loaded.
 *
 * Idea       No library of tutti's brings an MPI: the drop-in is preloaded into shells and launchers, which have none, and into
 *            programs whose MPI is another than this machine's. So MPI's functions, and Open MPI's predefined handles, are found by
 *            their names at the first call, in the library whose name says that it has this binary interface. It may be hidden
 *            from dlsym: Python loads an extension, and the MPI that it needs, locally, and late.
 * Names      The sonames. With MPICH's interface libmpi.so.12 (MPICH, Intel MPI, MVAPICH, ParaStation), libmpich.so.12 (Debian),
 *            libmpi_cray.so.12, libmpi_gnu_123.so.12 (HPE Cray); Open MPI's libmpi.so.40; the standard ABI's libmpi_abi.so.N.
 *            Some MPIs have the functions of the profiling interface in a library of their own, libpmpi*.
 * Two        If two MPIs of one interface are loaded, the program's is the one that the caller sees.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#ifndef TUTTI_MPI_SIMULATED

#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4 };

typedef struct loaded {
  int n;
  char path[MOST][512];
  void *library[MOST];
} loaded;

/* Of sonames (fnmatch). */
static const char *const of_mpich[] = {"libmpi.so.12*",  "libmpich.so.12*",  "libmpi_*.so.12*",
                                       "libpmpi.so.12*", "libpmpich.so.12*", NULL};
static const char *const of_ompi[] = {"libmpi.so.40*", NULL};
static const char *const of_abi[] = {"libmpi_abi.so.*", "libpmpi_abi.so.*", NULL};

int mpi_is_name(const char *soname) {
  const char *const *pattern = strcmp(TUTTI_MPI_FAMILY, "Open MPI") == 0 ? of_ompi
                               : strcmp(TUTTI_MPI_FAMILY, "MPICH") == 0  ? of_mpich
                                                                         : of_abi;
  while (*pattern && fnmatch(*pattern, soname, 0) != 0) pattern++;
  return *pattern != NULL;
}

/* The soname of a loaded library; its file's name if it has none. */
static const char *name_of(const struct dl_phdr_info *info) {
  const ElfW(Dyn) *d = NULL;
  const char *strings = NULL, *slash = strrchr(info->dlpi_name, '/');
  size_t at = 0;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  for (; d && d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_SONAME) at = d->d_un.d_val;
    if (d->d_tag == DT_STRTAB) /* a loader may have made an address of it, or not */
      strings =
          (const char *)(d->d_un.d_ptr + (d->d_un.d_ptr < info->dlpi_addr ? info->dlpi_addr : 0));
  }
  return strings && at ? strings + at : slash ? slash + 1 : info->dlpi_name;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *of) {
  loaded *all = of;
  (void)size;
  if (all->n < MOST && *info->dlpi_name && mpi_is_name(name_of(info)))
    snprintf(all->path[all->n++], sizeof *all->path, "%s", info->dlpi_name);
  return 0;
}

/* The path of the library that a function is in. */
static const char *path_of(const void *function) {
  Dl_info info;
  return function && dladdr(function, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Keep the MPIs, without libraries that belong to them. Only what is loaded already is opened. */
static void find_loaded(loaded *all) {
  int n = 0;
  dl_iterate_phdr(look_at, all);
  for (int i = 0; i < all->n; i++) {
    void *library = dlopen(all->path[i], RTLD_LAZY | RTLD_NOLOAD);
    const char *init = library ? path_of(dlsym(library, "PMPI_Init")) : "";
    if (strcmp(init, all->path[i]) == 0) {
      if (n != i) memmove(all->path[n], all->path[i], sizeof *all->path);
      all->library[n++] = library;
    } else if (library) {
      dlclose(library);
    }
  }
  all->n = n;
}

/* The path of the MPI that the code at this address calls by name. */
static const char *seen_from(const void *caller) {
  void *library = caller ? dlopen(path_of(caller), RTLD_LAZY | RTLD_NOLOAD) : NULL;
  const char *seen = library ? path_of(dlsym(library, "PMPI_Init")) : "";
  if (library) dlclose(library);
  return *seen ? seen : path_of(dlsym(RTLD_NEXT, "PMPI_Init"));
}

static void *own;      /* the MPI */
static char two[1200]; /* a sentence, if there are two */

int mpi_find_library(const void *caller) {
  loaded all = {.n = 0};
  int is = 0;
  if (own) return 1;
  find_loaded(&all);
  for (int i = 0; i < all.n && all.n > 1; i++)
    if (strcmp(all.path[i], seen_from(caller)) == 0) is = i;
  if (all.n > 1)
    snprintf(two, sizeof two,
             "this process has two MPIs, %s and %s; the collectives of %s are taken over",
             all.path[0], all.path[1], all.path[is]);
  own = all.n ? all.library[is] : NULL;
  return own != NULL;
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

void *mpi_find_object(const char *name) {
  void *own_object = mpi_find(RTLD_NEXT, name), *seen = dlsym(RTLD_DEFAULT, name);
  return seen && !mpi_is_of_name(seen) ? seen : own_object;
}

int mpi_is_of_name(const void *address) {
  const char *path = path_of(address);
  return dl_iterate_phdr(name_at, (void *)&path) && mpi_is_name(path);
}

#endif
