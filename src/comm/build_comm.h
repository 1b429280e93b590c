/* build_comm.h - the steps that build a communicator.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_BUILD_COMM_H
#define TT_BUILD_COMM_H

#include "agree.h"
#include "flight.h"
#include "settings.h"
#include "tutti_create.h"

/* ---- steps (build_comm.c) ---- */

/* Allocates a communicator. The caller then fills in `info`, attaches the wires and configures it. Returns NULL if
 * out of memory. */
tutti_comm *tt_comm_new(int rank, int ranks);
/* Allocates a communicator for n ranks of the communicator `old`. The new communicator inherits the heap and the
 * placement. The calling rank is list[rank] in `old`. Returns NULL if out of memory (split.c). */
tutti_comm *tt_comm_among(const tutti_comm *old, const int *list, int n, int rank);
/* Reads the contract and the override from the environment. */
tutti_status tt_settings_read(tt_settings *settings, int ranks);
/* Reads the environment and creates the chooser. */
tutti_status tt_comm_configure(tutti_comm *comm, const tt_profile *profile);
/* Passes the process ids of the ranks to the network, which uses them in its messages. */
tutti_status tt_comm_set_pids(const tutti_comm *comm, tt_wire *net);
/* Arguments for building a communicator. Its rank, ranks, heap, load and `info` have already been set. */
typedef struct tt_comm_spec {
  tt_wire *net;              /* wire of the network, which the communicator takes over; or NULL */
  const tt_profile *profile; /* model parameters, the same on all ranks */
  const tt_layout *layout;   /* for several nodes; NULL: derived from the placements */
  uint32_t wisdom;           /* announcement of the first rank (tt_announce); 0: none */
  const tt_plain_settings *settings; /* inherited settings; NULL: use those of the environment */
  const tt_override *override;       /* inherited together with `settings` */
  int helpers;                       /* inherited too, unless only helpers are left */
} tt_comm_spec;
/* Connects the ranks, reads the environment, creates the chooser, and distributes the wisdom of rank 0. Collective.
 * On errors the caller destroys the communicator. */
tutti_status tt_comm_build(tutti_comm *comm, const tt_comm_spec *spec);
void tt_comm_destroy(tutti_comm *comm);
/* Called if this rank cannot complete a communicator for which its peers may already be waiting. Breaks the
 * communicator, with the text of tutti_error as the reason. Returns the status of the communicator's failure. */
tutti_status tt_comm_spoil(tutti_comm *comm, tutti_status status);

/* Creates a communicator for n ranks of `old`, after the surviving ranks have agreed on the list and on the network.
 * Collective among the n ranks. Takes over the network. The communicator in *out may be incomplete, even after an
 * error: the caller must spoil and destroy it (split.c). */
tutti_status tt_comm_of_survivors(tutti_comm *old, const char *who, int *list, int n, int mine,
                                  const tutti_net *net, int helpers, tutti_comm **out);
/* Copies the settings of another communicator, and sets the number of helpers. */
tutti_status tt_comm_inherit_settings(tutti_comm *comm, const tt_plain_settings *from,
                                      const tt_override *override, int helpers);
/* Sets the number of helpers. The caller has checked the arguments and made sure that no operation is running (helpers.c). */
tutti_status tt_helpers_set(tutti_comm *comm, int helpers);
/* tt_comm_set_config applies a configuration, for tutti_comm_configure. tt_config_check only checks it, for a
 * communicator of `ranks` ranks that does not exist yet; NULL is accepted (config.c). */
tutti_status tt_comm_set_config(tutti_comm *comm, const char *who, const tutti_config *config);
tutti_status tt_config_check(const char *who, const tutti_config *config, int ranks);
/* Shows the name of the communicator in the output of `tutti doctor` and in the trace. */
void tt_comm_show_name(tutti_comm *comm);
/* Sends the override of rank `root` to the joiners. The override is sent as text, because plans are values that are
 * valid only in one process. Collective. A failure breaks the communicator. */
void tt_override_share(tutti_comm *comm, int root);
/* Returns TUTTI_ERR_PEER_LOST if the launcher of the job has ended. */
tutti_status tt_job_over(const tt_segment *segment);
/* Publishes the data about this process in the header of its heap. */
void tt_heap_introduce(tt_heap *heap);
/* Returns the placement that a rank of this machine has published. */
tt_colors tt_intro_colors(const tt_intro *intro);

/* Computes the layout of the ranks with tt_placement_arrange. The caller frees the arrays in the layout. */
tutti_status tt_layout_find(const tt_placement *placements, int ranks, const char *topology,
                            const char *name, tt_layout *layout);
/* Arranges the ranks in levels. Called once, before any collective call. ranks_per_core: the maximum over all
 * nodes, if there are several; all ranks pass the same value. */
tutti_status tt_comm_arrange(tutti_comm *comm, const tt_layout *layout, double ranks_per_core);

/* Frees the plans for calls with helpers (helpers.c). */
void tt_helped_free(tt_helped *helped);

/* ---- successors of a communicator (joiner.c) ---- */

/* Writes the settings that a new communicator inherits from `old` into a proposal, which already lists the ranks. */
void tt_heritage_write(const tutti_comm *old, const tt_decision *d, tt_proposal *proposal);
/* Builds the communicator for this rank, which is number `member` in the proposal. old: the previous communicator of
 * this rank, or NULL. On failure, notifies the other ranks. */
tutti_status tt_comm_inherit(tt_heap *heap, const tt_proposal *proposal, int member,
                             const tutti_comm *old, tutti_comm **out);
/* Warns if a joiner has been waiting for a long time. Returns TUTTI_ERR_TIMEOUT after TUTTI_CONNECT_TIMEOUT. */
tutti_status tt_joiner_waits(struct tt_long_wait *wait);
/* Called by a joining process. Waits until the process is admitted, and sets *out to its communicator. */
tutti_status tt_joiner_join(tt_segment *segment, int index, tutti_comm **out);

#endif
