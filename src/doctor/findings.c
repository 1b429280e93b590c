/* findings.c - finds what is wrong with a job from what its ranks publish: one sentence a line.
 *
 * Idea       a waiting rank names the rank it waits for. This chain ends at a rank that does not
 *            wait or cannot: stopped, dead, computing; it is the cause. Or it is a circle: then
 *            the ranks wait for each other, in calls that do not match. Besides, the calls of
 *            all ranks for the same operation of a communicator are compared.
 * Invariant  published data may be wrong, or of different moments; every walk ends.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "job_look.h"

enum { ELSEWHERE = -1, CIRCLE = -2, NOBODY = -3 };

/* Appends "rank 3", or "ranks 0, 1 and 4": the marked ones. Returns their number. */
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

/* Marks the ranks whose call for operation `seq` has this hash; returns their number. */
static int alike(const tt_look *v, uint64_t home, uint32_t seq, uint32_t hash, bool *marked) {
  int n = 0;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = in_home(v, r, home);
    const tt_record *call = comm ? tt_look_call(comm, seq) : NULL;
    marked[r] = call && call->stamp.hash == hash;
    n += marked[r];
  }
  return n;
}

static bool say_difference(tt_text *t, const tt_look *v, uint64_t home, uint32_t seq,
                           bool *marked) {
  const tt_record *one = NULL, *other = NULL;
  const tt_look_comm *of_one = NULL, *of_other = NULL;
  for (int r = 0; r < v->ranks && !other; r++) {
    const tt_look_comm *comm = in_home(v, r, home);
    const tt_record *call = comm ? tt_look_call(comm, seq) : NULL;
    if (!call) continue;
    if (!one)
      one = call, of_one = comm;
    else if (call->stamp.hash != one->stamp.hash)
      other = call, of_other = comm;
  }
  if (!other) return false;
  if (alike(v, home, seq, one->stamp.hash, marked) <
      alike(v, home, seq, other->stamp.hash, marked)) {
    const tt_record *swapped = one;
    one = other, other = swapped;
    of_one = of_other;
  }
  char words[120], others[120];
  tt_record_words(other, words, sizeof words);
  tt_record_words(one, others, sizeof others);
  alike(v, home, seq, other->stamp.hash, marked);
  add_ranks(t, v, marked);
  tt_text_add(t, " called %s where ", words);
  alike(v, home, seq, one->stamp.hash, marked);
  add_ranks(t, v, marked);
  tt_text_add(t, " called %s%s (operation %u of communicator %d)\n", others,
              strcmp(words, others) ? "" : ", with other counts or by another plan", seq,
              of_one->number);
  return true;
}

static bool say_differences(tt_text *t, const tt_look *v, uint64_t home, bool *marked) {
  uint32_t most = 0;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = in_home(v, r, home);
    if (comm && comm->newest > most) most = comm->newest;
  }
  for (uint32_t back = 2 * TT_RECORDS; back-- > 0;)
    if (most > back && say_difference(t, v, home, most - 1 - back, marked)) return true;
  return false;
}

/* ---- the waits between ranks ---- */

static int next_of(const tt_look *v, int rank) {
  const tt_look_comm *comm = v->rank[rank].wait;
  if (!comm || v->rank[rank].dead || v->rank[rank].stopped) return NOBODY;
  if (comm->waits_near >= (uint32_t)v->ranks) return ELSEWHERE;
  return (int)comm->waits_near;
}

/* The end of the chain of waits that starts at `rank`. */
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
    tt_text_add(t, " has died");
  } else if (v->rank[root].stopped) {
    tt_text_add(t, " is stopped");
  } else if (!comm) {
    tt_text_add(t, " is not in that communicator any more");
  } else if (!waiter->message && comm->newest > waiter->waits_in) {
    tt_text_add(t, " is at work in it, too");
  } else if (comm->newest > comm->over) {
    tt_text_add(t, " is still at ");
    tt_view_call(t, comm, comm->over);
  } else {
    tt_text_add(t, " is outside tutti; it last finished ");
    if (comm->newest > 1)
      tt_view_call(t, comm, comm->newest - 1);
    else
      tt_text_add(t, "nothing");
  }
}

/* Appends one sentence about all ranks that wait, in the end, for `root`. roots[r]: the end of r's
 * chain. */
static void say_root(tt_text *t, const tt_look *v, int root, const int *roots, bool *marked) {
  const tt_look_comm *longest = NULL;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_comm *comm = v->rank[r].wait;
    marked[r] = roots[r] == root && r != root && comm;
    if (!marked[r]) continue;
    const bool direct =
        root == ELSEWHERE ? comm->waits_near == UINT32_MAX : comm->waits_near == (uint32_t)root;
    if (direct && (!longest || comm->since < longest->since)) longest = comm;
  }
  if (!longest) return;
  if (root == ELSEWHERE)
    tt_text_add(t, "rank %u is on another node", longest->waits_for);
  else
    add_state(t, v, root, longest);
  tt_text_add(t, "; ");
  tt_text_add(t, add_ranks(t, v, marked) == 1 ? " waits for it in " : " wait for it in ");
  tt_view_waiting(t, longest);
  tt_text_add(t, " for %.1f s\n", (double)longest->waited / 1e6);
}

/* Lists the ranks of the circle that `rank`'s chain leads to. */
static void say_circle(tt_text *t, const tt_look *v, int rank, const int *roots, bool *said) {
  for (int i = 0; i < v->ranks; i++) rank = next_of(v, rank); /* now it is in the circle */
  if (said[rank] || roots[rank] != CIRCLE) return;
  tt_text_add(t, "ranks wait for each other: ");
  for (const char *comma = ""; !said[rank]; rank = next_of(v, rank), comma = "; ") {
    const tt_look_comm *comm = v->rank[rank].wait;
    said[rank] = true;
    tt_text_add(t, "%srank %d (pid %d) for rank %d in ", comma, v->rank[rank].name,
                v->rank[rank].pid, v->rank[next_of(v, rank)].name);
    tt_view_waiting(t, comm);
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

typedef bool is_fn(const tt_look *v, int rank);

static bool has_not_come(const tt_look *v, int rank) {
  return !v->rank[rank].pid;
}
static bool has_died(const tt_look *v, int rank) {
  return !has_not_come(v, rank) && v->rank[rank].dead && !v->rank[rank].left;
}
static bool is_stopped(const tt_look *v, int rank) {
  return v->rank[rank].stopped && !v->rank[rank].left;
}

static bool say_those(tt_text *t, const tt_look *v, is_fn *is, const char *one, const char *several,
                      bool *marked) {
  bool any = false;
  for (int r = 0; r < v->ranks; r++) any |= marked[r] = is(v, r);
  if (any) tt_text_add(t, " %s\n", add_ranks(t, v, marked) == 1 ? one : several);
  return any;
}

static void say_states(tt_text *t, const tt_look *v, bool *marked) {
  bool all_left = true, inside = false;
  for (int r = 0; r < v->ranks; r++) {
    const tt_look_rank *l = &v->rank[r];
    all_left &= v->rank[r].left;
    for (int i = 0; i < l->ncomms; i++) inside |= l->comms[i].newest > l->comms[i].over;
  }
  bool any = say_those(t, v, has_not_come, "has not called tutti_comm_from_env yet",
                       "have not called tutti_comm_from_env yet", marked);
  any |= say_those(t, v, has_died, "has died; no rank waits for it",
                   "have died; no rank waits for them", marked);
  any |= say_those(t, v, is_stopped, "is stopped; no rank waits for it yet",
                   "are stopped; no rank waits for them yet", marked);
  if (any) return;
  tt_text_add(t, all_left ? "all ranks have left (tutti_finalize)\n"
                 : inside ? "the ranks are at work; no rank has waited for as long as 0.1 s\n"
                          : "all ranks compute\n");
}

void tt_findings(tt_text *t, const tt_look *v) {
  const size_t ranks = (size_t)v->ranks;
  bool *marked = calloc(2 * ranks, sizeof *marked); /* twice the ranks: for say_waits */
  int *roots = calloc(ranks, sizeof *roots);
  const size_t before = t->length;
  if (!marked || !roots) t->failed = true;
  for (int i = 0; i < v->nhomes && !t->failed; i++)
    if (!say_over(t, v, v->homes[i])) say_differences(t, v, v->homes[i], marked);
  if (!t->failed) say_waits(t, v, roots, marked, marked + ranks);
  if (!t->failed && t->length == before) say_states(t, v, marked);
  free(marked);
  free(roots);
}
