/* exact.c - computes a sum of floating point numbers as sums of integers.
 *
 * Idea       The vector is divided into blocks. The first part of a request computes a maximum over all ranks: the range
 *            of bits of each block's numbers. All ranks then know how many words the numbers of a block need
 *            (superacc.h). The words are summed as int64, one window after the other, each with the cheapest plan.
 *            Numbers are converted to words when a window starts, and the sums to numbers when it ends.
 * Cost       One more short allreduce, and words instead of numbers. Memory: TT_WINDOW windows for a communicator, and 8
 *            bytes per block of 256 numbers for a request.
 * Invariant  A request stays first in the queue until its last part has started, so parts start in the same order on all
 *            ranks, although their number depends on the data. That number follows from the maximum alone, which all ranks
 *            have.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "request.h"
#include "superacc.h"

/* A stretch of contiguous numbers. src is NULL if this rank contributes none of them, and dst is NULL if it receives none. */
typedef struct stretch {
  const char *src;
  char *dst;
  size_t reals;
} stretch;

/* A position among the blocks. */
typedef struct spot {
  size_t stretch, at; /* number of reals before it in its stretch */
  size_t block;
} spot;

typedef struct tt_exact {
  tutti_request request;
  tt_call said;    /* the caller's call, for comparison between ranks */
  tt_override override; /* a copy of the call's override */
  tutti_type real; /* type of the numbers */
  size_t each, bytes;
  tt_reducer reducer;
  int width, summands, ranks; /* ranks: divisor of an average, otherwise 1 */
  tt_breadth *breadth;
  size_t blocks;
  bool begun, measured;
  size_t left; /* number of parts that have started but not completed */
  spot next;   /* first block not yet in a part */
  spot from[TT_WINDOW];
  size_t count[TT_WINDOW]; /* blocks of a part; 0: the part is the maximum */
  tutti_request *parts;    /* TT_WINDOW of them, by slot */
  size_t stretches;
  stretch stretch[];
} tt_exact;

/* ---- creating ---- */

static size_t blocks_of(size_t reals) {
  return (reals + TT_BLOCK - 1) / TT_BLOCK;
}

/* Returns the size of a window, in bytes. A window fits in the cache, unless the longest encoding of a single block is larger. */
static size_t capacity_of(const tutti_comm *comm) {
  return tt_max(tt_window_bytes(comm), sizeof(int64_t) * TT_BLOCK * TT_EXACT_WORDS);
}

static void free_exact(tutti_request *whole) {
  tt_exact *x = (tt_exact *)whole;
  if (!x) return;
  free(x->breadth);
  free(x->parts);
  free(x);
}

static tt_exact *new_exact(tutti_comm *comm, const tt_call *call, size_t stretches) {
  tt_exact *x = calloc(1, sizeof *x + stretches * sizeof *x->stretch);
  if (!x) return NULL;
  const bool prefix = tt_coll_prefix(call->coll);
  const int data = tt_call_data(comm, call);
  x->said = *call;
  if (call->override) x->override = *call->override, x->said.override = &x->override;
  x->real = tt_real_of(call->type, &x->each);
  x->bytes = tutti_type_size(x->real);
  x->width = tt_exact_width(comm->ranks);
  x->summands = !prefix ? data : comm->rank + (call->coll == TUTTI_SCAN);
  x->ranks = call->op == TUTTI_AVG ? data : 1;
  x->stretches = stretches;
  return x;
}

/* Hashes the arguments that must be the same on all ranks, except for the plans of the individual parts. */
static uint32_t hash_exact_call(const tt_call *c, uint64_t counts) {
  uint64_t h = tt_mix((uint64_t)c->coll | (uint64_t)c->type << 8 |
                      (uint64_t)tt_op_kind(c->op) << 16 | (uint64_t)(uint32_t)c->root << 32);
  return (uint32_t)tt_mix(tt_mix(h ^ c->count) ^ counts) ^ c->also;
}

static const tt_request_ops exact_ops;

/* Creates the request for an exact sum whose ranges have been set. x may be NULL. Frees x on failure. */
static tutti_status create_exact_request(tutti_comm *comm, const char *function, tt_exact *x,
                                         tutti_request **whole) {
  for (size_t i = 0; x && i < x->stretches; i++) x->blocks += blocks_of(x->stretch[i].reals);
  if (x) x->breadth = malloc(tt_max(1, x->blocks) * sizeof *x->breadth);
  if (x) x->parts = malloc(TT_WINDOW * sizeof *x->parts);
  if (!comm->sums)
    comm->sums = comm->wire->memory->alloc(comm->wire, TT_WINDOW * capacity_of(comm));
  tutti_status status = TUTTI_OK;
  if (!x || !x->breadth || !x->parts || !comm->sums)
    status = tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for an exact sum", function);
  if (!status) status = tt_reducer_init(&x->reducer, x->said.type, x->said.op);
  if (status) {
    free_exact((tutti_request *)x);
    return status;
  }
  x->request = (tutti_request){.ops = &exact_ops, .comm = comm, .call = x->said};
  tt_request_tag(&x->request, x->said.tag);
  x->said.tag = x->request.call.tag;
  *whole = &x->request;
  return TUTTI_OK;
}

/* Adds the block of every rank to a reduce_scatter. Only this rank's block has a destination. Returns a hash of the counts. */
static uint64_t add_owned(tutti_comm *comm, const tt_call *c, tt_exact *x) {
  const char *src = c->src;
  uint64_t hash = 0;
  x->said.count = 0;
  const int data = tt_call_data(comm, c);
  const bool helps = comm->rank >= data;
  for (int r = 0; r < data; r++) {
    const size_t count = c->varied ? c->counts[r] : c->count;
    x->stretch[r] = (stretch){helps ? NULL : src, r == comm->rank ? c->dst : NULL, count * x->each};
    if (!helps) src += count * tutti_type_size(c->type);
    hash = tt_mix(hash + count + 1);
    x->said.count += count;
  }
  if (c->varied)
    x->said.buffers = (uint32_t)hash | 1;
  else
    x->said.count = c->count;
  return hash;
}

static bool gets_result(const tutti_comm *comm, const tt_call *c) {
  return !(c->coll == TUTTI_REDUCE && comm->rank != c->root) &&
         tt_coll_has_result(c->coll, comm->rank);
}

tutti_status tt_exact_new(tutti_comm *comm, const char *function, const tt_call *c,
                          tutti_request **whole) {
  const bool owned = tt_coll_owned(c->coll), helps = comm->rank >= tt_call_data(comm, c);
  const bool gets = gets_result(comm, c);
  const tt_plan *plan; /* unused, but must exist: helpers cannot take part in all calls */
  tutti_status status = tt_plan_for(comm, c, false, &plan);
  if (status) return status;
  tt_exact *x = new_exact(comm, c, owned ? (size_t)tt_call_data(comm, c) : 1);
  if (x && owned) {
    x->said.also = hash_exact_call(c, add_owned(comm, c, x));
  } else if (x) {
    x->stretch[0] =
        (stretch){helps ? NULL : c->src, helps || !gets ? NULL : c->dst, c->count * x->each};
    x->said.also = hash_exact_call(c, 0);
  }
  return create_exact_request(comm, function, x, whole);
}

tutti_status tt_exact_list(tutti_comm *comm, const char *function, const tt_list *list,
                           uint32_t also, tutti_request **whole) {
  tt_call c = {.coll = TUTTI_ALLREDUCE,
               .type = list->type,
               .op = list->op,
               .buffers = (uint32_t)tt_min(list->n + 1, UINT32_MAX)};
  const bool helps = comm->rank >= tt_call_data(comm, &c);
  for (size_t i = 0; i < list->n; i++) c.count += list->counts[i];
  c.also = hash_exact_call(&c, also);
  tt_exact *x = new_exact(comm, &c, list->n);
  for (size_t i = 0; x && i < list->n; i++)
    x->stretch[i] = (stretch){helps ? NULL : list->srcs[i], helps ? NULL : list->dsts[i],
                              list->counts[i] * x->each};
  return create_exact_request(comm, function, x, whole);
}

/* ---- blocks ---- */

/* Advances to the next stretch that has any numbers. */
static void skip_empty_stretches(const tt_exact *x, spot *s) {
  while (s->stretch < x->stretches && s->at >= x->stretch[s->stretch].reals) {
    s->stretch++;
    s->at = 0;
  }
}

static size_t reals_at(const tt_exact *x, const spot *s) {
  return tt_min(x->stretch[s->stretch].reals - s->at, (size_t)TT_BLOCK);
}

static void step(const tt_exact *x, spot *s) {
  s->at += reals_at(x, s);
  s->block++;
  skip_empty_stretches(x, s);
}

static size_t words_at(const tt_exact *x, const spot *s) {
  return reals_at(x, s) * tt_exact_words(&x->breadth[s->block], x->width);
}

/* Returns the numbers of a block, stored in `capacity` if they must be multiplied, or NULL if this rank contributes none. */
static const void *numbers_at(const tt_exact *x, const spot *s, double capacity[TT_BLOCK]) {
  const stretch *v = &x->stretch[s->stretch];
  const char *src = v->src ? v->src + s->at * x->bytes : NULL;
  if (!src || !x->reducer.times) return src;
  tt_times(&x->reducer, capacity, src, reals_at(x, s) / x->each);
  return capacity;
}

static void rewind_and_enqueue(tutti_request *whole) {
  tt_exact *x = (tt_exact *)whole;
  x->begun = x->measured = false;
  x->left = 0;
  x->next = (spot){0, 0, 0};
  skip_empty_stretches(x, &x->next);
  tt_request_enqueue(whole);
}

/* Returns true if all parts have started. */
static bool all_started(const tt_exact *x) {
  return x->begun && x->next.block == x->blocks;
}

/* ---- parts ---- */

static tt_call measuring(tt_exact *x) {
  double capacity[TT_BLOCK];
  for (spot s = x->next; s.block < x->blocks; step(x, &s)) {
    const void *numbers = numbers_at(x, &s, capacity);
    x->breadth[s.block] =
        numbers ? tt_exact_measure(x->real, numbers, reals_at(x, &s)) : tt_breadth_none();
  }
  return (tt_call){.coll = TUTTI_ALLREDUCE,
                   .src = x->breadth,
                   .dst = x->breadth,
                   .count = x->blocks * (sizeof *x->breadth / sizeof(int16_t)),
                   .type = TUTTI_INT16,
                   .op = TUTTI_MAX,
                   .everyone = true};
}

/* Fills a window with as many encoded blocks as fit, and at least one. Returns the call that sums the window. */
static tt_call summing(tutti_comm *comm, tt_exact *x, size_t place) {
  const size_t capacity = capacity_of(comm) / sizeof(int64_t);
  int64_t *window = (int64_t *)comm->sums + place * capacity;
  const bool helps = comm->rank >= comm->ranks - comm->helpers;
  double numbers[TT_BLOCK];
  size_t words = 0;
  x->from[place] = x->next;
  for (x->count[place] = 0; x->next.block < x->blocks; x->count[place]++) {
    const size_t more = words_at(x, &x->next);
    if (words + more > capacity) break;
    const void *from = more ? numbers_at(x, &x->next, numbers) : NULL;
    if (from)
      tt_exact_spread(x->real, &x->breadth[x->next.block], x->width, from, reals_at(x, &x->next),
                      window + words);
    words += more;
    step(x, &x->next);
  }
  if (!words) window[words++] = 0; /* all numbers are zero, but these blocks are still a part */
  return (tt_call){.coll = tt_coll_owned(x->said.coll) ? TUTTI_ALLREDUCE : x->said.coll,
                   .src = helps ? NULL : window,
                   .dst = helps ? NULL : window,
                   .count = words,
                   .type = TUTTI_INT64,
                   .op = TUTTI_SUM,
                   .root = x->said.root};
}

/* Converts the integer sums in a window back to floating point numbers. */
static void take_out(const tutti_request *part, const tt_exact *x, size_t place) {
  const int64_t *words = part->call.dst;
  spot s = x->from[place];
  for (size_t i = 0; i < x->count[place]; i++, step(x, &s)) {
    const stretch *v = &x->stretch[s.stretch];
    if (v->dst)
      tt_exact_round(x->real, &x->breadth[s.block], x->width, words, reals_at(x, &s), x->summands,
                     x->ranks, v->dst + s.at * x->bytes);
    if (words) words += words_at(x, &s);
  }
}

static const tt_request_ops exact_part_ops;

static tutti_request *next_exact_part(tutti_request *whole, size_t place, bool *last) {
  tutti_comm *comm = whole->comm;
  tt_exact *x = (tt_exact *)whole;
  const tt_plan *plan;
  if (x->begun && !x->measured) return NULL;
  tutti_request *part = &x->parts[place];
  *part = (tutti_request){.ops = &exact_part_ops, .comm = comm, .whole = whole};
  x->count[place] = 0;
  part->call = x->begun ? summing(comm, x, place) : measuring(x);
  part->call.override = x->said.override;
  part->call.tag = x->said.tag;
  part->call.said = &x->said;
  part->call.also = x->said.also;
  if (tt_break_if_memory(
          comm,
          tt_plan_for(comm, &part->call, part->call.src && gets_result(comm, &part->call), &plan)))
    return NULL;
  part->plan = *plan;
  x->begun = true;
  x->left++;
  *last = all_started(x);
  return part;
}

static void unpack_exact_part(tutti_request *part) {
  tt_exact *x = (tt_exact *)part->whole;
  if (x->measured) take_out(part, x, (size_t)(part - x->parts));
  x->measured = true;
}

static bool exact_part_done(tutti_request *whole) {
  tt_exact *x = (tt_exact *)whole;
  return --x->left == 0 && all_started(x);
}

static const tt_request_ops exact_ops = {.issue = rewind_and_enqueue,
                                         .next_part = next_exact_part,
                                         .part_done = exact_part_done,
                                         .free = free_exact};
static const tt_request_ops exact_part_ops = {.unpack = unpack_exact_part};
