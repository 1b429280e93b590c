/* net.h - an MPI communicator as a network for tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_NET_H
#define TUTTI_MPI_NET_H

#include "calls.h"
#include "tutti_mpi.h"
#include "tutti_net.h"

/* `comm` must have been made for tutti: `close` frees it, or this call if it fails. */
tutti_status mpi_net(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net);
/* Arranges that MPI_Finalize closes all networks. This happens after the callbacks that are registered later than this call.
 * The first network calls this function, unless it was called earlier. Returns MPI's error code. */
int mpi_net_begin(const mpi_calls *mpi);
/* Registers a function that MPI_Finalize calls while MPI still works. Functions that are registered later are called first.
 * Returns MPI's error code. */
int net_at_end(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function);
/* Creates an attribute key. Its attributes are not copied when a communicator is duplicated. Returns MPI's error code. */
int mpi_keyval(const mpi_calls *mpi, MPI_Comm_delete_attr_function *function, int *keyval);
/* Returns true if the running MPI belongs to the family that this library was compiled for. Also returns the MPI's version
 * text, which may be longer than the headers of this family permit: Open MPI's header allows 256 bytes, the other headers
 * 8192. */
enum { MPI_VERSION_ROOM = 8192 };
int mpi_is_ours(const mpi_calls *mpi, char version[MPI_VERSION_ROOM]);
/* Like tutti_comm_from_mpi_of, with this table of calls. */
tutti_status mpi_comm_from(const mpi_calls *mpi, const char *family, const void *mpi_comm,
                           size_t size, tutti_comm **comm);
/* Returns the network named by TUTTI_NET, which is used instead of MPI, or NULL if messages are sent through MPI. */
const char *mpi_another_net(void);
/* Enters MPI. Other threads of this library cannot enter until net_leave is called, unless MPI's thread level `threads`
 * permits concurrent calls. Returns 0 if this thread must not call MPI, or if another thread is inside and `waits` is 0. */
int net_enter(const mpi_calls *mpi, int threads, int waits);
void net_leave(void);
/* Mark that this thread is in MPI_Finalize, whose callbacks may call MPI, and in which MPICH takes no locks. Until the end,
 * the thread counts as having entered MPI at every level. A thread that has entered lets others in only while it waits in
 * tutti, or between pause and resume (which do nothing in other threads and at other times). */
void net_finalize_begin(void);
void net_finalize_end(void);
void net_finalize_pause(void);
void net_finalize_resume(void);
/* Arranges that a rank that waits in tutti, on any communicator, also calls MPI to make progress. */
tutti_status mpi_goes_on(const mpi_calls *mpi);
/* Sets tutti_error() to the failed action and MPI's reason. */
tutti_status mpi_failed(const mpi_calls *mpi, const char *what, int error);

#endif
