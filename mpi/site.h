/* site.h - where in its node a process runs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_SITE_H
#define TUTTI_MPI_SITE_H

#include "tutti_net.h"

/* Fills `package` and `cache` for the calling thread, as it is bound now; leaves the rest as
 * it is. 0 where it is bound to none, to more than one, or nobody knows. */
void mpi_site_within(tutti_net_site *site);

#endif
