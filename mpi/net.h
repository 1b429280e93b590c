/* net.h - an MPI communicator as a network for tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_NET_H
#define TUTTI_MPI_NET_H

#include "calls.h"
#include "tutti_mpi.h"
#include "tutti_net.h"

/* `comm` must be a communicator made for tutti: `close` frees it, or this call does if it fails. */
tutti_status mpi_net(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net);
/* Makes the networks end in MPI_Finalize, after each callback that is set later than this call. Called by the first network,
 * unless it was called before. Returns MPI's error. */
int mpi_net_begin(const mpi_calls *mpi);
/* Call a function in MPI_Finalize while all of MPI still works, after the functions that are set later. Returns MPI's error. */
int net_at_end(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function);
/* A kind of attribute that duplicates of a communicator do not have. Returns MPI's error. */
int mpi_keyval(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function, int *keyval);
/* Is the running MPI of the family that this library was compiled for? Fills in its version, which may be longer than this
 * family's: Open MPI's header has room for 256 bytes, the others' for 8192. */
enum { MPI_VERSION_ROOM = 8192 };
int mpi_is_ours(const mpi_calls *mpi, char version[MPI_VERSION_ROOM]);
/* tutti_comm_from_mpi_of, through this table of calls. */
tutti_status mpi_comm_from(const mpi_calls *mpi, const char *family, const void *mpi_comm,
                           size_t size, tutti_comm **comm);
/* The network that replaces MPI, if TUTTI_NET names one; NULL: messages are sent through MPI. */
const char *mpi_another_net(void);
/* Enter MPI, which was initialized with thread level `threads`; other threads of this library stay
 * out until net_leave, unless the level allows all. Returns 0 if this thread may not call MPI, or,
 * without `waits`, if another thread is inside. */
int net_enter(const mpi_calls *mpi, int threads, int waits);
void net_leave(void);
/* This thread is in MPI_Finalize, whose callbacks may call MPI, and MPICH takes no locks there. Until the end it is as if this
 * thread had entered MPI at every level, and a thread that has entered lets others in only where it waits in tutti, or between
 * pause and resume (which do nothing in other threads and at other times). */
void net_finalize_begin(void);
void net_finalize_end(void);
void net_finalize_pause(void);
void net_finalize_resume(void);
/* From now on, ranks that wait in tutti, on any communicator, drive MPI's progress. */
tutti_status mpi_goes_on(const mpi_calls *mpi);
/* Sets tutti_error(): the failed action, and MPI's reason. */
tutti_status mpi_failed(const mpi_calls *mpi, const char *what, int error);

#endif
