/* arena_begin.c - starts an operation of the arena's loop: decides how its vector is cut, and where peers access it.
 *
 * Idea       Peers read a rank's vector in place, or it passes through the rank's arena piece by piece. Which route is
 *            faster is learned (route.h).
 * Invariant  All ranks cut the vector at the same elements, on either route.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "pieces.h"
#include "remote.h"

/* OVERLAP: number of pieces per vector, so that a rank puts one while others read another. LEAST_AT_ONCE, MOST_AT_ONCE:
 * limits for the size of such a piece, in bytes. */
_Static_assert(TT_ARENA_COLLS * TT_ROUTE_SIZES <= TT_PLAN_ADVICE, "each route has its advice");
enum { OVERLAP = 4, LEAST_AT_ONCE = 8 << 10, MOST_AT_ONCE = 64 << 10, MOST_SLOTS = 256 };

tt_arena_state *tt_arena_state_of(tt_wire *w) {
  const size_t routes = w->rank == 0 ? TT_ARENA_COLLS * TT_ROUTE_SIZES : 0;
  tt_arena_state *s = w->arena_state;
  if (s) return s;
  w->arena_state = s = calloc(1, sizeof *s + routes * sizeof *s->cycles);
  if (!s) return NULL;
  s->begun = s->over = w->first;
  tt_stores_begin(s->stores, TT_STORE_SIZES, tt_stores_wanted());
  return s;
}

bool tt_arena_fits(const tt_operation *o) {
  const size_t apart = TT_APART * (size_t)o->wire->ranks;
  if (o->program->shape == TT_SHAPE_NONE || o->program->shape == TT_SHAPE_ROUNDS) return false;
  switch (o->program->sched->coll) {
    case TUTTI_ALLREDUCE: return o->wire->size.piece >= 4096;
    case TUTTI_BROADCAST:
    case TUTTI_REDUCE:
    case TUTTI_ALLGATHER:
    case TUTTI_REDUCE_SCATTER: return o->wire->size.piece >= 2 * apart;
    default: return false;
  }
}

/* The number of elements of the vector. */
static size_t total(const tt_operation *o) {
  return tt_by_blocks(o) ? tt_block_at(o, o->wire->ranks) : o->call.count;
}

/* The size of a slot, in bytes. */
static size_t slot_bytes(const tt_operation *o) {
  const size_t each = o->role.slot / OVERLAP;
  if (o->call.coll == TUTTI_ALLREDUCE) return o->wire->size.piece;
  const size_t spare = tt_by_blocks(o) ? TT_APART * (size_t)o->wire->ranks : 0;
  return tt_min(tt_round_up(tt_max(tt_min(each, MOST_AT_ONCE), LEAST_AT_ONCE) + spare, 4096),
                o->wire->size.piece);
}

/* Cuts the vector into pieces. Each rank's part of a piece fits in a slot. */
static void cut(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  tt_arena_state *s = w->arena_state;
  const size_t element = o->reducer.element;
  const size_t spare = tt_by_blocks(o) ? TT_APART * (size_t)w->ranks : 2 * 64; /* whole lines */
  p->cut.slot = slot_bytes(o);
  p->cut.slots = o->call.coll == TUTTI_ALLREDUCE
                     ? w->size.slots
                     : (uint32_t)tt_min(tt_arena_bytes(w) / p->cut.slot, MOST_SLOTS);
  const size_t most = (p->cut.slot - spare) / element;
  p->cut.count = (uint32_t)((o->role.slot / element + most - 1) / most);
  p->cut.at = tt_partition_even(total(o), element, p->cut.count);
  p->cut.first = s->begun;
  s->begun += p->cut.count;
  if (s->slot != p->cut.slot || s->slots != p->cut.slots) s->slots_from = p->cut.first;
  s->slot = p->cut.slot;
  s->slots = p->cut.slots;
  p->cut.slots_from = s->slots_from;
}

/* Returns the index of the route of these vectors, or -1 if their route is not learned. */
static int route_of(const tt_operation *o, uint64_t name, size_t bytes) {
  static const int8_t places[TUTTI_COLL_COUNT] = {
      [TUTTI_BROADCAST] = 1, [TUTTI_REDUCE] = 2, [TUTTI_ALLGATHER] = 3, [TUTTI_REDUCE_SCATTER] = 4};
  const int size =
      name ? tt_route_size(bytes, !o->wire->memory->writable(o->wire, name)) : -1;
  return size < 0 ? -1 : places[o->call.coll] * TT_ROUTE_SIZES + size;
}

/* On rank 0: learns from the previous call, publishes the route of the next one, and returns the route of this one. */
static tt_route learn_route(tt_operation *o, tt_cycles *x, int route, bool alone) {
  const uint64_t now = tt_store_ticks();
  tt_wire *w = o->wire;
  const tt_route now_by = (tt_route)x->learner.next;
  const bool again = w->arena_state->last_route == route + 1;
  if (x->since) tt_learn(&x->learner, x->route, alone ? x->took : again ? now - x->since : 0);
  w->memory->advise(w, route, 1 + x->learner.next);
  w->arena_state->last_route = route + 1;
  x->route = now_by;
  x->since = now;
  x->took = 0;
  o->pieces.cost.timed = alone ? x : NULL;
  o->pieces.cost.spent = -now;
  return now_by;
}

/* Returns the route of a vector with this name. If the name is 0, peers cannot read the vector. */
static tt_route take_route(tt_operation *o, uint64_t name, size_t bytes) {
  tt_wire *w = o->wire;
  const tt_route expected = name && w->memory->worth(w, name, bytes) ? TT_DIRECT : TT_STAGED;
  const int route = w->learns & TT_LEARNS_ROUTES ? route_of(o, name, bytes) : -1;
  if (w->arena_state->last_route != route + 1) w->arena_state->last_route = 0;
  if (route < 0) return expected;
  if (w->rank) {
    const uint64_t advised = w->memory->advised(w, route);
    return advised ? (tt_route)(advised - 1) : expected;
  }
  tt_cycles *x = &w->arena_state->cycles[route];
  if (!x->begun) tt_learner_begin(&x->learner, expected);
  x->begun = true;
  if (o->call.staged) return (tt_route)x->learner.usual;
  return learn_route(o, x, route, !w->memory->writable(w, name) && o->role.gives &&
                                      o->role.from.count > 0);
}

/* Fills in the names of this rank's vectors, which its peers will read. Rank 0 also learns from calls that do not read
 * its vectors. */
static void name_vectors(tt_operation *o, size_t bytes) {
  tt_wire *w = o->wire;
  tt_pieces *p = &o->pieces;
  const bool times = o->reducer.times, shows = tt_shows_input(o);
  if (times && o->call.coll != TUTTI_ALLREDUCE) return; /* dst has no room for the product */
  if (!shows && w->rank) return;
  const uint64_t src = w->memory->export(w, times || !shows ? o->call.dst : o->call.src,
                                         o->role.own * o->reducer.element);
  if (take_route(o, src, bytes) == TT_STAGED || !shows) return;
  p->mine.src = src;
  if (tt_owned(o) || o->if_exported != p->shape)
    p->mine.dst = w->memory->export(w, o->call.dst, bytes);
}

tutti_status tt_arena_begin(tt_operation *o) {
  tt_wire *w = o->wire;
  tt_pieces *p = &o->pieces;
  const size_t element = o->reducer.element, bytes = total(o) * element;
  const bool allreduce = o->call.coll == TUTTI_ALLREDUCE;
  tutti_status status = tt_flags_begin(o);
  if (status) return status;
  tt_arena_state *s = tt_arena_state_of(w);
  if (!s) return o->status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for the state of an arena");
  if (!o->role.known) tt_find_role(o);
  if (!allreduce) o->if_exported = TT_SHAPE_ONE_SHOT;
  *p = (tt_pieces){.shape = allreduce ? o->program->shape : TT_SHAPE_ONE_SHOT,
                   .readers = o->call.coll == TUTTI_REDUCE ? (tt_peers){o->call.root, 1, 1}
                                                           : (tt_peers){0, w->ranks, 1},
                   .put_by_all = UINT32_MAX,
                   .cut = {.at_once = 1}};
  if (bytes == 0) return TUTTI_OK;
  cut(o);
  /* the scaled input is stored in the arena or in dst, as if it were the caller's input */
  const bool times = o->reducer.times;
  if (allreduce) tt_device_offer(o, &p->mine);
  p->mine.in_place = allreduce && (times || o->call.src == o->call.dst);
  p->cost.stores = &s->stores[tt_store_size(bytes)];
  p->mine.stores = tt_stores_rule(p->cost.stores);
  if (!allreduce) p->mine.stores.period = 0; /* its pieces do not compare kinds of stores */
  p->cost.counted = p->cost.stores->pieces;
  p->cost.stores->pieces += p->cut.count;
  name_vectors(o, bytes);
  if (!tt_shows_input(o)) {
    p->done[TT_PUT] = p->cut.count;
    return TUTTI_OK;
  }
  if (tt_from_arena(o, &p->mine) || (tt_owned(o) && !p->mine.dst)) {
    void *arena = w->memory->arena(w);
    if (!arena) return o->status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory for an arena");
    p->mine.arena = w->memory->export(w, arena, 1);
  }
  return TUTTI_OK;
}
