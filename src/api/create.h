/* create.h - communicators of ranks that meet by themselves: what create.c, network.c and
 * bootstrap.c share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CREATE_H
#define TT_CREATE_H

#include "comm.h"
#include "meet.h"

/* Of the ranks of a meeting, which it ends. Collective. */
tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out);
/* s that ranks wait for those who are missing. */
double tt_create_limit(const tutti_config *config);
/* Of all ranks of a segment, which it takes over (bootstrap.c). */
tutti_status tt_segment_comm(tt_segment *segment, int rank, tutti_comm **comm);

/* ---- a network that starts by itself (network.c) ---- */

typedef struct tt_net_end {
  tutti_net_maker maker; /* .name NULL: it has not been loaded */
  void *end;
  const void *address;
  size_t bytes;
} tt_net_end;

/* Local. `net`: as tutti_config has it. TUTTI_ERR_SYSTEM: why not, in *end nothing but, if it
 * is known, who says so. */
tutti_status tt_net_open(const char *net, tt_net_end *end);
tutti_status tt_net_join(tt_net_end *end, int rank, int ranks, const void *addresses, size_t stride,
                         tutti_net *net);
void tt_net_drop(tt_net_end *end);

/* ---- a launcher that knows how its ranks find each other (network.c) ---- */

/* TUTTI_ERR_UNSUPPORTED: its library is not there. */
tutti_status tt_launcher_open(const char *name, double seconds, tutti_launcher *l);

#endif
