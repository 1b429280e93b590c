/* call.c - checks the arguments of a call; each error message is a full sentence. Also tutti_reduce_local, which
 * reduces vectors without other ranks, with the same loops as the collectives.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

#include <stdio.h>

#include "settings.h"

typedef struct extent {
  uintptr_t at;
  size_t bytes;
  uintptr_t base; /* start of the whole vector */
} extent;

static bool extents_overlap(extent a, extent b) {
  return a.bytes && b.bytes && a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

static tutti_status check_type(const char *function, tutti_type type) {
  if (tt_type_valid(type)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_TYPE, "%s: type %d is none of tutti_type", function, (int)type);
}

static tutti_status check_op(const char *function, const tt_call *c) {
  tutti_status status = check_type(function, c->type);
  if (status) return status;
  if (!tt_coll_reduces(c->coll)) return TUTTI_OK;
  if (!tt_op_valid(c->op))
    return tt_fail(TUTTI_ERR_OP, "%s: op %d is neither built in nor registered", function,
                   (int)c->op);
  if (!tutti_type_has_op(c->type, c->op))
    return tt_fail(TUTTI_ERR_OP, "%s: type %s has no op %s", function, tutti_type_name(c->type),
                   tutti_op_name(c->op));
  if (c->op == TUTTI_AVG && tt_coll_prefix(c->coll))
    return tt_fail(TUTTI_ERR_OP,
                   "%s: avg over some of the ranks is not supported; use the sum, and divide",
                   function);
  return TUTTI_OK;
}

static tutti_status check_buffer(const char *function, const char *name, extent e, size_t align) {
  if (!e.bytes) return TUTTI_OK;
  if (!e.at) return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, name);
  if (e.at % align)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s is not aligned to %zu bytes, as its type requires", function,
                   name, align);
  if (e.at + e.bytes < e.at)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s and its size exceed the address space", function,
                   name);
  return TUTTI_OK;
}

/* Lengths in elements. `all` is that of the whole vector, `own` that of this rank's block, `before` that of earlier blocks. */
typedef struct vector {
  size_t all, own, before;
} vector;

static tutti_status too_long(const char *function, const char *what, size_t count) {
  return tt_fail(TUTTI_ERR_ARG, "%s: %s %zu is larger than any memory%s", function, what, count,
                 (ptrdiff_t)count < 0 ? " (is it a negative number?)" : "");
}

tutti_status tt_vector_check(const char *function, const char *name, const void *at, size_t count,
                             tutti_type type) {
  tutti_status status = check_type(function, type);
  if (status) return status;
  if (count > PTRDIFF_MAX / tutti_type_size(type)) return too_long(function, "count", count);
  const extent e = {(uintptr_t)at, count * tutti_type_size(type), 0};
  return check_buffer(function, name, e, tt_type_align(type));
}

tutti_status tt_host_check(const char *function, const char *name, const void *at, size_t count,
                           tutti_type type) {
  int number;
  const tutti_status status = tt_vector_check(function, name, at, count, type);
  if (status || !count || !tt_on_device(at, &number)) return status;
  return tt_fail(TUTTI_ERR_UNSUPPORTED,
                 "%s: %s is on device %d, and only collectives accept vectors there; copy it to the host first",
                 function, name, number);
}

/* Computes the sizes of a vector from the counts, which exist only for the ranks that contribute data. */
static tutti_status measure_varied(const tt_sched *like, const char *function, const char *name,
                                   const size_t *counts, size_t most, vector *v) {
  if (!counts) return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, name);
  *v = (vector){0, like->rank < like->data ? counts[like->rank] : 0, 0};
  for (int r = 0; r < like->data; r++) {
    char what[60];
    if (r == like->rank) v->before = v->all;
    if (counts[r] <= most - v->all) {
      v->all += counts[r];
      continue;
    }
    snprintf(what, sizeof what, r ? "with those before it %s[%d]" : "%s[%d]", name, r);
    return too_long(function, what, counts[r]);
  }
  return TUTTI_OK;
}

/* Computes the sizes of src and dst for an all-to-all that has separate counts for sending and receiving. */
static tutti_status measure_alltoallv(const tt_sched *like, const char *function, const tt_call *c,
                                      size_t most, vector *src, vector *dst) {
  const int rank = like->rank;
  tutti_status status = measure_varied(like, function, "counts", c->counts, most, src);
  if (!status) status = measure_varied(like, function, "recv_counts", c->recv_counts, most, dst);
  if (status) return status;
  if (rank < like->data && c->counts[rank] != c->recv_counts[rank])
    return tt_fail(TUTTI_ERR_ARG,
                   "%s: rank %d sends itself counts[%d] = %zu and receives recv_counts[%d] = %zu; "
                   "make them equal",
                   function, rank, rank, c->counts[rank], rank, c->recv_counts[rank]);
  const bool in_place = c->src == c->dst && src->all && dst->all;
  for (int r = 0; in_place && r < like->data; r++)
    if (c->counts[r] != c->recv_counts[r])
      return tt_fail(TUTTI_ERR_ARG,
                     "%s: in place, counts and recv_counts must be equal, and those of rank %d are "
                     "%zu and %zu",
                     function, r, c->counts[r], c->recv_counts[r]);
  return TUTTI_OK;
}

static tutti_status call_vector_size(const tt_sched *like, const char *function, const tt_call *c,
                                     vector *v, vector *dst) {
  const size_t most = PTRDIFF_MAX / tutti_type_size(c->type);
  if (tt_call_is_alltoallv(c)) return measure_alltoallv(like, function, c, most, v, dst);
  if (c->varied) {
    const tutti_status status = measure_varied(like, function, "counts", c->counts, most, v);
    *dst = *v;
    return status;
  }
  const size_t blocks = like->blocks;
  if (c->count > most / blocks) return too_long(function, "count", c->count);
  *dst = *v = (vector){c->count * blocks, c->count, blocks > 1 ? c->count * (size_t)like->rank : 0};
  return TUTTI_OK;
}

/* Returns the memory that blocks lo to hi - 1 of a vector occupy. `at` is the address of the first of these blocks. */
static extent extent_of(const vector *v, const void *at, uint32_t lo, uint32_t hi, uint32_t blocks,
                        size_t element) {
  extent e = {(uintptr_t)at, 0, (uintptr_t)at};
  if (lo == hi) return e;
  const bool all = hi - lo == blocks;
  e.bytes = (all ? v->all : v->own) * element;
  if (!all) e.base -= v->before * element;
  return e;
}

tutti_status tt_call_check_kind(const char *function, tt_call *c) {
  if ((unsigned)c->coll >= TUTTI_COLL_COUNT)
    return tt_fail(TUTTI_ERR_ARG, "%s: no such collective", function);
  if (c->coll == TUTTI_BARRIER) c->count = 1, c->type = TUTTI_UINT8, c->op = TUTTI_MAX;
  return check_op(function, c);
}

tutti_status tt_exact_check(const tutti_comm *comm, const char *function, const tt_call *c) {
  if (!tt_call_is_exact(comm, c) || c->op == TUTTI_SUM || c->op == TUTTI_AVG) return TUTTI_OK;
  const tt_user_op *user = tt_op_user(c->op);
  if (user && !user->fn) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_UNSUPPORTED,
                 user ? "%s: the contract 'exact' needs a built-in op: tutti cannot tell whether a "
                        "user-defined op depends on the order of its operands; use a communicator with another contract"
                      : "%s: the contract 'exact' has sums and averages of floating point, and no "
                        "products; use a communicator with another contract",
                 function);
}

tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *c,
                           bool *in_place) {
  tutti_status status = check_op(function, c);
  if (!status) status = tt_exact_check(comm, function, c);
  if (!status && c->code) status = tt_code_contract(function, c->code, tt_comm_contract(comm));
  if (status) return status;
  const tt_sched like = tt_call_outline(comm, c);
  if (tt_coll_rooted(c->coll) && (c->root < 0 || c->root >= like.data))
    return tt_fail(TUTTI_ERR_ARG, "%s: root %d is not a rank of 0..%d%s", function, c->root,
                   like.data - 1, like.data < like.ranks ? "; the others bring no data" : "");
  vector v = {0, 0, 0}, to = v;
  if ((status = call_vector_size(&like, function, c, &v, &to))) return status;
  const size_t element = tutti_type_size(c->type), align = tt_type_align(c->type);
  uint32_t lo, hi;
  tt_coll_src(&like, &lo, &hi);
  const extent src = extent_of(&v, c->src, lo, hi, like.blocks, element);
  tt_coll_dst(&like, &lo, &hi);
  const extent dst = extent_of(&to, c->dst, lo, hi, like.blocks, element);
  if ((status = check_buffer(function, "src", src, align))) return status;
  if ((status = check_buffer(function, "dst", dst, align))) return status;
  *in_place = src.bytes && dst.bytes && src.base == dst.base;
  if (!*in_place && extents_overlap(src, dst))
    return tt_fail(TUTTI_ERR_OVERLAP,
                   "%s: src and dst overlap; make them equal (in place) or disjoint", function);
  return TUTTI_OK;
}

tutti_status tutti_reduce_local(const void *a, const void *b, void *dst, size_t count,
                                tutti_type type, tutti_op op) {
  const struct {
    const char *name;
    const void *at;
  } all[] = {{"a", a}, {"b", b}, {"dst", dst}};
  tt_reducer reducer;
  tutti_status status = tt_alive();
  if (!status) status = tt_reducer_init(&reducer, type, op);
  for (int i = 0; i < 3 && !status; i++)
    status = tt_host_check("tutti_reduce_local", all[i].name, all[i].at, count, type);
  if (!status && count) tt_reduce(&reducer, dst, (const void *const[]){a, b}, 2, count);
  return status;
}
