/* net.h - an MPI communicator as a network for tutti.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_NET_H
#define TUTTI_MPI_NET_H

#include "calls.h"
#include "tutti_mpi.h"
#include "tutti_net.h"

/* Of a communicator that is tutti's own, which `close` frees; so it is if this fails. */
tutti_status mpi_net(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net);
/* tutti_comm_from_mpi_of, through these calls. */
tutti_status mpi_comm_from(const mpi_calls *mpi, const char *family, const void *mpi_comm,
                           size_t size, tutti_comm **comm);
/* May this thread call MPI, which was initialized for such `threads`? Then nobody else of this
 * library does until net_leave, unless all may. 0: it may not; or, if it does not wait, somebody does. */
int net_enter(const mpi_calls *mpi, int threads, int waits);
void net_leave(int threads);
/* From now on ranks that wait in tutti, of whatever communicator, move MPI's messages. */
tutti_status mpi_goes_on(const mpi_calls *mpi);
/* tutti_error(): what could not be done, and MPI's reason. */
tutti_status mpi_failed(const mpi_calls *mpi, const char *what, int error);

#endif
