/* start.h - how a program with several ranks gets its communicators: from the environment (start.c), or from
 * MPI (over/start_mpi.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef START_H
#define START_H

#include "tutti.h"

/* Creates a communicator of all ranks, a new one at each call. */
tutti_status start_comm(tutti_comm **comm);
/* Called after all communicators are freed. */
tutti_status start_end(void);

#endif
