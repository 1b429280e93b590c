/* create.h - communicators of ranks that meet by themselves: what create.c, plugin.c and
 * from_env.c share. SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_CREATE_H
#define TT_CREATE_H

#include "heap.h"
#include "meet.h"
#include "tutti_net.h"

/* Creates a communicator of the ranks of a meeting, which it ends. Collective. */
tutti_status tt_create(tt_meeting *m, const tutti_config *config, tutti_comm **out);
/* As tutti_comm_from_net; m: the ranks exchange what they need in this meeting, before any message passes;
 * NULL: over the network. */
tutti_status tt_comm_from_net(const tutti_net *net, tt_meeting *m, tutti_comm **comm);
/* Seconds that ranks wait for missing ones. */
double tt_create_limit(const tutti_config *config);
/* A rank enters a segment, which is taken over: it publishes its introduction and its first control block.
 * *heap: for tt_segment_comm, or to close (from_env.c). */
tutti_status tt_segment_enter(tt_segment *segment, int rank, tt_heap **heap);
/* Creates a communicator of all ranks of the segment; waits for those that have not entered. Takes over the heap. */
tutti_status tt_segment_comm(tt_heap *heap, tutti_comm **comm);

/* ---- a network that starts by itself (plugin.c) ---- */

typedef struct tt_net_end {
  tutti_net_maker maker; /* .name NULL: not loaded */
  void *end;
  const void *address;
  size_t bytes;
} tt_net_end;

/* Opens this rank's end; local. net: as in tutti_config. TUTTI_ERR_SYSTEM: tutti_error says why;
 * *end then has at most the maker, whose library failed. */
tutti_status tt_net_open(const char *net, tt_net_end *end);
void tt_net_drop(tt_net_end *end);

/* The number of the host on which this rank meets others, or pretends to be (TUTTI_NODES). */
uint64_t tt_host_number(int rank);

/* Looks for a device's library, once in a process (open_device.c). */
void tt_device_seek(void);

/* ---- a launcher that lets its ranks find each other (plugin.c) ---- */

/* TUTTI_ERR_UNSUPPORTED: the launcher's library is not installed. */
tutti_status tt_launcher_open(const char *name, double seconds, tutti_launcher *l);

#endif
