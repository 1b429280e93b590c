/* messages.c - tutti_send and tutti_recv: between two ranks, apart from the collectives.
 *
 * Idea       a message is a request like any other: it is started, driven along with the other
 *            operations in flight, and waited for. But it has no place in the communicator's
 *            order, because only two ranks know of it. Its order is that of its pair
 *            (engine/p2p.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "collective.h"

/* Checks the arguments and fills in the rest of the message. The comm is entered. */
static tutti_status check_p2p_args(tutti_comm *comm, const char *function, tt_p2p_message *m) {
  tutti_status status =
      tt_vector_check(function, m->sends ? "src" : "dst", m->at, m->count, m->type);
  if (status) return status;
  if (m->peer < 0 || m->peer >= comm->ranks)
    return tt_fail(TUTTI_ERR_ARG, "%s: peer %d is no rank of 0..%d", function, m->peer,
                   comm->ranks - 1);
  if (!comm->p2p) comm->p2p = tt_p2p_new(comm->wire);
  if (!comm->p2p)
    return tt_break_if_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for messages of %d ranks", function,
                      comm->ranks));
  m->bytes = m->count * tutti_type_size(m->type);
  return TUTTI_OK;
}

static void post_message(tutti_request *r) {
  r->comm->stuck = false;
  tt_p2p_post(r->comm->p2p, r->message);
}

static void free_message(tutti_request *r) {
  free(r);
}

static const tt_request_ops message_request = {.issue = post_message, .free = free_message};

typedef struct message_box {
  tutti_request request;
  tt_p2p_message message;
} message_box;

static void fill_box(message_box *box, tutti_comm *comm, const tt_p2p_message *m) {
  *box = (message_box){{.ops = &message_request, .comm = comm, .message = &box->message}, *m};
  box->message.owner = box;
}

static tutti_status create_p2p_request(tutti_comm *comm, const char *function, const void *what,
                                       tutti_request **request) {
  tt_p2p_message m = *(const tt_p2p_message *)what;
  tutti_status status = check_p2p_args(comm, function, &m);
  if (status) return status;
  message_box *box = malloc(sizeof *box);
  if (!box)
    return tt_break_if_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a request", function));
  fill_box(box, comm, &m);
  *request = &box->request;
  return TUTTI_OK;
}

static tutti_status run_blocking_p2p(tutti_comm *comm, const char *function,
                                     const tt_p2p_message *what) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  message_box box;
  fill_box(&box, comm, what);
  status = check_p2p_args(comm, function, &box.message);
  if (!status && tt_p2p_is_alone(comm->p2p, &box.message))
    status = tt_fail(TUTTI_ERR_STATE,
                     "%s: peer is this rank itself, and the other half has not been started: it "
                     "would wait for ever",
                     function);
  if (!status) {
    tt_trace_in(comm->trace, true);
    tt_request_issue(&box.request);
    status = tt_request_finish(&box.request);
    tt_trace_out(comm->trace, TT_EVENT_P2P);
  }
  tt_comm_leave(comm);
  return status;
}

static tt_p2p_message sent(const void *src, size_t count, tutti_type type, int peer) {
  return (tt_p2p_message){
      .peer = peer, .sends = true, .type = type, .count = count, .at = (void *)(uintptr_t)src};
}

static tt_p2p_message received(void *dst, size_t count, tutti_type type, int peer) {
  return (tt_p2p_message){.peer = peer, .type = type, .count = count, .at = dst};
}

tutti_status tutti_send(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                        int peer) {
  const tt_p2p_message m = sent(src, count, type, peer);
  return run_blocking_p2p(comm, "tutti_send", &m);
}

tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return run_blocking_p2p(comm, "tutti_recv", &m);
}

tutti_status tutti_send_start(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                              int peer, tutti_request **request) {
  const tt_p2p_message m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_start", create_p2p_request, &m, false, request);
}

tutti_status tutti_recv_start(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                              tutti_request **request) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_start", create_p2p_request, &m, false, request);
}

tutti_status tutti_send_init(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                             int peer, tutti_request **request) {
  const tt_p2p_message m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_init", create_p2p_request, &m, true, request);
}

tutti_status tutti_recv_init(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                             tutti_request **request) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_init", create_p2p_request, &m, true, request);
}
