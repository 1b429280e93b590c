/* job_findings.c - finds what is wrong in a job: ranks whose calls differ, and the rank that others wait for.
 *
 * Idea       A waiting rank names the rank that it waits for. The chain of these waits ends at a rank that is stopped, dead
 *            or computing, which is the cause; or it is a circle of ranks that wait for each other in calls that do not
 *            match. In addition, the calls of all ranks for the same operation of a communicator are compared.
 * Invariant  Published data may be wrong, or from different moments; every walk ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "comm_view.h"
#include "job_look.h"
#include "process_state.h"

/* ---- calls and waits ---- */

/* Appends an operation, such as "allreduce of 10 int64, sum (operation 5)", or only "operation 5" if its call is not known. */
void tt_look_add_call(tt_text *t, const tt_look_comm *comm, uint64_t seq) {
  const tt_record *call = tt_look_call(comm, seq);
  char words[120];
  if (call) tt_record_words(call, words, sizeof words);
  tt_text_add(t, call ? "%s (operation %" PRIu64 ")" : "%soperation %" PRIu64, call ? words : "",
              seq);
}

/* Appends the call or the message that a rank waits for, for example "a message, to receive 10 double with tag 3". */
void tt_look_add_waiting(tt_text *t, const tt_look_comm *comm) {
  char words[120];
  if (!comm->shown.message) {
    tt_look_add_call(t, comm, comm->shown.waits_in);
    return;
  }
  tt_p2p_words(comm->shown.message == 2, comm->shown.count, (tutti_type)comm->shown.type,
               (int)comm->shown.waits_in, words, sizeof words);
  tt_text_add(t, "a message, to %s", words);
}

/* ---- what is wrong ---- */

enum { ELSEWHERE = -1, CIRCLE = -2, NOBODY = -3 };

/* Appends the list of marked ranks, such as "rank 3" or "ranks 0, 1 and 4". Returns how many ranks are marked. */
static int add_ranks(tt_text *t, const tt_look *v, const bool *marked) {
  int n = 0, said = 0;
  for (int r = 0; r < v->ranks; r++) n += marked[r];
  tt_text_add(t, n == 1 ? "rank" : "ranks");
  for (int r = 0; r < v->ranks; r++) {
    if (!marked[r]) continue;
    if (said == 16) {
      tt_text_add(t, " and %d more", n - said);
      break;
    }
    tt_text_add(t, "%s %d", said == 0 ? "" : said + 1 == n ? " and" : ",", v->rank[r].name);
    said++;
  }
  return n;
}

/* ---- failed communicators, and calls that differ ---- */

static const tt_look_comm *in_home(const tt_look *v, int rank, uint64_t home) {
  const tt_look_rank *l = &v->rank[rank];
  for (int i = 0; i < l->ncomms; i++)
    if (l->comms[i].home == home) return &l->comms[i];
  return NULL;
}

static bool say_over(tt_text *t, const tt_look *v, uint64_t home) {
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = in_home(v, r, home);
    if (!comm || !comm->aborted) continue;
    tt_text_add(t, "communicator %d is over (%s): %s\n", comm->number,
                tutti_strerror(comm->aborted), comm->reason);
    return true;
  }
  return false;
}

/* Returns the call that a rank made as operation `seq`, or NULL if it is not known. */
static const tt_record *call_of(const tt_look *v, int rank, uint64_t home, uint64_t seq) {
  const tt_look_comm *comm = in_home(v, rank, home);
  return comm ? tt_look_call(comm, seq) : NULL;
}

/* Marks all ranks that made a call with this hash as operation `seq`. Returns the number of these ranks. */
static int alike(const tt_look *v, uint64_t home, uint64_t seq, uint32_t hash, bool *marked) {
  int n = 0;
  for (int r = 0; r < v->ranks; r++) {
    const tt_record *call = call_of(v, r, home, seq);
    marked[r] = call && call->stamp.hash == hash;
    n += marked[r];
  }
  return n;
}

static bool say_difference(tt_text *t, const tt_look *v, uint64_t home, int number, uint64_t seq,
                           bool *marked) {
  const tt_record *one = NULL, *other = NULL;
  for (int r = 0; r < v->ranks && !other; r++) {
    const tt_record *call = call_of(v, r, home, seq);
    if (!one)
      one = call;
    else if (call && call->stamp.hash != one->stamp.hash)
      other = call;
  }
  if (!other) return false;
  if (alike(v, home, seq, one->stamp.hash, marked) <
      alike(v, home, seq, other->stamp.hash, marked)) {
    const tt_record *swapped = one;
    one = other, other = swapped;
  }
  char words[120], others[120];
  tt_record_words(other, words, sizeof words);
  tt_record_words(one, others, sizeof others);
  alike(v, home, seq, other->stamp.hash, marked);
  add_ranks(t, v, marked);
  tt_text_add(t, " called %s where ", words);
  alike(v, home, seq, one->stamp.hash, marked);
  add_ranks(t, v, marked);
  tt_text_add(t, " called %s%s (operation %" PRIu64 " of communicator %d)\n", others,
              strcmp(words, others) ? "" : ", with other counts or by another plan", seq, number);
  return true;
}

static bool say_differences(tt_text *t, const tt_look *v, uint64_t home, int number, bool *marked) {
  uint64_t most = 0;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = in_home(v, r, home);
    if (comm && comm->newest > most) most = comm->newest;
  }
  for (uint32_t back = 2 * TT_RECORDS; back-- > 0;)
    if (most > back && say_difference(t, v, home, number, most - 1 - back, marked)) return true;
  return false;
}

/* ---- the waits between ranks ---- */

static int next_of(const tt_look *v, int rank) {
  const tt_look_comm *comm = v->rank[rank].wait;
  if (!comm || v->rank[rank].dead || v->rank[rank].stopped) return NOBODY;
  if (comm->shown.waits_near >= (uint32_t)v->ranks) return ELSEWHERE;
  return (int)comm->shown.waits_near;
}

/* Follows the chain of waits that starts at `rank`. Returns the rank at its end, ELSEWHERE if it leaves the node, or CIRCLE. */
static int root_of(const tt_look *v, int rank) {
  for (int steps = 0, next; steps <= v->ranks; steps++, rank = next) {
    next = next_of(v, rank);
    if (next == NOBODY) return rank;
    if (next == ELSEWHERE) return ELSEWHERE;
  }
  return CIRCLE;
}

static void add_state(tt_text *t, const tt_look *v, int root, const tt_look_comm *waiter) {
  const tt_look_comm *comm = in_home(v, root, waiter->home);
  tt_text_add(t, "rank %d", v->rank[root].name);
  if (v->rank[root].pid) tt_text_add(t, " (pid %d)", v->rank[root].pid);
  if (!v->rank[root].pid) {
    tt_text_add(t, " has not come yet");
  } else if (v->rank[root].left) {
    tt_text_add(t, " has left (tutti_finalize)");
  } else if (v->rank[root].dead) {
    tt_text_add(t, " has ended%s", v->rank[root].exit);
  } else if (v->rank[root].stopped) {
    tt_text_add(t, " is stopped");
  } else if (!comm) {
    tt_text_add(t, " is not in that communicator any more");
  } else if (!waiter->shown.message && comm->newest > waiter->shown.waits_in) {
    tt_text_add(t, " is at work in it, too");
  } else if (comm->newest > comm->over) {
    tt_text_add(t, " is still at ");
    tt_look_add_call(t, comm, comm->over);
  } else {
    tt_text_add(t, " is outside tutti; it last finished ");
    if (comm->newest > 1)
      tt_look_add_call(t, comm, comm->newest - 1);
    else
      tt_text_add(t, "nothing");
  }
}

/* Appends a sentence about all ranks whose chain of waits ends at `root`. roots[r] is the end of the chain of rank r. */
static void say_root(tt_text *t, const tt_look *v, int root, const int *roots, bool *marked) {
  const tt_look_comm *longest = NULL;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = v->rank[r].wait;
    marked[r] = roots[r] == root && r != root && comm;
    if (!marked[r]) continue;
    const bool direct = root == ELSEWHERE ? comm->shown.waits_near == UINT32_MAX
                                          : comm->shown.waits_near == (uint32_t)root;
    if (direct && (!longest || comm->shown.since < longest->shown.since)) longest = comm;
  }
  if (!longest) return;
  if (root == ELSEWHERE)
    tt_text_add(t,
                longest->shown.waits_for == TT_ANY_RANK ? "no rank has sent it"
                                                        : "rank %u is on another node",
                longest->shown.waits_for);
  else
    add_state(t, v, root, longest);
  tt_text_add(t, "; ");
  tt_text_add(t, add_ranks(t, v, marked) == 1 ? " waits for it in " : " wait for it in ");
  tt_look_add_waiting(t, longest);
  tt_text_add(t, " for %.1f s\n", (double)longest->waited / 1e6);
}

/* Lists the ranks that wait for each other in a circle. The chain of waits that starts at `rank` leads to this circle. */
static void say_circle(tt_text *t, const tt_look *v, int rank, const int *roots, bool *said) {
  for (int i = 0; i < v->ranks; i++) rank = next_of(v, rank); /* now it is in the circle */
  if (said[rank] || roots[rank] != CIRCLE) return;
  tt_text_add(t, "ranks wait for each other: ");
  for (const char *comma = ""; !said[rank]; rank = next_of(v, rank), comma = "; ") {
    const tt_look_comm *comm = v->rank[rank].wait;
    said[rank] = true;
    tt_text_add(t, "%srank %d (pid %d) for rank %d in ", comma, v->rank[rank].name,
                v->rank[rank].pid, v->rank[next_of(v, rank)].name);
    tt_look_add_waiting(t, comm);
    tt_text_add(t, " of communicator %d, for %.1f s", comm->number, (double)comm->waited / 1e6);
  }
  tt_text_add(t, "\n");
}

static void say_waits(tt_text *t, const tt_look *v, int *roots, bool *marked, bool *blamed) {
  const int ranks = v->ranks;
  const size_t bytes = (size_t)(unsigned)ranks * sizeof *marked;
  for (int r = 0; r < ranks; r++) roots[r] = next_of(v, r) == NOBODY ? NOBODY : root_of(v, r);
  memset(blamed, 0, bytes);
  for (int r = 0; r < ranks; r++)
    if (roots[r] >= 0) blamed[roots[r]] = true;
  for (int r = 0; r < ranks; r++)
    if (blamed[r]) say_root(t, v, r, roots, marked);
  say_root(t, v, ELSEWHERE, roots, marked);
  memset(marked, 0, bytes);
  for (int r = 0; r < ranks; r++)
    if (roots[r] == CIRCLE) say_circle(t, v, r, roots, marked);
}

/* ---- when no rank waits ---- */

enum { ABSENT, ENDED, STOPPED, TROUBLES };

static int trouble_of(const tt_look_rank *l) {
  if (!l->pid) return ABSENT;
  if (l->left) return TROUBLES;
  return l->dead ? ENDED : l->stopped ? STOPPED : TROUBLES;
}

static void say_states(tt_text *t, const tt_look *v, bool *marked) {
  static const char *const words[TROUBLES][2] = {
      [ABSENT] = {"has not called tutti_comm_from_env yet",
                  "have not called tutti_comm_from_env yet"},
      [ENDED] = {"has ended; no rank waits for it", "have ended; no rank waits for them"},
      [STOPPED] = {"is stopped; no rank waits for it yet",
                   "are stopped; no rank waits for them yet"}};
  bool all_left = true, inside = false, any = false;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_rank *l = &v->rank[r];
    all_left &= l->left;
    for (int i = 0; i < l->ncomms; i++) inside |= l->comms[i].newest > l->comms[i].over;
  }
  for (int trouble = 0; trouble < TROUBLES; trouble++) {
    bool some = false;
    for (int r = 0; r < v->ranks; r++) some |= marked[r] = trouble_of(&v->rank[r]) == trouble;
    if (some) tt_text_add(t, " %s\n", words[trouble][add_ranks(t, v, marked) > 1]);
    any |= some;
  }
  if (any) return;
  tt_text_add(t, all_left ? "all ranks have left (tutti_finalize)\n"
                 : inside ? "the ranks are at work; no rank has waited for as long as 0.1 s\n"
                          : "all ranks compute\n");
}

void tt_look_findings(tt_text *t, const tt_look *v) {
  const size_t ranks = (size_t)v->ranks;
  bool *marked = calloc(2 * ranks, sizeof *marked); /* say_waits needs two arrays */
  int *roots = calloc(ranks, sizeof *roots);
  const size_t before = t->length;
  if (!marked || !roots) t->failed = true;
  for (int i = 0; i < v->nhomes && !t->failed; i++)
    if (!say_over(t, v, v->homes[i])) say_differences(t, v, v->homes[i], i + 1, marked);
  if (!t->failed) say_waits(t, v, roots, marked, marked + ranks);
  if (!t->failed && t->length == before) say_states(t, v, marked);
  free(marked);
  free(roots);
}
