/* straggler.c - a rank that waits too long reports which rank is late.
 *
 * Idea       After 10 s, or TUTTI_TIMEOUT, a waiting rank reports which rank is late, whether the process of that rank is
 *            stopped, and its last call.
 * Cost       None for ranks that do not wait.
 * Invariant  A rank that has not made the call is reported before one that has. Among ranks that have not made it, a stopped
 *            one is reported before a running one.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flight.h"
#include "process_state.h"

enum {
  AHEAD_US = 500000 /* requests the calls of all ranks this long before the time limit */
};
/* each since, over: order: shown to people, and looked at twice */

static const double answers_s = 0.2; /* time to wait for missing answers */

/* ---- warning and giving up ---- */

/* Returns the time limit, in seconds, if the wait has reached it, otherwise 0. */
static double limit_reached(const tutti_comm *comm, uint64_t waited) {
  const double limit = tt_comm_timeout(comm);
  return (double)waited >= limit * 1e6 ? limit : 0;
}

static bool complains(const tutti_comm *comm, const tt_wait_policy *p, uint64_t waited) {
  return limit_reached(comm, waited) > 0 || (!p->warned && waited >= (uint64_t)TT_WARN_S * 1000000);
}

/* Formats `text` followed by the time limit. Returns the length of the result. */
static int say_limit(const tutti_comm *comm, const char *text, double limit, char *to,
                     size_t size) {
  const bool own = comm->settings.plain.timeout > 0;
  return snprintf(to, size, "%.270s: %s%g%s", text,
                  own ? "the timeout is " : "TUTTI_TIMEOUT=", limit, own ? " s" : "");
}

/* Warns once that a wait takes long or, at the time limit, breaks the communicator. */
static void warn_or_time_out(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                             const char *text) {
  const double limit = limit_reached(comm, waited);
  const bool for_rank = peer < comm->ranks;
  if (limit > 0) {
    const int n = say_limit(comm, text, limit, comm->why, sizeof comm->why);
    if (!for_rank) snprintf(comm->why + n, sizeof comm->why - n, ". %s", tt_without_outside(comm));
    comm->no_outside |= tt_comm_break(comm, TUTTI_ERR_TIMEOUT, true) && !for_rank;
  } else if (complains(comm, p, waited)) {
    p->warned = true;
    const char *name = comm->settings.plain.name;
    tt_log(0, "%s%s%s%s", *name ? "communicator '" : "", name, *name ? "': " : "", text);
  }
}

/* ---- finding the straggler ---- */

static bool is_peer_stopped(tutti_comm *comm, int peer) {
  const tt_rank_info *w = comm->info;
  if (peer < 0 || peer >= comm->ranks) return false; /* any rank, or a process outside the job */
  if (comm->wire->peer->stopped && comm->wire->peer->stopped(comm->wire, peer)) return true;
  const long pid = comm->net && w[peer].host == w[comm->rank].host ? w[peer].pid : 0;
  return pid > 0 && pid != (long)getpid() && tt_state_stopped(tt_process_state(pid, NULL));
}

/* Rates how likely it is that a rank causes a wait. A rank that has not made the call may be waiting for another such rank
 * elsewhere. In that case it has published its wait, or it answers requests. */
static int suspicion(tutti_comm *comm, int r, uint64_t seq) {
  tt_record none;
  const tt_peer_ops *ops = comm->wire->peer;
  const int known = ops->read_record(comm->wire, r, seq, &none);
  const tt_shown *s = ops->shown(comm->wire, r);
  const bool silent = ops->silent && ops->silent(comm->wire, r, seq);
  const bool waits = s ? atomic_load_explicit(&s->since, memory_order_acquire) : !silent;
  const bool absent = known == 0 || known == TT_UNKNOWN;
  return (absent ? waits ? 1 : 2 : silent) + 4 * is_peer_stopped(comm, r);
}

/* Returns the rank that most likely causes the wait. Returns `peer` if no other rank is more likely. */
static int culprit(tutti_comm *comm, uint64_t seq, int peer) {
  int worst = 0;
  for (int r = 0; r < comm->ranks; r++) {
    if (r == comm->rank) continue;
    const int bad = suspicion(comm, r, seq);
    if (bad > worst || (bad == worst && r == peer)) {
      worst = bad;
      peer = r;
    }
  }
  return peer;
}

/* Finds the last call that `peer` made before operation `seq`. Returns false if no such call is known. */
static bool last_call(tutti_comm *comm, int peer, uint64_t seq, tt_record *last) {
  for (uint32_t back = 1; back <= TT_RECALL && back < seq; back++)
    if (comm->wire->peer->read_record(comm->wire, peer, seq - back, last) == 1) return true;
  return false;
}

/* Describes the step of a peer. If the peer has not reached this operation, describes what it did last, if that is known. */
static void say_where(tutti_comm *comm, int peer, uint64_t seq, uint32_t step, char *text,
                      size_t size) {
  const tt_peer_ops *ops = comm->wire->peer;
  tt_record r;
  char words[100];
  if (peer >= comm->ranks) {
    snprintf(text, size, "; all ranks have made the call, as far as is known");
    return;
  }
  const tt_shown *s = ops->shown(comm->wire, peer);
  const int known = ops->read_record(comm->wire, peer, seq, &r);
  if (known != 0 && known != TT_UNKNOWN) {
    const int n = snprintf(text, size, ", step %u", step);
    if (s && atomic_load_explicit(&s->since, memory_order_acquire) && s->waits_in == seq &&
        !s->message)
      snprintf(text + n, size - (size_t)n, "; it waits there for rank %u", s->waits_for);
    return;
  }
  const int n =
      snprintf(text, size, known ? "; it does not answer" : ", which it has not called yet");
  if (!last_call(comm, peer, seq, &r)) return;
  tt_record_words(&r, words, sizeof words);
  const bool over = s && atomic_load(&s->over) > r.stamp.seq;
  snprintf(text + n, size - (size_t)n, "; %s operation %" PRIu64 ", %s",
           over ? "it last finished"
           : s  ? "it is still in"
                : "its last known call is",
           r.stamp.seq, words);
}

/* Formats a time in seconds, with one decimal if it is less than 10 s, otherwise without decimals. */
static void format_seconds(uint64_t waited, char *text, size_t size) {
  snprintf(text, size, waited < 9950000 ? "%.1f" : "%.0f", (double)waited / 1e6);
}

/* Requests the calls of all ranks shortly before the time limit, because ranks of a busy machine answer slowly. */
static void ask_ahead(tutti_comm *comm, uint64_t waited, uint64_t seq) {
  const tt_peer_ops *ops = comm->wire->peer;
  if (!ops->ask || seq != comm->flight->oldest || limit_reached(comm, waited + AHEAD_US) <= 0)
    return;
  for (int r = 0; r < comm->ranks; r++)
    if (r != comm->rank) ops->ask(comm->wire, r, seq);
}

/* Returns true if the process of any rank is stopped. A stopped rank is reported first, whatever other ranks answer. */
static bool some_stopped(tutti_comm *comm) {
  for (int r = 0; r < comm->ranks; r++)
    if (is_peer_stopped(comm, r)) return true;
  return false;
}

/* `what` is the end of the sentence. */
static void report_late(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                        const char *what) {
  char text[400], time[16];
  format_seconds(waited, time, sizeof time);
  const tt_outside *out = comm->wire->outside;
  if (peer == TUTTI_ANY_SOURCE)
    snprintf(text, sizeof text, "rank %d has waited %s s for any rank%s", comm->rank, time, what);
  else if (peer >= comm->ranks)
    snprintf(text, sizeof text, "rank %d has waited %s s for the %s at %s%s", comm->rank, time,
             out->ops->name, out->ops->where(out->wire), what);
  else
    snprintf(text, sizeof text, "rank %d has waited %s s for rank %d (pid %ld%s)%s", comm->rank,
             time, peer, comm->wire->peer->pid(comm->wire, peer),
             is_peer_stopped(comm, peer) ? ", stopped" : "", what);
  warn_or_time_out(comm, p, waited, peer, text);
}

/* Extra time before this rank reports another rank. That rank may be waiting for the process outside the job in the previous call,
 * possibly for less time, and should be able to report that process first. */
enum { OUTSIDE_GRACE_US = 1000000 };
static uint64_t grace_for(const tutti_comm *comm, int peer) {
  return comm->wire->outside && peer < comm->ranks ? OUTSIDE_GRACE_US : 0;
}

void tt_report_straggler(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                         const tt_operation *o, uint32_t step) {
  char what[300], where[160], words[100];
  tt_record mine;
  const uint64_t grace = grace_for(comm, peer);
  if (waited < grace) return;
  waited -= grace;
  ask_ahead(comm, waited, o->stamp.seq);
  if (!complains(comm, p, waited)) return;
  if (comm->wire->peer->inquire && !some_stopped(comm))
    comm->wire->peer->inquire(comm->wire, o->stamp.seq, answers_s);
  peer = culprit(comm, o->stamp.seq, peer);
  say_where(comm, peer, o->stamp.seq, step, where, sizeof where);
  if (comm->wire->peer->read_record(comm->wire, comm->rank, o->stamp.seq, &mine) == 1)
    tt_record_words(&mine, words, sizeof words);
  else
    snprintf(words, sizeof words, "%s", tutti_coll_name(o->call.coll));
  snprintf(what, sizeof what, " in %s, operation %" PRIu64 "%s", words, o->stamp.seq, where);
  report_late(comm, p, waited, peer, what);
}

tutti_status tt_report_device(const tutti_comm *comm, const tt_call *call, tt_long_wait *w) {
  static const char whom[] = "its device: the work in the stream of the call has not finished";
  char text[300], why[400], time[16];
  const uint64_t waited = (uint64_t)(1e6 * (tt_seconds() - w->since));
  const double limit = limit_reached(comm, waited);
  w->call = tutti_coll_name(call->coll);
  tt_long_wait_for(w, "%s", whom);
  if (limit <= 0) return TUTTI_OK;
  format_seconds(waited, time, sizeof time);
  snprintf(text, sizeof text, "it has waited %s s in %s for %s", time, w->call, whom);
  say_limit(comm, text, limit, why, sizeof why);
  return tt_fail(TUTTI_ERR_TIMEOUT, "%s", why);
}

void tt_report_late_message(tutti_comm *comm, tt_wait_policy *p, uint64_t waited,
                            const tt_p2p_message *m) {
  char what[160], words[120];
  if (!complains(comm, p, waited)) return;
  tt_p2p_words(!m->sends, m->count, m->type, m->tag, words, sizeof words);
  snprintf(what, sizeof what, ", to %s", words);
  report_late(comm, p, waited, tt_p2p_peer(m), what);
}

void tt_report_undelivered(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer) {
  char what[200], words[120] = "an operation";
  tt_record last;
  if (!complains(comm, p, waited)) return;
  if (last_call(comm, comm->rank, comm->flight->seq, &last))
    tt_record_words(&last, words, sizeof words);
  snprintf(what, sizeof what, " in tutti_comm_free, to receive what this rank sent in %s", words);
  report_late(comm, p, waited, peer, what);
}

int tt_leaving_to(const tutti_comm *comm, const tt_operation *o) {
  const tt_sched *s = o->program->sched;
  if (!tt_over_net(comm) || !tt_operation_is_over(o)) return -1;
  const int owed = comm->wire->channel->owed ? comm->wire->channel->owed(comm->wire) : -1;
  if (owed >= 0) return owed;
  for (uint32_t i = s->nsteps; i-- > 0;) /* the network has the message: find its step */
    if (s->steps[i].kind == TT_SEND) return s->steps[i].peers.first;
  return -1;
}

void tt_report_leaving(tutti_comm *comm, tt_wait_policy *p, uint64_t waited, int peer,
                       const tt_operation *o) {
  char what[200];
  if (!complains(comm, p, waited)) return;
  snprintf(what, sizeof what,
           " in %s, operation %" PRIu64 ", to take its last message, which the network still has",
           tutti_coll_name(o->call.coll), o->stamp.seq);
  report_late(comm, p, waited, peer, what);
}
