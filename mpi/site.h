/* site.h - where in its node a process runs.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_MPI_SITE_H
#define TUTTI_MPI_SITE_H

#include "tutti_net.h"

/* Fills `package`, `numa` and `cache` for the calling thread, as it is bound now; leaves the rest
 * unchanged. 0: bound to none, to more than one, or unknown. */
void mpi_site_within(tutti_net_site *site);

#endif
