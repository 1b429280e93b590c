/* calls.c - collectives whose arguments are passed in one struct (tutti_call.h).
 *
 * Idea       A tutti_call is translated into the tt_call of the function with the collective's name, or into a
 *            list. Unused fields are zero, because ranks compare their arguments.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"
#include "measure.h"

typedef struct asked {
  tt_call call;
  tt_list list;
  bool many; /* use `list` instead of `call` */
  tt_code_wish wish;
  tt_override override;
  bool persists;
} asked;

static tutti_status unfit(const char *function, const tutti_call *c, const char *what) {
  return tt_fail(TUTTI_ERR_ARG, "%s: %s takes no %s", function, tutti_coll_name(c->coll), what);
}

static tutti_status read_call(tutti_comm *comm, const char *function, const tutti_call *c,
                              asked *a) {
  *a = (asked){.many = false};
  tutti_status status = tt_args_given(function, "comm", comm, "call", c);
  if (!status) status = tt_size_check(function, "call", c->size, sizeof *c);
  if (status) return status;
  if ((unsigned)c->coll >= TUTTI_COLL_COUNT)
    return tt_fail(TUTTI_ERR_ARG, "%s: call->coll %d is none of tutti_coll", function,
                   (int)c->coll);
  a->many = c->srcs || c->dsts || c->n || (c->counts && c->coll == TUTTI_ALLREDUCE);
  if (a->many && c->coll != TUTTI_ALLREDUCE) return unfit(function, c, "list of buffers");
  if (c->counts && (!tt_coll_owned(c->coll) && !a->many)) return unfit(function, c, "counts");
  if (c->recv_counts && c->coll != TUTTI_ALLTOALL) return unfit(function, c, "recv_counts");
  const char *text = c->compression ? "compression" : c->algorithm ? "algorithm" : NULL;
  const bool counted = c->counts && (c->compression || c->coll == TUTTI_ALLTOALL);
  if (text && (a->many || c->coll == TUTTI_BARRIER || counted))
    return tt_fail(TUTTI_ERR_ARG, "%s: %s%s takes no %s", function, tutti_coll_name(c->coll),
                   a->many     ? " of a list of buffers"
                   : c->counts ? " with counts"
                               : "",
                   text);
  a->list = (tt_list){c->n, c->srcs, c->dsts, c->counts, c->type, c->op, c->tag};
  a->call = (tt_call){.coll = c->coll, .src = c->src, .dst = c->dst, .type = c->type};
  if (c->coll == TUTTI_BARRIER) a->call = tt_barrier_call(comm);
  if (c->counts || c->recv_counts)
    a->call.varied = true, a->call.counts = c->counts, a->call.recv_counts = c->recv_counts;
  else if (c->coll != TUTTI_BARRIER)
    a->call.count = c->count;
  if (tt_coll_reduces(c->coll) && c->coll != TUTTI_BARRIER) a->call.op = c->op;
  if (tt_coll_rooted(c->coll)) a->call.root = c->root;
  if (c->tag && strnlen(c->tag, TT_WORDS) == TT_WORDS)
    return tt_fail(TUTTI_ERR_ARG, "%s: call->tag is longer than %d bytes", function, TT_WORDS - 1);
  a->call.tag = c->tag;
  if (c->compression) status = tt_call_code(function, c->compression, &a->wish, &a->call);
  if (status || !c->algorithm) return status;
  status = tt_override_parse(c->algorithm, tutti_comm_size(comm), &a->override);
  if (status) return tt_fail(status, "%s: call->algorithm: %.300s", function, tutti_error());
  a->call.override = &a->override;
  a->call.also ^= (uint32_t)tt_override_hash(&a->override);
  return TUTTI_OK;
}

/* Creates the request for a call. If the call is persistent, the plans for it may be measured first. */
static tutti_status make(tutti_comm *comm, const char *function, const void *what,
                         tutti_request **request) {
  const asked *a = what;
  bool in_place;
  if (a->many) return tt_list_make(comm, function, &a->list, request);
  tutti_status status = tt_call_check(comm, function, &a->call, &in_place);
  if (!status && a->persists) status = tt_measure_first(comm, &a->call);
  return status ? status : tt_collective_new(comm, function, &a->call, in_place, request);
}

static tutti_status make_request(tutti_comm *comm, const char *function, const tutti_call *call,
                                 bool persists, tutti_request **request) {
  asked a;
  const tutti_status status = read_call(comm, function, call, &a);
  a.persists = persists;
  return status ? status : tt_request_make(comm, function, make, &a, persists, request);
}

tutti_status tutti_call_start(tutti_comm *comm, const tutti_call *call, tutti_request **request) {
  return make_request(comm, "tutti_call_start", call, false, request);
}

tutti_status tutti_call_init(tutti_comm *comm, const tutti_call *call, tutti_request **request) {
  return make_request(comm, "tutti_call_init", call, true, request);
}

static tutti_status check(tutti_comm *comm, const char *function, const tt_call *call,
                          bool *in_place) {
  return tt_call_check(comm, function, call, in_place);
}

tutti_status tutti_call_on_stream(tutti_comm *comm, const tutti_call *call) {
  static const char who[] = "tutti_call_on_stream";
  asked a;
  const tutti_status status = read_call(comm, who, call, &a);
  if (status) return status;
  const char *none = a.many                        ? "list of buffers"
                     : call->compression           ? "compression"
                     : call->algorithm             ? "algorithm"
                     : call->coll == TUTTI_BARRIER ? "vectors"
                                                   : NULL;
  if (none)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s on a stream takes no %s", who,
                   tutti_coll_name(call->coll), none);
  return tt_call_on_stream(comm, who, &a.call, call->stream, check);
}
