/* line.c - small vectors: each is stored next to its flag, where the ranks that need it read it.
 *
 * Idea       A rank that provides data writes them next to its flag in the flag slot. A rank that needs data waits for the
 *            flags of the ranks that provide them. It then adds them up in rank order, in one pass, or copies its part of
 *            each. For each collective, a row of a table defines which ranks provide and need which data. A rank that needs
 *            no data does not wait, until the slots are used up. If a plan has more rounds, the sum is stored next to the flag
 *            of the next round, where another group reads it. With 64 ranks in groups of 8, a rank thus reads 14 lines
 *            instead of 63.
 * Cost       One line is written in each round, and one is read from each peer; no allocation, division or search. At its
 *            end, a call prefetches the lines of the next call, because peers have read them.
 * Invariant  The operands and their order are those of the schedule's reductions, so the result has the same bits. A flag's
 *            data stay until its slot is reused.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/* ---- flags, for both loops: a call continues where the previous one stopped ---- */

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

/* Returns the rank of an entry. The peers of a loop's schedule do not wrap around. */
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

uint32_t tt_first_step(const tt_operation *o, bool receives) {
  const tt_sched *s = o->program->sched;
  for (uint32_t i = 0; i < s->nsteps; i++)
    if (receives ? tt_step_receives(&s->steps[i]) : s->steps[i].kind == TT_SEND) return i;
  return 0;
}

/* Returns the step that receives in this round: the first receiving step, then every other step. */
static uint32_t step_of(const tt_operation *o) {
  return o->round ? 2 * o->round + 1 : tt_first_step(o, true);
}

bool tt_flags_await(const tt_operation *o, const tt_peers *peers, size_t n, tt_awaits_fn *show,
                    void *ctx) {
  tt_wire *w = o->wire;
  uint32_t hash;
  for (int i = 0; i < peers->count; i++) {
    const int peer = rank_of(o, peers, i);
    if (peer != w->rank && !w->memory->flag_get(w, peer, o->stamp.seq, o->round, n, &hash) &&
        show(ctx, peer, step_of(o)))
      return true;
  }
  return false;
}

/* ---- which ranks provide and need which data ---- */

/* Sets of ranks, and the data that each of these ranks publishes. */
typedef enum who { NOBODY, ROOT, OTHERS, ALL } who;
typedef enum what { VECTOR, OWN_BLOCK, ALL_BLOCKS } what;

/* If a rank publishes all blocks, each reader takes its own block; otherwise it takes everything. */
static const struct {
  who give, take;
  what shown;
} rows[TUTTI_COLL_COUNT] = {
    [TUTTI_ALLREDUCE] = {ALL, ALL, VECTOR},       [TUTTI_BARRIER] = {ALL, ALL, VECTOR},
    [TUTTI_BROADCAST] = {ROOT, OTHERS, VECTOR},   [TUTTI_REDUCE] = {OTHERS, ROOT, VECTOR},
    [TUTTI_ALLGATHER] = {ALL, ALL, OWN_BLOCK},    [TUTTI_GATHER] = {OTHERS, ROOT, OWN_BLOCK},
    [TUTTI_SCATTER] = {ROOT, OTHERS, ALL_BLOCKS}, [TUTTI_REDUCE_SCATTER] = {ALL, ALL, ALL_BLOCKS},
    [TUTTI_ALLTOALL] = {ALL, ALL, ALL_BLOCKS}};

static bool is_among(const tt_operation *o, who of) {
  const bool root = o->wire->rank == o->call.root;
  return of == ALL || (of == ROOT && root) || (of == OTHERS && !root);
}

/* Returns the largest number of elements that any rank publishes. */
static size_t most_shown(const tt_operation *o) {
  size_t most = 0;
  switch (rows[o->call.coll].shown) {
    case VECTOR: return o->call.count;
    case ALL_BLOCKS: return tt_block_at(o, o->wire->ranks);
    case OWN_BLOCK: break;
  }
  if (!o->table) return o->call.count;
  for (int r = 0; r < o->wire->ranks; r++) most = tt_max(most, tt_block_size(o, r));
  return most;
}

static bool line_fits(const tt_operation *o) {
  const tt_shape shape = o->program->shape;
  size_t most = o->wire->size.flag;
  if (shape == TT_SHAPE_NONE || o->slices != 1 || tt_call_is_alltoallv(&o->call)) return false;
  if (shape == TT_SHAPE_ROUNDS)
    most = tt_min(most, o->wire->size.later);
  else if (shape != TT_SHAPE_ONE_SHOT && o->call.coll == TUTTI_ALLREDUCE)
    return false; /* arena.c */
  return o->call.count <= most && most_shown(o) <= most / o->reducer.element;
}

void tt_find_role(tt_operation *o) {
  const int me = o->wire->rank, ranks = o->wire->ranks;
  const who give = rows[o->call.coll].give, take = rows[o->call.coll].take;
  const what shown = rows[o->call.coll].shown;
  const bool takes = is_among(o, take);
  const size_t most = most_shown(o);
  o->role =
      (tt_role){.known = true,
                .gives = is_among(o, give),
                .from = take == OTHERS ? (tt_peers){o->call.root, 1, 1} : (tt_peers){0, ranks, 1},
                .own = shown == OWN_BLOCK ? tt_block_size(o, me) : most,
                .slot = most * o->reducer.element};
  if (!takes) o->role.from.count = 0;
  if (shown == ALL_BLOCKS) o->role.at = tt_block_at(o, me);
  o->role.part = shown == ALL_BLOCKS ? tt_block_size(o, me) : o->role.own;
}

static tutti_status line_begin(tt_operation *o) {
  if (!o->role.known) tt_find_role(o);
  return tt_flags_begin(o);
}

/* ---- the loop ---- */

/* The schedule has a send and a receiving step for each round, and possibly a copy. */
static uint32_t rounds_of(const tt_operation *o) {
  return o->program->sched->nsteps / 2;
}

static const tt_peers *group_of(const tt_operation *o) {
  return o->program->shape == TT_SHAPE_ROUNDS ? &o->program->sched->steps[2 * o->round + 1].peers
                                              : &o->role.from;
}

/* Copies n bytes; 4 and 8 bytes as one word. */
static void copy(void *to, const void *from, size_t n) {
  if (n == 4)
    memcpy(to, from, 4);
  else if (n == 8)
    memcpy(to, from, 8);
  else
    tt_memcpy(to, from, n);
}

/* A product is stored in the slot, even if no rank reads it, because the caller's vector must not change. */
static bool line_publish(tt_operation *o) {
  o->own = o->call.src;
  if (!o->role.gives && !o->reducer.times) return o->flag_get = true;
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, 0, o->role.slot);
  if (!place) return false;
  if (o->reducer.times) {
    tt_times(&o->reducer, place, o->call.src, o->role.own);
    o->own = place;
  } else {
    copy(place, o->call.src, o->role.own * o->reducer.element);
  }
  if (o->role.gives) o->wire->memory->flag_set(o->wire, o->stamp, 0, o->oldest);
  return o->flag_get = true;
}

/* Returns the start of this rank's part in the data of each rank of the group. */
static const void **parts(tt_operation *o) {
  const size_t at = o->role.at * o->reducer.element;
  if (at == 0) return o->slots;
  for (int i = 0; i < group_of(o)->count; i++) o->inputs[i] = (const char *)o->slots[i] + at;
  return o->inputs;
}

static void sum_group(tt_operation *o, void *to) {
  tt_reduce(&o->reducer, to, parts(o), group_of(o)->count, o->role.part);
}

/* Publishes the group's sum for the next group. The slot is free because that of the first round was. */
static bool line_go_on(tt_operation *o) {
  void *place = o->wire->memory->flag_slot(o->wire, o->stamp.seq, o->round + 1, o->role.slot);
  if (!place) return false;
  sum_group(o, place);
  o->wire->memory->flag_set(o->wire, o->stamp, ++o->round, o->oldest);
  o->own = place;
  o->next = 0;
  return true;
}

static void line_sum(tt_operation *o) {
  sum_group(o, o->call.dst);
  if (o->call.op == TUTTI_AVG) tt_scale(o->call.type, o->call.dst, o->role.part, o->wire->ranks);
}

/* Copies the result, which is one part, or a block from each rank. */
static void line_copy(tt_operation *o) {
  const size_t element = o->reducer.element;
  const bool blocks = group_of(o)->count > 1, own = rows[o->call.coll].shown == OWN_BLOCK;
  const void **part = parts(o);
  for (int i = 0; i < group_of(o)->count; i++) {
    const size_t n = own ? tt_block_size(o, i) : o->role.part;
    char *to = (char *)o->call.dst + (blocks ? tt_block_at(o, i) * element : 0);
    if (to != part[i]) copy(to, part[i], n * element);
  }
}

/* A root that provides data also copies its own part. */
static void copy_own(tt_operation *o) {
  const size_t element = o->reducer.element;
  const char *from = (const char *)o->call.src + o->role.at * element;
  if (o->call.dst && o->call.dst != from) copy(o->call.dst, from, o->role.part * element);
}

static bool line_end(tt_operation *o) {
  const tt_memory_ops *memory = o->wire->memory;
  if (group_of(o)->count == 0) {
    if (rows[o->call.coll].give == ROOT) copy_own(o);
  } else if (tt_coll_reduces(o->call.coll)) {
    line_sum(o);
  } else {
    line_copy(o);
  }
  for (uint32_t round = 0; o->role.gives && round <= o->round; round++) /* slots of the next call */
    memory->flag_ahead(o->wire, o->stamp.seq + 1, round, o->role.slot);
  return true;
}

/* Runs a part of the loop. Traces it if tracing is on. */
static bool line_traced(tt_operation *o, bool (*part)(tt_operation *), tt_event_kind kind) {
  if (__builtin_expect(!o->trace, 1)) return part(o);
  const uint64_t begin = tt_trace_mark(o->trace);
  const uint32_t step = part == line_publish ? 0 : step_of(o);
  if (!part(o)) return false;
  tt_trace_step(o->trace, kind, begin, o->stamp.seq, -1, o->role.slot, step);
  return true;
}

static bool line_progress(tt_operation *o) {
  bool moved = false;
  if (o->finished) return false;
  if (o->role.slot > 0) {
    if (!o->flag_get && !(moved = line_traced(o, line_publish, TT_EVENT_COPY))) {
      if (__builtin_expect(o->trace != NULL, 0))
        o->trace->awaits = o->wire->memory->flag_keeper(o->wire, o->stamp.seq, o->role.slot);
      return false;
    }
    const tt_event_kind kind = tt_coll_reduces(o->call.coll) ? TT_EVENT_REDUCE : TT_EVENT_COPY;
    for (bool more = true; more;) {
      if (!tt_flags_ready(o, group_of(o), o->role.slot, &moved)) return moved || o->status;
      more = o->program->shape == TT_SHAPE_ROUNDS && o->round + 1 < rounds_of(o);
      if (!line_traced(o, more ? line_go_on : line_end, kind)) return moved;
    }
  }
  o->finished = 1;
  return true;
}

static bool line_awaits(const tt_operation *o, tt_awaits_fn *show, void *ctx) {
  if (o->status || o->finished || o->role.slot == 0) return false;
  if (tt_flags_await(o, group_of(o), o->role.slot, show, ctx)) return true;
  const int keeper =
      o->flag_get ? -1 : o->wire->memory->flag_keeper(o->wire, o->stamp.seq, o->role.slot);
  return keeper >= 0 && show(ctx, keeper, 0);
}

const tt_loop tt_line_loop = {line_fits, line_begin, line_progress, line_awaits, NULL};
