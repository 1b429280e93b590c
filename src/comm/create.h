/* create.h - communicators of ranks that connect to each other: declarations shared by create.c, plugin.c and from_env.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CREATE_H
#define TT_CREATE_H

#include "heap.h"
#include "meet.h"
#include "tutti_net.h"

/* Creates a communicator of the ranks of a bootstrap, and ends the bootstrap. Collective. */
tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out);
/* Like tutti_comm_from_net. If m is not NULL, the ranks exchange their data in that bootstrap, before the network
 * carries any message; otherwise over the network. */
tutti_status tt_comm_from_net(const tutti_net *net, tt_meeting *m, tutti_comm **comm);
/* Returns how long ranks wait for missing ranks, in seconds. */
double tt_create_limit(const tutti_config *config);
/* Publishes a rank's introduction and its first control block in a segment, which it takes over. The caller passes
 * *heap to tt_segment_comm, or closes it (from_env.c). */
tutti_status tt_segment_enter(tt_segment *segment, int rank, tt_heap **heap);
/* Creates a communicator of all ranks of the segment, after waiting for those that have not entered it yet. Takes
 * over the heap. */
tutti_status tt_segment_comm(tt_heap *heap, tutti_comm **comm);

/* ---- networks that connect the ranks themselves (plugin.c) ---- */

typedef struct tt_net_end {
  tutti_net_maker maker; /* .name is NULL if it is not loaded */
  void *end;
  const void *address;
  size_t bytes;
} tt_net_end;

/* Opens this rank's end of a network; does not communicate. net: as in tutti_config. Returns TUTTI_ERR_SYSTEM, with
 * the reason in tutti_error; *end then contains at most the maker whose library failed. */
tutti_status tt_net_open(const char *net, tt_net_end *end);
void tt_net_drop(tt_net_end *end);

/* Returns the number of the host on which this rank runs, or pretends to run (TUTTI_NODES). */
uint64_t tt_host_number(int rank);

/* Looks for a device's library, once per process (open_device.c). */
void tt_device_seek(void);

/* ---- launchers that connect their ranks (plugin.c) ---- */

/* Opens a launcher's library. Returns TUTTI_ERR_UNSUPPORTED if it is not installed. */
tutti_status tt_launcher_open(const char *name, double seconds, tutti_launcher *l);

#endif
