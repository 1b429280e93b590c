/* late.h - Open MPI's mpi.h, for a library that is not linked with Open MPI: its predefined handles are addresses of objects, which
 * are found by their names (next.c). The compiler includes it before all else, in files for Open MPI.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_LATE_H
#define SHIM_LATE_H

#include <mpi.h>

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)late_##global)
#define H(name)                              extern void *late_##name;
#include "handles.def"

#endif
