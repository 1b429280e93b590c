/* tracing.h - the trace of a communicator, from its creation until it is written to the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACING_H
#define TT_TRACING_H

#include "comm_view.h"

/* ---- tapes (tracing.c); not used if TUTTI_TRACE is not set or memory is short ---- */

/* Starts the trace of a communicator that has no parent. All ranks pass the same `job` and `path`. If `path` is
 * NULL, the path in TUTTI_TRACE is used. */
void tt_trace_root(tutti_comm *comm, const char *path, uint64_t job, int64_t offset, int64_t error);
/* Starts the trace of a communicator that was split from `old`. The name of the trace is derived from `at` and
 * `color`, which are the same on all ranks of the new communicator. */
void tt_trace_child(tutti_comm *comm, const tutti_comm *old, uint64_t at, int color);
/* Starts the trace of a communicator that replaces `old`, or that this process joins (`old` is then NULL). All ranks pass
 * the same numbers, which come from tt_trace_names. same: the new communicator has the same ranks in the same order. */
void tt_trace_names(const tutti_comm *old, uint64_t at, int color, uint64_t *job, uint64_t *id);
void tt_trace_heir(tutti_comm *comm, const tutti_comm *old, uint64_t job, uint64_t id, bool same);
/* tt_trace_close writes the events of one communicator to the file, tt_trace_end those of all. */
void tt_trace_close(tutti_comm *comm);
void tt_trace_end(void);

/* Starts a trace, unless `path` is NULL or empty. The path comes from rank 0, and is the same on all ranks. Measures
 * the clock offsets between rank 0 and the other machines. near: this rank is on the machine of rank 0. */
tutti_status tt_trace_join(tutti_comm *comm, const char *path, bool near);

#endif
