/* ranked.h - commands that run as ranks: how they start, connect, and report errors.
 *
 * Idea      `tutti bench -n 4` starts itself under `tutti run`. Under an MPI's mpirun the command
 *           executes tutti-ompi or tutti-mpich, which is linked with that MPI. These two contain
 *           meet_mpi.c instead of meet.c, and are otherwise the same program.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKED_H
#define RANKED_H

#include "cli.h"

/* job_inside returns true if this process is already a rank, of `tutti run` or of an MPI. job_rank returns its rank
 * if the environment contains it, otherwise 0. */
bool job_inside(void);
int job_rank(void);

/* Replaces this process with `tutti run -n N tutti COMMAND ...`, keeping the arguments. If that fails, prints an
 * error message and returns an exit status. */
int job_start(const char *command, long ranks, int argc, char **argv);

/* Executes the variant of this command that is linked with an MPI, if this process was started by that MPI and this command is
 * not linked with one. Returns 0 if that is not necessary, otherwise an exit status after an error message. */
int job_hand_over(const char *command, char **argv);

/* These functions let rank 0 print error messages for all ranks. The other ranks print nothing and wait for the
 * launcher to end them, so that the user sees the message of rank 0. */
int job_mute(void);
void job_unmute(int saved);
int job_fail_alike(int status);

/* ---- meet.c, meet_mpi.c ---- */

/* The MPI that this command is linked with, such as "ompi", or NULL if the command is not linked with an MPI. */
extern const char *const job_family;
/* Creates a communicator of all ranks. Free it before you call job_leave, which ends the job. */
tutti_status job_join(tutti_comm **comm);
void job_leave(void);

#endif
