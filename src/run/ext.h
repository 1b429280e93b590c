/* ext.h - extensions: optional features that add plans to those that the chooser knows.
 *
 * Idea       An extension has a separate room, with a table of functions, and a line in exts.def. Other rooms call all
 *            extensions through this table, and name none. An extension that uses a process outside the job also sets
 *            comm->wire->outside, whose functions the engine calls while a plan runs (wire.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_EXT_H
#define TT_EXT_H

#include "comm.h"

/* The ranks of an extension's plan: `more` virtual ranks follow those of the communicator. */
typedef struct tt_ext_ranks {
  int more;
  const int *order; /* rank at each place; for virtual ranks, their number */
  tt_chooser *chooser;
} tt_ext_ranks;

typedef struct tt_ext {
  /* Returns true if the user has requested the extension in this process. The first rank decides for all ranks. */
  bool (*wanted)(void);
  /* Opens the extension for a new communicator, if the first rank has requested it. The levels and the wisdom of the
   * communicator are known. Collective. Returns an error only if every other call on the communicator would fail too. */
  tutti_status (*open)(tutti_comm *comm);
  void (*close)(tutti_comm *comm); /* may be called without, or after a failed, open */
  /* Chooses a plan of the extension (choice->ext, choice->way) instead of the given choice, if the user requests this or if it
   * is faster. Returns TUTTI_ERR_MEMORY if out of memory. The result is the same on all ranks. */
  tutti_status (*choose)(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                         tt_choice *choice);
  tt_ext_ranks (*ranks)(const tutti_comm *comm, int way); /* the ranks of plan `way` */
  /* Appends to `t` whether it would be used for the call, and why. */
  tutti_status (*explain)(tutti_comm *comm, const tt_call *call, tt_text *t);
} tt_ext;

#define TT_EXT(name) extern const tt_ext tt_ext_##name;
#include "exts.def"
#undef TT_EXT
enum {
#define TT_EXT(name) TT_EXT_##name,
#include "exts.def"
#undef TT_EXT
  TT_EXTS
};

/* Returns the bits of the extensions that this process wants. */
uint32_t tt_exts_wanted(void);
/* Opens the extensions whose bits the first rank has sent. */
tutti_status tt_exts_open(tutti_comm *comm, uint32_t wanted);
void tt_exts_close(tutti_comm *comm);
tutti_status tt_exts_choose(tutti_comm *comm, const tt_call *call, const tt_problem *problem,
                            tt_choice *choice);
tutti_status tt_exts_explain(tutti_comm *comm, const tt_call *call, tt_text *t);

#endif
