/* ranked.h - commands whose processes are ranks: how they start, meet, and complain.
 *
 * Idea      `tutti bench -P 4` starts itself under `tutti run`. Under an MPI's mpirun the
 *           command that is linked with that MPI takes over: tutti-ompi or tutti-mpich,
 *           the same but for meet_mpi.c in place of meet.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef RANKED_H
#define RANKED_H

#include "cli.h"

/* Is this process a rank already, of `tutti run` or of an MPI? Which one, as far as the
 * environment tells; else 0. */
bool job_inside(void);
int job_rank(void);

/* As `tutti run -n N tutti COMMAND ...`, with the same arguments, in place of this process.
 * Returns only to complain: an exit status. */
int job_start(const char *command, long ranks, int argc, char **argv);

/* Started by an MPI, and not linked with one: the command that is takes over. Returns 0 if
 * nobody has to, else an exit status after a complaint. */
int job_hand_over(const char *command, char **argv);

/* Rank 0 complains for all: the others are mute meanwhile, and wait for the launcher to end
 * them, so that it is rank 0 whose complaint is read. */
int job_mute(void);
void job_unmute(int saved);
int job_fail_alike(int status);

/* ---- meet.c, meet_mpi.c ---- */

/* The family of the MPI that this command is linked with, as in "ompi"; NULL: none. */
extern const char *const job_family;
/* A communicator of all ranks; free it before job_leave, which ends it all. */
tutti_status job_join(tutti_comm **comm);
void job_leave(void);

#endif
