/* messages.c - tutti_send and tutti_recv: between two ranks, apart from the collectives.
 *
 * Idea       each is a message in three forms: blocking, started and persistent (run/message.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

/* Checks the vector; a NULL communicator is reported first, by the call itself. */
static tutti_status check_vector(tutti_comm *comm, const char *function, const tt_p2p_message *m) {
  if (!comm) return TUTTI_OK;
  return tt_vector_check(function, m->sends ? "src" : "dst", m->at, m->count, m->type);
}

static tutti_status check_and_make(tutti_comm *comm, const char *function, const void *what,
                                   tutti_request **request) {
  const tutti_status status = check_vector(comm, function, what);
  return status ? status : tt_message_new(comm, function, what, request);
}

static tutti_status check_and_run(tutti_comm *comm, const char *function,
                                  const tt_p2p_message *what) {
  const tutti_status status = check_vector(comm, function, what);
  return status ? status : tt_message_run(comm, function, what);
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
  return check_and_run(comm, "tutti_send", &m);
}

tutti_status tutti_recv(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return check_and_run(comm, "tutti_recv", &m);
}

tutti_status tutti_send_start(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                              int peer, tutti_request **request) {
  const tt_p2p_message m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_start", check_and_make, &m, false, request);
}

tutti_status tutti_recv_start(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                              tutti_request **request) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_start", check_and_make, &m, false, request);
}

tutti_status tutti_send_init(tutti_comm *comm, const void *src, size_t count, tutti_type type,
                             int peer, tutti_request **request) {
  const tt_p2p_message m = sent(src, count, type, peer);
  return tt_request_make(comm, "tutti_send_init", check_and_make, &m, true, request);
}

tutti_status tutti_recv_init(tutti_comm *comm, void *dst, size_t count, tutti_type type, int peer,
                             tutti_request **request) {
  const tt_p2p_message m = received(dst, count, type, peer);
  return tt_request_make(comm, "tutti_recv_init", check_and_make, &m, true, request);
}
