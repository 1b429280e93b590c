/* message.c - a message between two ranks as a request.
 *
 * Idea       A message is started, driven along with the operations in flight, and waited for. It has no position in the
 *            communicator's order, because only two ranks take part. Sender, tag and order determine which receive takes
 *            which message (engine/p2p.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "flight.h"

/* Checks the peer and the tag, and fills in the other fields of a message. The caller has entered the communicator. */
static tutti_status prepare_message(tutti_comm *comm, const char *function, tt_p2p_message *m) {
  const bool any_source = !m->sends && m->peer == TUTTI_ANY_SOURCE;
  if ((m->peer < 0 && !any_source) || m->peer >= comm->ranks)
    return tt_fail(TUTTI_ERR_ARG, "%s: %s %d is not a rank of 0..%d%s", function,
                   m->sends ? "dest" : "source", m->peer, comm->ranks - 1,
                   m->sends ? "" : ", or TUTTI_ANY_SOURCE");
  if (m->tag < 0 && (m->sends || m->tag != TUTTI_ANY_TAG))
    return tt_fail(TUTTI_ERR_ARG, "%s: the tag is %d; it must be 0 or more%s", function, m->tag,
                   m->sends ? "" : ", or TUTTI_ANY_TAG");
  if (!comm->flight->p2p) comm->flight->p2p = tt_p2p_new(comm->wire);
  if (!comm->flight->p2p)
    return tt_break_if_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for messages of %d ranks", function,
                      comm->ranks));
  m->bytes = m->count * tutti_type_size(m->type);
  return TUTTI_OK;
}

static void post_message(tutti_request *r) {
  r->comm->flight->stuck = false;
  tt_p2p_post(r->comm->flight->p2p, r->message);
}

static void report_received(tutti_request *r) {
  if (r->message->received) *r->message->received = r->message->got;
}

static const tt_request_ops message_request = {.issue = post_message, .unpack = report_received};

typedef struct message_box {
  tutti_request request;
  tt_p2p_message message;
} message_box;

static void fill_box(message_box *box, tutti_comm *comm, const tt_p2p_message *m) {
  *box = (message_box){{.ops = &message_request, .comm = comm, .message = &box->message}, *m};
  box->message.owner = box;
}

tutti_status tt_message_new(tutti_comm *comm, const char *function, const void *what,
                            tutti_request **request) {
  tt_p2p_message m = *(const tt_p2p_message *)what;
  tutti_status status = prepare_message(comm, function, &m);
  if (status) return status;
  message_box *box = malloc(sizeof *box);
  if (!box)
    return tt_break_if_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a request", function));
  fill_box(box, comm, &m);
  *request = &box->request;
  return TUTTI_OK;
}

tutti_status tt_message_run(tutti_comm *comm, const char *function, const tt_p2p_message *what) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  message_box box;
  fill_box(&box, comm, what);
  status = prepare_message(comm, function, &box.message);
  if (!status && tt_p2p_is_alone(comm->flight->p2p, &box.message))
    status = tt_fail(TUTTI_ERR_STATE,
                     "%s: %s is this rank itself, and the other half has not been started: it "
                     "would wait for ever",
                     function, box.message.sends ? "dest" : "source");
  if (!status) {
    tt_trace_in(comm->trace, true);
    tt_request_issue(&box.request);
    status = tt_request_finish(&box.request);
    tt_trace_out(comm->trace, TT_EVENT_P2P);
  }
  tt_comm_leave(comm);
  return status;
}
