/* ranked.h - commands that run as ranks: how they start, connect, and report errors.
 *
 * Idea      `tutti bench -n 4` starts itself under `tutti run`. Under an MPI's mpirun the command
 *           executes tutti-ompi or tutti-mpich, which is linked with that MPI. These contain
 *           meet_mpi.c instead of meet.c and are otherwise the same.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKED_H
#define RANKED_H

#include "cli.h"

/* Is this process already a rank, of `tutti run` or of an MPI? job_rank: its number, if the
 * environment contains it; otherwise 0. */
bool job_inside(void);
int job_rank(void);

/* Replace this process by `tutti run -n N tutti COMMAND ...`, with the same arguments.
 * Returns only after a complaint: an exit status. */
int job_start(const char *command, long ranks, int argc, char **argv);

/* Started by an MPI, and not linked with one: exec the command that is. Returns 0 if that is not
 * needed, else an exit status after a complaint. */
int job_hand_over(const char *command, char **argv);

/* Rank 0 complains for all. The others are silent, and wait for the launcher to end them, so that
 * the user reads rank 0's complaint. */
int job_mute(void);
void job_unmute(int saved);
int job_fail_alike(int status);

/* ---- meet.c, meet_mpi.c ---- */

/* The family of the MPI that this command is linked with, as in "ompi"; NULL: none. */
extern const char *const job_family;
/* A communicator of all ranks; free it before job_leave, which ends the job. */
tutti_status job_join(tutti_comm **comm);
void job_leave(void);

#endif
