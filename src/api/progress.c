/* progress.c - starts, drives and finishes requests; waits without wasting.
 *
 * Idea       a waiting call drives everything in flight in the process: first its
 *            own communicator, in start order, then the others that are listed and
 *            not busy. With nothing to do it spins (if every rank has a core), then
 *            yields, then sleeps until a peer rings.
 * Invariant  whatever goes wrong breaks the communicator: every rank hears of it,
 *            and every pending and later call returns the same sentence.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "comm.h"

enum {
  SPINS = 4000,         /* looks before the first yield, one rank per core */
  YIELD_US = 500,       /* then yields for so long */
  DOZE_US = 1000,       /* then sleeps, at first for at most so long */
  DOZE_MOST_US = 32000, /* and twice as long each time, up to this */
  LOOK_US = 100000,     /* how often a waiter looks after its peers */
  RECALL = 15,          /* how many operations back a mismatch is looked for */
  WARN_S = 10           /* when it says that it still waits */
};

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- when things go wrong ---- */

void tt_comm_break(tutti_comm *comm, tutti_status status, bool tell) {
  if (comm->broken) return;
  char reason[TT_WHY]; /* what another rank said before comes first: it may be the cause */
  tutti_status before =
      tell ? comm->wire->ops->aborted(comm->wire, reason, sizeof reason) : TUTTI_OK;
  if (before) snprintf(comm->why, sizeof comm->why, "%s", reason);
  comm->broken = before ? before : status;
  if (tell && !before) comm->wire->ops->abort(comm->wire, status, comm->why);
}

static int words_of(const tt_record *r, char *text, size_t size) {
  const char *op = r->op >= TUTTI_OP_USER ? "user" : tutti_op_name((tutti_op)r->op);
  if (r->coll == TUTTI_BARRIER) return snprintf(text, size, "barrier");
  int n = snprintf(text, size, "%s of %llu %s", tutti_coll_name((tutti_coll)r->coll),
                   (unsigned long long)r->count, tutti_type_name((tutti_type)r->type));
  if (tt_coll_reduces((tutti_coll)r->coll)) n += snprintf(text + n, size - (size_t)n, ", %s", op);
  if (tt_coll_rooted((tutti_coll)r->coll))
    n += snprintf(text + n, size - (size_t)n, ", root %u", r->root);
  return n;
}

/* The earliest operation up to `seq` that some peer recorded otherwise than this
 * rank did, as far back as records reach. */
static bool differs(tutti_comm *comm, uint32_t seq, tt_record *mine, tt_record *theirs, int *peer) {
  const tt_wire_ops *ops = comm->wire->ops;
  for (uint32_t back = (uint32_t)tt_min(seq, RECALL) + 1; back-- > 0;) {
    if (ops->read_record(comm->wire, comm->rank, seq - back, mine) != 1) continue;
    for (*peer = 0; *peer < comm->ranks; ++*peer)
      if (ops->read_record(comm->wire, *peer, seq - back, theirs) == 1 &&
          theirs->stamp.hash != mine->stamp.hash)
        return true;
  }
  return false;
}

/* Did some rank call something else? Then say who, what. */
static bool find_mismatch(tutti_comm *comm, const tt_operation *o, bool certain) {
  tt_record mine, theirs;
  char ours[100], other[100];
  int peer;
  if (differs(comm, o->stamp.seq, &mine, &theirs, &peer)) {
    words_of(&mine, ours, sizeof ours);
    words_of(&theirs, other, sizeof other);
    const char *hint = strcmp(ours, other) ? "" : " (with another plan: is TUTTI_ALGO the same?)";
    snprintf(comm->why, sizeof comm->why,
             "operation %u: rank %d called %s, but rank %d called %s%s", mine.stamp.seq, peer,
             other, comm->rank, ours, hint);
    return true;
  }
  if (certain)
    snprintf(comm->why, sizeof comm->why,
             "operation %u, %s, or one before: another rank made another call than rank %d",
             o->stamp.seq, tutti_coll_name(o->call.coll), comm->rank);
  return certain;
}

bool tt_comm_differs(tutti_comm *comm) {
  tt_record mine, theirs;
  int peer;
  return comm->seq && differs(comm, comm->seq - 1, &mine, &theirs, &peer);
}

static void operation_failed(tutti_comm *comm, const tt_operation *o) {
  if (o->status == TUTTI_ERR_MISMATCH)
    find_mismatch(comm, o, true);
  else
    snprintf(comm->why, sizeof comm->why, "rank %d: %s", comm->rank, tutti_error());
  tt_comm_break(comm, o->status, true);
}

/* ---- starting ---- */

static void relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void complete(tutti_comm *comm, tutti_request *r, tutti_status status) {
  r->state = TT_COMPLETE;
  r->status = status;
  if (--comm->unfinished == 0) tt_comm_list(comm, false);
}

/* Publish what is called as operation comm->seq, and begin it in its place. */
static void begin(tutti_comm *comm, tt_place *place, const tt_call *call, const tt_plan *plan) {
  /* Over all calls so far: one message tells whether two ranks always agreed. */
  comm->chain = (uint32_t)tt_mix((uint64_t)comm->chain << 32 | plan->hash);
  const tt_stamp stamp = {comm->seq, comm->chain};
  const tt_record record = {stamp,
                            (uint32_t)call->coll,
                            (uint32_t)call->type,
                            (uint32_t)call->op,
                            (uint32_t)call->root,
                            call->count};
  comm->wire->ops->record(comm->wire, &record, comm->oldest);
  place->begun = true;
  tt_operation_begin(&place->operation, comm->wire, plan->prepared->program, call, stamp,
                     comm->oldest, plan->slices);
}

static void start(tutti_comm *comm, tutti_request *r) {
  tt_place *place = &comm->places[comm->seq % TT_WINDOW];
  r->state = TT_RUNNING;
  place->by = r;
  if (!place->begun) begin(comm, place, &r->call, &r->kept);
  place->begun = false;
  r->seq = comm->seq++;
  if (place->operation.status) operation_failed(comm, &place->operation);
}

bool tt_finish_at_once(tutti_comm *comm, const tt_call *call, const tt_plan *plan) {
  if (comm->unfinished || comm->crowd > 1 || !plan->prepared->program->shape) return false;
  if (comm->wire->ops->aborted(comm->wire, NULL, 0)) return false; /* post nothing more */
  tt_place *place = &comm->places[comm->seq % TT_WINDOW];
  tt_operation *o = &place->operation;
  begin(comm, place, call, plan);
  for (int look = 0; o->straight && look < SPINS / 4; look++) {
    tt_operation_progress(o);
    if (o->status) return false;
    if (tt_operation_done(o)) {
      place->begun = false;
      comm->oldest = ++comm->seq;
      return true;
    }
    relax();
  }
  return false;
}

static void start_queued(tutti_comm *comm) {
  while (comm->queue && !comm->broken && !comm->places[comm->seq % TT_WINDOW].by) {
    tutti_request *r = comm->queue;
    comm->queue = r->next;
    if (!comm->queue) comm->queue_end = NULL;
    start(comm, r);
  }
}

void tt_request_issue(tutti_request *r) {
  tutti_comm *comm = r->comm;
  r->state = TT_QUEUED;
  r->status = TUTTI_OK;
  r->next = NULL;
  comm->unfinished++;
  if (comm->queue_end)
    comm->queue_end->next = r;
  else
    comm->queue = r;
  comm->queue_end = r;
  start_queued(comm);
}

/* ---- driving ---- */

static void fail_all(tutti_comm *comm) {
  for (int i = 0; i < TT_WINDOW; i++) {
    tutti_request *r = comm->places[i].by;
    comm->places[i].by = NULL;
    if (r) complete(comm, r, comm->broken);
  }
  for (tutti_request *r = comm->queue; r;) {
    tutti_request *next = r->next;
    complete(comm, r, comm->broken);
    r = next;
  }
  comm->queue = comm->queue_end = NULL;
  comm->oldest = comm->seq;
}

static void hear_abort(tutti_comm *comm) {
  char reason[TT_WHY];
  tutti_status status = comm->wire->ops->aborted(comm->wire, reason, sizeof reason);
  if (!status || comm->broken) return;
  snprintf(comm->why, sizeof comm->why, "%s", reason);
  tt_comm_break(comm, status, false);
}

/* One pass over a communicator's operations, in start order. */
static bool drive(tutti_comm *comm) {
  bool moved = false;
  if (comm->wire->ops->aborted(comm->wire, NULL, 0)) hear_abort(comm);
  for (uint32_t seq = comm->oldest; seq != comm->seq && !comm->broken; seq++) {
    tt_place *place = &comm->places[seq % TT_WINDOW];
    if (!place->by || place->by->seq != seq) continue;
    if (tt_operation_progress(&place->operation)) moved = true;
    if (place->operation.status) {
      operation_failed(comm, &place->operation);
    } else if (tt_operation_done(&place->operation)) {
      tutti_request *r = place->by;
      place->by = NULL;
      complete(comm, r, TUTTI_OK);
    }
  }
  while (comm->oldest != comm->seq && !comm->places[comm->oldest % TT_WINDOW].by) comm->oldest++;
  if (comm->broken)
    fail_all(comm);
  else if (comm->queue)
    start_queued(comm);
  return moved || comm->broken;
}

void tt_comm_list(tutti_comm *comm, bool on) {
  if (comm->listed == on) return;
  pthread_mutex_lock(&tt_process.lock);
  tutti_comm **link = &tt_process.in_flight;
  while (*link && *link != comm) link = &(*link)->next_listed;
  if (on) { /* at the end: they are driven in the order they were listed */
    *link = comm;
    comm->next_listed = NULL;
    atomic_fetch_add(&tt_process.in_flight_count, 1);
  } else {
    *link = comm->next_listed;
    atomic_fetch_sub(&tt_process.in_flight_count, 1);
  }
  comm->listed = on;
  pthread_mutex_unlock(&tt_process.lock);
}

/* The others that are in flight and that nobody is using right now. A
 * communicator that completes here is unlisted by its own next call. */
static bool drive_others(tutti_comm *mine) {
  if (atomic_load_explicit(&tt_process.in_flight_count, memory_order_relaxed) <= mine->listed)
    return false;
  if (pthread_mutex_trylock(&tt_process.lock) != 0) return false;
  tutti_comm *held[16];
  int n = 0;
  for (tutti_comm *c = tt_process.in_flight; c && n < 16; c = c->next_listed) {
    int is_free = 0;
    if (c != mine && atomic_compare_exchange_strong(&c->busy, &is_free, 2)) held[n++] = c;
  }
  pthread_mutex_unlock(&tt_process.lock);
  bool moved = false;
  for (int i = 0; i < n; i++) {
    if (drive(held[i])) moved = true;
    tt_comm_leave(held[i]);
  }
  return moved;
}

bool tt_progress(tutti_comm *comm) {
  bool moved = drive(comm);
  return drive_others(comm) || moved;
}

/* ---- waiting ---- */

static void say_lost(tutti_comm *comm, int peer, const tt_operation *o, uint32_t step) {
  snprintf(comm->why, sizeof comm->why,
           "rank %d (pid %ld) died; rank %d waited for it in %s, operation %u, step %u", peer,
           comm->wire->ops->pid(comm->wire, peer), comm->rank, tutti_coll_name(o->call.coll),
           o->stamp.seq, step);
  tt_comm_break(comm, TUTTI_ERR_PEER_LOST, true);
}

static void say_late(tutti_comm *comm, tt_patience *p, uint64_t waited, int peer,
                     const tt_operation *o, uint32_t step) {
  char text[TT_WHY - 40], where[40];
  tt_record none;
  snprintf(where, sizeof where, ", step %u", step);
  for (int r = 0; r < comm->ranks; r++) /* the one all wait for, if it is another */
    if (comm->wire->ops->read_record(comm->wire, r, o->stamp.seq, &none) == 0) {
      peer = r;
      snprintf(where, sizeof where, ", which it has not called yet");
      break;
    }
  snprintf(text, sizeof text,
           "rank %d has waited %.0f s for rank %d (pid %ld) in %s, operation %u%s", comm->rank,
           (double)waited / 1e6, peer, comm->wire->ops->pid(comm->wire, peer),
           tutti_coll_name(o->call.coll), o->stamp.seq, where);
  long limit = tt_env_int("TUTTI_TIMEOUT", 1, 1 << 30, 0);
  if (limit && waited >= (uint64_t)limit * 1000000) {
    snprintf(comm->why, sizeof comm->why, "%s: TUTTI_TIMEOUT=%ld", text, limit);
    tt_comm_break(comm, TUTTI_ERR_TIMEOUT, true);
  } else if (!p->warned && waited >= (uint64_t)WARN_S * 1000000) {
    p->warned = true;
    tt_log(0, "%s", text);
  }
}

/* Of the peers an operation waits for: one that is gone, else the first. */
typedef struct awaited {
  tutti_comm *comm;
  uint32_t seq, step;
  int peer; /* -1: none */
  bool dead, beyond;
} awaited;

static bool worst(void *ctx, int peer, uint32_t step) {
  awaited *a = ctx;
  tt_record theirs; /* who is far beyond will send nothing more for this one */
  bool beyond = a->comm->wire->ops->read_record(a->comm->wire, peer, a->seq, &theirs) < 0;
  bool dead = !a->comm->wire->ops->alive(a->comm->wire, peer);
  if (a->peer >= 0 && !beyond && !dead) return false;
  a->peer = peer;
  a->step = step;
  a->beyond = beyond;
  a->dead = dead;
  return beyond || dead;
}

/* Now and then, while nothing moves: do the peers we wait for still live, and did
 * they call the same? What one sent before it died, or went far ahead, is seen by a
 * look after that was seen. */
static void look_after(tutti_comm *comm, tt_patience *p, uint64_t now) {
  for (uint32_t seq = comm->oldest; seq != comm->seq && !comm->broken; seq++) {
    tt_place *place = &comm->places[seq % TT_WINDOW];
    awaited a = {.comm = comm, .seq = seq, .peer = -1};
    if (!place->by) continue;
    tt_operation_awaits(&place->operation, worst, &a);
    if (a.peer < 0) continue;
    if ((a.beyond || a.dead) && tt_operation_progress(&place->operation)) continue;
    if (find_mismatch(comm, &place->operation, a.beyond))
      tt_comm_break(comm, TUTTI_ERR_MISMATCH, true);
    else if (a.dead)
      say_lost(comm, a.peer, &place->operation, a.step);
    else
      say_late(comm, p, now - p->since, a.peer, &place->operation, a.step);
  }
}

/* Nothing moved: spin, yield, or sleep. */
static void pause_a_while(tutti_comm *comm, tt_patience *p) {
  p->looks++;
  if (comm->crowd <= 1 && p->looks < SPINS) {
    relax();
    return;
  }
  uint64_t now = p->looks % 16 ? 0 : now_us();
  if (p->looks == SPINS || !p->since) p->since = p->looked = now ? now : now_us();
  if (now && now - p->looked >= LOOK_US) {
    p->looked = now;
    look_after(comm, p, now);
  }
  if (!now || now - p->since < YIELD_US) {
    sched_yield();
    return;
  }
  uint32_t bell = comm->wire->ops->doze_begin(comm->wire);
  p->doze = p->doze ? (uint32_t)tt_min(2 * p->doze, DOZE_MOST_US) : DOZE_US;
  if (!tt_progress(comm)) comm->wire->ops->doze(comm->wire, bell, p->doze);
  comm->wire->ops->doze_end(comm->wire);
  p->looks |= 15; /* look at the clock next time */
}

void tt_progress_polled(tutti_comm *comm) {
  tt_patience *p = &comm->patience;
  if (tt_progress(comm)) {
    *p = (tt_patience){0};
  } else if (p->looks++ % 64 == 0) {
    uint64_t now = now_us();
    if (!p->since) p->since = p->looked = now;
    if (now - p->looked < LOOK_US) return;
    p->looked = now;
    look_after(comm, p, now);
  }
}

tutti_status tt_request_finish(tutti_request *r) {
  tutti_comm *comm = r->comm;
  tt_patience p = {0};
  for (;;) {
    bool moved = tt_progress(comm);
    if (r->state == TT_COMPLETE) break;
    if (moved)
      p = (tt_patience){0};
    else
      pause_a_while(comm, &p);
  }
  return r->status ? tt_fail(r->status, "%s", comm->why) : TUTTI_OK;
}
