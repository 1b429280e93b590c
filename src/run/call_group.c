/* call_group.c - runs the calls between tutti_group_begin and tutti_group_end as one.
 *
 * Idea       A blocking call in an open group is checked and kept, and returns. The end of the group starts all kept calls.
 *            Consecutive allreduces with the same type and op become one list (list.c), so short vectors are packed. The
 *            group is a request whose parts are the requests of its calls.
 * Cost       None outside of a group: a call in a group never equals a recent one, so only new calls check whether a
 *            group is open (blocking.c).
 * Invariant  The lists follow from the calls alone, so they are the same on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "flight.h"

typedef struct kept {
  tt_call call;
  bool in_place;
  size_t *counts;         /* a copy; NULL: they do not vary */
  tutti_request *message; /* a p2p message instead of a call */
} kept;

typedef struct tt_group {
  size_t n, capacity;
  kept *kept;
  bool ends; /* its requests are being created */
} tt_group;

typedef struct group_request {
  tutti_request request;
  size_t n, left;
  tutti_request *part[];
} group_request;

/* ---- collecting ---- */

bool tt_group_open(const tutti_comm *comm) {
  return comm->flight->group && !comm->flight->group->ends;
}

void tt_group_drop(tutti_comm *comm) {
  tt_group *g = comm->flight->group;
  for (size_t i = 0; g && i < g->n; i++) {
    free(g->kept[i].counts);
    if (g->kept[i].message) tt_request_drop(g->kept[i].message);
  }
  if (g) free(g->kept);
  free(g);
  comm->flight->group = NULL;
}

tutti_status tt_group_begin(tutti_comm *comm, const char *function) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  if (comm->flight->group)
    status = tt_fail(TUTTI_ERR_STATE, "%s: a group is open; end it first", function);
  else if (!(comm->flight->group = calloc(1, sizeof(tt_group))))
    status = tt_break_if_memory(comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory", function));
  tt_recent_forget(comm);
  tt_comm_leave(comm);
  return status;
}

/* Adds an entry and returns it, or NULL if out of memory. */
static kept *add(tt_group *g) {
  if (g->n == g->capacity) {
    const size_t capacity = 2 * g->capacity + 8;
    kept *more = realloc(g->kept, capacity * sizeof *more);
    if (!more) return NULL;
    g->kept = more;
    g->capacity = capacity;
  }
  g->kept[g->n] = (kept){.message = NULL};
  return &g->kept[g->n++];
}

static tutti_status no_memory(tutti_comm *comm, const char *function) {
  return tt_break_if_memory(
      comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a call of a group", function));
}

tutti_status tt_group_keep_call(tutti_comm *comm, const char *function, const tt_call *call,
                                bool in_place) {
  kept *k = add(comm->flight->group);
  if (!k) return no_memory(comm, function);
  k->call = *call;
  k->in_place = in_place;
  if (!call->varied) return TUTTI_OK;
  const size_t n = (size_t)tt_call_data(comm, call), bytes = n * sizeof *k->counts;
  k->call.counts = k->counts = malloc(2 * bytes);
  if (!k->counts) return no_memory(comm, function);
  memcpy(k->counts, call->counts, bytes);
  if (call->recv_counts) k->call.recv_counts = memcpy(k->counts + n, call->recv_counts, bytes);
  return TUTTI_OK;
}

tutti_status tt_group_keep(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                           const void *what) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  kept *k = add(comm->flight->group);
  status = k ? ready(comm, function, what, &k->message) : no_memory(comm, function);
  if (status && k) comm->flight->group->n--;
  tt_comm_leave(comm);
  return status;
}

/* ---- the request ---- */

static void issue_group(tutti_request *r) {
  group_request *g = (group_request *)r;
  g->left = g->n;
  for (size_t i = 0; i < g->n; i++) tt_request_issue(g->part[i]);
}

static bool group_part_done(tutti_request *r) {
  return --((group_request *)r)->left == 0;
}

static void free_group(tutti_request *r) {
  group_request *g = (group_request *)r;
  for (size_t i = 0; i < g->n; i++) tt_request_drop(g->part[i]);
  free(g);
}

static const tt_request_ops group_ops = {
    .issue = issue_group, .part_done = group_part_done, .free = free_group, .group = true};

/* ---- the end ---- */

/* Returns the number of consecutive calls, starting with call `i`, that are combined into one list. */
static size_t length_of_list(const tt_group *g, size_t i) {
  const tt_call *first = &g->kept[i].call;
  size_t n = 1;
  if (g->kept[i].message || first->coll != TUTTI_ALLREDUCE) return 1;
  for (; i + n < g->n; n++) {
    const kept *k = &g->kept[i + n];
    if (k->message || k->call.coll != TUTTI_ALLREDUCE || k->call.type != first->type ||
        k->call.op != first->op)
      break;
  }
  return n;
}

static tutti_status make_list(tutti_comm *comm, const char *function, size_t i, size_t n,
                              tt_ready_fn *ready, tutti_request **request) {
  const kept *k = &comm->flight->group->kept[i];
  const void **srcs = malloc(n * sizeof *srcs);
  void **dsts = malloc(n * sizeof *dsts);
  size_t *counts = malloc(n * sizeof *counts);
  tutti_status status = TUTTI_OK;
  if (!srcs || !dsts || !counts) status = no_memory(comm, function);
  for (size_t j = 0; j < n && !status; j++) {
    srcs[j] = k[j].call.src;
    dsts[j] = k[j].call.dst;
    counts[j] = k[j].call.count;
  }
  const tt_list list = {n, srcs, dsts, counts, k->call.type, k->call.op, NULL};
  if (!status) status = ready(comm, function, &list, request);
  free(srcs);
  free(dsts);
  free(counts);
  return status;
}

static tutti_status make_parts(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                               group_request *all) {
  tt_group *g = comm->flight->group;
  tutti_status status = TUTTI_OK;
  for (size_t i = 0, n; i < g->n && !status; i += n) {
    kept *k = &g->kept[i];
    tutti_request *part = k->message;
    n = length_of_list(g, i);
    if (n > 1)
      status = make_list(comm, function, i, n, ready, &part);
    else if (!part)
      status = tt_collective_new(comm, function, &k->call, k->in_place, &part);
    k->message = NULL;
    if (status) break;
    part->whole = &all->request;
    all->part[all->n++] = part;
  }
  return status;
}

static tutti_status make_group(tutti_comm *comm, const char *function, const void *what,
                               tutti_request **request) {
  tt_ready_fn *const *ready = what;
  const size_t n = comm->flight->group->n;
  group_request *all = calloc(1, sizeof *all + n * sizeof(tutti_request *));
  if (!all) return no_memory(comm, function);
  all->request = (tutti_request){.ops = &group_ops, .comm = comm};
  if (n) all->request.call.coll = comm->flight->group->kept[0].call.coll;
  const tutti_status status = make_parts(comm, function, *ready, all);
  if (status)
    free_group(&all->request);
  else
    *request = &all->request;
  return status;
}

tutti_status tt_group_end(tutti_comm *comm, const char *function, tt_ready_fn *ready,
                          tutti_request **request) {
  tutti_status status = tt_comm_enter_failed_too(comm, function);
  if (status) return status;
  const bool open = tt_group_open(comm), empty = open && !comm->flight->group->n;
  if (open) comm->flight->group->ends = true;
  tt_comm_leave(comm);
  if (!open) return tt_fail(TUTTI_ERR_STATE, "%s: no group is open", function);
  *request = NULL;
  if (!empty) status = tt_request_make(comm, function, make_group, &ready, false, request);
  tt_group_drop(comm);
  return status;
}
