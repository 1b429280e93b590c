/* comm_wisdom.h - inside the API: a communicator's wisdom, and the process's.
 *
 * Idea       the process keeps all it was told and has measured; a communicator the part that
 *            was measured where its ranks sit: the first rank's, which it shares.
 * Invariant  a communicator's list is the same on all ranks at the same place of their calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_COMM_WISDOM_H
#define TT_COMM_WISDOM_H

#include "comm.h"

/* May wisdom decide what runs for such a call? Not for a call of tutti's own, nor with counts
 * that vary, nor where the contract says that nothing that is measured decides. */
bool tt_wisdom_applies(const tutti_comm *comm, const tt_call *call);

/* ---- where ranks sit (fingerprint.c) ---- */

/* What wisdom of this communicator is stamped with, and the same in words. The same for ranks
 * that sit alike on machines that are alike; on its first rank. */
uint32_t tt_comm_fingerprint(const tutti_comm *comm, char words[TT_PLACEMENT_TEXT]);
/* Of so many processes that `tutti run` would start here. */
uint32_t tt_here_fingerprint(int ranks, char words[TT_PLACEMENT_TEXT]);

/* ---- making a communicator (comm_wisdom.c) ---- */

/* What the first rank says to the others before a communicator stands. */
enum { TT_WISDOM_MEASURES = 1, TT_WISDOM_EXISTS = 2 };
/* This process's; reads TUTTI_WISDOM the first time. */
uint32_t tt_wisdom_announce(void);
/* The communicator stands: takes the first rank's wisdom, which said so. Collective. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said);
/* The same for all ranks of one process, by one thread. */
tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n);

/* ---- adding to it (comm_wisdom.c) ---- */

/* To the communicator's, on all ranks alike; and on the first rank to the process's. */
tutti_status tt_wisdom_learn(tutti_comm *comm, tt_wisdom_entry *entry);
/* At the end: to the file, what was measured. */
void tt_wisdom_end(void);

/* ---- files (wisdom_file.c) ---- */

/* TUTTI_ERR_ARG, with a sentence: it cannot be read, or is no wisdom. None there: empty. */
tutti_status tt_wisdom_load(const char *path, tt_wisdom *w);
/* Merges into what is there, under the file's lock, and replaces it whole, or not at all.
 * TUTTI_ERR_ARG: there is something that is no wisdom; TUTTI_ERR_SYSTEM: it cannot be written. */
tutti_status tt_wisdom_save(const char *path, const tt_wisdom *w);

/* ---- measuring (measure.c) ---- */

/* A blocking call is about to be planned: measures what wisdom does not cover. The comm is
 * entered. */
tutti_status tt_measure_first(tutti_comm *comm, const tt_call *call);

#endif
