/* job_report.c - tutti_job_report: what the ranks of a job do, for people or as JSON.
 *
 * Idea       the job's memory is found through a process, copied, and described: a line per
 *            rank, then the findings (findings.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job_look.h"
#include "process_state.h"

enum { JOBS = 16 }; /* the most that one process can be part of */

/* ---- calls and waits ---- */

void tt_view_call(tt_text *t, const tt_look_comm *comm, uint32_t seq) {
  const tt_record *call = tt_look_call(comm, seq);
  char words[120];
  if (call) tt_record_words(call, words, sizeof words);
  tt_text_add(t, call ? "%s (operation %u)" : "%soperation %u", call ? words : "", seq);
}

void tt_view_waiting(tt_text *t, const tt_look_comm *comm) {
  if (comm->message)
    tt_text_add(t, "message %u, to %s %llu %s", comm->waits_in,
                comm->message == 1 ? "receive" : "send", (unsigned long long)comm->count,
                tutti_type_name((tutti_type)comm->type));
  else
    tt_view_call(t, comm, comm->waits_in);
}

/* ---- lines for people ---- */

static const char *process_word(const tt_look_rank *l) {
  if (!l->pid) return "-";
  if (tt_state_dead(l->state)) return "gone";
  if (tt_state_stopped(l->state)) return "stopped";
  return l->state == 'R' ? "runs" : "sleeps";
}

typedef enum doing { OVER, WAITS, INSIDE, OUTSIDE } doing;

static doing doing_of(const tt_look_comm *comm) {
  if (comm->aborted) return OVER;
  if (comm->waits) return WAITS;
  return (int32_t)(comm->newest - comm->over) > 0 ? INSIDE : OUTSIDE;
}

static void say_comm(tt_text *t, const tt_look *v, const tt_look_comm *comm) {
  switch (doing_of(comm)) {
    case OVER: tt_text_add(t, "is told that it is over"); break;
    case WAITS:
      tt_text_add(t, "waits %.1f s for rank %u in ", (double)comm->waited / 1e6, comm->waits_for);
      tt_view_waiting(t, comm);
      if (!comm->message) tt_text_add(t, ", step %u", comm->waits_at);
      break;
    case INSIDE:
      tt_text_add(t, "is at ");
      tt_view_call(t, comm, comm->over);
      if (comm->newest - comm->over > 1)
        tt_text_add(t, " and %u more", comm->newest - comm->over - 1);
      break;
    default:
      tt_text_add(t, "is outside; it last finished ");
      tt_view_call(t, comm, comm->newest - 1);
  }
  if (v->nhomes > 1) tt_text_add(t, ", communicator %d of %d ranks", comm->number, comm->ranks);
  tt_text_add(t, "\n");
}

/* Describes all communicators that the rank is inside a call of; else its most active one. */
static void describe_rank(tt_text *t, const tt_look *v, int rank) {
  const tt_look_rank *l = &v->rank[rank];
  const tt_look_comm *most = NULL;
  bool said = false;
  for (int i = 0; i < l->ncomms; i++) {
    const tt_look_comm *comm = &l->comms[i];
    if (!most || comm->newest >= most->newest) most = comm;
    if (doing_of(comm) == OUTSIDE) continue;
    tt_text_add(t, "%4d %9d  %-8s ", v->rank[rank].name, l->pid, process_word(l));
    say_comm(t, v, comm);
    said = true;
  }
  if (said) return;
  tt_text_add(t, "%4d %9d  %-8s ", v->rank[rank].name, l->pid, process_word(l));
  if (most && most->newest > 1)
    say_comm(t, v, most);
  else
    tt_text_add(t, "%s\n",
                most                 ? "is outside; it has called nothing yet"
                : v->rank[rank].left ? "has left (tutti_finalize)"
                : v->rank[rank].dead ? "died before all had come"
                : v->rank[rank].pid  ? "waits for the others to come"
                                     : "has not come yet");
}

static void say_job(tt_text *t, const tt_look *v) {
  tt_text_add(t, "rank       pid  process\n");
  for (int r = 0; r < v->ranks; r++) {
    describe_rank(t, v, r);
    if (v->rank[r].hides) tt_text_add(t, "     (and communicators that cannot be seen)\n");
  }
  tt_text_add(t, "\n");
  tt_findings(t, v);
}

/* ---- JSON ---- */

static void json_text(tt_text *t, const char *text, size_t n) {
  tt_text_add(t, "\"");
  for (size_t i = 0; i < n; i++)
    tt_text_add(t, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
  tt_text_add(t, "\"");
}

static void json_call(tt_text *t, const char *name, const tt_look_comm *comm, uint32_t seq) {
  const tt_record *call = tt_look_call(comm, seq);
  char words[120];
  tt_text_add(t, ", \"%s\": {\"operation\": %u", name, seq);
  if (call) {
    tt_record_words(call, words, sizeof words);
    tt_text_add(t, ", \"call\": ");
    json_text(t, words, strlen(words));
    tt_text_add(t, ", \"collective\": \"%s\", \"count\": %llu, \"type\": \"%s\", \"op\": \"%s\"",
                tutti_coll_name((tutti_coll)call->coll), (unsigned long long)call->count,
                tutti_type_name((tutti_type)call->type), tt_op_kind_name(call->op));
    if (tt_coll_rooted((tutti_coll)call->coll)) tt_text_add(t, ", \"root\": %u", call->root);
  }
  tt_text_add(t, "}");
}

static void json_comm(tt_text *t, const tt_look_comm *comm) {
  static const char *const words[] = {"over", "waits", "inside", "outside"};
  const doing d = doing_of(comm);
  tt_text_add(t, "{\"communicator\": %d, \"size\": %d, \"rank\": %d, \"state\": \"%s\"",
              comm->number, comm->ranks, comm->rank, words[d]);
  if (d == OVER) {
    tt_text_add(t, ", \"reason\": ");
    json_text(t, comm->reason, strlen(comm->reason));
  }
  if (d == WAITS) {
    tt_text_add(t, ", \"for\": %u, \"seconds\": %.6f", comm->waits_for, (double)comm->waited / 1e6);
    if (comm->message)
      tt_text_add(
          t, ", \"message\": {\"number\": %u, \"sends\": %s, \"count\": %llu, \"type\": \"%s\"}",
          comm->waits_in, comm->message == 2 ? "true" : "false", (unsigned long long)comm->count,
          tutti_type_name((tutti_type)comm->type));
    else
      tt_text_add(t, ", \"step\": %u", comm->waits_at);
    if (!comm->message) json_call(t, "in", comm, comm->waits_in);
  }
  if (d == INSIDE) json_call(t, "in", comm, comm->over);
  if (comm->over > 1) json_call(t, "finished", comm, comm->over - 1);
  tt_text_add(t, "}");
}

static void json_job(tt_text *t, const tt_look *v) {
  tt_text findings = {.at = NULL};
  tt_text_add(t, "{\"ranks\": [");
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_rank *l = &v->rank[r];
    tt_text_add(t, "%s\n  {\"rank\": %d, \"pid\": %d, \"process\": \"%s\", \"communicators\": [",
                r ? "," : "", v->rank[r].name, l->pid, process_word(l));
    for (int i = 0; i < l->ncomms; i++) {
      tt_text_add(t, "%s\n    ", i ? "," : "");
      json_comm(t, &l->comms[i]);
    }
    tt_text_add(t, "]}");
  }
  tt_text_add(t, "],\n  \"verdict\": [");
  tt_findings(&findings, v);
  const char *comma = "";
  for (const char *at = findings.at, *end; at && (end = strchr(at, '\n')); at = end + 1) {
    tt_text_add(t, "%s\n    ", comma);
    json_text(t, at, (size_t)(end - at));
    comma = ",";
  }
  t->failed |= findings.failed;
  free(findings.at);
  tt_text_add(t, "]}");
}

/* ---- all steps ---- */

static tutti_status report_from_fd(int fd, bool json, tt_text *t) {
  tt_look look;
  tutti_status status = tt_job_look(fd, &look);
  if (!status) (json ? json_job : say_job)(t, &look);
  tt_look_free(&look);
  return status;
}

tutti_status tutti_job_report(long pid, int json, char **text) {
  int fds[JOBS], n = 0;
  tt_text t = {.at = NULL};
  tutti_status status = tt_args_given("tutti_job_report", "text", text, NULL, NULL);
  if (status) return status;
  *text = NULL;
  status = tt_job_find(pid, fds, JOBS, &n);
  if (json) tt_text_add(&t, "{\"jobs\": [");
  for (int i = 0; i < n && !status; i++) {
    if (i) tt_text_add(&t, json ? ",\n" : "\n");
    status = report_from_fd(fds[i], json != 0, &t);
  }
  if (json) tt_text_add(&t, "]}\n");
  for (int i = 0; i < n; i++) close(fds[i]);
  if (!status && t.failed) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a report");
  if (status)
    free(t.at);
  else
    *text = t.at;
  return status;
}
