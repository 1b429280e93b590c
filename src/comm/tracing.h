/* tracing.h - the trace of a communicator, from its creation to the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACING_H
#define TT_TRACING_H

#include "comm_view.h"

/* ---- tapes (tracing.c): none if TUTTI_TRACE is not set, or memory is lacking ---- */

/* Starts the trace of a communicator that has no parent. `job` and `path` are the same on all
 * ranks; path NULL: TUTTI_TRACE's. */
void tt_trace_root(tutti_comm *comm, const char *path, uint64_t job, int64_t offset, int64_t error);
/* Starts the trace of one split from `old`, named by two numbers that its ranks have in common. */
void tt_trace_child(tutti_comm *comm, const tutti_comm *old, uint64_t at, int color);
/* Starts the trace of a successor of `old`, or of one that this process joins (old NULL), with the
 * numbers of tt_trace_names, on which the ranks agreed; same: the same ranks, in the same order. */
void tt_trace_names(const tutti_comm *old, uint64_t at, int color, uint64_t *job, uint64_t *id);
void tt_trace_heir(tutti_comm *comm, const tutti_comm *old, uint64_t job, uint64_t id, bool same);
/* Writes the events of one communicator to the file, or those of all. */
void tt_trace_close(tutti_comm *comm);
void tt_trace_end(void);

/* Rank 0's `path` decides for all ranks, NULL: no trace. Measures how the clocks of
 * other machines differ from rank 0's. near: this rank is on rank 0's machine. */
tutti_status tt_trace_join(tutti_comm *comm, const char *path, bool near);

#endif
