/* arena.c - large vectors, piece by piece: one-shot, two-shot and naive allreduce, and the collectives that are parts of
 * them.
 *
 * Idea       A vector is cut into pieces that fit in the cache. Each piece is put where the peers can read it (without a
 *            copy if it lies there already), summed directly from all ranks' memory (two-shot: each rank sums its block;
 *            naive: rank 0 sums everything), and fetched. A rank that sums for others writes into their vectors, if it
 *            may, while the line is in its cache.
 *            If all vectors are private, two-shot writes a sum over each of its inputs, in the arena of the rank that
 *            put the input there. A line is then always written by the rank that has just read it, which is fast on
 *            distant cores, too. Otherwise a rank publishes its sums in its own arena. Counters publish each rank's
 *            progress; pieces overlap.
 *            The other collectives run as a one-shot. In reduce and reduce-scatter, a rank sums less, or nothing. In
 *            broadcast and allgather, it copies instead of summing.
 * Cost       Private memory: two-shot copies (P-1)/P of a vector in, reads one vector for the sums, and copies (P-1)/P of a
 *            vector out. Memory that the peers can map: one vector read, one written, no copy.
 * Invariant  The operands and their order are those of the schedule's reductions, so the result has the same bits. A slot
 *            of the arena is rewritten when all ranks have fetched the piece in it. An operation ends when no rank reads
 *            its vectors any more. Operations use the arena in the order of issue.
 * See        docs/shared-memory.md
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "pieces.h"

enum {
  TOGETHER = 16 << 20, /* bytes per batch if no vector goes through an arena */
  MOST = 1 << 20       /* approximate number of bytes that one call of progress moves */
};

/* ---- progress of the peers ---- */

static bool has_published(tt_wire *w, int peer, tt_counter counter, uint64_t target) {
  return w->memory->published(w, peer, counter) >= target;
}

bool tt_pieces_gathered(tt_operation *o, const tt_peers *peers, tt_counter counter,
                        uint64_t target) {
  tt_wire *w = o->wire;
  if (o->pieces.seen[counter].target != target) {
    o->pieces.seen[counter].target = target;
    o->pieces.seen[counter].next = 0;
  }
  int *next = &o->pieces.seen[counter].next;
  while (*next < peers->count && (peers->first + *next == w->rank ||
                                  has_published(w, peers->first + *next, counter, target)))
    ++*next;
  if (__builtin_expect(o->trace != NULL, 0) && *next < peers->count)
    o->trace->awaits = peers->first + *next;
  return *next == peers->count;
}

static bool gathered_by_all(tt_operation *o, tt_counter counter, uint64_t target) {
  const tt_peers all = {0, o->wire->ranks, 1};
  return tt_pieces_gathered(o, &all, counter, target);
}

/* Returns true once all ranks have put their parts. Some pieces may have been put before their rank set its flag. */
static bool all_put(tt_operation *o, uint32_t k) {
  const uint32_t end = tt_batch_end(o, k);
  return end <= o->pieces.put_by_all ||
         tt_pieces_gathered(o, &o->role.from, TT_PUT, o->pieces.cut.first + end);
}

/* Checks all ranks, including this one: a sum that was returned to the slot may have arrived since the last check. */
static bool slot_is_free(tt_operation *o, uint32_t k) {
  return k < o->pieces.done[TT_GOT] + o->pieces.cut.slots &&
         gathered_by_all(o, TT_GOT, tt_slot_free_from(o, k));
}

/* Returns the first piece that has not been copied from the device completely. */
static uint32_t first_missing(const tt_operation *o) {
  if (!o->call.staged) return o->pieces.cut.count;
  const uint64_t landed = tt_staged_landed(o->call.staged);
  if (landed == UINT64_MAX) return o->pieces.cut.count;
  uint32_t k = o->pieces.done[TT_PUT];
  while (tt_partition_at(&o->pieces.cut.at, k + 1) * o->reducer.element <= landed) k++;
  return k;
}

static bool try_put(tt_operation *o) {
  const uint32_t k = o->pieces.done[TT_PUT], missing = first_missing(o);
  if (k == o->pieces.cut.count || missing == k) return false;
  const bool exported = !tt_from_arena(o, &o->pieces.mine);
  if (exported && !o->reducer.times) {
    tt_pieces_publish(o, TT_PUT, missing);
    return true;
  }
  if (missing < tt_batch_end(o, k)) return false;
  if (!exported && !slot_is_free(o, k)) return false;
  tt_put_piece(o, k);
  tt_pieces_publish(o, TT_PUT, tt_batch_end(o, k));
  return true;
}

/* Returns true if there is a piece k, and this rank has reached that stage for its whole batch. The first pieces may
 * have been put one by one, before the size of a batch was known. */
static bool done_before(const tt_operation *o, tt_counter counter, uint32_t k) {
  return k < o->pieces.cut.count && o->pieces.done[counter] >= tt_batch_end(o, k);
}

static bool try_sum(tt_operation *o) {
  const uint32_t k = o->pieces.done[TT_SUM];
  if (!tt_owned(o) || !done_before(o, TT_PUT, k)) return false;
  const tt_part own = tt_piece_part(o, k, o->wire->rank);
  if (!own.bytes) {
    tt_pieces_publish(o, TT_SUM, tt_batch_end(o, k));
    return true;
  }
  if (!all_put(o, k)) return false;
  if (o->pieces.shows == TT_SHOWS_IN_ARENA && !tt_from_arena(o, &o->pieces.mine) &&
      !slot_is_free(o, k))
    return false;
  if (!o->wire->memory->enter(o->wire)) return false;
  const bool summed = tt_sum_part(o, k, own);
  o->wire->memory->leave(o->wire);
  if (summed) tt_pieces_publish(o, TT_SUM, tt_batch_end(o, k));
  return summed;
}

static bool try_get(tt_operation *o) {
  if (o->pieces.gets == TT_GETS_FETCHES) return tt_device_fetch(o);
  const uint32_t k = o->pieces.done[TT_GOT];
  const tt_counter before = tt_owned(o) ? TT_SUM : TT_PUT;
  if (!done_before(o, before, k)) return false;
  if (tt_owned(o) ? !gathered_by_all(o, TT_SUM, o->pieces.cut.first + tt_batch_end(o, k))
                  : !all_put(o, k))
    return false;
  if (!o->wire->memory->enter(o->wire)) return false;
  const bool got = tt_get_piece(o, k);
  o->wire->memory->leave(o->wire);
  if (got) tt_pieces_publish(o, TT_GOT, tt_batch_end(o, k));
  return got;
}

/* ---- the loop ---- */

/* Returns the schedule's step that corresponds to a put, a sum or a get. */
static uint32_t step_of(const tt_operation *o, tt_counter what) {
  if (o->call.coll != TUTTI_ALLREDUCE) return tt_first_step(o, what != TT_PUT);
  if (o->pieces.shape == TT_SHAPE_NAIVE) return what == TT_PUT || what == TT_SUM ? 0 : 1;
  return what == TT_PUT ? 0 : what == TT_SUM || !tt_owned(o) ? 1 : 3;
}

static size_t part_work(const tt_operation *o, tt_counter what, uint32_t k) {
  const tt_extent piece = tt_piece_extent(o, k);
  const size_t all = piece.to - piece.from;
  const size_t own = tt_by_blocks(o) ? all / (size_t)o->wire->ranks : all, rest = all - own;
  const bool alone = o->call.coll == TUTTI_ALLGATHER;
  if (what == TT_PUT) return tt_from_arena(o, &o->pieces.mine) ? (!rest || alone ? own : rest) : 0;
  return o->role.from.count == 0 ? 0 : alone ? rest : own;
}

/* Returns the number of bytes to move or sum for the batch that starts with piece k. A rank's block is counted as an
 * even share, because computing its exact bounds takes too long. */
static size_t work_of(const tt_operation *o, tt_counter what, uint32_t k) {
  if (o->call.coll != TUTTI_ALLREDUCE) return part_work(o, what, k);
  const bool exported = !tt_from_arena(o, &o->pieces.mine) && !o->reducer.times;
  const tt_extent piece = tt_piece_extent(o, k);
  const size_t all = piece.to - piece.from;
  const size_t mine = o->pieces.shape == TT_SHAPE_TWO_SHOT
                          ? (uint32_t)all / (uint32_t)o->wire->ranks
                      : o->pieces.shape == TT_SHAPE_NAIVE && o->wire->rank ? 0
                                                                           : all;
  if (what == TT_PUT) return exported ? 0 : tt_owned(o) && !o->reducer.times ? all - mine : all;
  return what == TT_SUM                      ? mine
         : !tt_owned(o)                      ? all
         : o->pieces.gets == TT_GETS_WRITTEN ? 0
                                             : all - mine;
}

/* Runs a part of the loop. Traces it if tracing is on. */
static bool arena_traced(tt_operation *o, tt_counter what, bool (*part)(tt_operation *)) {
  if (__builtin_expect(!o->trace, 1)) return part(o);
  const uint32_t k = o->pieces.done[what];
  const uint64_t begin = tt_trace_mark(o->trace);
  if (!part(o)) return false;
  const bool sums = what == TT_SUM || (what == TT_GOT && !tt_owned(o));
  tt_trace_step(o->trace, sums ? TT_EVENT_REDUCE : TT_EVENT_COPY, begin, o->stamp.seq, -1,
                work_of(o, what, k), step_of(o, what));
  return true;
}

static bool arena_publish(tt_operation *o) {
  if (!o->role.gives) return o->flag_get = true; /* no rank reads it */
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 0, sizeof(tt_names));
  if (!place) return false;
  /* if no rank copies, another loop may be chosen later */
  const bool unsure = o->if_exported != o->pieces.shape && o->pieces.mine.src;
  if (o->wire->arena_state->over == o->pieces.cut.first && !unsure)
    arena_traced(o, TT_PUT, try_put);
  o->pieces.mine.put = o->pieces.done[TT_PUT];
  memcpy(place, &o->pieces.mine, sizeof o->pieces.mine);
  o->wire->memory->flag_set(o->wire, o->stamp, 0, o->oldest);
  if (o->pieces.cost.timed) o->pieces.cost.spent += tt_store_ticks();
  return o->flag_get = true;
}

/* Common properties of the names of all ranks that publish data. */
typedef struct together {
  bool all_exported, none_staged, all_staged;
  tt_comes least, most;
} together;

static void look_at(const tt_operation *o, const tt_names *names, together *x) {
  const bool staged = tt_from_arena(o, names);
  x->all_exported =
      x->all_exported && names->src && o->wire->memory->writable(o->wire, names->dst);
  x->none_staged = x->none_staged && !staged;
  x->all_staged = x->all_staged && staged && !names->dst;
  x->least = tt_min(x->least, (tt_comes)names->comes);
  x->most = tt_max(x->most, (tt_comes)names->comes);
}

/* Makes the decisions that depend on the awaited flags, once these are set. They are the same on all ranks that make
 * them. If no vector goes through an arena, another loop may be cheaper, and pieces are processed in batches. */
static void choose(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  together x = {true, true, true, TT_REACHED, TT_HERE};
  if (tt_shows_input(o)) look_at(o, &p->mine, &x);
  if (o->role.from.count == 0) p->put_by_all = 0;
  for (int i = 0; i < o->role.from.count; i++) {
    const tt_names *names = o->slots[i];
    if (o->role.from.first + i == o->wire->rank) continue;
    p->put_by_all = tt_min(p->put_by_all, names->put);
    look_at(o, names, &x);
  }
  if (x.least == TT_REACHED)
    p->gets = TT_GETS_ON_DEVICES;
  else if (x.all_exported)
    p->shape = o->if_exported;
  else if (x.all_staged && p->shape == TT_SHAPE_TWO_SHOT)
    p->gets = TT_GETS_RETURNED;
  p->device.learns = x.least == TT_OFFERED;
  if (tt_owned(o) ? x.all_exported : x.none_staged)
    p->cut.at_once = (uint32_t)tt_max(
        1, (x.most == TT_HERE ? TOGETHER : tt_device_batch(o)) / o->wire->size.piece);
}

/* If peers can write to a rank's dst, that rank fetches nothing. The others fetch the sums from dst, if it is exported,
 * or from the arena. */
static void arena_decide_access(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  bool getters = false;
  choose(o);
  p->first_given = w->ranks;
  for (int r = w->ranks - 1; r >= 0 && tt_owned(o); r--) {
    if (r == w->rank) continue;
    if (!tt_takes_sums(o, o->slots[r]))
      getters = true;
    else
      p->first_given = r;
  }
  if (p->gets == TT_GETS_RETURNED) p->first_given = w->rank == 0;
  const bool sums = p->shape != TT_SHAPE_NAIVE || w->rank == 0;
  const bool copies = p->gets == TT_GETS_COPIES, returned = p->gets == TT_GETS_RETURNED;
  if (copies && tt_owned(o) && tt_takes_sums(o, &p->mine))
    p->gets = TT_GETS_WRITTEN;
  else if (copies && tt_owned(o) && p->mine.comes != TT_HERE && tt_device_fetches(o))
    p->gets = TT_GETS_FETCHES;
  if (!tt_owned(o))
    p->shows =
        tt_shows_input(o) && !tt_from_arena(o, &p->mine) ? TT_SHOWS_IN_VECTORS : TT_SHOWS_NOTHING;
  else if (getters && sums && (p->mine.dst || !returned))
    p->shows = p->mine.dst ? TT_SHOWS_IN_VECTORS : TT_SHOWS_IN_ARENA;
}

static bool arena_progress(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  bool moved = false;
  if (o->finished) return false;
  if (p->cut.count > 0) {
    if (!o->flag_get && !(moved = arena_publish(o))) return false;
    if (p->put_by_all == UINT32_MAX) {
      if (!tt_flags_ready(o, &o->role.from, sizeof(tt_names), &moved)) return moved || o->status;
      arena_decide_access(o);
      if (p->cost.timed) p->cost.spent -= tt_store_ticks(); /* the wait does not count */
    }
    if (w->arena_state->over < p->cut.first) return moved; /* earlier operations come first */
    if (p->gets == TT_GETS_ON_DEVICES) return tt_device_sum(o) || moved;
    for (size_t k = 0; p->done[TT_GOT] < p->cut.count && k * w->size.piece < MOST; k++) {
      bool more = arena_traced(o, TT_SUM, try_sum);
      more |= !o->status && arena_traced(o, TT_GOT, try_get);
      more |= !o->status && arena_traced(o, TT_PUT, try_put);
      if (o->status) return true;
      if (!more) return moved;
      moved = true;
      if (p->done[TT_GOT] == p->cut.count) w->arena_state->over = p->cut.first + p->cut.count;
    }
    if (p->done[TT_GOT] < p->cut.count) return moved;
    /* the caller may use its vector again when the peers have read all of it */
    if (p->shows == TT_SHOWS_IN_VECTORS &&
        !tt_pieces_gathered(o, &p->readers, TT_GOT, p->cut.first + p->cut.count))
      return moved;
    if (p->cost.timed) p->cost.timed->took = p->cost.spent + tt_store_ticks();
    if (!tt_device_learn(o, &moved)) return moved || o->status;
    if (o->call.coll == TUTTI_ALLREDUCE) {
      p->cost.stores->returned = p->gets == TT_GETS_RETURNED;
      if (p->gets != TT_GETS_RETURNED) tt_stores_learn(p->cost.stores, p->cost.wrote, p->cost.read);
    }
  }
  o->finished = o->slices;
  return true;
}

/* ---- awaited peers ---- */

static bool show_behind(const tt_operation *o, const tt_peers *peers, tt_counter counter,
                        uint64_t target, uint32_t step, tt_awaits_fn *show, void *ctx) {
  tt_wire *w = o->wire;
  for (int r = peers->first; r < peers->first + peers->count; r++)
    if (r != w->rank && !has_published(w, r, counter, target) && show(ctx, r, step)) return true;
  return false;
}

static bool arena_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  const tt_pieces *p = &o->pieces;
  if (o->status || o->finished || p->cut.count == 0) return false;
  const tt_peers all = {0, o->wire->ranks, 1};
  if (tt_flags_await(o, &o->role.from, sizeof(tt_names), show, ctx)) return true;
  const int keeper =
      o->flag_get ? -1 : o->wire->memory->flag_keeper(o->wire, o->stamp.seq, sizeof(tt_names));
  if (keeper >= 0) return show(ctx, keeper, step_of(o, TT_PUT));
  if (o->wire->arena_state->over < p->cut.first) return false;
  if (p->gets == TT_GETS_ON_DEVICES || (p->device.learns && p->done[TT_GOT] == p->cut.count))
    return tt_device_awaits(o, show, ctx);
  const uint64_t at = p->cut.first + 1;
  if (p->done[TT_GOT] == p->cut.count)
    return show_behind(o, &p->readers, TT_GOT, p->cut.first + p->cut.count, step_of(o, TT_GOT),
                       show, ctx);
  if (p->done[TT_PUT] < p->cut.count && tt_from_arena(o, &p->mine) &&
      show_behind(o, &all, TT_GOT, tt_slot_free_from(o, p->done[TT_PUT]), step_of(o, TT_PUT), show,
                  ctx))
    return true;
  const tt_counter before = tt_owned(o) ? TT_SUM : TT_GOT;
  if (show_behind(o, &o->role.from, TT_PUT, at + p->done[before], step_of(o, TT_SUM), show, ctx))
    return true;
  return tt_owned(o) &&
         show_behind(o, &all, TT_SUM, at + p->done[TT_GOT], step_of(o, TT_GOT), show, ctx);
}

/* All pieces that this rank has fetched are final. */
static uint64_t arena_final(const tt_operation *o) {
  if (o->pieces.gets == TT_GETS_FETCHES) return 0; /* it is on the device already */
  if (o->call.coll != TUTTI_ALLREDUCE) return 0;
  return tt_partition_at(&o->pieces.cut.at, o->pieces.done[TT_GOT]) * o->reducer.element;
}

const tt_loop tt_arena_loop = {tt_arena_fits, tt_arena_begin, arena_progress, arena_awaits, arena_final};
