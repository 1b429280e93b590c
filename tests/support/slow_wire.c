/* slow_wire.c - the functions of a shared-memory wire, each followed by a point of interleave.h.
 *
 * Idea       After a read of a peer's data, another rank may run before this one uses the value. After a write is
 *            published, another rank may see it before this one continues.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slow_wire.h"

#include "interleave.h"
#include "shm_wire.h"

bool (*wire_maps)(int rank, const void *bytes);
bool wire_time_wakes;

static const tt_memory_ops *memory;
static const tt_channel_ops *channel;
static const tt_peer_ops *peers;

#define LOOK(type, call)    \
  do {                      \
    const type seen = call; \
    interleave_point();     \
    return seen;            \
  } while (0)
#define ACT(call)       \
  do {                  \
    call;               \
    interleave_moved(); \
    interleave_point(); \
  } while (0)

static uint64_t published(tt_wire *w, int peer, tt_counter counter) {
  LOOK(uint64_t, memory->published(w, peer, counter));
}
static void publish(tt_wire *w, tt_counter counter, uint64_t value) {
  ACT(memory->publish(w, counter, value));
}
static const void *flag_get(tt_wire *w, int peer, uint64_t seq, uint32_t round, size_t bytes,
                            uint32_t *hash) {
  LOOK(void *, memory->flag_get(w, peer, seq, round, bytes, hash));
}
static void *flag_slot(tt_wire *w, uint64_t seq, uint32_t round, size_t bytes) {
  void *seen = memory->flag_slot(w, seq, round, bytes);
  interleave_point();
  return seen;
}
static void flag_set(tt_wire *w, tt_stamp stamp, uint32_t round, uint64_t oldest) {
  ACT(memory->flag_set(w, stamp, round, oldest));
}
static const void *map(tt_wire *w, int peer, uint64_t name, size_t from, size_t *n,
                       tutti_status *status) {
  LOOK(void *, memory->map(w, peer, name, from, n, status));
}
static bool enter(tt_wire *w) {
  LOOK(bool, memory->enter(w));
}
static void leave(tt_wire *w) {
  memory->leave(w);
  interleave_point();
}
static uint64_t export_some(tt_wire *w, const void *bytes, size_t n) {
  return bytes == memory->arena(w) || wire_maps(w->rank, bytes) ? memory->export(w, bytes, n) : 0;
}

static size_t head(tt_wire *w, int peer, int lane, tt_stamp *stamp) {
  LOOK(size_t, channel->head(w, peer, lane, stamp));
}
static bool consumed(tt_wire *w, int peer, int lane, uint64_t ticket) {
  LOOK(bool, channel->consumed(w, peer, lane, ticket));
}
static const void *view(tt_wire *w, int peer, int lane, size_t *n, tutti_status *status) {
  LOOK(void *, channel->view(w, peer, lane, n, status));
}
static void release(tt_wire *w, int peer, int lane, size_t n) {
  ACT(channel->release(w, peer, lane, n));
}
static bool pull(tt_wire *w, int peer, int lane, void *to, size_t n, tutti_status *status) {
  const bool done = channel->pull(w, peer, lane, to, n, status);
  if (done) interleave_moved();
  interleave_point();
  return done;
}
static size_t push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                   size_t left, uint64_t *ticket, tutti_status *status) {
  const size_t taken = channel->push(w, peer, lane, stamp, bytes, n, left, ticket, status);
  if (taken) interleave_moved();
  interleave_point();
  return taken;
}

static void record(tt_wire *w, const tt_record *r) {
  ACT(peers->record(w, r));
}
static void over(tt_wire *w, uint64_t oldest, bool wakes) {
  ACT(peers->over(w, oldest, wakes));
}
static void tell_abort(tt_wire *w, tutti_status status, const char *reason) {
  ACT(peers->abort(w, status, reason));
}
static bool alive(tt_wire *w, int peer) {
  return !interleave_is_dead(peer) && peers->alive(w, peer);
}

static tt_wire *wires[INTERLEAVE_RANKS];
static uint32_t futexes[INTERLEAVE_RANKS]; /* the words on which ranks sleep */

static uint32_t sleep_begin(tt_wire *w) {
  const uint32_t futex = peers->sleep_begin(w);
  if (!wire_time_wakes) interleave_moved();
  interleave_point();
  return futex;
}
static void sleep_until_woken(tt_wire *w, uint32_t futex, uint32_t limit_us) {
  (void)limit_us;
  if (wire_time_wakes) { /* the rank may not be woken by any peer */
    interleave_idle();
    return;
  }
  futexes[w->rank] = futex;
  interleave_sleep();
}
bool wire_awake(int rank) {
  return atomic_load(&tt_shm_of(wires[rank])->head->futex) != futexes[rank];
}

bool wire_counts_sleepers(const tt_wire *w) {
  const tt_shm *s = (const tt_shm *)w;
  return atomic_load(s->sleepers_anywhere) || atomic_load(&s->head->sleepers);
}

/* ---- installing the functions ---- */

static tt_memory_ops slow_memory;
static tt_channel_ops slow_channel;
static tt_peer_ops slow_peers;

void wire_slow(tt_wire *w) {
  wires[w->rank] = w;
  memory = w->memory;
  channel = w->channel;
  peers = w->peer;
  slow_memory = *memory;
  slow_memory.published = published;
  slow_memory.publish = publish;
  slow_memory.flag_get = flag_get;
  slow_memory.flag_slot = flag_slot;
  slow_memory.flag_set = flag_set;
  slow_memory.map = map;
  slow_memory.enter = enter;
  slow_memory.leave = leave;
  slow_memory.export = export_some;
  slow_channel = *channel;
  slow_channel.head = head;
  slow_channel.consumed = consumed;
  slow_channel.view = view;
  slow_channel.release = release;
  slow_channel.pull = pull;
  slow_channel.push = push;
  slow_peers = *peers;
  slow_peers.record = record;
  slow_peers.over = over;
  slow_peers.abort = tell_abort;
  slow_peers.alive = alive;
  slow_peers.sleep_begin = sleep_begin;
  slow_peers.sleep = sleep_until_woken;
  w->memory = &slow_memory;
  w->channel = &slow_channel;
  w->peer = &slow_peers;
}

void wire_free(tt_wire *w) {
  w->memory = memory;
  w->channel = channel;
  w->peer = peers;
}
