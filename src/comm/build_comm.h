/* build_comm.h - how a communicator comes to be.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BUILD_COMM_H
#define TT_BUILD_COMM_H

#include "flight.h"
#include "settings.h"

/* ---- steps (build_comm.c) ---- */

/* Incomplete: the caller fills in `info`, attaches the wires and configures it. NULL: out of
 * memory. */
tutti_comm *tt_comm_new(int rank, int ranks);
/* Makes this rank's control block in shared memory; *ctrl is 0 if the rank shares none and has a
 * network. */
tutti_status tt_comm_ctrl_new(tutti_comm *comm, bool has_net, uint64_t *ctrl);
/* Reads the environment and creates the chooser. */
tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile);
/* What a communicator is built from; its rank, ranks, heap, load and `info` are set already. */
typedef struct tt_comm_spec {
  tt_wire *net;                /* the network's wire, which is taken over; or NULL */
  const uint64_t *ctrls;       /* per rank: its control block */
  const tt_profile *profile;   /* the figures, the same on all ranks */
  const tt_layout *layout;     /* of several nodes; NULL: found from the placements */
  uint32_t wisdom;             /* what the first rank said (tt_wisdom_announce); 0: nothing */
  const tt_settings *settings; /* inherited; NULL: as the environment says */
  int helpers;                 /* inherited with them, if some other rank is left */
} tt_comm_spec;
/* Connects the ranks, reads the environment, creates the chooser, and shares the first rank's
 * wisdom. All ranks call it. On errors the caller destroys the communicator. */
tutti_status tt_comm_build(tutti_comm *comm, const tt_comm_spec *spec);
void tt_comm_destroy(tutti_comm *comm);
/* Takes over the settings of another communicator, and that many helpers. */
tutti_status tt_comm_inherit_settings(tutti_comm *comm, const tt_settings *from, int helpers);
/* Publishes this process's data in the head of its heap. */
void tt_heap_introduce(tt_heap *heap);

/* Arranges the ranks of several nodes, which have at most `ranks_per_core` ranks per core; the same
 * on all ranks. Called once, before anything runs (arrange.c). */
tutti_status tt_comm_arrange(tutti_comm *comm, const tt_layout *layout, double ranks_per_core);

#endif
