/* family.h - whose MPI is it: what `tutti mpi` asks of launchers and programs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdbool.h>

typedef enum mpi_family { FAMILY_UNKNOWN, FAMILY_OMPI, FAMILY_MPICH } mpi_family;

/* As in the names of the libraries: "ompi", "mpich"; and as people call them. */
const char *family_tag(mpi_family family);
const char *family_title(mpi_family family);
/* The family of that tag, FAMILY_UNKNOWN if there is none. */
mpi_family family_named(const char *tag);

/* Is it called like a starter of MPI programs (mpirun, mpiexec.hydra, orterun ...)? */
bool family_is_launcher(const char *command);
/* What a launcher says of itself with --version. */
mpi_family family_of_launcher(const char *command);
/* Which MPI a dynamic program brings along, its libraries' libraries looked through;
 * FAMILY_UNKNOWN for whatever is no such program. */
mpi_family family_of_program(const char *command);

#endif
