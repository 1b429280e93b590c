/* list.c - sums a list of buffers in one operation.
 *
 * Idea       A long buffer is an operation by itself and is summed where it is. Shorter ones are packed into windows, in
 *            order, and each window is summed as one vector, in place. Predicted times determine the limit: a short buffer
 *            costs copies into the window and back, a long one costs an operation.
 * Cost       Only short buffers are copied, into shared memory, where no further copy is needed. There is one window for
 *            each slot of the communicator's window of operations, as large as the arena: operations overlap, and windows
 *            stay in the cache.
 * Invariant  The parts follow from the counts alone, so they are the same on all ranks. Every part's stamp hashes all
 *            counts.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "request.h"

/* ---- packing and unpacking windows ---- */

typedef struct buffer {
  const void *src;
  void *dst;
  size_t bytes;
} buffer;

/* A part of a list. It is a call on one buffer, or on several buffers that are packed in the window of the part's slot. */
typedef struct many_part {
  tutti_request request;
  const buffer *packed;
  size_t npacked;
} many_part;

typedef struct many {
  tutti_request request;
  many_part *parts;
  size_t nparts;
  size_t begun, left; /* parts that have started; parts of these that have not completed */
  buffer *packed;     /* in the order of the parts */
} many;

static void pack_window(many_part *part, char *window) {
  part->request.call.src = part->request.call.dst = window;
  for (size_t i = 0; i < part->npacked; window += part->packed[i++].bytes)
    tt_memcpy(window, part->packed[i].src, part->packed[i].bytes);
}

static void unpack_window(tutti_request *r) {
  const many_part *part = (many_part *)r;
  const char *window = r->call.dst;
  for (size_t i = 0; i < part->npacked; window += part->packed[i++].bytes)
    tt_memcpy(part->packed[i].dst, window, part->packed[i].bytes);
}

static const tt_request_ops part_ops = {.unpack = unpack_window};

/* ---- the list as a request ---- */

static void begin_anew(tutti_request *whole) {
  many *m = (many *)whole;
  m->begun = m->left = 0;
  tt_request_enqueue(whole);
}

static tutti_request *next_list_part(tutti_request *whole, size_t place, bool *last) {
  many *m = (many *)whole;
  many_part *part = &m->parts[m->begun++];
  if (part->npacked) pack_window(part, whole->comm->windows + place * tt_window_bytes(whole->comm));
  m->left++;
  *last = m->begun == m->nparts;
  return &part->request;
}

static bool list_part_done(tutti_request *whole) {
  many *m = (many *)whole;
  return --m->left == 0 && m->begun == m->nparts;
}

static void free_many(tutti_request *r) {
  many *m = (many *)r;
  if (!m) return;
  free(m->parts);
  free(m->packed);
  free(m);
}

static const tt_request_ops many_ops = {.issue = begin_anew,
                                        .next_part = next_list_part,
                                        .part_done = list_part_done,
                                        .free = free_many};

/* ---- cutting the list into parts ---- */

/* Returns the smallest length, in bytes, for which a separate operation is cheaper than packing a buffer into a window. Returns 0
 * if out of memory. */
static size_t alone_from(tutti_comm *comm) {
  tt_chooser *chooser = tt_chooser_for(comm, &(tt_call){.coll = TUTTI_ALLREDUCE});
  const size_t window = tt_window_bytes(comm);
  const double whole = tt_seconds_of(chooser, TUTTI_ALLREDUCE, window);
  if (whole < 0) return 0;
  const double share = whole / (double)window + tt_seconds_to_pack(chooser);
  size_t bytes = comm->plans->alone_from ? comm->plans->alone_from : 64;
  while (!comm->plans->alone_from && bytes < window &&
         tt_seconds_of(chooser, TUTTI_ALLREDUCE, bytes) > share * (double)bytes)
    bytes += bytes / 4;
  return comm->plans->alone_from = tt_min(bytes, window);
}

typedef struct cutter {
  tutti_comm *comm;
  const tt_list *list;
  size_t element, alone, capacity; /* bytes */
  bool helps;
  uint32_t also;
  many *many;
  size_t npacked; /* so far */
} cutter;

/* Appends a part, with its plan. */
static tutti_status add_part(cutter *c, size_t count, const void *src, void *dst, size_t npacked) {
  many_part *part = &c->many->parts[c->many->nparts++];
  tutti_request *r = &part->request;
  const tt_plan *plan;
  *part = (many_part){{.ops = &part_ops, .comm = c->comm, .whole = &c->many->request},
                      &c->many->packed[c->npacked],
                      c->helps ? 0 : npacked};
  r->call = (tt_call){.coll = TUTTI_ALLREDUCE,
                      .src = src,
                      .dst = dst,
                      .count = count,
                      .type = c->list->type,
                      .op = c->list->op,
                      .buffers = (uint32_t)tt_min(c->list->n + 1, UINT32_MAX),
                      .also = c->also,
                      .tag = *c->many->request.tag ? c->many->request.tag : NULL};
  c->npacked += npacked;
  const bool in_place = part->npacked || (src && src == dst);
  tutti_status status = tt_plan_for(c->comm, &r->call, in_place, &plan);
  if (!status) r->plan = *plan;
  return status;
}

static tutti_status add_alone(cutter *c, size_t i) {
  return add_part(c, c->list->counts[i], c->helps ? NULL : c->list->srcs[i],
                  c->helps ? NULL : c->list->dsts[i], 0);
}

/* Adds a part with as many short buffers as fit, starting with buffer `i`. Sets *next to the first buffer not examined. */
static tutti_status add_window(cutter *c, size_t i, size_t *next) {
  size_t used = 0, n = 0, first = i;
  for (; i < c->list->n; i++) {
    const size_t bytes = c->list->counts[i] * c->element;
    if (!bytes || bytes >= c->alone) continue;
    if (used + bytes > c->capacity) break;
    c->many->packed[c->npacked + n++] =
        (buffer){c->helps ? NULL : c->list->srcs[i], c->helps ? NULL : c->list->dsts[i], bytes};
    used += bytes;
  }
  *next = i;
  return n == 1 ? add_alone(c, first) : add_part(c, used / c->element, NULL, NULL, n);
}

static tutti_status partition_buffers(cutter *c) {
  tutti_status status = TUTTI_OK;
  size_t looked = 0; /* short buffers before this one are in windows */
  for (size_t i = 0; i < c->list->n && !status; i++) {
    const size_t bytes = c->list->counts[i] * c->element;
    if (!bytes) continue;
    if (bytes >= c->alone)
      status = add_alone(c, i);
    else if (i >= looked)
      status = add_window(c, i, &looked);
  }
  if (!status && !c->many->nparts) status = add_part(c, 0, NULL, NULL, 0);
  return status;
}

/* Returns an upper bound on the number of parts. Any two consecutive windows hold more bytes than one window can. */
static size_t most_parts(const cutter *c) {
  size_t alone = 0, packed = 0;
  for (size_t i = 0; i < c->list->n; i++) {
    const size_t bytes = c->list->counts[i] * c->element;
    if (bytes >= c->alone)
      alone++;
    else
      packed += bytes;
  }
  return alone + 2 * (packed / c->capacity) + 2;
}

static uint32_t hash_buffer_counts(const tt_list *list) {
  uint64_t h = tt_mix(list->n + 1);
  for (size_t i = 0; i < list->n; i++) h = tt_mix(h ^ list->counts[i]);
  return (uint32_t)h;
}

static tutti_status create_many_request(tutti_comm *comm, const char *function, const tt_list *list,
                                        tutti_request **whole) {
  const tt_call like = {.coll = TUTTI_ALLREDUCE, .type = list->type, .op = list->op};
  if (tt_call_is_exact(comm, &like))
    return tt_exact_list(comm, function, list, hash_buffer_counts(list), whole);
  many *m = calloc(1, sizeof *m);
  cutter c = {.comm = comm,
              .list = list,
              .element = tutti_type_size(list->type),
              .alone = alone_from(comm),
              .capacity = tt_window_bytes(comm),
              .helps = comm->rank >= comm->ranks - comm->helpers,
              .also = hash_buffer_counts(list),
              .many = m};
  if (!comm->windows) comm->windows = comm->wire->memory->alloc(comm->wire, TT_WINDOW * c.capacity);
  if (m) m->request = (tutti_request){.ops = &many_ops, .comm = comm};
  if (m) tt_request_tag(&m->request, list->tag);
  if (m) m->parts = malloc(most_parts(&c) * sizeof *m->parts);
  if (m) m->packed = malloc((list->n + 1) * sizeof *m->packed);
  const bool made = c.alone && m && m->parts && m->packed && comm->windows;
  tutti_status status =
      made ? partition_buffers(&c)
           : tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a list of %zu buffers", function,
                     list->n);
  if (status)
    free_many((tutti_request *)m);
  else
    *whole = &m->request;
  return status;
}

tutti_status tt_list_new(tutti_comm *comm, const char *function, const tt_list *list,
                         tutti_request **whole) {
  tt_list hosted;
  tt_staged *staged;
  tutti_status status = tt_device_list(comm, function, list, &hosted, &staged);
  if (!status) status = create_many_request(comm, function, staged ? &hosted : list, whole);
  tt_device_list_free(&hosted);
  if (status)
    tt_staged_free(staged);
  else
    (*whole)->staged = staged;
  return tt_break_if_memory(comm, status);
}
