/* flags.c - waits for the flags of a group of ranks, for both loops.
 *
 * Idea       Every rank of the group sets a flag in its slot of the operation and the round, with bytes
 *            beside it. A call goes on where the one before it stopped, so each flag is seen once.
 * Invariant  A flag of another call ends the operation: the ranks made different calls.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "engine.h"

tutti_status tt_flags_begin(tt_operation *o) {
  const size_t ranks = (size_t)o->wire->ranks;
  o->flag_get = false;
  o->round = 0;
  o->next = 0;
  if (o->inputs_capacity >= o->wire->ranks) return TUTTI_OK;
  const void **more = realloc(o->slots, 2 * ranks * sizeof *more);
  if (!more) return o->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for an operation");
  o->slots = more;
  o->inputs = more + ranks;
  o->inputs_capacity = o->wire->ranks;
  return TUTTI_OK;
}

/* The rank of an entry; the peers of a loop's schedule do not go round the ranks. */
static int rank_of(const tt_operation *o, const tt_peers *peers, int entry) {
  const int place = peers->first + entry * peers->stride;
  return o->program->order ? o->program->order[place] : place;
}

bool tt_flags_ready(tt_operation *o, const tt_peers *peers, size_t n, bool *moved) {
  tt_wire *w = o->wire;
  for (; o->next < peers->count; o->next++) {
    uint32_t hash = 0;
    const int peer = rank_of(o, peers, o->next);
    if (peer == w->rank) {
      o->slots[o->next] = o->own;
      continue;
    }
    const void *data = w->memory->flag_get(w, peer, o->stamp.seq, o->round, n, &hash);
    o->slots[o->next] = data;
    if (!data) {
      if (__builtin_expect(o->trace != NULL, 0)) o->trace->awaits = peer;
      return false;
    }
    *moved = true;
    if (hash != o->stamp.hash) {
      o->status = TUTTI_ERR_MISMATCH; /* the communicator's progress reports the differing calls */
      return false;
    }
  }
  return true;
}

/* The step is the receiving one of the round. */
bool tt_flags_await(const tt_operation *o, const tt_peers *peers, size_t n, tt_awaits_fn *show,
                    void *ctx) {
  tt_wire *w = o->wire;
  uint32_t hash;
  for (int i = 0; i < peers->count; i++) {
    const int peer = rank_of(o, peers, i);
    if (peer != w->rank && !w->memory->flag_get(w, peer, o->stamp.seq, o->round, n, &hash) &&
        show(ctx, peer, 2 * o->round + 1))
      return true;
  }
  return false;
}
