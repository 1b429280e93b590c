/* start.h - how a program of several ranks gets its communicators: from the environment
 * (start.c), or from MPI (over/start_mpi.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef START_H
#define START_H

#include "tutti.h"

/* Of all ranks, each time another one. */
tutti_status start_comm(tutti_comm **comm);
/* When all are freed. */
tutti_status start_end(void);

#endif
