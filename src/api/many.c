/* many.c - checks the arguments of a list of buffers that are summed in one operation (tutti_call.h).
 *
 * Overlaps   Each pair must be valid by itself, and a buffer that one pair writes must not overlap a buffer that
 *            another pair reads or writes. If the lists are in memory order, which is usual, one pass over both
 *            checks this; otherwise they are sorted first.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "call.h"

/* ---- checking a list of buffers ---- */

typedef struct extent {
  uintptr_t from, to;
} extent;

static int by_place(const void *a, const void *b) {
  const extent *x = a, *y = b;
  return (x->from > y->from) - (x->from < y->from);
}

static void sort(extent *list, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (list[i].from < list[i - 1].from) {
      qsort(list, n, sizeof *list, by_place);
      return;
    }
}

/* Returns true if an extent that is written overlaps an extent that is read, or another extent that is written. */
static bool any_extents_overlap(const extent *read, size_t nread, const extent *written,
                                size_t nwritten) {
  size_t r = 0;
  for (size_t w = 0; w < nwritten; w++) {
    if (w > 0 && written[w].from < written[w - 1].to) return true;
    while (r < nread && read[r].to <= written[w].from) r++;
    if (r < nread && read[r].from < written[w].to) return true;
  }
  return false;
}

static tutti_status check_apart(const char *function, const tt_list *list) {
  const size_t element = tutti_type_size(list->type);
  size_t nread = 0, nwritten = 0;
  extent *read = malloc(2 * list->n * sizeof *read + 1), *written = read + list->n;
  if (!read)
    return tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for %zu buffers", function, list->n);
  for (size_t i = 0; i < list->n; i++) {
    const uintptr_t src = (uintptr_t)list->srcs[i], dst = (uintptr_t)list->dsts[i];
    const size_t bytes = list->counts[i] * element;
    if (!bytes) continue;
    written[nwritten++] = (extent){dst, dst + bytes};
    if (src != dst) read[nread++] = (extent){src, src + bytes};
  }
  sort(read, nread);
  sort(written, nwritten);
  const bool wrong = any_extents_overlap(read, nread, written, nwritten);
  free(read);
  if (!wrong) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_OVERLAP,
                 "%s: a dst overlaps another buffer of the list; only its own src may be the same",
                 function);
}

static tt_call call_of_buffer(const tt_list *list, size_t i) {
  return (tt_call){.coll = TUTTI_ALLREDUCE,
                   .src = i < list->n && list->srcs ? list->srcs[i] : NULL,
                   .dst = i < list->n && list->dsts ? list->dsts[i] : NULL,
                   .count = i < list->n ? list->counts[i] : 0,
                   .type = list->type,
                   .op = list->op};
}

/* A fast check of a pair of buffers. A pair that fails it gets the full check, which writes the error message. */
static bool passes_quick_check(uintptr_t src, uintptr_t dst, size_t bytes, size_t align) {
  const uintptr_t gap = src < dst ? dst - src : src - dst;
  return src && dst && (src | dst) % align == 0 && (gap == 0 || gap >= bytes) &&
         src + bytes >= src && dst + bytes >= dst;
}

enum { BUFFER_BYTES = 512 }; /* more bytes than a request needs per buffer */

static tutti_status check_list(const tutti_comm *comm, const char *function, const tt_list *list) {
  const tt_call nothing = call_of_buffer(list, list->n);
  const tt_sched like = tt_call_outline(comm, &nothing);
  const bool helps = like.rank >= like.data;
  size_t left = PTRDIFF_MAX;
  bool in_place;
  tutti_status status = tt_call_check(comm, function, &nothing, &in_place);
  if (status || !list->n) return status;
  if (list->n > PTRDIFF_MAX / BUFFER_BYTES)
    return tt_fail(TUTTI_ERR_ARG, "%s: n %zu is larger than any memory%s", function, list->n,
                   (ptrdiff_t)list->n < 0 ? " (is it a negative number?)" : "");
  const char *null = !list->counts           ? "counts"
                     : !list->srcs && !helps ? "srcs"
                     : !list->dsts && !helps ? "dsts"
                                             : NULL;
  if (null) return tt_fail(TUTTI_ERR_ARG, "%s: %s is NULL", function, null);
  const size_t element = tutti_type_size(list->type), align = tt_type_align(list->type);
  for (size_t i = 0; i < list->n; i++) {
    const tt_call call = call_of_buffer(list, i);
    if (call.count > left / element && call.count <= PTRDIFF_MAX / element)
      return tt_fail(TUTTI_ERR_ARG, "%s: buffers 0 to %zu are larger than any memory", function, i);
    if (call.count > left / element ||
        (call.count && !helps &&
         !passes_quick_check((uintptr_t)call.src, (uintptr_t)call.dst, call.count * element,
                             align))) {
      char name[80];
      snprintf(name, sizeof name, "%s: buffer %zu", function, i);
      status = tt_call_check(comm, name, &call, &in_place);
      if (status) return status;
    }
    left -= call.count * element;
  }
  return helps ? TUTTI_OK : check_apart(function, list);
}

tutti_status tt_list_make(tutti_comm *comm, const char *function, const void *list,
                          tutti_request **whole) {
  const tutti_status status = tt_break_if_memory(comm, check_list(comm, function, list));
  return status ? status : tt_list_new(comm, function, list, whole);
}

/* ---- groups: their allreduces become lists ---- */

tutti_status tutti_group_begin(tutti_comm *comm) {
  return tt_group_begin(comm, "tutti_group_begin");
}

tutti_status tutti_group_end(tutti_comm *comm, tutti_request **request) {
  static const char who[] = "tutti_group_end";
  tutti_request *own, **to = request ? request : &own;
  const tutti_status status = tt_group_end(comm, who, tt_list_make, to);
  return status || request ? status : tt_request_end(to);
}
