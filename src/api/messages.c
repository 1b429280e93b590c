/* messages.c - tutti_send and tutti_recv: one rank to another, apart from the collectives.
 *
 * Idea       a message is a request like any other: started, driven along with what else is in
 *            flight, waited for; but it has no place in the communicator's order, for only
 *            two ranks know of it. Its order is that of its pair (engine/mail.h).
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "collective.h"

/* What it is called with; the rest of the message is filled in. The comm is entered. */
static tutti_status address(tutti_comm *comm, const char *function, tt_parcel *m) {
  tutti_status status =
      tt_vector_check(function, m->sends ? "src" : "dst", m->at, m->count, m->type);
  if (status) return status;
  if (m->peer < 0 || m->peer >= comm->ranks)
    return tt_fail(TUTTI_ERR_ARG, "%s: peer %d is no rank of 0..%d", function, m->peer,
                   comm->ranks - 1);
  if (!comm->mail) comm->mail = tt_mail_new(comm->wire);
  if (!comm->mail)
    return tt_blame_memory(
        comm, tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for messages of %d ranks", function,
                      comm->ranks));
  m->bytes = m->count * tutti_type_size(m->type);
  return TUTTI_OK;
}

static tutti_status ready(tutti_comm *comm, const char *function, const void *what,
                          tutti_request **request) {
  tt_parcel m = *(const tt_parcel *)what;
  tutti_status status = address(comm, function, &m);
  if (status) return status;
  tutti_request *r = malloc(sizeof *r);
  if (!r)
    return tt_blame_memory(comm,
                           tt_fail(TUTTI_ERR_MEMORY, "%s: out of memory for a request", function));
  *r = (tutti_request){.comm = comm, .is_message = true, .message = m};
  r->message.owner = r;
  *request = r;
  return TUTTI_OK;
}

static tutti_status finish(tutti_comm *comm, const char *function, const tt_parcel *what) {
  tutti_status status = tt_comm_enter(comm, function);
  if (status) return status;
  tutti_request r = {.comm = comm, .is_message = true, .message = *what};
  r.message.owner = &r;
  status = address(comm, function, &r.message);
  if (!status && tt_mail_is_alone(comm->mail, &r.message))
    status = tt_fail(TUTTI_ERR_STATE,
                     "%s: peer is this rank itself, and the other half has not been started: it "
                     "would wait for ever",
                     function);
  if (!status) {
    tt_trace_in(comm->trace, true);
    tt_request_issue(&r);
    status = tt_request_finish(&r);
    tt_trace_out(comm->trace, TT_EVENT_MAIL);
  }
  tt_comm_leave(comm);
  return status;
}

static tt_parcel sent(const void *src, size_t count, tutti_type type, int peer) {
  return (tt_parcel){
      .peer = peer, .sends = true, .type = type, .count = count, .at = (void *)(uintptr_t)src};
}

static tt_parcel received(void *dst, size_t count, tutti_type type, int peer) {
  return (tt_parcel){.peer = peer, .type = type, .count = count, .at = dst};
}

tutti_status tutti_send(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                        int peer) {
  const tt_parcel m = sent(src, count, type, peer);
  return finish(comm, "tutti_send", &m);
}

tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer) {
  const tt_parcel m = received(dst, count, type, peer);
  return finish(comm, "tutti_recv", &m);
}

tutti_status tutti_send_start(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                              int peer, tutti_request **request) {
  const tt_parcel m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_start", ready, &m, false, request);
}

tutti_status tutti_recv_start(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                              tutti_request **request) {
  const tt_parcel m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_start", ready, &m, false, request);
}

tutti_status tutti_send_init(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                             int peer, tutti_request **request) {
  const tt_parcel m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_init", ready, &m, true, request);
}

tutti_status tutti_recv_init(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                             tutti_request **request) {
  const tt_parcel m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_init", ready, &m, true, request);
}
