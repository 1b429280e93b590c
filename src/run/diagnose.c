/* diagnose.c - finds ranks that made a different call, or died; straggler.c finds stragglers.
 *
 * Idea       Every rank records its calls where all ranks can read them. A waiting rank compares records, and checks
 *            whether the peers that it waits for are alive, and how long it has waited.
 * Invariant  A failure that is found breaks the communicator, with the same message on all ranks: the first one that any
 *            of them published.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "flight.h"
#include "process_state.h"

enum {
  ASK_US = 500000, /* after this time, requests the calls of awaited peers */
  CALLS_S = 1,     /* time to wait for all answers before a rank that differs is named, in s */
  LOOKS = 200      /* number of checks, 1 ms apart, for a rank that exits, or has exited */
};

int tt_record_words(const tt_record *r, char *text, size_t size) {
  const char *op = tt_op_kind_name(r->op);
  if (r->coll >= TUTTI_COLL_COUNT)
    return snprintf(text, size, "an unknown call"); /* of another process */
  if (r->coll == TUTTI_BARRIER) return snprintf(text, size, "barrier");
  const bool rooted = tt_coll_rooted((tutti_coll)r->coll);
  const bool part = r->coll == TUTTI_ALLREDUCE && r->root, varied = !rooted && !part && r->root;
  int n = snprintf(text, size, "%s%s of %llu %s%s", tutti_coll_name((tutti_coll)r->coll),
                   varied ? "v" : "", (unsigned long long)r->count,
                   tutti_type_name((tutti_type)r->type), varied ? " in all" : "");
  if (part) n += snprintf(text + n, size - (size_t)n, " in a list of %u", r->root - 1);
  if (tt_coll_reduces((tutti_coll)r->coll)) n += snprintf(text + n, size - (size_t)n, ", %s", op);
  if (rooted) n += snprintf(text + n, size - (size_t)n, ", root %u", r->root);
  return n;
}

/* Appends the name of the communicator to the reason for a failure. */
static void add_name(tutti_comm *comm) {
  char text[TT_WHY];
  snprintf(text, sizeof text, "communicator '%s': %.*s", comm->settings.plain.name,
           TT_WHY - TT_WORDS - 20, comm->why);
  memcpy(comm->why, text, sizeof text);
}

bool tt_comm_break(tutti_comm *comm, tutti_status status, bool tell) {
  if (comm->broken) return false;
  char reason[TT_WHY]; /* an earlier message of another rank may name the cause */
  tutti_status before =
      tell ? comm->wire->peer->aborted(comm->wire, reason, sizeof reason) : TUTTI_OK;
  if (before)
    snprintf(comm->why, sizeof comm->why, "%s", reason);
  else if (*comm->settings.plain.name)
    add_name(comm);
  comm->broken = before ? before : status;
  if (tell && !before) comm->wire->peer->abort(comm->wire, status, comm->why);
  return !before;
}

tutti_status tt_break_if_memory(tutti_comm *comm, tutti_status status) {
  if (status != TUTTI_ERR_MEMORY || comm->broken) return status;
  snprintf(comm->why, sizeof comm->why, "rank %d: %s", comm->rank, tutti_error());
  tt_comm_break(comm, status, true);
  return tt_fail(comm->broken, "%s", comm->why);
}

/* Finds the earliest operation, up to number `seq`, in which another rank made a different call than this rank. Searches only as
 * far back as the ranks keep records. */
static bool differs(tutti_comm *comm, uint64_t seq, tt_record *mine, tt_record *theirs, int *peer) {
  const tt_peer_ops *ops = comm->wire->peer;
  for (uint32_t back = (uint32_t)tt_min(seq, TT_RECALL) + 1; back-- > 0;) {
    if (ops->read_record(comm->wire, comm->rank, seq - back, mine) != 1) continue;
    for (*peer = 0; *peer < comm->ranks; ++*peer)
      if (ops->read_record(comm->wire, *peer, seq - back, theirs) == 1 &&
          theirs->stamp.hash != mine->stamp.hash)
        return true;
  }
  return false;
}

/* Returns true if some rank made a different call, and describes the ranks and their calls in comm->why. If `certain`, always
 * returns true. If records must be requested from peers, a later difference may be found before the first one. */
static bool find_mismatch(tutti_comm *comm, const tt_operation *o, bool certain) {
  const tt_peer_ops *ops = comm->wire->peer;
  tt_record mine, theirs;
  char ours[100], other[100];
  int peer;
  bool found = differs(comm, o->stamp.seq, &mine, &theirs, &peer);
  if ((found || certain) && ops->inquire) {
    ops->inquire(comm->wire, o->stamp.seq, CALLS_S);
    found = differs(comm, o->stamp.seq, &mine, &theirs, &peer);
  }
  if (found) {
    tt_record_words(&mine, ours, sizeof ours);
    tt_record_words(&theirs, other, sizeof other);
    const bool list = mine.coll == TUTTI_ALLREDUCE && mine.root;
    const char *hint = strcmp(ours, other) ? ""
                       : list || mine.root != theirs.root
                           ? " (with other counts)"
                           : " (with another plan: other settings, such as TUTTI_ALGO or helpers?)";
    snprintf(comm->why, sizeof comm->why,
             "operation %" PRIu64 ": rank %d called %s, but rank %d called %s%s", mine.stamp.seq,
             peer, other, comm->rank, ours, hint);
    return true;
  }
  if (certain)
    snprintf(comm->why, sizeof comm->why,
             "operation %" PRIu64
             ", %s, or one before: another rank made another call than rank %d",
             o->stamp.seq, tutti_coll_name(o->call.coll), comm->rank);
  return certain;
}

bool tt_comm_differs(tutti_comm *comm) {
  tt_record mine, theirs;
  int peer;
  return comm->flight->seq && differs(comm, comm->flight->seq - 1, &mine, &theirs, &peer);
}

/* Describes how a peer's process ended, for example "died, killed by SIGKILL", or gives the reason that the network reported. */
static void exit_of(const tutti_comm *comm, int peer, char *words, size_t size) {
  const tt_rank_info *w = &comm->info[peer];
  const bool near =
      w->index >= 0 && comm->heap && w->placement.node == comm->info[comm->rank].placement.node;
  const int n = snprintf(words, size, "died");
  if (near) {
    const tt_segment *s = tt_heap_segment(comm->heap);
    tt_exit_words(tt_heap_intro(s, w->index), s->told, words + n, size - (size_t)n);
  } else if (comm->net) {
    comm->net->net->exit_words(comm->net, peer, words, size);
  }
}

/* Called if the connection to the process outside the job ended while this rank was waiting. If that process is still running, it
 * may have ended the sums because a rank died; sets *peer to that rank. Returns false if no rank died. */
static bool find_lost_rank(tutti_comm *comm, int *peer) {
  const tt_outside *out = comm->wire->outside;
  if (!out->ops->answers(out->wire)) return false;
  for (int look = 0; look < LOOKS; look++, usleep(1000)) {
    bool moved = false;
    if (comm->net->net->poll(comm->net, &moved)) return false;
    for (*peer = 0; *peer < comm->ranks; ++*peer)
      if (*peer != comm->rank && !comm->wire->peer->alive(comm->wire, *peer)) return true;
    if (tt_comm_is_over(comm)) return false; /* another rank has found the cause */
  }
  return false;
}

const char *tt_without_outside(const tutti_comm *comm) {
  return comm->net->net_agree ? "tutti_comm_shrink gives the same ranks without it"
                              : "make another communicator of the same ranks";
}

static void break_for_outside(tutti_comm *comm, const tt_operation *o) {
  const tt_outside *out = comm->wire->outside;
  snprintf(comm->why, sizeof comm->why,
           "the %s at %s is lost: %s; rank %d waited for it in %s, operation %" PRIu64 ". %s",
           out->ops->name, out->ops->where(out->wire), out->ops->why(out->wire), comm->rank,
           tutti_coll_name(o->call.coll), o->stamp.seq, tt_without_outside(comm));
  comm->no_outside |= tt_comm_break(comm, TUTTI_ERR_PEER_LOST, true);
}

/* Returns the number of a dead rank that a message waits for, or -1 if all ranks that it waits for are alive. */
static int lost_peer(tutti_comm *comm, const tt_p2p_message *m) {
  for (int r = 0; r < comm->ranks; r++)
    if (tt_p2p_awaits(m, r) && !comm->wire->peer->alive(comm->wire, r)) return r;
  return -1;
}

/* Breaks the communicator because `peer` died while this rank was waiting for it, either in a step of an operation or for message
 * m. m is NULL for an operation. */
static void break_for_lost(tutti_comm *comm, int peer, const tt_p2p_message *m,
                           const tt_operation *o, uint32_t step) {
  char how[128], what[128];
  if (peer >= comm->ranks && !find_lost_rank(comm, &peer)) {
    break_for_outside(comm, o);
    return;
  }
  exit_of(comm, peer, how, sizeof how);
  if (m)
    tt_p2p_words(!m->sends, m->count, m->type, m->tag, strcpy(what, "to ") + 3, sizeof what - 3);
  else
    snprintf(what, sizeof what, "in %s, operation %" PRIu64 ", step %u",
             tutti_coll_name(o->call.coll), o->stamp.seq, step);
  snprintf(comm->why, sizeof comm->why, "rank %d (pid %ld) %s; rank %d waited for it %s", peer,
           comm->wire->peer->pid(comm->wire, peer), how, comm->rank, what);
  tt_comm_break(comm, TUTTI_ERR_PEER_LOST, true);
}

/* The peer that an operation waits for. If an operation waits for several peers, a dead peer comes first. */
typedef struct awaited {
  tutti_comm *comm;
  uint64_t seq;
  uint32_t step;
  int peer; /* -1: none */
  bool dead, beyond;
  bool asks; /* request the records of their calls */
} awaited;

/* Requests the call record of a peer. If the peer is outside the job, requests those of all ranks, since it may wait for them. */
static void ask_awaited(const awaited *a, int peer) {
  tt_wire *w = a->comm->wire;
  const bool is_rank = peer < w->ranks;
  for (int r = is_rank ? peer : 0; r < (is_rank ? peer + 1 : w->ranks); r++)
    if (r != w->rank) w->peer->ask(w, r, a->seq);
}

static bool worst(void *ctx, int peer, uint32_t step) {
  awaited *a = ctx;
  tt_wire *w = peer < a->comm->ranks ? a->comm->wire : a->comm->wire->outside->wire;
  tt_record theirs; /* a peer far beyond this operation sends nothing more for it */
  if (a->asks) ask_awaited(a, peer);
  bool beyond = w->peer->read_record(w, peer, a->seq, &theirs) < 0;
  bool dead = !w->peer->alive(w, peer);
  if (a->peer >= 0 && !beyond && !dead) return false;
  a->peer = peer;
  a->step = step;
  a->beyond = beyond;
  a->dead = dead;
  return beyond || dead;
}

/* Called if reading a peer's memory failed because the process of the peer is exiting or has exited. Returns true if a dead rank
 * was found and reported. */
static bool says_who_died(tutti_comm *comm, const tt_operation *o) {
  for (int look = 0; look < LOOKS; look++) {
    awaited a = {.comm = comm, .seq = o->stamp.seq, .peer = -1};
    tt_operation_awaits(o, worst, &a);
    const bool is_rank = a.peer >= 0 && a.peer < comm->ranks;
    int dead = is_rank && a.dead ? a.peer : comm->ranks - 1; /* else `peer` may wait for it */
    while (dead >= 0 && comm->wire->peer->alive(comm->wire, dead)) dead--;
    if (dead >= 0) {
      break_for_lost(comm, dead, NULL, o, a.step);
      return true;
    }
    usleep(1000);
  }
  return false;
}

void tt_break_by_error(tutti_comm *comm, tutti_status status) {
  snprintf(comm->why, sizeof comm->why, "rank %d: %s", comm->rank, tutti_error());
  tt_comm_break(comm, status, true);
}

void tt_break_operation(tutti_comm *comm, const tt_operation *o) {
  if (o->status == TUTTI_ERR_PEER_LOST && says_who_died(comm, o)) return;
  if (o->status != TUTTI_ERR_MISMATCH) {
    tt_break_by_error(comm, o->status);
    return;
  }
  find_mismatch(comm, o, true);
  tt_comm_break(comm, o->status, true);
}

void tt_break_interrupted(tutti_comm *comm, const char *name) {
  if (comm->broken) return;
  snprintf(comm->why, sizeof comm->why, "rank %d aborted: it was interrupted while it waited in %s",
           comm->rank, name);
  tt_comm_break(comm, TUTTI_ERR_ABORTED, true);
}

void tt_break_messages(tutti_comm *comm, tutti_status status) {
  const tt_p2p_message *m;
  for (int look = 0; status == TUTTI_ERR_PEER_LOST && look < LOOKS; look++, usleep(1000))
    for (int i = 0, lost; (m = tt_p2p_waiting(comm->flight->p2p, i)); i++)
      if ((lost = lost_peer(comm, m)) >= 0) {
        break_for_lost(comm, lost, m, NULL, 0);
        return;
      }
  snprintf(comm->why, sizeof comm->why, "%s", tutti_error());
  tt_comm_break(comm, status, true);
}

/* Returns the time since the wait started, in microseconds. The result is 0 if the wait was restarted in the meantime. */
static uint64_t waited_for(const tt_wait_policy *p, uint64_t now) {
  return p->since ? now - p->since : 0;
}

/* Checks whether messages wait for dead or late peers. A message that the caller does not wait for has no time limit. */
static void look_after_messages(tutti_comm *comm, tt_wait_policy *p, uint64_t now) {
  const tt_p2p_message *m,
      *late = p->by && !p->by->ops->group ? p->by->message : tt_p2p_waiting(comm->flight->p2p, 0);
  for (int i = 0; (m = tt_p2p_waiting(comm->flight->p2p, i)) && !comm->broken; i++) {
    const int lost = lost_peer(comm, m);
    if (lost < 0) continue;
    if (tt_messages_progress(comm)) return;
    break_for_lost(comm, lost, m, NULL, 0);
  }
  if (comm->broken || !late) return;
  tt_report_late_message(comm, p, waited_for(p, now), late);
}

void tt_look_for_launcher(tutti_comm *comm) {
  long launcher;
  if (!comm->heap || comm->broken || !tt_segment_orphaned(tt_heap_segment(comm->heap), &launcher))
    return;
  snprintf(comm->why, sizeof comm->why, "the job is over: its launcher (pid %ld) is gone",
           launcher);
  tt_comm_break(comm, TUTTI_ERR_PEER_LOST, true);
}

/* Called periodically while nothing moves. Checks whether the peers that this rank waits for are alive, and whether they made the
 * same calls. Before reporting that a peer is dead or far ahead, tries the operation again, because data from that peer may have
 * arrived. */
void tt_look_after(tutti_comm *comm, tt_wait_policy *p, uint64_t now) {
  char reason[TT_WHY]; /* the rank that reported a failure may have died since */
  comm->wire->peer->aborted(comm->wire, reason, sizeof reason);
  tt_look_for_launcher(comm);
  for (uint64_t seq = comm->flight->oldest; seq != comm->flight->seq && !comm->broken; seq++) {
    tt_place *place = &comm->flight->places[seq % TT_WINDOW];
    awaited a = {.comm = comm, .seq = seq, .peer = -1};
    a.asks = comm->wire->peer->ask && waited_for(p, now) >= ASK_US;
    if (!place->by) continue;
    tt_operation_awaits(&place->operation, worst, &a);
    const int to = a.peer < 0 ? tt_leaving_to(comm, &place->operation) : -1;
    if (to >= 0) tt_report_leaving(comm, p, waited_for(p, now), to, &place->operation);
    if (a.peer < 0 && to < 0 && place->by->staged) {
      if (!p->note.call) p->note.since = 1e-6 * (double)p->since;
      const tutti_status late = tt_report_device(comm, &place->by->call, &p->note);
      if (late) tt_break_by_error(comm, late);
    }
    if (a.peer < 0) continue;
    if ((a.beyond || a.dead) && tt_operation_progress(&place->operation)) continue;
    if (find_mismatch(comm, &place->operation, a.beyond))
      tt_comm_break(comm, TUTTI_ERR_MISMATCH, true);
    else if (a.dead)
      break_for_lost(comm, a.peer, NULL, &place->operation, a.step);
    else
      tt_report_straggler(comm, p, waited_for(p, now), a.peer, &place->operation, a.step);
  }
  if (comm->flight->p2p && !comm->broken) look_after_messages(comm, p, now);
}
