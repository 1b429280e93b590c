/* family.h - which MPI: the questions of `tutti mpi` to launchers and programs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef FAMILY_H
#define FAMILY_H

#include <stdbool.h>
#include <stddef.h>

/* FAMILY_ABI: any MPI, by the standard ABI of MPI 5.0. */
typedef enum mpi_family { FAMILY_UNKNOWN, FAMILY_ABI, FAMILY_OMPI, FAMILY_MPICH } mpi_family;

/* The name in the libraries' file names, "abi", "ompi" or "mpich"; and the name for people. */
const char *family_tag(mpi_family family);
const char *family_title(mpi_family family);
/* The family with this tag; FAMILY_UNKNOWN if no family has it. */
mpi_family family_named(const char *tag);

/* Is it named like a launcher of MPI programs (mpirun, mpiexec.hydra, orterun ...)? */
bool family_is_launcher(const char *command);
/* The output of a command, with its standard error; "" if it could not be run. And that of `COMMAND --version`. */
void family_output(char *const *argv, char *text, size_t size);
void family_version(const char *command, char *text, size_t size);
/* The family that a launcher prints with --version; never FAMILY_ABI. */
mpi_family family_of_launcher(const char *command);
/* The MPI that a dynamic program needs, directly or through its libraries; FAMILY_ABI if it needs
 * libmpi_abi.so; FAMILY_UNKNOWN for any other file. */
mpi_family family_of_program(const char *command);

#endif
