/* pieces.h - where the pieces of a vector lie: in the vector, or in a slot of its rank's arena.
 *
 * Idea       All ranks cut a vector at the same elements, and number the pieces of all operations consecutively. A piece has
 *            the same slot in every arena, and the next piece has the next slot. An operation that divides the arenas into
 *            slots of another size starts with the first slot. Pieces that go through no arena are handled in batches; this
 *            file calls a batch a piece, too.
 * Invariant  Everything except names and addresses is the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PIECES_H
#define TT_PIECES_H

#include "arena_state.h"
#include "engine.h"

/* Returns true if a rank sums for others: only in allreduce, except one-shot, where every rank sums everything. Every other
 * collective has the shape one-shot here: each rank reads its part from the arenas of the others. */
static inline bool tt_owned(const tt_operation *o) {
  return o->pieces.shape != TT_SHAPE_ONE_SHOT;
}

/* Returns true if a rank's src is read from its arena. In place, one-shot cannot write to a dst that peers still read as
 * src (in_place is set only for allreduce). */
static inline bool tt_from_arena(const tt_operation *o, const tt_names *names) {
  return !names->src || (names->in_place && !tt_owned(o));
}

typedef struct tt_extent { /* in bytes */
  size_t from, to;
} tt_extent;

/* The end of the batch of pieces that starts with piece k. */
static inline uint32_t tt_batch_end(const tt_operation *o, uint32_t k) {
  return tt_min(k + o->pieces.cut.at_once, o->pieces.cut.count);
}

static inline tt_extent tt_piece_extent(const tt_operation *o, uint32_t k) {
  const size_t element = o->reducer.element;
  return (tt_extent){tt_partition_at(&o->pieces.cut.at, k) * element,
                     tt_partition_at(&o->pieces.cut.at, tt_batch_end(o, k)) * element};
}

/* The block that rank r sums, or publishes to all others, relative to the start of piece k. */
static inline tt_extent tt_piece_block(const tt_operation *o, uint32_t k, int r) {
  const size_t element = o->reducer.element;
  const tt_extent piece = tt_piece_extent(o, k);
  if (o->pieces.shape == TT_SHAPE_NAIVE && r > 0) return (tt_extent){0, 0};
  if (o->pieces.shape != TT_SHAPE_TWO_SHOT) return (tt_extent){0, piece.to - piece.from};
  const tt_partition blocks =
      tt_partition_even((piece.to - piece.from) / element, element, (uint32_t)o->wire->ranks);
  return (tt_extent){tt_partition_at(&blocks, (uint32_t)r) * element,
                     tt_partition_at(&blocks, (uint32_t)r + 1) * element};
}

static inline size_t tt_piece_slot_at(const tt_operation *o, uint32_t k) {
  const tt_pieces *p = &o->pieces;
  return (p->cut.first + k - p->cut.slots_from) % p->cut.slots * p->cut.slot;
}

/* Piece k may be put in its slot once all ranks have read the pieces before this number: those that were in this slot, and
 * all pieces that were put when the arenas were divided differently. */
static inline uint64_t tt_slot_free_from(const tt_operation *o, uint32_t k) {
  const tt_pieces *p = &o->pieces;
  const uint64_t number = p->cut.first + k - p->cut.slots_from;
  return p->cut.slots_from + (number < p->cut.slots ? 0 : number + 1 - p->cut.slots);
}

/* Returns the name of a vector, or of the arena if that is 0. *from is the offset of piece k from there. */
static inline uint64_t tt_piece_name(const tt_operation *o, uint64_t vector, uint64_t arena,
                                     uint32_t k, size_t *from) {
  *from = vector ? tt_piece_extent(o, k).from : tt_piece_slot_at(o, k);
  return vector ? vector : arena;
}

static inline char *tt_piece_slot(const tt_operation *o, uint32_t k) {
  return (char *)o->wire->memory->arena(o->wire) + tt_piece_slot_at(o, k);
}

/* Returns the names of a rank that provides data. */
static inline const tt_names *tt_names_of(const tt_operation *o, int r) {
  return r == o->wire->rank ? &o->pieces.mine : o->slots[r - o->role.from.first];
}

/* The kind of stores that the rank with these names uses for piece k. */
static inline tt_store tt_piece_kind(const tt_operation *o, const tt_names *names, uint32_t k) {
  return tt_store_kind(names->stores, o->pieces.cost.counted + k);
}

/* Returns true if that piece is used to measure its kind of stores. */
static inline bool tt_piece_counts(const tt_operation *o, const tt_names *names, uint32_t k) {
  return tt_store_counts(names->stores, o->pieces.cost.counted + k);
}

/* Publishes the number of pieces that this rank has completed. */
static inline void tt_pieces_publish(tt_operation *o, tt_counter counter, uint32_t pieces) {
  o->pieces.done[counter] = pieces;
  o->wire->memory->publish(o->wire, counter, o->pieces.cut.first + pieces);
}
/* ---- an operation of the arena's loop (arena.c, arena_begin.c, arena_piece.c) ---- */

/* If each rank has a block, a piece contains a part of every block. A slot has TT_APART spare bytes between two parts, so
 * that a part may be a line longer. */
enum { TT_APART = 3 * 64 };
static inline bool tt_by_blocks(const tt_operation *o) {
  return o->call.coll == TUTTI_ALLGATHER || o->call.coll == TUTTI_REDUCE_SCATTER;
}
/* Returns true if this rank puts its input, or its product with a factor, where peers read it. */
static inline bool tt_shows_input(const tt_operation *o) {
  return o->role.gives || o->reducer.times;
}
/* Returns true if peers may write sums into the dst of the rank with these names. A device fetches them itself. */
static inline bool tt_takes_sums(const tt_operation *o, const tt_names *names) {
  return names->comes == TT_HERE && o->wire->memory->writable(o->wire, names->dst);
}

/* The part of piece k that rank r provides to others, or sums for them: `bytes` bytes, at offset `at` of the vector and at
 * offset `place` of a slot. */
typedef struct tt_part {
  size_t at, place, bytes;
} tt_part;
tt_part tt_piece_part(const tt_operation *o, uint32_t k, int r);

/* Functions of tt_loop. */
bool tt_arena_fits(const tt_operation *o);
tutti_status tt_arena_begin(tt_operation *o);
/* Put the batch that starts with piece k where peers can read it; sum a part of it from all ranks' memory; fetch what this
 * rank needs of it. The last two return false on failure, with the reason in o->status. */
void tt_put_piece(tt_operation *o, uint32_t k);
bool tt_sum_part(tt_operation *o, uint32_t k, tt_part x);
bool tt_get_piece(tt_operation *o, uint32_t k);
/* Returns true once all these peers have published at least `target`. */
bool tt_pieces_gathered(tt_operation *o, const tt_peers *peers, tt_counter counter,
                        uint64_t target);

/* ---- vectors on devices (device_sum.c, device_fetch.c) ---- */

/* Fills in where this rank's vectors are, and what its device offers. */
void tt_device_offer(const tt_operation *o, tt_names *names);
/* Makes one pass of a sum on the devices, like the progress of a loop. */
bool tt_device_sum(tt_operation *o);
bool tt_device_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx);
/* Adds the name of this rank's staging memory. */
void tt_device_name_staging(const tt_operation *o, tt_names *names);
/* The size of a batch for vectors on devices, in bytes. */
size_t tt_device_batch(const tt_operation *o);
/* Returns true if this rank's device can read the memory where all peers publish their sums. */
bool tt_device_fetches(tt_operation *o);
/* Lets the device fetch the next pieces whose sums are ready, and publishes those that it has fetched. */
bool tt_device_fetch(tt_operation *o);
/* If requested, finds out whether this rank's device can access the peers' vectors. Returns true once that is known. */
bool tt_device_learn(tt_operation *o, bool *moved);

#endif
