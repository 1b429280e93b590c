/* find.c - the functions of whichever MPI with the standard ABI this process has.
 *
 * Idea       A library for the ABI is linked with no MPI: it is preloaded into shells and launchers, which have none,
 *            and a library that is missing would end them. So it finds MPI's functions by their names, at the first
 *            call. They may be hidden from dlsym: Python loads an extension, and the MPI that it needs, locally.
 * Names      MPICH 5.0 says libmpi_abi.so.0, Open MPI 6 and later MPICHs say libmpi_abi.so.1. MPICH has the functions
 *            of the profiling interface in a library of their own.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "calls.h"

#ifdef TUTTI_MPI_ABI

static const char *const libraries[] = {"libmpi_abi.so.1", "libmpi_abi.so.0", "libpmpi_abi.so.1",
                                        "libpmpi_abi.so.0"};
enum { LIBRARIES = sizeof libraries / sizeof *libraries };

/* Only libraries that are loaded already are searched. */
void *mpi_find(void *from, const char *name) {
  void *function = dlsym(from, name);
  for (int i = 0; !function && i < LIBRARIES; i++) {
    void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!library) continue;
    function = dlsym(library, name);
    dlclose(library);
  }
  return function;
}

#endif
