/* tracing.h - inside the API: a communicator's trace, from its making to the file.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_TRACING_H
#define TT_TRACING_H

#include "comm.h"

/* ---- tapes (tracing.c): none if TUTTI_TRACE is not set, or cannot be had ---- */

/* Of a communicator that comes out of no other. `job` and `path` are the same on all ranks;
 * path NULL: what TUTTI_TRACE says. */
void tt_trace_root(tutti_comm *comm, const char *path, uint64_t job, int64_t offset, int64_t error);
/* Of one that comes out of `old`, by these two numbers, which its ranks have in common. */
void tt_trace_child(tutti_comm *comm, const tutti_comm *old, uint32_t at, int color);
/* Of one that goes on from `old`, or that this process joins (old NULL): what was agreed on with
 * tt_trace_names; same: it has the same ranks at the same places. */
void tt_trace_names(const tutti_comm *old, uint32_t at, int color, uint64_t *job, uint64_t *id);
void tt_trace_heir(tutti_comm *comm, const tutti_comm *old, uint64_t job, uint64_t id, bool same);
/* An operation of one that is traced begins; where its steps are to be written down, or NULL. */
tt_trace *tt_trace_begin(tutti_comm *comm, const tt_call *call, const tt_plan *plan);
/* ... and is over, not inside the call that began it. */
void tt_trace_over(tt_trace *trace, uint32_t seq);
/* The communicator goes, or all do: its events go to the file. */
void tt_trace_close(tutti_comm *comm);
void tt_trace_end(void);

/* What rank 0 says a trace is to be, NULL: none (trace_clock.c): finds out by how much the
 * clocks of other machines differ from its own. `near`: this rank is on rank 0's. */
tutti_status tt_trace_join(tutti_comm *comm, const char *path, bool near);

/* ---- the file (trace_file.c) ---- */

/* Makes the file ready for this job, which it may be already. False after a warning, the
 * only one. */
bool tt_trace_claim(const char *path, uint64_t job, uint64_t origin);
void tt_trace_write(const char *path, const tt_trace *trace);

#endif
