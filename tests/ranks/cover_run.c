/* cover_run.c - one case on one rank: buffers with guards, the call, the comparison.
 *
 * Invariant  buffers have exactly the alignment of their type; the 64 bytes around
 *            each are checked afterwards; src must be unchanged. In half of the cases the
 *            caller overwrites src and dst immediately after the call has returned: no peer may
 *            still read src or write to dst at that point.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cli/configure.h"
#include "card.h"
#include "cover.h"

enum { GUARD = 64, PAINT = 0xa5, PAGE = 4096 };

typedef struct buffer {
  tutti_comm *comm; /* owner of the memory, or NULL */
  bool registered;  /* with it, not allocated */
  unsigned char *capacity, *at;
  size_t bytes; /* starting at `at` */
  char *card;   /* device memory that is passed to the call; `capacity` is its copy; or NULL */
} buffer;

typedef struct cover_flight { /* one rank's part of a case */
  const cover_case *c;
  cover_case own; /* what c points at */
  tutti_request *request;
  int rank;
  bool in_place;
  size_t size, period; /* bytes of an element */
  size_t whole;        /* elements in the whole vector */
  cover_part take, give;
  buffer src, dst;
  unsigned char *before; /* copy of src */
  unsigned char *got; /* copy of dst, which was overwritten; or NULL: dst is as the call left it */
  bool spoilt;        /* src and dst were overwritten */
  unsigned char expected[COVER_PERIOD * 16];
  double sizes[COVER_PERIOD];
} bench;

/* ---- buffers ---- */

static size_t all_bytes(const buffer *x) {
  return GUARD + GUARD + x->bytes + GUARD;
}

static bool make_buffer(const bench *b, tutti_comm *comm, size_t elements, uint64_t u, buffer *x) {
  const size_t align = cover_align(b->c->type);
  void *capacity = NULL;
  x->bytes = elements * b->size;
  const size_t all = all_bytes(x);
  const bool mine = (b->c->memory == COVER_EACH ? u >> 6 : (uint64_t)tutti_comm_rank(comm)) & 1;
  const int memory = b->c->memory;
  const bool card = memory >= COVER_CARD; /* then no memory is tutti's */
  x->registered = memory == COVER_REGISTERED && u >> 6 & 1;
  const bool tuttis =
      memory == COVER_ODD || memory == COVER_EACH ? mine : memory == COVER_TUTTI_MEMORY;
  x->comm = x->registered || tuttis ? comm : NULL;
  if ((memory == COVER_CARD || (card && u >> 7 & 1)) && !(x->card = card_alloc(all))) return false;
  if (tuttis)
    tutti_mem_alloc(comm, all, &capacity);
  else
    capacity = x->registered ? aligned_alloc(PAGE, (all + PAGE - 1) / PAGE * PAGE) : malloc(all);
  if (!capacity || (x->registered && tutti_comm_register(comm, capacity, all))) return false;
  x->capacity = capacity;
  x->at = x->capacity + GUARD + u % (GUARD / align) * align;
  memset(x->capacity, PAINT, all);
  return true;
}

static void drop_buffer(buffer *x) {
  card_free(x->card);
  if (!x->capacity) return;
  if (x->comm && !x->registered) {
    tutti_mem_free(x->comm, x->capacity);
    return;
  }
  if (x->registered) tutti_comm_deregister(x->comm, x->capacity);
  free(x->capacity);
}

/* spoilt: the bytes between the guards were painted, too. */
static bool guarded(const buffer *x, bool spoilt) {
  if (!x->capacity) return true;
  for (const unsigned char *p = x->capacity; p < x->at + x->bytes + GUARD; p++)
    if (*p != PAINT && (spoilt || p < x->at || p >= x->at + x->bytes)) return false;
  return true;
}

/* Writes `n` elements of an endless vector with period `period`, from element `from`. */
static void tile(const bench *b, unsigned char *to, const unsigned char *of, size_t from,
                 size_t n) {
  for (size_t i = 0; i < n;) {
    size_t at = (from + i) % b->period, run = b->period - at;
    if (run > n - i) run = n - i;
    memcpy(to + i * b->size, of + at * b->size, run * b->size);
    i += run;
  }
}

/* The buffers that are passed to the call. In place, both are in one buffer for the whole vector. */
static void *src_of(const bench *b) {
  return b->in_place ? b->dst.at + b->take.from * b->size : b->src.at;
}
static void *dst_of(const bench *b) {
  return b->in_place ? b->dst.at + b->give.from * b->size : b->dst.at;
}

static const unsigned char *result_of(const bench *b) {
  return b->got ? b->got : dst_of(b);
}

/* The address passed to the call; it is on the device if the buffer is. */
static void *passed(const bench *b, void *at) {
  const buffer *x = b->in_place || at == dst_of(b) ? &b->dst : &b->src;
  return x->card && at ? x->card + ((unsigned char *)at - x->capacity) : at;
}

/* Copies the buffers to the device, and the device's contents back to the buffers. */
static bool to_cards(const bench *b) {
  const buffer *all[] = {&b->src, &b->dst};
  bool good = true;
  for (int i = 0; i < 2; i++)
    if (all[i]->card) good &= card_put(all[i]->card, all[i]->capacity, all_bytes(all[i]), NULL);
  return good;
}

static bool from_cards(const bench *b) {
  const buffer *all[] = {&b->src, &b->dst};
  bool good = true;
  for (int i = 0; i < 2; i++)
    if (all[i]->card) good &= card_get(all[i]->capacity, all[i]->card, all_bytes(all[i]), NULL);
  return good;
}

static void write_input(const bench *b) {
  static _Thread_local unsigned char table[COVER_PERIOD * 16];
  if (!b->take.there) return;
  cover_fill(b->c, b->rank, table, b->period);
  tile(b, src_of(b), table, b->take.from, b->take.n);
}

static bool spoils(const cover_case *c) {
  return c->seed >> 41 & 1 && c->memory < COVER_CARD;
}

/* Overwrites the buffers that the call has returned to the caller. b->got keeps the result. */
static void spoil(bench *b) {
  b->spoilt = true;
  if (b->src.capacity) memset(b->src.at, PAINT, b->src.bytes);
  if (b->give.n) memcpy(b->got, dst_of(b), b->give.n * b->size);
  if (b->dst.capacity) memset(b->dst.at, PAINT, b->dst.bytes);
}

static bool set_up(bench *b, tutti_comm *comm) {
  const cover_case *c = b->c;
  b->size = tutti_type_size(c->type);
  b->whole = cover_whole(c);
  b->period = b->whole < COVER_PERIOD ? b->whole : COVER_PERIOD;
  if (!b->period) b->period = 1;
  b->take = cover_src(c, b->rank);
  b->give = cover_dst(c, b->rank);
  b->in_place = (c->in_place == COVER_IN_PLACE || (c->in_place == COVER_MIXED && b->rank % 2)) &&
                b->take.n > 0 && b->give.n > 0;
  uint64_t u = cover_mix(c->seed + (uint64_t)b->rank);
  const bool apart = !b->in_place;
  if (b->in_place && !make_buffer(b, comm, b->whole, u, &b->dst)) return false;
  if (apart && b->take.there && !make_buffer(b, comm, b->take.n, u, &b->src)) return false;
  if (apart && b->give.there && !make_buffer(b, comm, b->give.n, u >> 8, &b->dst)) return false;
  write_input(b);
  if (spoils(c)) b->got = malloc(b->give.n * b->size + 1);
  b->before = malloc(b->take.n * b->size + 1);
  if (b->before && b->take.there) memcpy(b->before, src_of(b), b->take.n * b->size);
  if (cover_summed(c, b->rank))
    cover_reduce(c, cover_summed(c, b->rank), b->expected, b->period, c->rough ? b->sizes : NULL);
  return b->before != NULL;
}

static void tear_down(bench *b) {
  drop_buffer(&b->src);
  drop_buffer(&b->dst);
  free(b->before);
  free(b->got);
  free(b);
}

/* ---- the call ---- */

tutti_op cover_handle(const cover_ops *ops, const cover_case *c) {
  if (c->op == COVER_USER) return ops->user;
  if (c->op == COVER_SCALED) return ops->scaled[c->rough != 0];
  return c->op == COVER_ORDERED ? ops->ordered : (tutti_op)c->op;
}

/* The counts of all ranks, and in the second half those that this one receives; the caller frees them. */
static size_t *counts_of(const cover_case *c, int rank) {
  size_t *counts = malloc(2 * (size_t)c->ranks * sizeof *counts);
  const bool pairs = c->coll == TUTTI_ALLTOALL;
  for (int r = 0; counts && r < c->ranks; r++) {
    counts[r] = pairs ? cover_pair(c, rank, r) : cover_count(c, r);
    counts[c->ranks + r] = cover_pair(c, r, rank);
  }
  return counts;
}

/* name(m, ..., last), where `last` is a request or nothing. */
#define VARIED(form, ...)                                                                          \
  switch (c->coll) {                                                                               \
    case TUTTI_ALLGATHER: return tutti_allgatherv##form(m, src, dst, counts, c->type __VA_ARGS__); \
    case TUTTI_GATHER:                                                                             \
      return tutti_gatherv##form(m, src, dst, counts, c->type, c->root __VA_ARGS__);               \
    case TUTTI_SCATTER:                                                                            \
      return tutti_scatterv##form(m, src, dst, counts, c->type, c->root __VA_ARGS__);              \
    case TUTTI_ALLTOALL:                                                                           \
      return tutti_alltoallv##form(m, src, counts, dst, counts + c->ranks, c->type __VA_ARGS__);   \
    default: return tutti_reduce_scatterv##form(m, src, dst, counts, c->type, op __VA_ARGS__);     \
  }
#define AND , r

static tutti_status block_varied(tutti_comm *m, tutti_op op, const cover_case *c, const void *src,
                                 void *dst, const size_t *counts) {
  VARIED(, )
}

static tutti_status begin_varied(tutti_comm *m, tutti_op op, const cover_case *c, const void *src,
                                 void *dst, const size_t *counts, tutti_request **r) {
  VARIED(_start, AND)
}

static tutti_status block(tutti_comm *m, const cover_ops *ops, const cover_case *c, const void *src,
                          void *dst) {
  const tutti_op op = cover_handle(ops, c);
  if (cover_varied(c)) {
    size_t *counts = counts_of(c, tutti_comm_rank(m));
    const tutti_status status = block_varied(m, op, c, src, dst, counts);
    free(counts);
    return status;
  }
  switch (c->coll) {
    case TUTTI_ALLREDUCE: return tutti_allreduce(m, src, dst, c->count, c->type, op);
    case TUTTI_REDUCE_SCATTER: return tutti_reduce_scatter(m, src, dst, c->count, c->type, op);
    case TUTTI_ALLGATHER: return tutti_allgather(m, src, dst, c->count, c->type);
    case TUTTI_BROADCAST: return tutti_broadcast(m, src, dst, c->count, c->type, c->root);
    case TUTTI_REDUCE: return tutti_reduce(m, src, dst, c->count, c->type, op, c->root);
    case TUTTI_SCAN: return tutti_scan(m, src, dst, c->count, c->type, op);
    case TUTTI_EXSCAN: return tutti_exscan(m, src, dst, c->count, c->type, op);
    case TUTTI_GATHER: return tutti_gather(m, src, dst, c->count, c->type, c->root);
    case TUTTI_SCATTER: return tutti_scatter(m, src, dst, c->count, c->type, c->root);
    case TUTTI_ALLTOALL: return tutti_alltoall(m, src, dst, c->count, c->type);
    default: return tutti_barrier(m);
  }
}

tutti_call cover_call(tutti_op op, const cover_case *c, const size_t *counts, const void *src,
                      void *dst) {
  return (tutti_call){.size = sizeof(tutti_call),
                      .coll = c->coll,
                      .src = src,
                      .dst = dst,
                      .count = counts ? 0 : c->count,
                      .counts = counts,
                      .recv_counts = counts && c->coll == TUTTI_ALLTOALL ? counts + c->ranks : NULL,
                      .type = c->type,
                      .op = op,
                      .root = c->root};
}

/* Frees the counts before the operation runs. */
static tutti_status start_varied(tutti_comm *m, tutti_op op, const cover_case *c, const void *src,
                                 void *dst, tutti_request **r) {
  const bool keep = c->manner == COVER_PERSISTENT;
  size_t *counts = counts_of(c, tutti_comm_rank(m));
  const tutti_call call = cover_call(op, c, counts, src, dst);
  const tutti_status status =
      keep ? tutti_call_init(m, &call, r) : begin_varied(m, op, c, src, dst, counts, r);
  if (counts) memset(counts, PAINT, 2 * (size_t)c->ranks * sizeof *counts);
  free(counts);
  return status;
}

tutti_status cover_start(tutti_comm *m, const cover_ops *ops, const cover_case *c, const void *src,
                         void *dst, tutti_request **r) {
  const tutti_op op = cover_handle(ops, c);
  const tutti_call call = cover_call(op, c, NULL, src, dst);
#define START(name, ...) return tutti_##name##_start(m, src, dst, __VA_ARGS__, r)
  if (cover_varied(c)) return start_varied(m, op, c, src, dst, r);
  if (c->manner == COVER_PERSISTENT) return tutti_call_init(m, &call, r);
  switch (c->coll) {
    case TUTTI_ALLREDUCE: START(allreduce, c->count, c->type, op);
    case TUTTI_REDUCE_SCATTER: START(reduce_scatter, c->count, c->type, op);
    case TUTTI_ALLGATHER: START(allgather, c->count, c->type);
    case TUTTI_BROADCAST: START(broadcast, c->count, c->type, c->root);
    case TUTTI_REDUCE: START(reduce, c->count, c->type, op, c->root);
    case TUTTI_SCAN: START(scan, c->count, c->type, op);
    case TUTTI_EXSCAN: START(exscan, c->count, c->type, op);
    case TUTTI_GATHER: START(gather, c->count, c->type, c->root);
    case TUTTI_SCATTER: START(scatter, c->count, c->type, c->root);
    case TUTTI_ALLTOALL: START(alltoall, c->count, c->type);
    default: return tutti_barrier_start(m, r);
  }
#undef START
}

static tutti_status on_stream(tutti_comm *comm, const cover_ops *ops, const bench *b) {
  const cover_case *c = b->c;
  void *stream = card_stream();
  size_t *counts = cover_varied(c) ? counts_of(c, b->rank) : NULL;
  tutti_status status = cover_on_stream(comm, cover_handle(ops, c), c, counts, passed(b, src_of(b)),
                                        passed(b, dst_of(b)), stream);
  free(counts);
  if (!status && !card_settle(stream)) status = TUTTI_ERR_SYSTEM;
  return status ? status : tutti_stream_wait(comm);
}

/* Ends what cover_start began; a persistent request also if it has failed. */
static tutti_status finish(bench *b, tutti_status status) {
  int done = 0;
  while (!status && b->c->manner == COVER_TEST && !done) {
    status = tutti_request_test(&b->request, &done);
    sched_yield();
  }
  if (!status && b->c->manner != COVER_TEST) status = tutti_request_wait(&b->request);
  const tutti_status end =
      b->c->manner == COVER_PERSISTENT ? tutti_request_free(&b->request) : TUTTI_OK;
  return status ? status : end;
}

static tutti_status call(tutti_comm *comm, const cover_ops *ops, bench *b) {
  const cover_case *c = b->c;
  void *src = passed(b, src_of(b)), *dst = passed(b, dst_of(b));
  if (!to_cards(b)) return TUTTI_ERR_SYSTEM;
  if (c->manner == COVER_ON) return on_stream(comm, ops, b);
  if (c->manner == COVER_BLOCKING) return block(comm, ops, c, src, dst);
  tutti_status status = cover_start(comm, ops, c, src, dst, &b->request);
  for (int again = 0; again < 2 && !status && c->manner == COVER_PERSISTENT; again++) {
    if (again) status = tutti_request_wait(&b->request);
    write_input(b); /* in place, the first round overwrote the input */
    if (!status && !to_cards(b)) status = TUTTI_ERR_SYSTEM;
    if (!status) status = tutti_request_start(b->request);
  }
  return finish(b, status);
}

/* ---- checks ---- */

/* Compares n elements of dst with the expected ones. Returns the first wrong one, or n. */
static size_t compare(const bench *b, const unsigned char *x, const unsigned char *y, size_t n,
                      const double *sizes) {
  size_t i = 0;
  if (memcmp(x, y, n * b->size) == 0) return n;
  while (i < n && (sizes ? cover_same(b->c, x + i * b->size, y + i * b->size, sizes[i])
                         : memcmp(x + i * b->size, y + i * b->size, b->size) == 0))
    i++;
  return i;
}

/* The first wrong element of dst; SIZE_MAX: none. */
static size_t first_wrong(const bench *b) {
  static _Thread_local unsigned char table[COVER_PERIOD * 16];
  const bool sums = cover_summed(b->c, b->rank) > 0;
  const unsigned char *got = result_of(b);
  int filled = -1;
  for (size_t i = 0; i < b->give.n;) {
    size_t at = i + b->give.from, n = b->give.n - i, run = n;
    const int of = sums ? -1 : cover_origin(b->c, b->rank, at, &at, &run);
    if (of != filled) cover_fill(b->c, filled = of, table, b->period);
    const size_t phase = at % b->period;
    if (n > run) n = run;
    if (n > b->period - phase) n = b->period - phase;
    const size_t right =
        compare(b, got + i * b->size, (sums ? b->expected : table) + phase * b->size, n,
                sums ? b->sizes + phase : NULL);
    if (right < n) return i + right;
    i += n;
  }
  return SIZE_MAX;
}

/* Is src unchanged where dst does not cover it? */
static bool input_kept(const bench *b) {
  if (!b->take.there) return true;
  const unsigned char *now = src_of(b);
  if (!b->in_place) return memcmp(now, b->before, b->take.n * b->size) == 0;
  if (b->give.n >= b->take.n) return true;
  size_t lo = b->give.from * b->size, hi = lo + b->give.n * b->size;
  return memcmp(now, b->before, lo) == 0 &&
         memcmp(now + hi, b->before + hi, b->take.n * b->size - hi) == 0;
}

/* The conditions that hold even after an error. */
static bool kept_at_least(const bench *b) {
  return guarded(&b->src, false) && guarded(&b->dst, false) && (b->in_place || input_kept(b));
}

/* Do all ranks hold the same bits? Compared over another communicator. */
static tutti_status same_everywhere(const bench *b, tutti_comm *side, bool *same) {
  uint64_t mine = 1, all[64];
  const unsigned char *got = result_of(b);
  *same = true;
  if (b->c->coll != TUTTI_ALLREDUCE || !b->c->rough || b->c->ranks > 64) return TUTTI_OK;
  if (b->c->type >= TUTTI_FLOAT_INT && b->c->type <= TUTTI_SHORT_INT)
    return TUTTI_OK; /* padding may differ */
  for (size_t i = 0; i < b->give.n * b->size; i++) mine = (mine ^ got[i]) * 0x100000001b3u;
  tutti_status status = tutti_allgather(side, &mine, all, 1, TUTTI_UINT64);
  for (int r = 0; !status && r < b->c->ranks - b->c->helpers; r++)
    *same = *same && all[r] == all[0];
  return status;
}

/* Judges the buffers after a call with that status. */
static bool judge(const bench *b, tutti_status status, bool same, char *why, size_t size) {
  const bool spoilt = b->spoilt; /* a later comparison with the other ranks may have failed */
  if (status) snprintf(why, size, "%s: %s", tutti_strerror(status), tutti_error());
  if (status && !spoilt && !kept_at_least(b))
    snprintf(why, size, "after an error others' bytes changed");
  if (status) return false;
  const size_t wrong = first_wrong(b);
  if (wrong != SIZE_MAX)
    snprintf(why, size, "element %zu of %zu is wrong", wrong, b->give.n);
  else if (!same)
    snprintf(why, size, "ranks hold different bits");
  else if (!guarded(&b->src, spoilt) || !guarded(&b->dst, spoilt))
    snprintf(why, size, "bytes around a buffer changed%s",
             spoilt ? ", or in it after the call" : "");
  else if (!spoilt && !input_kept(b))
    snprintf(why, size, "src is not as it was");
  else
    return true;
  return false;
}

/* Returns NULL, if there is no memory. */
static bench *new_bench(tutti_comm *comm, const cover_case *c) {
  bench *b = calloc(1, sizeof *b);
  if (!b) return NULL;
  b->own = *c;
  b->c = &b->own;
  b->rank = tutti_comm_rank(comm);
  if (set_up(b, comm)) return b;
  tear_down(b);
  return NULL;
}

tutti_status cover_settle(tutti_comm *comm, const cover_case *c) {
  tutti_status status = comm_set_algorithm(comm, strcmp(c->algo, "auto") == 0 ? NULL : c->algo);
  if (!status) status = comm_set_helpers(comm, c->helpers);
  return status ? status : comm_set_slices(comm, c->slices);
}

bool cover_run(tutti_comm *comm, tutti_comm *side, const cover_ops *ops, const cover_case *c,
               bool *over, char *why, size_t size) {
  bench *b = new_bench(comm, c);
  bool same = true;
  *over = true;
  snprintf(why, size, "the test itself is out of memory");
  if (!b) return false;
  tutti_status status = cover_settle(comm, c);
  if (!status) cover_watch(comm);
  if (!status) status = call(comm, ops, b);
  if (!status && b->got) spoil(b);
  if (!from_cards(b) && !status) status = TUTTI_ERR_SYSTEM;
  if (!status) status = same_everywhere(b, side, &same);
  *over = status != TUTTI_OK;
  const bool good = judge(b, status, same, why, size) &&
                    cover_ran_as_named(comm, c, cover_handle(ops, c), why, size);
  tear_down(b);
  return good;
}

cover_flight *cover_begin(tutti_comm *comm, const cover_ops *ops, const cover_case *c,
                          tutti_status *status) {
  bench *b = new_bench(comm, c);
  *status = TUTTI_ERR_MEMORY;
  if (!b) return NULL;
  if (c->manner == COVER_BLOCKING) b->own.manner = COVER_WAIT;
  *status = cover_start(comm, ops, &b->own, src_of(b), dst_of(b), &b->request);
  if (c->manner == COVER_PERSISTENT && !*status) *status = tutti_request_start(b->request);
  if (!*status) return b;
  if (c->manner == COVER_PERSISTENT && b->request) tutti_request_free(&b->request);
  tear_down(b);
  return NULL;
}

bool cover_end(cover_flight *b, char *why, size_t size) {
  const tutti_status status = finish(b, TUTTI_OK);
  if (!status && b->got) spoil(b);
  const bool good = judge(b, status, true, why, size);
  tear_down(b);
  return good;
}
