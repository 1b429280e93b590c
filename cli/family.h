/* family.h - how `tutti mpi` determines which MPI a launcher or program belongs to.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdbool.h>
#include <stddef.h>

/* The implementations of MPI. FAMILY_ABI stands for any MPI that is used through the standard ABI of MPI 5.0. */
typedef enum mpi_family { FAMILY_UNKNOWN, FAMILY_ABI, FAMILY_OMPI, FAMILY_MPICH } mpi_family;

/* family_tag returns "abi", "ompi" or "mpich", as in library file names. family_title returns the name for users. */
const char *family_tag(mpi_family family);
const char *family_title(mpi_family family);
/* Returns the family with this tag, or FAMILY_UNKNOWN. */
mpi_family family_named(const char *tag);

/* Returns true if the command has the name of an MPI launcher, such as mpirun, mpiexec.hydra or orterun. */
bool family_is_launcher(const char *command);
/* family_output stores the standard output and standard error of a command, or "" if it could not be run.
 * family_version does the same for `COMMAND --version`. */
void family_output(char *const *argv, char *text, size_t size);
void family_version(const char *command, char *text, size_t size);
/* Runs a launcher with --version and returns the MPI that the output names. Never returns FAMILY_ABI. */
mpi_family family_of_launcher(const char *command);
/* Returns the MPI on which a dynamically linked program depends, directly or through its libraries. Returns
 * FAMILY_ABI if the program needs libmpi_abi.so, and FAMILY_UNKNOWN if the file depends on no known MPI. */
mpi_family family_of_program(const char *command);

#endif
