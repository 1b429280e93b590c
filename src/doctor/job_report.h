/* job_report.h - inside tutti_job_report: a snapshot of a job, and names for its parts.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_JOB_REPORT_H
#define TT_JOB_REPORT_H

#include "comm.h"
#include "job_look.h"

typedef struct tt_job_view {
  tt_look look;
  uint64_t now;    /* us */
  uint64_t *homes; /* of its communicators, ascending */
  int nhomes;
} tt_job_view;

enum {
  TT_LONG_US = 100000,  /* a longer wait may last for ever */
  TT_STALE_US = 2000000 /* a running rank that has not checked for so long does not wait any more */
};

/* ---- about a rank, given as the number of its heap (job_report.c) ---- */

/* Its name: its rank in the largest communicator that it belongs to. */
int tt_view_name(const tt_job_view *v, int rank);
/* The number of a communicator, from 1. */
int tt_view_number(const tt_job_view *v, uint64_t home);
bool tt_view_dead(const tt_job_view *v, int rank);
bool tt_view_stopped(const tt_job_view *v, int rank);
/* Has it given back all it had? Then it waits for no rank, and no rank for it. */
bool tt_view_left(const tt_job_view *v, int rank);
/* The communicator in which it waits, the longest if several threads wait; NULL: none, or not for
 * long. */
const tt_look_comm *tt_view_wait(const tt_job_view *v, int rank);
static inline uint64_t tt_view_waited(const tt_job_view *v, const tt_look_comm *comm) {
  return v->now > comm->since ? v->now - comm->since : 0;
}
bool tt_view_waits(const tt_job_view *v, int rank, const tt_look_comm *comm);
/* Appends "allreduce of 10 int64, sum (operation 5)", or "operation 5". */
void tt_view_call(tt_text *t, const tt_look_comm *comm, uint32_t seq);
/* The same of the operation in which it waits; or "to receive message 3 (10 double)". */
void tt_view_waiting(tt_text *t, const tt_look_comm *comm);

/* ---- what is wrong, one sentence a line (findings.c) ---- */

void tt_findings(tt_text *t, const tt_job_view *v);

#endif
