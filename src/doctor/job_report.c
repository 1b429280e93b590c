/* job_report.c - tutti_job_report: reports what the ranks of a job do, for people or as JSON.
 *
 * Idea       The job's memory is found through a process, copied, and described: one line per rank, then what is
 *            wrong, one sentence per line.
 * Invariant  Published data may be wrong, or from different moments; every walk ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm_view.h"
#include "job_look.h"
#include "process_state.h"
#include "why.h"

/* ---- lines for people ---- */

static const char *process_word(const tt_look_rank *l) {
  if (!l->pid) return "-";
  if (l->hidden) return "hidden"; /* in another PID namespace than the doctor */
  if (tt_state_dead(l->state)) return "gone";
  if (tt_state_stopped(l->state)) return "stopped";
  return l->state == 'R' ? "runs" : "sleeps";
}

typedef enum doing { OVER, WAITS, INSIDE, OUTSIDE } doing;

static doing doing_of(const tt_look_comm *comm) {
  if (comm->aborted) return OVER;
  if (comm->waits) return WAITS;
  return comm->newest > comm->over ? INSIDE : OUTSIDE;
}

static void say_comm(tt_text *t, const tt_look *v, const tt_look_comm *comm) {
  switch (doing_of(comm)) {
    case OVER: tt_text_add(t, "gets the error of a failed communicator"); break;
    case WAITS:
      tt_text_add(t,
                  comm->shown.waits_for == TT_ANY_RANK ? "waits %.1f s for any rank in "
                                                       : "waits %.1f s for rank %u in ",
                  (double)comm->waited / 1e6, comm->shown.waits_for);
      tt_look_add_waiting(t, comm);
      if (!comm->shown.message) tt_text_add(t, ", step %u", comm->shown.waits_at);
      break;
    case INSIDE:
      tt_text_add(t, "is at ");
      tt_look_add_call(t, comm, comm->over);
      if (comm->newest - comm->over > 1)
        tt_text_add(t, " and %" PRIu64 " more", comm->newest - comm->over - 1);
      break;
    default:
      tt_text_add(t, "is outside; it last finished ");
      tt_look_add_call(t, comm, comm->newest - 1);
  }
  if (doing_of(comm) == WAITS && *comm->shown.tag) tt_text_add(t, ", tag '%s'", comm->shown.tag);
  const char *quote = *comm->shown.name ? "'" : "", *gap = *quote ? " " : "";
  if (v->nhomes > 1 || *quote)
    tt_text_add(t, ", communicator %d%s%s%s%s of %d ranks", comm->number, gap, quote,
                comm->shown.name, quote, comm->ranks);
  tt_text_add(t, "\n");
}

/* Describes all communicators with a call in progress on this rank. If no call is in progress, describes the most active one. */
static void describe_rank(tt_text *t, const tt_look *v, const tt_look_rank *l) {
  const tt_look_comm *most = NULL;
  char head[60];
  bool said = false;
  snprintf(head, sizeof head, "%4d %9d  %-8s ", l->name, l->pid, process_word(l));
  for (int i = 0; i < l->ncomms; i++) {
    const tt_look_comm *comm = &l->comms[i];
    if (!most || comm->newest >= most->newest) most = comm;
    if (doing_of(comm) == OUTSIDE) continue;
    tt_text_add(t, "%s", head);
    say_comm(t, v, comm);
    said = true;
  }
  if (said) return;
  tt_text_add(t, "%s", head);
  if (most && most->newest > 1)
    say_comm(t, v, most);
  else
    tt_text_add(t, "%s\n",
                most      ? "is outside; it has called nothing yet"
                : l->left ? "has left (tutti_finalize)"
                : l->dead ? "ended before all had come"
                : l->pid  ? "waits for the others to come"
                          : "has not come yet");
}

static void say_job(tt_text *t, const tt_look *v) {
  tt_text_add(t, "rank       pid  process\n");
  for (int r = 0; r < v->ranks; r++) {
    describe_rank(t, v, &v->rank[r]);
    if (v->rank[r].hides) tt_text_add(t, "     (and communicators that cannot be seen)\n");
  }
  tt_text_add(t, "\n");
  tt_look_findings(t, v);
}

/* ---- JSON ---- */

static void json_words(tt_text *t, const char *key, const char *words) {
  if (*words) tt_text_add(t, ", \"%s\": ", key), tt_why_string(t, words, strlen(words) + 1);
}

static void json_call(tt_text *t, const char *name, const tt_look_comm *comm, uint64_t seq) {
  const tt_record *call = tt_look_call(comm, seq);
  char words[120];
  tt_text_add(t, ", \"%s\": {\"operation\": %" PRIu64, name, seq);
  if (call) {
    tt_record_words(call, words, sizeof words);
    json_words(t, "call", words);
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
  json_words(t, "name", comm->shown.name);
  json_words(t, "tag", d == WAITS ? comm->shown.tag : "");
  json_words(t, "reason", d == OVER ? comm->reason : "");
  if (d == WAITS) {
    tt_text_add(t, ", \"for\": %d, \"seconds\": %.6f", (int)comm->shown.waits_for,
                (double)comm->waited / 1e6);
    if (comm->shown.message)
      tt_text_add(
          t, ", \"message\": {\"tag\": %d, \"sends\": %s, \"count\": %llu, \"type\": \"%s\"}",
          (int)comm->shown.waits_in, comm->shown.message == 2 ? "true" : "false",
          (unsigned long long)comm->shown.count, tutti_type_name((tutti_type)comm->shown.type));
    else
      tt_text_add(t, ", \"step\": %u", comm->shown.waits_at);
    if (!comm->shown.message) json_call(t, "in", comm, comm->shown.waits_in);
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
  tt_look_findings(&findings, v);
  const char *comma = "";
  for (const char *at = findings.at, *end; at && (end = strchr(at, '\n')); at = end + 1) {
    tt_text_add(t, "%s\n    ", comma);
    tt_why_string(t, at, (size_t)(end - at));
    comma = ",";
  }
  t->failed |= findings.failed;
  free(findings.at);
  tt_text_add(t, "]}");
}

/* ---- all steps ---- */

/* Reports all segments that are used by ranks. If there is neither a used segment nor any other wait, reports the first segment.
 * Each part of `tutti run --hosts` has an extra segment that its ranks do not use. */
static tutti_status report_jobs(const tt_found *found, bool json, tt_text *t) {
  tt_look look[TT_LOOK_JOBS] = {{.ranks = 0}};
  tutti_status status = TUTTI_OK;
  int used = 0;
  for (int i = 0; i < found->fds && !status; i++) {
    status = tt_job_look(found->fd[i], &look[i]);
    used += look[i].used;
  }
  for (int i = 0, said = 0; i < found->fds && !status; i++) {
    if (used ? !look[i].used : said || found->waits) continue;
    if (said++) tt_text_add(t, json ? ",\n" : "\n");
    (json ? json_job : say_job)(t, &look[i]);
  }
  for (int i = 0; i < found->fds; i++) tt_look_free(&look[i]);
  return status;
}

/* Reports processes that wait, but not in an operation. */
static void report_waits(const tt_found *found, bool json, tt_text *t) {
  for (int i = 0; i < found->waits; i++) {
    const tt_look_wait *w = &found->wait[i];
    if (!json) {
      tt_text_add(t, "pid %ld: %s, for %.1f s\n", w->pid, w->words, w->seconds);
      continue;
    }
    tt_text_add(t, "%s\n  {\"pid\": %ld, \"seconds\": %.6f", i ? "," : "", w->pid, w->seconds);
    json_words(t, "words", w->words);
    tt_text_add(t, "}");
  }
}

tutti_status tutti_job_report(long pid, int json, char **text) {
  tt_text t = {.at = NULL};
  tutti_status status = tt_args_given("tutti_job_report", "text", text, NULL, NULL);
  if (status) return status;
  *text = NULL;
  tt_found *found = malloc(sizeof *found);
  if (!found) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for a report");
  status = tt_job_find(pid, found);
  if (json) tt_text_add(&t, "{\"jobs\": [");
  if (!status) status = report_jobs(found, json, &t);
  if (json) tt_text_add(&t, "],\n \"waits\": [");
  if (!status) report_waits(found, json, &t);
  if (json) tt_text_add(&t, "]}\n");
  for (int i = 0; i < found->fds; i++) close(found->fd[i]);
  free(found);
  if (!status && t.failed) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a report");
  if (status)
    free(t.at);
  else
    *text = t.at;
  return status;
}
