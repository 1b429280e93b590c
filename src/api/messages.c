/* messages.c - tutti_send and tutti_recv: messages between two ranks, independent of the collectives.
 *
 * Idea       Both functions have three forms: blocking, nonblocking and persistent (run/message.c).
 * SPDX-License-Identifier: BSD-3-Clause */
#include "call.h"

/* Checks the vector of a message. If the communicator is NULL, checks nothing, because the call itself reports that error. */
static tutti_status check_vector(tutti_comm *comm, const char *function, const tt_p2p_message *m) {
  if (!comm) return TUTTI_OK;
  return tt_host_check(function, m->sends ? "src" : "dst", m->at, m->count, m->type);
}

static tutti_status check_and_make(tutti_comm *comm, const char *function, const void *what,
                                   tutti_request **request) {
  const tutti_status status = check_vector(comm, function, what);
  return status ? status : tt_message_new(comm, function, what, request);
}

#define LIST(...) __VA_ARGS__
#define MESSAGE(name, parameters, fields)                                                      \
  tutti_status tutti_##name(tutti_comm *comm, parameters) {                                    \
    const tt_p2p_message m = {fields};                                                         \
    const tutti_status status = check_vector(comm, "tutti_" #name, &m);                        \
    if (!status && comm && tt_group_open(comm))                                                \
      return tt_group_keep(comm, "tutti_" #name, tt_message_new, &m);                          \
    return status ? status : tt_message_run(comm, "tutti_" #name, &m);                         \
  }                                                                                            \
  tutti_status tutti_##name##_start(tutti_comm *comm, parameters, tutti_request **request) {   \
    const tt_p2p_message m = {fields};                                                         \
    return tt_request_make(comm, "tutti_" #name "_start", check_and_make, &m, false, request); \
  }                                                                                            \
  tutti_status tutti_##name##_init(tutti_comm *comm, parameters, tutti_request **request) {    \
    const tt_p2p_message m = {fields};                                                         \
    return tt_request_make(comm, "tutti_" #name "_init", check_and_make, &m, true, request);   \
  }

MESSAGE(send, LIST(const void *src, size_t count, tutti_type type, int dest, int tag),
        LIST(.peer = dest, .tag = tag, .type = type, .count = count, .sends = true,
             .at = (void *)(uintptr_t)src))
MESSAGE(recv,
        LIST(void *dst, size_t count, tutti_type type, int source, int tag,
             tutti_received *received),
        LIST(.peer = source, .tag = tag, .type = type, .count = count, .at = dst,
             .received = received))
