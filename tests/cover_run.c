/* cover_run.c - one case on one rank: buffers with guards, the call, the verdict.
 *
 * Invariant  buffers are aligned as their type and no better; 64 bytes around each
 *            are looked at afterwards; src must be as it was.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cover.h"

enum { GUARD = 64, PAINT = 0xa5 };

typedef struct buffer {
  tutti_comm *comm; /* whose memory it is, or NULL */
  unsigned char *room, *at;
  size_t bytes; /* from `at` on */
} buffer;

typedef struct bench { /* one rank's part of a case */
  const cover_case *c;
  int rank;
  bool in_place;
  size_t size, period, take, give; /* bytes an element; elements of src and dst */
  size_t whole;                    /* of the whole vector */
  buffer src, dst;
  unsigned char *before; /* what src held */
  unsigned char expected[COVER_PERIOD * 16];
  double sizes[COVER_PERIOD];
} bench;

static bool helps(const bench *b) {
  return b->rank >= b->c->ranks - b->c->helpers;
}
static bool has_src(const bench *b) {
  return !helps(b) && b->c->coll != TUTTI_BARRIER &&
         (b->c->coll != TUTTI_BROADCAST || b->rank == b->c->root);
}
static bool has_dst(const bench *b) {
  return !helps(b) && b->c->coll != TUTTI_BARRIER &&
         (b->c->coll != TUTTI_REDUCE || b->rank == b->c->root);
}
static bool reduces(const cover_case *c) {
  return c->coll == TUTTI_ALLREDUCE || c->coll == TUTTI_REDUCE_SCATTER || c->coll == TUTTI_REDUCE;
}

/* ---- buffers ---- */

static bool make_buffer(const bench *b, tutti_comm *comm, size_t elements, uint64_t u, buffer *x) {
  const size_t align = cover_align(b->c->type);
  void *room = NULL;
  x->bytes = elements * b->size;
  size_t all = GUARD + GUARD + x->bytes + GUARD;
  const bool mine = (b->c->memory == COVER_EACH ? u >> 6 : (uint64_t)tutti_comm_rank(comm)) & 1;
  x->comm = b->c->memory == COVER_TUTTI_MEMORY || (b->c->memory > COVER_TUTTI_MEMORY && mine)
                ? comm
                : NULL;
  if (x->comm)
    tutti_mem_alloc(comm, all, &room);
  else
    room = malloc(all);
  if (!room) return false;
  x->room = room;
  x->at = x->room + GUARD + u % (GUARD / align) * align;
  memset(x->room, PAINT, all);
  return true;
}

static void drop_buffer(buffer *x) {
  if (!x->room) return;
  if (x->comm)
    tutti_mem_free(x->comm, x->room);
  else
    free(x->room);
}

static bool guarded(const buffer *x) {
  if (!x->room) return true;
  for (const unsigned char *p = x->room; p < x->at; p++)
    if (*p != PAINT) return false;
  for (const unsigned char *p = x->at + x->bytes; p < x->at + x->bytes + GUARD; p++)
    if (*p != PAINT) return false;
  return true;
}

/* `n` elements of an endless vector of period `period`, from element `from`. */
static void tile(const bench *b, unsigned char *to, const unsigned char *of, size_t from,
                 size_t n) {
  for (size_t i = 0; i < n;) {
    size_t at = (from + i) % b->period, run = b->period - at;
    if (run > n - i) run = n - i;
    memcpy(to + i * b->size, of + at * b->size, run * b->size);
    i += run;
  }
}

/* Where in the whole vector src and dst begin. */
static size_t src_from(const bench *b) {
  return b->c->coll == TUTTI_ALL_GATHER ? (size_t)b->rank * b->c->count : 0;
}
static size_t dst_from(const bench *b) {
  return b->c->coll == TUTTI_REDUCE_SCATTER ? (size_t)b->rank * b->c->count : 0;
}

/* What the call is given: in place, both lie in the larger of the two buffers. */
static void *src_of(const bench *b) {
  if (!b->in_place || !has_src(b)) return b->src.at;
  return b->c->coll == TUTTI_ALL_GATHER ? b->dst.at + src_from(b) * b->size : b->dst.at;
}
static void *dst_of(const bench *b) {
  return b->in_place && has_dst(b) ? b->dst.at + dst_from(b) * b->size : b->dst.at;
}

static void write_input(const bench *b) {
  static _Thread_local unsigned char table[COVER_PERIOD * 16];
  if (!has_src(b)) return;
  cover_fill(b->c, b->rank, table, b->period);
  tile(b, src_of(b), table, src_from(b), b->take);
}

static bool set_up(bench *b, tutti_comm *comm) {
  const cover_case *c = b->c;
  const size_t P = (size_t)c->ranks;
  bool owned = c->coll == TUTTI_ALL_GATHER || c->coll == TUTTI_REDUCE_SCATTER;
  b->size = tutti_type_size(c->type);
  b->whole = owned ? P * c->count : c->count;
  b->period = b->whole < COVER_PERIOD ? b->whole : COVER_PERIOD;
  if (!b->period) b->period = 1;
  b->take = c->coll == TUTTI_REDUCE_SCATTER ? b->whole : c->count;
  b->give = c->coll == TUTTI_ALL_GATHER ? b->whole : c->count;
  b->in_place = (c->in_place == COVER_IN_PLACE || (c->in_place == COVER_MIXED && b->rank % 2)) &&
                has_src(b) && has_dst(b) && c->count > 0;
  uint64_t u = cover_mix(c->seed + (uint64_t)b->rank);
  if (b->in_place && !make_buffer(b, comm, b->whole, u, &b->dst)) return false;
  if (!b->in_place && has_src(b) && !make_buffer(b, comm, b->take, u, &b->src)) return false;
  if (!b->in_place && has_dst(b) && !make_buffer(b, comm, b->give, u >> 8, &b->dst)) return false;
  write_input(b);
  b->before = malloc(b->take * b->size + 1);
  if (b->before && has_src(b)) memcpy(b->before, src_of(b), b->take * b->size);
  if (reduces(c)) cover_reduce(c, b->expected, b->period, c->rough ? b->sizes : NULL);
  return b->before != NULL;
}

static void tear_down(bench *b) {
  drop_buffer(&b->src);
  drop_buffer(&b->dst);
  free(b->before);
}

/* ---- the call ---- */

static tutti_op handle(const cover_ops *ops, int op) {
  if (op == COVER_USER) return ops->user;
  return op == COVER_ORDERED ? ops->ordered : (tutti_op)op;
}

static tutti_status block(tutti_comm *m, const cover_ops *ops, const cover_case *c, const void *src,
                          void *dst) {
  const tutti_op op = handle(ops, c->op);
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(m, src, dst, c->count, c->type, op);
    case TUTTI_REDUCE_SCATTER: return tutti_reduce_scatter(m, src, dst, c->count, c->type, op);
    case TUTTI_ALL_GATHER: return tutti_all_gather(m, src, dst, c->count, c->type);
    case TUTTI_BROADCAST: return tutti_broadcast(m, src, dst, c->count, c->type, c->root);
    case TUTTI_REDUCE: return tutti_reduce(m, src, dst, c->count, c->type, op, c->root);
    default: return tutti_barrier(m);
  }
}

tutti_status cover_start(tutti_comm *m, const cover_ops *ops, const cover_case *c, const void *src,
                         void *dst, tutti_request **r) {
  const tutti_op op = handle(ops, c->op);
  const bool keep = c->manner == COVER_PERSISTENT;
  switch (c->coll) {
    case TUTTI_ALLREDUCE:
      return (keep ? tutti_allreduce_init : tutti_allreduce_start)(m, src, dst, c->count, c->type,
                                                                   op, r);
    case TUTTI_REDUCE_SCATTER:
      return (keep ? tutti_reduce_scatter_init : tutti_reduce_scatter_start)(m, src, dst, c->count,
                                                                             c->type, op, r);
    case TUTTI_ALL_GATHER:
      return (keep ? tutti_all_gather_init : tutti_all_gather_start)(m, src, dst, c->count, c->type,
                                                                     r);
    case TUTTI_BROADCAST:
      return (keep ? tutti_broadcast_init : tutti_broadcast_start)(m, src, dst, c->count, c->type,
                                                                   c->root, r);
    case TUTTI_REDUCE:
      return (keep ? tutti_reduce_init : tutti_reduce_start)(m, src, dst, c->count, c->type, op,
                                                             c->root, r);
    default: return (keep ? tutti_barrier_init : tutti_barrier_start)(m, r);
  }
}

static tutti_status call(tutti_comm *comm, const cover_ops *ops, const bench *b) {
  const cover_case *c = b->c;
  if (c->manner == COVER_BLOCKING) return block(comm, ops, c, src_of(b), dst_of(b));
  tutti_request *r;
  tutti_status status = cover_start(comm, ops, c, src_of(b), dst_of(b), &r);
  if (c->manner == COVER_PERSISTENT)
    for (int again = 0; again < 2 && !status; again++) {
      write_input(b); /* in place, the first round used it up */
      status = tutti_request_start(r);
      if (!status) status = tutti_request_wait(&r);
    }
  int done = 0;
  while (!status && c->manner == COVER_TEST && !done) {
    status = tutti_request_test(&r, &done);
    sched_yield();
  }
  if (!status && c->manner == COVER_WAIT) status = tutti_request_wait(&r);
  if (!status && c->manner == COVER_PERSISTENT) status = tutti_request_free(&r);
  return status;
}

/* ---- the verdict ---- */

/* The first element of dst that is wrong; SIZE_MAX if none is. */
static size_t first_wrong(const bench *b) {
  static _Thread_local unsigned char table[COVER_PERIOD * 16];
  const cover_case *c = b->c;
  const unsigned char *got = dst_of(b);
  for (size_t at = 0; has_dst(b) && at < b->give;) {
    size_t whole = at + dst_from(b), phase = whole % b->period, n = b->period - phase;
    const unsigned char *want = b->expected;
    if (n > b->give - at) n = b->give - at;
    if (c->coll == TUTTI_ALL_GATHER && n > c->count - at % c->count) n = c->count - at % c->count;
    if (!reduces(c)) {
      bool new_owner = at == 0 || (c->coll == TUTTI_ALL_GATHER && at % c->count == 0);
      int owner = c->coll == TUTTI_ALL_GATHER ? (int)(at / c->count) : c->root;
      if (new_owner) cover_fill(c, owner, table, b->period);
      want = table;
    }
    const unsigned char *x = got + at * b->size, *y = want + phase * b->size;
    for (size_t i = 0; memcmp(x, y, n * b->size) != 0 && i < n; i++)
      if (reduces(c) ? !cover_same(c, x + i * b->size, y + i * b->size, b->sizes[phase + i])
                     : memcmp(x + i * b->size, y + i * b->size, b->size) != 0)
        return at + i;
    at += n;
  }
  return SIZE_MAX;
}

/* Is src, where dst does not cover it, as it was? */
static bool input_kept(const bench *b) {
  if (!has_src(b)) return true;
  const unsigned char *now = src_of(b);
  if (!b->in_place) return memcmp(now, b->before, b->take * b->size) == 0;
  if (b->c->coll != TUTTI_REDUCE_SCATTER) return true;
  size_t lo = dst_from(b) * b->size, hi = lo + b->c->count * b->size;
  return memcmp(now, b->before, lo) == 0 &&
         memcmp(now + hi, b->before + hi, b->take * b->size - hi) == 0;
}

/* Do all ranks hold the same bits? Asked over another communicator. */
static tutti_status same_everywhere(const bench *b, tutti_comm *side, bool *same) {
  uint64_t mine = 1, all[64];
  const unsigned char *got = dst_of(b);
  *same = true;
  if (b->c->coll != TUTTI_ALLREDUCE || !b->c->rough || b->c->ranks > 64) return TUTTI_OK;
  if (b->c->type >= TUTTI_FLOAT_INT) return TUTTI_OK; /* padding may differ */
  for (size_t i = 0; has_dst(b) && i < b->give * b->size; i++)
    mine = (mine ^ got[i]) * 0x100000001b3u;
  tutti_status status = tutti_all_gather(side, &mine, all, 1, TUTTI_UINT64);
  for (int r = 0; !status && r < b->c->ranks - b->c->helpers; r++)
    *same = *same && all[r] == all[0];
  return status;
}

bool cover_run(tutti_comm *comm, tutti_comm *side, const cover_ops *ops, const cover_case *c,
               bool *over, char *why, size_t size) {
  bench *b = calloc(1, sizeof *b);
  bool same = true;
  tutti_status status = TUTTI_ERR_MEMORY;
  *over = true;
  why[0] = 0;
  snprintf(why, size, "the test itself is out of memory");
  if (!b) return false;
  b->c = c;
  b->rank = tutti_comm_rank(comm);
  if (set_up(b, comm)) {
    status = tutti_comm_set_algo(comm, strcmp(c->algo, "auto") == 0 ? NULL : c->algo);
    if (!status) status = tutti_comm_set_helpers(comm, c->helpers);
    if (!status) status = tutti_comm_set_slices(comm, c->slices);
    if (!status) status = call(comm, ops, b);
    if (!status) status = same_everywhere(b, side, &same);
    if (status) snprintf(why, size, "%s: %s", tutti_strerror(status), tutti_error());
  }
  size_t wrong = status ? SIZE_MAX : first_wrong(b);
  bool good = !status && same && wrong == SIZE_MAX && guarded(&b->src) && guarded(&b->dst);
  *over = status != TUTTI_OK;
  if (!status && wrong != SIZE_MAX)
    snprintf(why, size, "element %zu of %zu is wrong", wrong, b->give);
  else if (!status && !good)
    snprintf(why, size, same ? "bytes around a buffer changed" : "ranks hold different bits");
  else if (good && !input_kept(b)) {
    snprintf(why, size, "src is not as it was");
    good = false;
  }
  tear_down(b);
  free(b);
  return good;
}
