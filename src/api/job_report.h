/* job_report.h - inside tutti_job_report: a job as it was seen, and names for what is in it.
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
  TT_LONG_US = 100000,  /* who waits longer may wait for ever */
  TT_STALE_US = 2000000 /* who has not looked for so long does not wait any more, if it runs */
};

/* ---- of a rank, which is a number of a heap (job_report.c) ---- */

/* What it is called: its rank in the largest communicator that it is in. */
int tt_view_name(const tt_job_view *v, int rank);
/* The number of a communicator, from 1. */
int tt_view_number(const tt_job_view *v, uint64_t home);
bool tt_view_dead(const tt_job_view *v, int rank);
bool tt_view_stopped(const tt_job_view *v, int rank);
/* It has given back all that it had: it needs nobody, and nobody needs it. */
bool tt_view_left(const tt_job_view *v, int rank);
/* Where it waits, the longest if it does so in several threads; NULL: nowhere, or not for long. */
const tt_look_comm *tt_view_wait(const tt_job_view *v, int rank);
static inline uint64_t tt_view_waited(const tt_job_view *v, const tt_look_comm *comm) {
  return v->now > comm->since ? v->now - comm->since : 0;
}
bool tt_view_waits(const tt_job_view *v, int rank, const tt_look_comm *comm);
/* "allreduce of 10 int64, sum (operation 5)", or "operation 5". */
void tt_view_call(tt_text *t, const tt_look_comm *comm, uint32_t seq);
/* Where it waits: the same of its operation, or "to receive message 3 (10 double)". */
void tt_view_waiting(tt_text *t, const tt_look_comm *comm);

/* ---- what is wrong, a sentence a line (findings.c) ---- */

void tt_findings(tt_text *t, const tt_job_view *v);

#endif
