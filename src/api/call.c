/* call.c - is this call one that can be made? Every refusal is a sentence.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "comm.h"

typedef struct extent {
  uintptr_t at;
  size_t bytes;
} extent;

static bool overlap(extent a, extent b) {
  return a.bytes && b.bytes && a.at < b.at + b.bytes && b.at < a.at + a.bytes;
}

static tutti_status check_op(const char *function, const tt_call *c) {
  if (!tt_type_valid(c->type))
    return tt_fail(TUTTI_ERR_TYPE, "%s: type %d is none of tutti_type", function, (int)c->type);
  if (!tt_coll_reduces(c->coll)) return TUTTI_OK;
  if (!tt_op_valid(c->op))
    return tt_fail(TUTTI_ERR_OP, "%s: op %d is neither built in nor registered", function,
                   (int)c->op);
  if (!tutti_type_has_op(c->type, c->op))
    return tt_fail(TUTTI_ERR_OP, "%s: type %s has no op %s", function, tutti_type_name(c->type),
                   tutti_op_name(c->op));
  return TUTTI_OK;
}

static tutti_status check_buffer(const char *function, const char *name, extent e, size_t align) {
  if (!e.bytes) return TUTTI_OK;
  if (!e.at) return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, name);
  if (e.at % align)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s is not aligned on %zu bytes as its type asks", function,
                   name, align);
  if (e.at + e.bytes < e.at)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s and its size reach beyond the address space", function,
                   name);
  return TUTTI_OK;
}

/* What of src and dst this rank has, and where in-place buffers lie. */
static void extents(const tutti_comm *comm, const tt_call *c, extent *src, extent *dst,
                    uintptr_t *in_place_src) {
  size_t one = c->count * tutti_type_size(c->type), all = one * (size_t)comm->ranks;
  *src = (extent){(uintptr_t)c->src, one};
  *dst = (extent){(uintptr_t)c->dst, one};
  *in_place_src = dst->at;
  if (c->coll == TUTTI_ALL_GATHER) {
    dst->bytes = all;
    *in_place_src = dst->at + one * (size_t)comm->rank;
  }
  if (c->coll == TUTTI_REDUCE_SCATTER) {
    src->bytes = all;
    *in_place_src = dst->at - one * (size_t)comm->rank;
  }
  if (c->coll == TUTTI_BROADCAST && comm->rank != c->root) src->bytes = 0;
  if (c->coll == TUTTI_REDUCE && comm->rank != c->root) dst->bytes = 0;
  if (comm->rank >= tt_call_data(comm, c)) src->bytes = dst->bytes = 0;
}

tutti_status tt_call_check(const tutti_comm *comm, const char *function, const tt_call *c,
                           bool *in_place) {
  tutti_status status = check_op(function, c);
  if (status) return status;
  const int data = tt_call_data(comm, c);
  if (tt_coll_rooted(c->coll) && (c->root < 0 || c->root >= data))
    return tt_fail(TUTTI_ERR_ARG, "%s: root %d is no rank of 0..%d%s", function, c->root, data - 1,
                   data < comm->ranks ? "; the others bring no data" : "");
  size_t wide = tutti_type_size(c->type) * (tt_coll_owned(c->coll) ? (size_t)comm->ranks : 1);
  size_t bytes;
  if (__builtin_mul_overflow(c->count, wide, &bytes) || bytes > PTRDIFF_MAX)
    return tt_fail(TUTTI_ERR_ARG, "%s: count %zu is larger than any memory%s", function, c->count,
                   (ptrdiff_t)c->count < 0 ? " (is it a negative number?)" : "");
  extent src, dst;
  uintptr_t in_place_src;
  extents(comm, c, &src, &dst, &in_place_src);
  size_t align = tt_type_align(c->type);
  if ((status = check_buffer(function, "src", src, align))) return status;
  if ((status = check_buffer(function, "dst", dst, align))) return status;
  *in_place = src.bytes && dst.bytes && src.at == in_place_src;
  if (!*in_place && overlap(src, dst))
    return tt_fail(TUTTI_ERR_OVERLAP,
                   "%s: src and dst overlap; make them equal (in place) or apart", function);
  return TUTTI_OK;
}
