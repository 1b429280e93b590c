/* create.h - communicators of ranks that connect to each other: declarations shared by create.c, plugin.c and from_env.c.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CREATE_H
#define TT_CREATE_H

#include "heap.h"
#include "meet.h"
#include "tutti_net.h"

/* Creates a communicator for the ranks that take part in a bootstrap, and ends the bootstrap. Collective. */
tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out);
/* Implements tutti_comm_from_net. If m is not NULL, the ranks exchange their data in this bootstrap, before the
 * network carries any message. Otherwise they exchange it over the network. */
tutti_status tt_comm_from_net(const tutti_net *net, tt_meeting *m, tutti_comm **comm);
/* Returns the time that ranks wait for missing ranks, in seconds. */
double tt_create_limit(const tutti_config *config);
/* Publishes a rank's introduction and its first control block in the segment. Takes over the segment. The caller
 * passes *heap to tt_segment_comm, or closes it (from_env.c). */
tutti_status tt_segment_enter(tt_segment *segment, int rank, tt_heap **heap);
/* Waits until all ranks of the segment have entered it, and creates their communicator. Takes over the heap. */
tutti_status tt_segment_comm(tt_heap *heap, tutti_comm **comm);

/* ---- networks that connect the ranks themselves (plugin.c) ---- */

typedef struct tt_net_end {
  tutti_net_maker maker; /* .name is NULL if it is not loaded */
  void *end;
  const void *address;
  size_t bytes;
} tt_net_end;

/* Opens this rank's endpoint of a network, without communicating. net: a name as in tutti_config. On failure returns
 * TUTTI_ERR_SYSTEM, with the reason in tutti_error; only end->maker may then be set. */
tutti_status tt_net_open(const char *net, tt_net_end *end);
void tt_net_drop(tt_net_end *end);

/* Returns the number of the host on which this rank runs, or pretends to run (TUTTI_NODES). */
uint64_t tt_host_number(int rank);

/* Looks for the library of an accelerator device, once per process (open_device.c). */
void tt_device_seek(void);

/* ---- launchers that connect their ranks (plugin.c) ---- */

/* Opens the library for a launcher. Returns TUTTI_ERR_UNSUPPORTED if the library is not installed. */
tutti_status tt_launcher_open(const char *name, double seconds, tutti_launcher *l);

#endif
