/* net.h - an MPI communicator as a network for tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_NET_H
#define TUTTI_MPI_NET_H

#include "calls.h"
#include "tutti_mpi.h"
#include "tutti_net.h"

/* `comm` must have been made for tutti: `close` frees it, or this call if it fails. */
tutti_status mpi_net(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net);
/* Registers the closing of all networks in MPI_Finalize, after each callback that is registered later than this call. Called
 * by the first network, unless it was called earlier. Returns MPI's error. */
int mpi_net_begin(const mpi_calls *mpi);
/* Registers a function to be called in MPI_Finalize while MPI still works, after the functions that are registered later.
 * Returns MPI's error. */
int net_at_end(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function);
/* Creates a kind of attribute that is not copied to duplicates of a communicator. Returns MPI's error. */
int mpi_keyval(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function, int *keyval);
/* Returns true if the running MPI belongs to the family that this library was compiled for. Fills in its version, which
 * may be longer than this family's limit: Open MPI's header allows 256 bytes, the other headers 8192. */
enum { MPI_VERSION_ROOM = 8192 };
int mpi_is_ours(const mpi_calls *mpi, char version[MPI_VERSION_ROOM]);
/* Like tutti_comm_from_mpi_of, with this table of calls. */
tutti_status mpi_comm_from(const mpi_calls *mpi, const char *family, const void *mpi_comm,
                           size_t size, tutti_comm **comm);
/* Returns the network that replaces MPI, if TUTTI_NET names one, or NULL if messages are sent through MPI. */
const char *mpi_another_net(void);
/* Enters MPI, which was initialized with thread level `threads`. Other threads of this library stay
 * out until net_leave, unless the level permits concurrent calls. Returns 0 if this thread may not
 * call MPI, or, without `waits`, if another thread is inside. */
int net_enter(const mpi_calls *mpi, int threads, int waits);
void net_leave(void);
/* Mark that this thread is in MPI_Finalize, whose callbacks may call MPI, and in which MPICH takes no locks. Until the end,
 * the thread counts as having entered MPI at every level. A thread that has entered lets others in only while it waits in
 * tutti, or between pause and resume (which do nothing in other threads and at other times). */
void net_finalize_begin(void);
void net_finalize_end(void);
void net_finalize_pause(void);
void net_finalize_resume(void);
/* Makes ranks that wait in tutti, on any communicator, drive MPI's progress. */
tutti_status mpi_goes_on(const mpi_calls *mpi);
/* Sets tutti_error() to the failed action and MPI's reason. */
tutti_status mpi_failed(const mpi_calls *mpi, const char *what, int error);

#endif
