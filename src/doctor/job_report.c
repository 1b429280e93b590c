/* job_report.c - tutti_job_report: what the ranks of a job do, for people or as JSON.
 *
 * Idea       the job's memory is found through a process, copied, and described: a line per
 *            rank, then the findings (findings.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job_report.h"
#include "process_state.h"

enum { JOBS = 16 }; /* the most that one process can be part of */

/* ---- names ---- */

int tt_view_name(const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  int name = rank, most = 0;
  for (int i = 0; i < l->ncomms; i++)
    if (l->comms[i].ranks > most) most = l->comms[i].ranks, name = l->comms[i].rank;
  return name;
}

int tt_view_number(const tt_job_view *v, uint64_t home) {
  int lo = 0, hi = v->nhomes;
  while (lo < hi) {
    const int mid = (lo + hi) / 2;
    if (v->homes[mid] < home)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo + 1;
}

bool tt_view_left(const tt_job_view *v, int rank) {
  return v->look.rank[rank].pid && v->look.rank[rank].met && !v->look.rank[rank].ncomms;
}

bool tt_view_dead(const tt_job_view *v, int rank) {
  return v->look.rank[rank].pid && tt_state_dead(v->look.rank[rank].state);
}

bool tt_view_stopped(const tt_job_view *v, int rank) {
  return v->look.rank[rank].pid && tt_state_stopped(v->look.rank[rank].state);
}

bool tt_view_waits(const tt_job_view *v, int rank, const tt_look_comm *comm) {
  const bool fresh = comm->seen + TT_STALE_US > v->now || tt_view_stopped(v, rank);
  return comm->waits && fresh && !comm->aborted && !tt_view_dead(v, rank);
}

const tt_look_comm *tt_view_wait(const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  const tt_look_comm *longest = NULL;
  for (int i = 0; i < l->ncomms; i++) {
    const tt_look_comm *comm = &l->comms[i];
    if (tt_view_waits(v, rank, comm) && tt_view_waited(v, comm) >= TT_LONG_US &&
        (!longest || comm->since < longest->since))
      longest = comm;
  }
  return longest;
}

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

static doing doing_of(const tt_job_view *v, int rank, const tt_look_comm *comm) {
  if (comm->aborted) return OVER;
  if (tt_view_waits(v, rank, comm)) return WAITS;
  return (int32_t)(comm->newest - comm->over) > 0 ? INSIDE : OUTSIDE;
}

static void say_comm(tt_text *t, const tt_job_view *v, int rank, const tt_look_comm *comm) {
  switch (doing_of(v, rank, comm)) {
    case OVER: tt_text_add(t, "is told that it is over"); break;
    case WAITS:
      tt_text_add(t, "waits %.1f s for rank %u in ", (double)tt_view_waited(v, comm) / 1e6,
                  comm->waits_for);
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
  if (v->nhomes > 1)
    tt_text_add(t, ", communicator %d of %d ranks", tt_view_number(v, comm->home), comm->ranks);
  tt_text_add(t, "\n");
}

/* Describes all communicators that the rank is inside a call of; else its most active one. */
static void describe_rank(tt_text *t, const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  const tt_look_comm *most = NULL;
  bool said = false;
  for (int i = 0; i < l->ncomms; i++) {
    const tt_look_comm *comm = &l->comms[i];
    if (!most || comm->newest >= most->newest) most = comm;
    if (doing_of(v, rank, comm) == OUTSIDE) continue;
    tt_text_add(t, "%4d %9d  %-8s ", tt_view_name(v, rank), l->pid, process_word(l));
    say_comm(t, v, rank, comm);
    said = true;
  }
  if (said) return;
  tt_text_add(t, "%4d %9d  %-8s ", tt_view_name(v, rank), l->pid, process_word(l));
  if (most && most->newest > 1)
    say_comm(t, v, rank, most);
  else
    tt_text_add(t, "%s\n",
                most                     ? "is outside; it has called nothing yet"
                : tt_view_left(v, rank)  ? "has left (tutti_finalize)"
                : tt_view_dead(v, rank)  ? "died before all had come"
                : v->look.rank[rank].pid ? "waits for the others to come"
                                         : "has not come yet");
}

static void say_job(tt_text *t, const tt_job_view *v) {
  tt_text_add(t, "rank       pid  process\n");
  for (int r = 0; r < v->look.ranks; r++) {
    describe_rank(t, v, r);
    if (v->look.rank[r].hides) tt_text_add(t, "     (and communicators that cannot be seen)\n");
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

static void json_comm(tt_text *t, const tt_job_view *v, int rank, const tt_look_comm *comm) {
  static const char *const words[] = {"over", "waits", "inside", "outside"};
  const doing d = doing_of(v, rank, comm);
  tt_text_add(t, "{\"communicator\": %d, \"size\": %d, \"rank\": %d, \"state\": \"%s\"",
              tt_view_number(v, comm->home), comm->ranks, comm->rank, words[d]);
  if (d == OVER) {
    tt_text_add(t, ", \"reason\": ");
    json_text(t, comm->reason, strlen(comm->reason));
  }
  if (d == WAITS) {
    tt_text_add(t, ", \"for\": %u, \"seconds\": %.6f", comm->waits_for,
                (double)tt_view_waited(v, comm) / 1e6);
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

static void json_job(tt_text *t, const tt_job_view *v) {
  tt_text findings = {.at = NULL};
  tt_text_add(t, "{\"ranks\": [");
  for (int r = 0; r < v->look.ranks; r++) {
    const tt_look_rank *l = &v->look.rank[r];
    tt_text_add(t, "%s\n  {\"rank\": %d, \"pid\": %d, \"process\": \"%s\", \"communicators\": [",
                r ? "," : "", tt_view_name(v, r), l->pid, process_word(l));
    for (int i = 0; i < l->ncomms; i++) {
      tt_text_add(t, "%s\n    ", i ? "," : "");
      json_comm(t, v, r, &l->comms[i]);
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

static int compare_uint64(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool number_homes(tt_job_view *v) {
  size_t n = 0;
  for (int r = 0; r < v->look.ranks; r++) n += (size_t)v->look.rank[r].ncomms;
  v->homes = calloc(n + 1, sizeof *v->homes);
  if (!v->homes) return false;
  n = 0;
  for (int r = 0; r < v->look.ranks; r++)
    for (int i = 0; i < v->look.rank[r].ncomms; i++) v->homes[n++] = v->look.rank[r].comms[i].home;
  qsort(v->homes, n, sizeof *v->homes, compare_uint64);
  for (size_t i = 0; i < n; i++)
    if (!v->nhomes || v->homes[v->nhomes - 1] != v->homes[i]) v->homes[v->nhomes++] = v->homes[i];
  return true;
}

static tutti_status report_from_fd(int fd, bool json, tt_text *t) {
  tt_job_view v = {.nhomes = 0};
  tutti_status status = tt_job_look(fd, &v.look);
  v.now = tt_clock_us(CLOCK_MONOTONIC);
  if (!status && !number_homes(&v)) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job");
  if (!status) (json ? json_job : say_job)(t, &v);
  free(v.homes);
  tt_look_free(&v.look);
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
