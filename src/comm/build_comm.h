/* build_comm.h - the steps that build a communicator.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BUILD_COMM_H
#define TT_BUILD_COMM_H

#include "agree.h"
#include "flight.h"
#include "settings.h"
#include "tutti_create.h"

/* ---- steps (build_comm.c) ---- */

/* Incomplete: the caller fills in `info`, attaches the wires and configures it. NULL: out of
 * memory. */
tutti_comm *tt_comm_new(int rank, int ranks);
/* The same for n ranks of `old`, whose heap and placement it inherits; this one is list[rank] (split.c). */
tutti_comm *tt_comm_among(const tutti_comm *old, const int *list, int n, int rank);
/* Reads contract and override from the environment. */
tutti_status tt_settings_read(tt_settings *settings, int ranks);
/* Reads the environment and creates the chooser. */
tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile);
/* Names the processes of the ranks to a network, for its messages. */
tutti_status tt_comm_set_pids(const tutti_comm *comm, tt_wire *net);
/* What a communicator is built from; its rank, ranks, heap, load and `info` are set already. */
typedef struct tt_comm_spec {
  tt_wire *net;                /* the network's wire, which is taken over; or NULL */
  const tt_profile *profile;   /* the figures, the same on all ranks */
  const tt_layout *layout;     /* of several nodes; NULL: found from the placements */
  uint32_t wisdom;             /* what the first rank said (tt_wisdom_announce); 0: nothing */
  const tt_plain_settings *settings; /* inherited; NULL: as the environment says */
  const tt_override *override;       /* inherited with them */
  int helpers;                       /* inherited with them, if some other rank is left */
} tt_comm_spec;
/* Connects the ranks, reads the environment, creates the chooser, and shares the first rank's
 * wisdom. All ranks call it. On errors the caller destroys the communicator. */
tutti_status tt_comm_build(tutti_comm *comm, const tt_comm_spec *spec);
void tt_comm_destroy(tutti_comm *comm);
/* If this rank cannot complete a communicator that its peers may be waiting in: breaks it, with the
 * text of tutti_error. Returns the status of the communicator's failure. */
tutti_status tt_comm_spoil(tutti_comm *comm, tutti_status status);

/* A communicator of n ranks of `old`, whose list and network the survivors have agreed on (split.c); takes the network
 * over. Collective over it. *out may be incomplete, also on errors: the caller spoils and destroys it. */
tutti_status tt_comm_of_survivors(tutti_comm *old, const char *who, int *list, int n, int mine,
                                  const tutti_net *net, int helpers, tutti_comm **out);
/* Takes over the settings of another communicator, and that many helpers. */
tutti_status tt_comm_inherit_settings(tutti_comm *comm, const tt_plain_settings *from,
                                      const tt_override *override, int helpers);
/* The number of helpers, once the arguments are checked and nothing runs (helpers.c). */
tutti_status tt_helpers_set(tutti_comm *comm, int helpers);
/* Sets what `config` says, as tutti_comm_configure; checks what it says for that many ranks, for a communicator that does
 * not exist yet (config.c). NULL: nothing to do. */
tutti_status tt_comm_set_config(tutti_comm *comm, const char *who, const tutti_config *config);
tutti_status tt_config_check(const char *who, const tutti_config *config, int ranks);
/* Lets the doctor and the trace see the communicator's name. */
void tt_comm_show_name(tutti_comm *comm);
/* Joiners get the override of the rank `root`, which others have: as text, since a plan is a value of one process.
 * Collective; a failure breaks the communicator. */
void tt_override_share(tutti_comm *comm, int root);
/* TUTTI_ERR_PEER_LOST: the launcher of the job is gone. */
tutti_status tt_job_over(const tt_segment *segment);
/* Publishes this process's data in the head of its heap. */
void tt_heap_introduce(tt_heap *heap);
/* The placement that a rank of one machine has published there. */
tt_colors tt_intro_colors(const tt_intro *intro);

/* Finds the layout of the ranks by tt_placement_arrange; the caller frees its arrays. */
tutti_status tt_layout_find(const tt_placement *placements, int ranks, const char *topology,
                            const char *name, tt_layout *layout);
/* Arranges the ranks in levels. ranks_per_core: the most on a node, if there are several; the same
 * on all ranks. Called once, before anything runs. */
tutti_status tt_comm_arrange(tutti_comm *comm, const tt_layout *layout, double ranks_per_core);

/* If the first rank named an aggregator and hosts talk by a network: connects to it, if all ranks can, and
 * plans for it. Without it calls run as ever, and the log says why. Collective; fails only where any call
 * would (open_aggregator.c). */
tutti_status tt_aggregator_open(tutti_comm *comm, uint32_t said);
/* Takes a communicator off its aggregator; frees what calls were planned by. */
void tt_aggregator_drop(tutti_comm *comm);

/* Frees what calls with helpers are planned by (helpers.c). */
void tt_helped_free(tt_helped *helped);
/* TUTTI_ERR_STATE: requests are in flight (comm.c). */

/* ---- successors of a communicator (joiner.c) ---- */

/* Writes what is inherited from `old` into a proposal; its ranks are complete. */
void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *proposal);
/* Builds the communicator for this rank, number `member` of the proposal; old: the communicator it
 * was in, or NULL. If it fails, the other ranks are informed. */
tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *proposal, int member,
                             const tutti_comm *old, tutti_comm **out);
/* Warns of a joiner's long wait. TUTTI_ERR_TIMEOUT: it has waited for TUTTI_CONNECT_TIMEOUT. */
tutti_status tt_joiner_waits(struct tt_long_wait *wait);
/* A process that joins waits until it is admitted; *out: its communicator. */
tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out);

#endif
