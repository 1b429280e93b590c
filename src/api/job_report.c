/* job_report.c - tutti_job_report: what the ranks of a job do, for people or as JSON.
 *
 * Idea       the job's memory is found through a process, copied, and put into words: a line per
 *            rank, then what is wrong (verdict.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job_report.h"

enum { JOBS = 16 }; /* that one process can be part of */

/* ---- names ---- */

int tt_view_name(const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  int name = rank, most = 0;
  for (int i = 0; i < l->nrooms; i++)
    if (l->rooms[i].ranks > most) most = l->rooms[i].ranks, name = l->rooms[i].rank;
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
  return v->look.rank[rank].pid && v->look.rank[rank].met && !v->look.rank[rank].nrooms;
}

bool tt_view_dead(const tt_job_view *v, int rank) {
  return v->look.rank[rank].pid && tt_state_dead(v->look.rank[rank].state);
}

bool tt_view_stopped(const tt_job_view *v, int rank) {
  return v->look.rank[rank].pid && tt_state_stopped(v->look.rank[rank].state);
}

bool tt_view_waits(const tt_job_view *v, int rank, const tt_look_room *room) {
  const bool fresh = room->seen + TT_STALE_US > v->now || tt_view_stopped(v, rank);
  return room->waits && fresh && !room->aborted && !tt_view_dead(v, rank);
}

const tt_look_room *tt_view_wait(const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  const tt_look_room *longest = NULL;
  for (int i = 0; i < l->nrooms; i++) {
    const tt_look_room *room = &l->rooms[i];
    if (tt_view_waits(v, rank, room) && tt_view_waited(v, room) >= TT_LONG_US &&
        (!longest || room->since < longest->since))
      longest = room;
  }
  return longest;
}

void tt_view_call(tt_text *t, const tt_look_room *room, uint32_t seq) {
  const tt_record *call = tt_look_call(room, seq);
  char words[120];
  if (call) tt_record_words(call, words, sizeof words);
  tt_text_add(t, call ? "%s (operation %u)" : "%soperation %u", call ? words : "", seq);
}

void tt_view_waiting(tt_text *t, const tt_look_room *room) {
  if (room->message)
    tt_text_add(t, "message %u, to %s %llu %s", room->waits_in,
                room->message == 1 ? "receive" : "send", (unsigned long long)room->count,
                tutti_type_name((tutti_type)room->type));
  else
    tt_view_call(t, room, room->waits_in);
}

/* ---- lines for people ---- */

static const char *process_word(const tt_look_rank *l) {
  if (!l->pid) return "-";
  if (tt_state_dead(l->state)) return "gone";
  if (tt_state_stopped(l->state)) return "stopped";
  return l->state == 'R' ? "runs" : "sleeps";
}

typedef enum doing { OVER, WAITS, INSIDE, OUTSIDE } doing;

static doing doing_of(const tt_job_view *v, int rank, const tt_look_room *room) {
  if (room->aborted) return OVER;
  if (tt_view_waits(v, rank, room)) return WAITS;
  return (int32_t)(room->newest - room->over) > 0 ? INSIDE : OUTSIDE;
}

static void say_room(tt_text *t, const tt_job_view *v, int rank, const tt_look_room *room) {
  switch (doing_of(v, rank, room)) {
    case OVER: tt_text_add(t, "is told that it is over"); break;
    case WAITS:
      tt_text_add(t, "waits %.1f s for rank %u in ", (double)tt_view_waited(v, room) / 1e6,
                  room->waits_for);
      tt_view_waiting(t, room);
      if (!room->message) tt_text_add(t, ", step %u", room->waits_at);
      break;
    case INSIDE:
      tt_text_add(t, "is at ");
      tt_view_call(t, room, room->over);
      if (room->newest - room->over > 1)
        tt_text_add(t, " and %u more", room->newest - room->over - 1);
      break;
    default:
      tt_text_add(t, "is outside; it last finished ");
      tt_view_call(t, room, room->newest - 1);
  }
  if (v->nhomes > 1)
    tt_text_add(t, ", communicator %d of %d ranks", tt_view_number(v, room->home), room->ranks);
  tt_text_add(t, "\n");
}

/* All places where it is inside, else the one where it did most. */
static void say_rank(tt_text *t, const tt_job_view *v, int rank) {
  const tt_look_rank *l = &v->look.rank[rank];
  const tt_look_room *most = NULL;
  bool said = false;
  for (int i = 0; i < l->nrooms; i++) {
    const tt_look_room *room = &l->rooms[i];
    if (!most || room->newest >= most->newest) most = room;
    if (doing_of(v, rank, room) == OUTSIDE) continue;
    tt_text_add(t, "%4d %9d  %-8s ", tt_view_name(v, rank), l->pid, process_word(l));
    say_room(t, v, rank, room);
    said = true;
  }
  if (said) return;
  tt_text_add(t, "%4d %9d  %-8s ", tt_view_name(v, rank), l->pid, process_word(l));
  if (most && most->newest > 1)
    say_room(t, v, rank, most);
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
    say_rank(t, v, r);
    if (v->look.rank[r].hides) tt_text_add(t, "     (and communicators that cannot be seen)\n");
  }
  tt_text_add(t, "\n");
  tt_verdict(t, v);
}

/* ---- JSON ---- */

static void json_text(tt_text *t, const char *text, size_t n) {
  tt_text_add(t, "\"");
  for (size_t i = 0; i < n; i++)
    tt_text_add(t, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
  tt_text_add(t, "\"");
}

static void json_call(tt_text *t, const char *name, const tt_look_room *room, uint32_t seq) {
  const tt_record *call = tt_look_call(room, seq);
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

static void json_room(tt_text *t, const tt_job_view *v, int rank, const tt_look_room *room) {
  static const char *const words[] = {"over", "waits", "inside", "outside"};
  const doing d = doing_of(v, rank, room);
  tt_text_add(t, "{\"communicator\": %d, \"size\": %d, \"rank\": %d, \"state\": \"%s\"",
              tt_view_number(v, room->home), room->ranks, room->rank, words[d]);
  if (d == OVER) {
    tt_text_add(t, ", \"reason\": ");
    json_text(t, room->reason, strlen(room->reason));
  }
  if (d == WAITS) {
    tt_text_add(t, ", \"for\": %u, \"seconds\": %.6f", room->waits_for,
                (double)tt_view_waited(v, room) / 1e6);
    if (room->message)
      tt_text_add(
          t, ", \"message\": {\"number\": %u, \"sends\": %s, \"count\": %llu, \"type\": \"%s\"}",
          room->waits_in, room->message == 2 ? "true" : "false", (unsigned long long)room->count,
          tutti_type_name((tutti_type)room->type));
    else
      tt_text_add(t, ", \"step\": %u", room->waits_at);
    if (!room->message) json_call(t, "in", room, room->waits_in);
  }
  if (d == INSIDE) json_call(t, "in", room, room->over);
  if (room->over > 1) json_call(t, "finished", room, room->over - 1);
  tt_text_add(t, "}");
}

static void json_job(tt_text *t, const tt_job_view *v) {
  tt_text verdict = {.at = NULL};
  tt_text_add(t, "{\"ranks\": [");
  for (int r = 0; r < v->look.ranks; r++) {
    const tt_look_rank *l = &v->look.rank[r];
    tt_text_add(t, "%s\n  {\"rank\": %d, \"pid\": %d, \"process\": \"%s\", \"communicators\": [",
                r ? "," : "", tt_view_name(v, r), l->pid, process_word(l));
    for (int i = 0; i < l->nrooms; i++) {
      tt_text_add(t, "%s\n    ", i ? "," : "");
      json_room(t, v, r, &l->rooms[i]);
    }
    tt_text_add(t, "]}");
  }
  tt_text_add(t, "],\n  \"verdict\": [");
  tt_verdict(&verdict, v);
  const char *comma = "";
  for (const char *at = verdict.at, *end; at && (end = strchr(at, '\n')); at = end + 1) {
    tt_text_add(t, "%s\n    ", comma);
    json_text(t, at, (size_t)(end - at));
    comma = ",";
  }
  t->failed |= verdict.failed;
  free(verdict.at);
  tt_text_add(t, "]}");
}

/* ---- the whole ---- */

static int ascending(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool number_homes(tt_job_view *v) {
  size_t n = 0;
  for (int r = 0; r < v->look.ranks; r++) n += (size_t)v->look.rank[r].nrooms;
  v->homes = calloc(n + 1, sizeof *v->homes);
  if (!v->homes) return false;
  n = 0;
  for (int r = 0; r < v->look.ranks; r++)
    for (int i = 0; i < v->look.rank[r].nrooms; i++) v->homes[n++] = v->look.rank[r].rooms[i].home;
  qsort(v->homes, n, sizeof *v->homes, ascending);
  for (size_t i = 0; i < n; i++)
    if (!v->nhomes || v->homes[v->nhomes - 1] != v->homes[i]) v->homes[v->nhomes++] = v->homes[i];
  return true;
}

static tutti_status report(int fd, bool json, tt_text *t) {
  tt_job_view v = {.nhomes = 0};
  struct timespec now;
  tutti_status status = tt_job_look(fd, &v.look);
  clock_gettime(CLOCK_MONOTONIC, &now);
  v.now = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
  if (!status && !number_homes(&v)) status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for a job");
  if (!status) (json ? json_job : say_job)(t, &v);
  free(v.homes);
  tt_look_free(&v.look);
  return status;
}

tutti_status tutti_job_report(long pid, int json, char **text) {
  int fds[JOBS], n = 0;
  tt_text t = {.at = NULL};
  tutti_status status = tt_alive();
  if (status) return status;
  if (!text) return tt_fail(TUTTI_ERR_ARG, "tutti_job_report: text is NULL");
  *text = NULL;
  status = tt_job_find(pid, fds, JOBS, &n);
  if (json) tt_text_add(&t, "{\"jobs\": [");
  for (int i = 0; i < n && !status; i++) {
    if (i) tt_text_add(&t, json ? ",\n" : "\n");
    status = report(fds[i], json != 0, &t);
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
