/* arena_piece.c - the work on one piece: putting it where peers can read it, summing it, and fetching it.
 *
 * Invariant  A rank accesses its peers' memory only after `enter` (wire.h), and only data that they have put.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "pieces.h"

enum { CHUNK = 64 << 10 /* bytes that are summed, and then copied while they are in the cache */ };

/* ---- the kind of stores ---- */

static tt_store own_kind(const tt_operation *o, uint32_t k) {
  return tt_piece_kind(o, &o->pieces.mine, k);
}

/* Returns true if this rank writes sums into peers' vectors. */
static bool gives(const tt_operation *o) {
  return o->pieces.first_given < o->wire->ranks;
}

/* Returns the kind of stores that all peers used for piece k if they are read from arenas and the piece counts;
 * otherwise TT_STORES. */
static tt_store kind_of_all(const tt_operation *o, uint32_t k) {
  tt_store all = TT_STORES;
  for (int r = 0; r < o->wire->ranks; r++) {
    if (r == o->wire->rank) continue;
    const tt_names *names = tt_names_of(o, r);
    const tt_store kind = tt_piece_kind(o, names, k);
    if (!tt_from_arena(o, names) || !tt_piece_counts(o, names, k) ||
        (all != TT_STORES && all != kind))
      return TT_STORES;
    all = kind;
  }
  return all;
}

/* ---- work on one piece ---- */

/* Returns the address where peer r expects the sum at offset `at` of piece k: in its dst, or where it put its input.
 * Returns NULL if this rank may not write there. */
static char *theirs(const tt_operation *o, uint32_t k, int r, size_t at) {
  const tt_names *names = o->slots[r];
  size_t from;
  if (names->comes != TT_HERE && o->pieces.gets != TT_GETS_RETURNED) return NULL;
  const uint64_t name =
      tt_piece_name(o, names->dst, o->pieces.gets == TT_GETS_RETURNED ? names->arena : 0, k, &from);
  char *there = o->wire->memory->writable(o->wire, name);
  return there ? there + from + at : NULL;
}

/* Copies a sum of n bytes at `sum` to all ranks that wait for it, except to `also`, which has it already. */
static void hand_out(tt_operation *o, uint32_t k, size_t at, const char *sum, size_t n,
                     const char *also) {
  for (int r = o->pieces.first_given; r < o->wire->ranks; r++) {
    char *dst = r == o->wire->rank ? NULL : theirs(o, k, r, at);
    if (dst && dst != also) tt_memcpy(dst, sum, n);
  }
  if (o->pieces.shows == TT_SHOWS_IN_ARENA) {
    tt_store_copy(own_kind(o, k), tt_piece_slot(o, k) + at, sum, n);
    tt_store_fence(own_kind(o, k));
  }
}

/* Records the cost of a piece that went through arenas. */
static void account(tt_operation *o, uint32_t k, const tt_spent *read, const tt_spent *wrote) {
  tt_pieces *p = &o->pieces;
  if (gives(o)) return; /* the sum and the copy were one pass */
  const tt_store kind = kind_of_all(o, k);
  if (tt_piece_counts(o, &p->mine, k))
    tt_spend_more(&p->cost.wrote[own_kind(o, k)], wrote->ticks, wrote->bytes);
  if (kind != TT_STORES) tt_spend_more(&p->cost.read[kind], read->ticks, read->bytes);
}

tt_part tt_piece_part(const tt_operation *o, uint32_t k, int r) {
  const size_t element = o->reducer.element;
  if (!tt_by_blocks(o)) {
    const tt_extent block = tt_piece_block(o, k, r);
    return (tt_part){tt_piece_extent(o, k).from + block.from, block.from, block.to - block.from};
  }
  const size_t first = tt_block_at(o, r);
  const tt_partition cut = tt_partition_even(tt_block_size(o, r), element, o->pieces.cut.count);
  const uint64_t from = tt_partition_at(&cut, k),
                 to = tt_partition_at(&cut, tt_batch_end(o, k));
  const bool alone = o->call.coll == TUTTI_ALLGATHER; /* the only part in its rank's slot */
  return (tt_part){
      (first + from) * element,
      alone ? 0 : tt_round_up(first * element / o->pieces.cut.count, 64) + (size_t)r * TT_APART,
      (to - from) * element};
}

/* Offsets of a rank's src and dst in the vector. */
static size_t src_begins(const tt_operation *o, int r) {
  return o->call.coll == TUTTI_ALLGATHER ? tt_block_at(o, r) * o->reducer.element : 0;
}
static size_t dst_begins(const tt_operation *o) {
  return o->call.coll == TUTTI_REDUCE_SCATTER
             ? tt_block_at(o, o->wire->rank) * o->reducer.element
             : 0;
}

/* Returns the name under which rank r publishes a part of piece k. *from is the offset of the part from there. */
static uint64_t name_of_part(const tt_operation *o, uint32_t k, int r, const tt_part *x,
                             size_t *from) {
  const tt_names *names = tt_names_of(o, r);
  const bool arena = tt_from_arena(o, names);
  *from = arena ? tt_piece_slot_at(o, k) + x->place : x->at - src_begins(o, r);
  return arena ? names->arena : names->src;
}

/* Returns the address of this rank's own operand for a part, once the operand has been stored. */
static const char *own_input(const tt_operation *o, uint32_t k, const tt_part *x) {
  if (!o->reducer.times)
    return (const char *)o->call.src - src_begins(o, o->wire->rank) + x->at;
  return tt_from_arena(o, &o->pieces.mine) ? tt_piece_slot(o, k) + x->place
                                           : (char *)o->call.dst + x->at;
}

/* Sums a part of piece k from all ranks' memory. */
bool tt_sum_part(tt_operation *o, uint32_t k, tt_part x) {
  tt_wire *w = o->wire;
  const size_t element = o->reducer.element;
  const char *src = own_input(o, k, &x);
  char *to = (char *)o->call.dst - dst_begins(o) + x.at;
  const bool avg = o->call.op == TUTTI_AVG, both = gives(o) && !avg;
  tt_spent read = {0}, wrote = {0};
  uint64_t since = tt_store_ticks();
  for (size_t n, begin = 0; begin < x.bytes; begin += n) {
    n = tt_min(x.bytes - begin, (size_t)CHUNK);
    for (int r = 0; r < w->ranks; r++) {
      size_t from;
      if (r == w->rank) continue;
      const uint64_t name = name_of_part(o, k, r, &x, &from);
      o->inputs[r] = w->memory->map(w, r, name, from + begin, &n, &o->status);
      if (!o->inputs[r]) return false;
    }
    o->inputs[w->rank] = src + begin;
    char *also = both ? theirs(o, k, o->pieces.first_given, x.place + begin) : NULL;
    tt_reduce_to_both(&o->reducer, to + begin, also, o->inputs, w->ranks, n / element);
    if (avg) tt_scale(o->call.type, to + begin, n / element, w->ranks);
    since = tt_spend(&read, since, n * (size_t)(w->ranks - 1));
    if (!tt_owned(o)) continue;
    hand_out(o, k, x.place + begin, to + begin, n, also);
    since = tt_spend(&wrote, since, n);
  }
  account(o, k, &read, &wrote);
  return true;
}

/* Puts a part of piece k in this rank's slot. A scaled part goes to own_input. */
static void put_part(tt_operation *o, uint32_t k, tt_part x) {
  const char *src = (const char *)o->call.src - src_begins(o, o->wire->rank) + x.at;
  const tt_store kind = own_kind(o, k);
  if (!x.bytes) return;
  if (o->reducer.times) {
    tt_times(&o->reducer, (char *)(uintptr_t)own_input(o, k, &x), src, x.bytes / o->reducer.element);
    return;
  }
  const uint64_t since = tt_store_ticks();
  tt_store_copy(kind, tt_piece_slot(o, k) + x.place, src, x.bytes);
  tt_store_fence(kind);
  if (tt_piece_counts(o, &o->pieces.mine, k)) tt_spend(&o->pieces.cost.wrote[kind], since, x.bytes);
}

/* Puts everything except this rank's own block, which no peer reads, and where its sum will be stored. If the input is
 * scaled, puts everything, because no rank uses the unscaled input. */
static void put_around_own(tt_operation *o, uint32_t k) {
  const tt_extent piece = tt_piece_extent(o, k);
  const size_t all = piece.to - piece.from;
  const bool skips = tt_owned(o) && !o->reducer.times;
  const tt_extent own = skips ? tt_piece_block(o, k, o->wire->rank) : (tt_extent){all, all};
  put_part(o, k, (tt_part){piece.from, 0, own.from});
  put_part(o, k, (tt_part){piece.from + own.to, own.to, all - own.to});
}

/* Puts the batch that starts with piece k where peers can read it: the parts that others read, and this rank's own part if
 * it changes before it is summed. */
void tt_put_piece(tt_operation *o, uint32_t k) {
  const bool all = o->call.coll == TUTTI_REDUCE_SCATTER;
  if (o->call.coll == TUTTI_ALLREDUCE) {
    put_around_own(o, k);
    return;
  }
  for (int r = 0; r < (all ? o->wire->ranks : 1); r++)
    if (!all || r != o->wire->rank || o->reducer.times)
      put_part(o, k, tt_piece_part(o, k, all ? r : o->wire->rank));
}

/* Copies the parts of piece k that the others publish, and this rank's own part. */
static bool copy_parts(tt_operation *o, uint32_t k) {
  tt_wire *w = o->wire;
  for (int i = 0; i < o->role.from.count; i++) {
    const int r = o->role.from.first + (i + w->rank) % o->role.from.count;
    const tt_part x = tt_piece_part(o, k, r);
    size_t from;
    if (r == w->rank || !x.bytes) continue;
    const uint64_t name = name_of_part(o, k, r, &x, &from);
    if (!w->memory->fetch(w, r, name, from, (char *)o->call.dst + x.at, x.bytes, &o->status))
      return false;
  }
  const tt_part own = tt_piece_part(o, k, w->rank);
  const char *src = own_input(o, k, &own);
  char *dst = (char *)o->call.dst + own.at;
  if (o->role.gives && o->call.dst && dst != src) tt_memcpy(dst, src, own.bytes);
  return true;
}

/* If this rank needs no data, there is nothing to do. */
static bool take_piece(tt_operation *o, uint32_t k) {
  if (!tt_coll_reduces(o->call.coll)) return copy_parts(o, k);
  return o->role.from.count == 0 || tt_sum_part(o, k, tt_piece_part(o, k, o->wire->rank));
}

bool tt_get_piece(tt_operation *o, uint32_t k) {
  tt_wire *w = o->wire;
  if (!tt_owned(o)) return take_piece(o, k);
  char *dst = (char *)o->call.dst + tt_piece_extent(o, k).from;
  for (int i = 1; i < w->ranks && o->pieces.gets != TT_GETS_WRITTEN; i++) {
    const int r = (w->rank + i) % w->ranks;
    const tt_names *names = o->slots[r];
    const tt_extent block = tt_piece_block(o, k, r);
    size_t from;
    if (block.from == block.to) continue;
    if (o->pieces.gets == TT_GETS_RETURNED) {
      tt_memcpy(dst + block.from, tt_piece_slot(o, k) + block.from, block.to - block.from);
      continue;
    }
    const uint64_t since = tt_store_ticks();
    uint64_t name = tt_piece_name(o, names->dst, names->arena, k, &from);
    if (!w->memory->fetch(w, r, name, from + block.from, dst + block.from, block.to - block.from,
                          &o->status))
      return false;
    if (!names->dst && tt_piece_counts(o, names, k))
      tt_spend(&o->pieces.cost.read[tt_piece_kind(o, names, k)], since, block.to - block.from);
  }
  return true;
}
