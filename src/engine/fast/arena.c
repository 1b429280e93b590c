/* arena.c - one-shot, two-shot and naive on large vectors, piece by piece.
 *
 * Idea       A vector is cut into pieces that fit in the cache. Each piece is put where the peers
 *            see it (not copied if it lies there already), summed straight out of all ranks' memory
 *            (two-shot: each rank its block; naive: rank 0 everything), and fetched. A rank that
 *            sums for others writes into their vectors, if it may, while the line is in its cache.
 *            If all vectors are private, two-shot writes a sum over each input that it was made of,
 *            in the arena of the rank that put it there: then a line is always written by the rank
 *            that has just read it, which is fast on cores that are far apart, too. Else a rank
 *            shows its sums in its own arena. Counters publish each rank's progress; pieces overlap.
 * Cost       Private memory: two-shot copies (P-1)/P of a vector in, reads one in the sums and
 *            (P-1)/P in the copies. Memory that the peers can map: one read, one written, no copy.
 * Invariant  The same operands in the same order as the schedule's reductions, so the same bits. A
 *            slot of the arena is rewritten when all ranks have fetched the piece it held; an
 *            operation ends when no rank reads its vectors any more. Operations use the arena in
 *            the order of issue.
 * See        docs/shared-memory.md
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "pieces.h"

enum {
  CHUNK = 64 << 10,    /* bytes summed at once, and copied while in the cache */
  TOGETHER = 16 << 20, /* bytes taken together if no vector goes through an arena */
  MOST = 1 << 20       /* bytes moved by one call of progress, about */
};

static bool arena_fits(const tt_operation *o) {
  return o->program->shape != TT_SHAPE_NONE && o->program->shape != TT_SHAPE_ROUNDS &&
         o->program->sched->coll == TUTTI_ALLREDUCE && o->wire->piece >= 4096;
}

/* The route of this operation's vectors, which are `bytes` long. Rank 0 learns from those that could go
 * directly. */
static tt_route take_route(tt_operation *o, size_t bytes, bool could) {
  tt_wire *w = o->wire;
  const int size = w->learns_routes ? tt_route_size(bytes) : -1;
  tt_cycles *x = size < 0 ? NULL : &w->cycles[size];
  const tt_route route = x ? (tt_route)x->next : TT_DIRECT;
  if (x && x != w->last_cycles) x->since = 0;
  if (x && w->rank == 0 && could && !o->call.staged) tt_route_learn(x, tt_store_ticks());
  w->last_cycles = could ? x : NULL;
  o->pieces.cycles = x;
  o->pieces.mine.next_route = x ? x->next : TT_DIRECT;
  return route;
}

/* Where peers find this rank's vectors. */
static void name_vectors(tt_operation *o, size_t bytes) {
  tt_wire *w = o->wire;
  tt_pieces *p = &o->pieces;
  const uint64_t src = w->memory->export(w, o->reducer.times ? o->call.dst : o->call.src, bytes);
  if (take_route(o, bytes, src != 0) == TT_STAGED) return;
  p->mine.src = src;
  if (tt_owned(o) || o->if_exported != p->shape)
    p->mine.dst = w->memory->export(w, o->call.dst, bytes);
}

static tutti_status arena_begin(tt_operation *o) {
  tt_wire *w = o->wire;
  tt_pieces *p = &o->pieces;
  const size_t element = o->reducer.element, bytes = o->call.count * element;
  const uint64_t most = (w->piece - 2 * 64) / element; /* boundaries are aligned to lines */
  tutti_status status = tt_flags_begin(o);
  if (status) return status;
  *p = (tt_pieces){
      .shape = o->program->shape, .all = {0, w->ranks, 1}, .put_by_all = UINT32_MAX, .at_once = 1};
  if (bytes == 0) return TUTTI_OK;
  p->count = (uint32_t)((o->call.count + most - 1) / most);
  p->cut = tt_partition_even(o->call.count, element, p->count);
  p->first = w->pieces_begun;
  w->pieces_begun += p->count;
  /* the scaled input is stored in the arena or in dst, as if it were the caller's input */
  const bool times = o->reducer.times;
  tt_device_offer(o, &p->mine);
  p->mine.in_place = times || o->call.src == o->call.dst;
  p->stores = &w->stores[tt_store_size(bytes)];
  p->mine.stores = tt_stores_rule(p->stores);
  p->counted = p->stores->pieces;
  p->stores->pieces += p->count;
  name_vectors(o, bytes);
  if (tt_from_arena(o, &p->mine) || (tt_owned(o) && !p->mine.dst)) {
    void *arena = w->memory->arena(w);
    if (!arena) return o->status = tt_fail(TUTTI_ERR_MEMORY, "no shared memory for an arena");
    p->mine.arena = w->memory->export(w, arena, 1);
  }
  return TUTTI_OK;
}

/* ---- progress of the peers ---- */

static bool has_published(tt_wire *w, int peer, tt_counter counter, uint64_t target) {
  return w->memory->published(w, peer, counter) >= target;
}

/* Have all peers published at least `target`? */
bool tt_pieces_gathered(tt_operation *o, tt_counter counter, uint64_t target) {
  tt_wire *w = o->wire;
  if (o->pieces.seen[counter].target != target) {
    o->pieces.seen[counter].target = target;
    o->pieces.seen[counter].next = 0;
  }
  int *next = &o->pieces.seen[counter].next;
  while (*next < w->ranks && (*next == w->rank || has_published(w, *next, counter, target)))
    ++*next;
  if (__builtin_expect(o->trace != NULL, 0) && *next < w->ranks) o->trace->awaits = *next;
  return *next == w->ranks;
}

/* Some pieces may have been put before their rank set its flag. */
static bool all_put(tt_operation *o, uint32_t k) {
  const uint32_t end = tt_batch_end(o, k);
  return end <= o->pieces.put_by_all || tt_pieces_gathered(o, TT_PUT, o->pieces.first + end);
}

/* This rank, too: a sum that was returned to the slot may have come since it last looked. */
static bool slot_is_free(tt_operation *o, uint32_t k) {
  return k < o->pieces.done[TT_GOT] + o->wire->slots &&
         (o->pieces.first + k < o->wire->slots ||
          tt_pieces_gathered(o, TT_GOT, o->pieces.first + k + 1 - o->wire->slots));
}

/* ---- the kind of stores ---- */

static tt_store own_kind(const tt_operation *o, uint32_t k) {
  return tt_piece_kind(o, &o->pieces.mine, k);
}

/* Does this rank write sums into peers' vectors? */
static bool gives(const tt_operation *o) {
  return o->pieces.first_given < o->wire->ranks;
}

/* May peers write sums into the dst of the rank with these names? A device fetches them itself. */
static bool takes(const tt_operation *o, const tt_names *names) {
  return names->comes == TT_HERE && o->wire->memory->writable(o->wire, names->dst);
}

/* The kind by which all peers wrote piece k, if they read it out of arenas and it counts; else
 * TT_STORES. */
static tt_store kind_of_all(const tt_operation *o, uint32_t k) {
  tt_store all = TT_STORES;
  for (int r = 0; r < o->wire->ranks; r++) {
    const tt_names *names = o->slots[r];
    if (r == o->wire->rank) continue;
    const tt_store kind = tt_piece_kind(o, names, k);
    if (!tt_from_arena(o, names) || !tt_piece_counts(o, names, k) ||
        (all != TT_STORES && all != kind))
      return TT_STORES;
    all = kind;
  }
  return all;
}

/* ---- work on one piece ---- */

/* Where peer r waits for offset `at` of piece k, if this rank may write there: in its dst, or where
 * it put its input. */
static char *theirs(const tt_operation *o, uint32_t k, int r, size_t at) {
  const tt_names *names = o->slots[r];
  size_t from;
  if (names->comes != TT_HERE && !o->pieces.returned) return NULL;
  const uint64_t name =
      tt_piece_name(o, names->dst, o->pieces.returned ? names->arena : 0, k, &from);
  char *there = o->wire->memory->writable(o->wire, name);
  return there ? there + from + at : NULL;
}

/* Give a sum of n bytes at `sum` to all ranks that wait for it; `also` has it. */
static void hand_out(tt_operation *o, uint32_t k, size_t at, const char *sum, size_t n,
                     const char *also) {
  for (int r = o->pieces.first_given; r < o->wire->ranks; r++) {
    char *dst = r == o->wire->rank ? NULL : theirs(o, k, r, at);
    if (dst && dst != also) memcpy(dst, sum, n);
  }
  if (o->pieces.shows) {
    tt_store_copy(own_kind(o, k), tt_piece_slot(o, k) + at, sum, n);
    tt_store_fence(own_kind(o, k));
  }
}

/* What a piece cost that went through arenas. */
static void account(tt_operation *o, uint32_t k, const tt_spent *read, const tt_spent *wrote) {
  tt_pieces *p = &o->pieces;
  if (gives(o)) return; /* the sum and the copy are one pass */
  const tt_store kind = kind_of_all(o, k);
  if (tt_piece_counts(o, &p->mine, k))
    tt_spend_more(&p->wrote[own_kind(o, k)], wrote->ticks, wrote->bytes);
  if (kind != TT_STORES) tt_spend_more(&p->read[kind], read->ticks, read->bytes);
}

/* Sum bytes `at` of piece k out of all ranks' memory. */
static bool sum_piece(tt_operation *o, uint32_t k, tt_extent at) {
  tt_wire *w = o->wire;
  const size_t element = o->reducer.element;
  const char *src = tt_piece_input(o, k);
  char *to = (char *)o->call.dst + tt_piece_extent(o, k).from;
  const bool avg = o->call.op == TUTTI_AVG, both = gives(o) && !avg;
  tt_spent read = {0}, wrote = {0};
  uint64_t since = tt_store_ticks();
  for (size_t n, begin = at.from; begin < at.to; begin += n) {
    n = tt_min(at.to - begin, (size_t)CHUNK);
    for (int r = 0; r < w->ranks; r++) {
      const tt_names *names = o->slots[r];
      size_t from;
      if (r == w->rank) continue;
      uint64_t name =
          tt_piece_name(o, tt_from_arena(o, names) ? 0 : names->src, names->arena, k, &from);
      o->inputs[r] = w->memory->map(w, r, name, from + begin, &n, &o->status);
      if (!o->inputs[r]) return false;
    }
    o->inputs[w->rank] = src + begin;
    char *also = both ? theirs(o, k, o->pieces.first_given, begin) : NULL;
    tt_reduce_to_both(&o->reducer, to + begin, also, o->inputs, w->ranks, n / element);
    if (avg) tt_scale(o->call.type, to + begin, n / element, w->ranks);
    since = tt_spend(&read, since, n * (size_t)(w->ranks - 1));
    if (!tt_owned(o)) continue;
    hand_out(o, k, begin, to + begin, n, also);
    since = tt_spend(&wrote, since, n);
  }
  account(o, k, &read, &wrote);
  return true;
}

/* Put the batch that starts with piece k where peers find it. */
static void put_piece(tt_operation *o, uint32_t k) {
  const tt_extent piece = tt_piece_extent(o, k);
  const size_t all = piece.to - piece.from;
  const char *src = (const char *)o->call.src + piece.from;
  /* skip this rank's own block: no peer reads it, and its sum will be stored there */
  const tt_extent own = tt_owned(o) ? tt_piece_block(o, k, o->wire->rank) : (tt_extent){all, all};
  if (o->reducer.times) { /* scale all of it: no rank uses the unscaled input */
    tt_times(&o->reducer, tt_piece_input(o, k), src, all / o->reducer.element);
    return;
  }
  const tt_store kind = own_kind(o, k);
  const uint64_t since = tt_store_ticks();
  tt_store_copy(kind, tt_piece_slot(o, k), src, own.from);
  tt_store_copy(kind, tt_piece_slot(o, k) + own.to, src + own.to, all - own.to);
  tt_store_fence(kind);
  if (tt_piece_counts(o, &o->pieces.mine, k))
    tt_spend(&o->pieces.wrote[kind], since, all - (own.to - own.from));
}

static bool get_piece(tt_operation *o, uint32_t k) {
  tt_wire *w = o->wire;
  char *dst = (char *)o->call.dst + tt_piece_extent(o, k).from;
  if (!tt_owned(o)) return sum_piece(o, k, tt_piece_block(o, k, w->rank));
  for (int i = 1; i < w->ranks && !o->pieces.given; i++) {
    const int r = (w->rank + i) % w->ranks;
    const tt_names *names = o->slots[r];
    const tt_extent block = tt_piece_block(o, k, r);
    size_t from;
    if (block.from == block.to) continue;
    if (o->pieces.returned) {
      memcpy(dst + block.from, tt_piece_slot(o, k) + block.from, block.to - block.from);
      continue;
    }
    const uint64_t since = tt_store_ticks();
    uint64_t name = tt_piece_name(o, names->dst, names->arena, k, &from);
    if (!w->memory->fetch(w, r, name, from + block.from, dst + block.from, block.to - block.from,
                          &o->status))
      return false;
    if (!names->dst && tt_piece_counts(o, names, k))
      tt_spend(&o->pieces.read[tt_piece_kind(o, names, k)], since, block.to - block.from);
  }
  return true;
}

/* The first piece of which some has not come from the device yet. */
static uint32_t first_missing(const tt_operation *o) {
  if (!o->call.staged) return o->pieces.count;
  const uint64_t landed = tt_staged_landed(o->call.staged);
  if (landed == UINT64_MAX) return o->pieces.count;
  uint32_t k = o->pieces.done[TT_PUT];
  while (tt_partition_at(&o->pieces.cut, k + 1) * o->reducer.element <= landed) k++;
  return k;
}

static bool try_put(tt_operation *o) {
  const uint32_t k = o->pieces.done[TT_PUT], missing = first_missing(o);
  if (k == o->pieces.count || missing == k) return false;
  const bool exported = !tt_from_arena(o, &o->pieces.mine);
  if (exported && !o->reducer.times) {
    tt_pieces_publish(o, TT_PUT, missing);
    return true;
  }
  if (missing < tt_batch_end(o, k)) return false;
  if (!exported && !slot_is_free(o, k)) return false;
  put_piece(o, k);
  tt_pieces_publish(o, TT_PUT, tt_batch_end(o, k));
  return true;
}

/* Are there pieces from k on, and has this rank reached that stage for the whole batch? The first
 * pieces may have been put one by one, before the size of a batch was known. */
static bool done_before(const tt_operation *o, tt_counter counter, uint32_t k) {
  return k < o->pieces.count && o->pieces.done[counter] >= tt_batch_end(o, k);
}

static bool try_sum(tt_operation *o) {
  const uint32_t k = o->pieces.done[TT_SUM];
  if (!tt_owned(o) || !done_before(o, TT_PUT, k)) return false;
  const tt_extent own = tt_piece_block(o, k, o->wire->rank);
  if (own.from == own.to) {
    tt_pieces_publish(o, TT_SUM, tt_batch_end(o, k));
    return true;
  }
  if (!all_put(o, k)) return false;
  if (o->pieces.shows && !tt_from_arena(o, &o->pieces.mine) && !slot_is_free(o, k)) return false;
  if (!o->wire->memory->enter(o->wire)) return false;
  const bool summed = sum_piece(o, k, own);
  o->wire->memory->leave(o->wire);
  if (summed) tt_pieces_publish(o, TT_SUM, tt_batch_end(o, k));
  return summed;
}

static bool try_get(tt_operation *o) {
  if (o->pieces.fetches) return tt_device_fetch(o);
  const uint32_t k = o->pieces.done[TT_GOT];
  const tt_counter before = tt_owned(o) ? TT_SUM : TT_PUT;
  if (!done_before(o, before, k)) return false;
  if (tt_owned(o) ? !tt_pieces_gathered(o, TT_SUM, o->pieces.first + tt_batch_end(o, k))
                  : !all_put(o, k))
    return false;
  if (!o->wire->memory->enter(o->wire)) return false;
  const bool got = get_piece(o, k);
  o->wire->memory->leave(o->wire);
  if (got) tt_pieces_publish(o, TT_GOT, tt_batch_end(o, k));
  return got;
}

/* ---- the loop ---- */

/* The schedule's step that corresponds to a put, a sum or a get. */
static uint32_t step_of(const tt_operation *o, tt_counter what) {
  if (o->pieces.shape == TT_SHAPE_NAIVE) return what == TT_PUT || what == TT_SUM ? 0 : 1;
  return what == TT_PUT ? 0 : what == TT_SUM || !tt_owned(o) ? 1 : 3;
}

/* Bytes to move or sum for the batch that starts with piece k. A rank's block is counted as an even
 * share, because computing its exact bounds takes too long. */
static size_t work_of(const tt_operation *o, tt_counter what, uint32_t k) {
  const bool exported = !tt_from_arena(o, &o->pieces.mine) && !o->reducer.times;
  const tt_extent piece = tt_piece_extent(o, k);
  const size_t all = piece.to - piece.from;
  const size_t mine = o->pieces.shape == TT_SHAPE_TWO_SHOT
                          ? (uint32_t)all / (uint32_t)o->wire->ranks
                      : o->pieces.shape == TT_SHAPE_NAIVE && o->wire->rank ? 0
                                                                           : all;
  if (what == TT_PUT) return exported ? 0 : tt_owned(o) && !o->reducer.times ? all - mine : all;
  return what == TT_SUM ? mine : !tt_owned(o) ? all : o->pieces.given ? 0 : all - mine;
}

/* Run a part; trace it if tracing is on. */
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
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 0, sizeof(tt_names));
  if (!place) return false;
  /* if no rank copies, another loop may be chosen later */
  const bool unsure = o->if_exported != o->pieces.shape && o->pieces.mine.src;
  if (o->wire->pieces_over == o->pieces.first && !unsure) arena_traced(o, TT_PUT, try_put);
  o->pieces.mine.put = o->pieces.done[TT_PUT];
  memcpy(place, &o->pieces.mine, sizeof o->pieces.mine);
  o->wire->memory->flag_set(o->wire, o->stamp, 0, o->oldest);
  return o->flag_get = true;
}

/* All ranks have set their flags: derive, equally on all ranks, what follows. If no vector goes
 * through an arena, another loop may be cheaper, and pieces are taken in batches. */
static void choose(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  bool all = true, none = true, staged = true;
  tt_comes least = TT_REACHED, most = TT_HERE;
  for (int r = 0; r < w->ranks; r++) {
    const tt_names *names = r == w->rank ? &p->mine : o->slots[r];
    if (r != w->rank) p->put_by_all = tt_min(p->put_by_all, names->put);
    all = all && names->src && w->memory->writable(w, names->dst);
    none = none && !tt_from_arena(o, names) && !tt_owned(o);
    staged = staged && tt_from_arena(o, names) && !names->dst;
    least = tt_min(least, names->comes);
    most = tt_max(most, names->comes);
  }
  p->on_device = least == TT_REACHED;
  p->learns = least >= TT_OFFERED && !p->on_device;
  if (all && !p->on_device) p->shape = o->if_exported;
  if (p->cycles && w->rank) p->cycles->next = ((const tt_names *)o->slots[0])->next_route;
  p->returned = staged && p->shape == TT_SHAPE_TWO_SHOT;
  if ((all && tt_owned(o)) || none)
    p->at_once = (uint32_t)tt_max(1, (most == TT_HERE ? TOGETHER : tt_device_batch(o)) / w->piece);
}

/* A rank whose dst peers can write to fetches nothing itself; the others fetch the sums from dst,
 * if it is exported, or from the arena. */
static void arena_decide_access(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  bool getters = false;
  choose(o);
  p->first_given = w->ranks;
  for (int r = w->ranks - 1; r >= 0; r--) {
    if (r == w->rank) continue;
    if (!takes(o, o->slots[r]))
      getters = true;
    else if (tt_owned(o))
      p->first_given = r;
  }
  if (p->returned) p->first_given = w->rank == 0;
  const bool sums = p->shape != TT_SHAPE_NAIVE || w->rank == 0;
  p->given = takes(o, &p->mine);
  p->fetches = p->mine.comes != TT_HERE && tt_owned(o) && !p->on_device && tt_device_fetches(o);
  p->shows = tt_owned(o) && getters && sums && !p->mine.dst && !p->returned;
  p->looked_at = tt_owned(o) ? getters && sums && p->mine.dst : !tt_from_arena(o, &p->mine);
}

static bool arena_progress(tt_operation *o) {
  tt_pieces *p = &o->pieces;
  tt_wire *w = o->wire;
  bool moved = false;
  if (o->finished) return false;
  if (p->count > 0) {
    if (!o->flag_get && !(moved = arena_publish(o))) return false;
    if (p->put_by_all == UINT32_MAX) {
      if (!tt_flags_ready(o, &p->all, sizeof(tt_names), &moved)) return moved || o->status;
      arena_decide_access(o);
    }
    if (w->pieces_over < p->first) return moved; /* earlier operations come first */
    if (p->on_device) return tt_device_sum(o) || moved;
    for (size_t k = 0; p->done[TT_GOT] < p->count && k * w->piece < MOST; k++) {
      bool more = arena_traced(o, TT_SUM, try_sum);
      more |= !o->status && arena_traced(o, TT_GOT, try_get);
      more |= !o->status && arena_traced(o, TT_PUT, try_put);
      if (o->status) return true;
      if (!more) return moved;
      moved = true;
      if (p->done[TT_GOT] == p->count) w->pieces_over = p->first + p->count;
    }
    if (p->done[TT_GOT] < p->count) return moved;
    /* a vector that peers read returns to its caller when they have read all of it */
    if (p->looked_at && !tt_pieces_gathered(o, TT_GOT, p->first + p->count)) return moved;
    if (!tt_device_learn(o, &moved)) return moved || o->status;
    p->stores->returned = p->returned;
    if (!p->returned) tt_stores_learn(p->stores, p->wrote, p->read);
  }
  o->finished = o->slices;
  return true;
}

/* ---- awaited peers ---- */

static bool show_behind(const tt_operation *o, tt_counter counter, uint64_t target, uint32_t step,
                        tt_awaits_fn *show, void *ctx) {
  tt_wire *w = o->wire;
  for (int r = 0; r < w->ranks; r++)
    if (r != w->rank && !has_published(w, r, counter, target) && show(ctx, r, step)) return true;
  return false;
}

static bool arena_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  const tt_pieces *p = &o->pieces;
  if (o->status || o->finished || p->count == 0) return false;
  if (tt_flags_await(o, &p->all, sizeof(tt_names), show, ctx)) return true;
  if (o->wire->pieces_over < p->first) return false;
  if (p->on_device || (p->learns && p->done[TT_GOT] == p->count))
    return tt_device_awaits(o, show, ctx);
  const uint64_t at = p->first + 1;
  if (p->done[TT_GOT] == p->count)
    return show_behind(o, TT_GOT, p->first + p->count, step_of(o, TT_GOT), show, ctx);
  if (p->done[TT_PUT] < p->count && tt_from_arena(o, &p->mine) &&
      show_behind(o, TT_GOT, at + p->done[TT_PUT] - o->wire->slots, step_of(o, TT_PUT), show, ctx))
    return true;
  const tt_counter before = tt_owned(o) ? TT_SUM : TT_GOT;
  if (show_behind(o, TT_PUT, at + p->done[before], step_of(o, TT_SUM), show, ctx)) return true;
  return tt_owned(o) && show_behind(o, TT_SUM, at + p->done[TT_GOT], step_of(o, TT_GOT), show, ctx);
}

/* A piece is whole here when this rank has got it. */
static uint64_t arena_final(const tt_operation *o) {
  if (o->pieces.fetches) return 0; /* it is there already */
  return tt_partition_at(&o->pieces.cut, o->pieces.done[TT_GOT]) * o->reducer.element;
}

const tt_loop tt_arena_loop = {arena_fits, arena_begin, arena_progress, arena_awaits, arena_final};
