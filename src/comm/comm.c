/* comm.c - functions of a communicator that do not communicate.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "build_comm.h"
#include "lent.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tutti_comm_rank(const tutti_comm *comm) {
  return comm ? comm->rank : -1;
}
int tutti_comm_size(const tutti_comm *comm) {
  return comm ? comm->ranks : -1;
}

/* each busy, abort, in_flight_count: order: seq_cst, a lock of one process (check-tsan) */

enum {
  LOOKS_FROM = 1000,
  LOOKS_EVERY = 100
}; /* number of polls before the first check of the peers, and between two checks */

typedef struct freeing {
  tutti_comm *comm;
  tt_wait_policy p;
} freeing;

/* Returns true if all messages that this rank has sent were received or can no longer be received. */
static bool is_delivered(void *ctx, unsigned turn, tutti_status *status) {
  freeing *f = ctx;
  tutti_comm *comm = f->comm;
  int (*owed)(tt_wire *) = comm->wire->channel->owed;
  const int peer = comm->broken || !owed || tt_comm_is_over(comm) ? -1 : owed(comm->wire);
  if (peer < 0) return true;
  if (turn % 16 == 0) tt_idle();
  if (turn < LOOKS_FROM || turn % LOOKS_EVERY) return false;
  if (tt_comm_differs(comm)) return true; /* such a peer will never receive it */
  tt_wait_for_taker(comm, &f->p, peer);
  if (comm->broken) *status = tt_fail(comm->broken, "%s", comm->why);
  return false;
}

tutti_status tutti_comm_free(tutti_comm *comm) {
  tutti_status status = tt_alive();
  if (status || !comm) return status;
  if (!tt_comm_hold_for_caller(comm))
    return tt_fail(TUTTI_ERR_STATE, "tutti_comm_free: another thread is inside a call on it");
  if (comm->flight->requests) {
    int n = comm->flight->requests;
    tt_comm_leave(comm);
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_comm_free: %d request%s of this communicator %s not waited for or freed",
                   n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
  }
  if (tt_group_open(comm)) {
    tt_comm_leave(comm);
    return tt_fail(TUTTI_ERR_STATE, "tutti_comm_free: a group is open; end it first");
  }
  freeing f = {.comm = comm};
  status = tt_streams_wait(comm, "tutti_comm_free");
  if (!status) status = tt_wait_until("tutti_comm_free", is_delivered, &f);
  tt_long_wait_end(&f.p.note);
  if (status) {
    tt_comm_leave(comm);
    return status;
  }
  tt_comm_list(comm, false);
  tt_comm_destroy(comm);
  return TUTTI_OK;
}

tutti_status tutti_comm_abort(tutti_comm *comm, const char *reason) {
  tutti_status status = tt_args_given("tutti_comm_abort", "comm", comm, NULL, NULL);
  if (status) return status;
  char text[120];
  snprintf(text, sizeof text, "rank %d aborted: %.100s", comm->rank,
           reason ? reason : "no reason given");
  if (!tt_over_net(comm)) {
    comm->wire->peer->abort(comm->wire, TUTTI_ERR_ABORTED, text);
    return TUTTI_OK;
  }
  int none = 0;
  if (!atomic_compare_exchange_strong(&comm->flight->abort, &none, 1))
    return TUTTI_OK; /* an abort was requested already */
  memcpy(comm->flight->abort_why, text, sizeof text);
  atomic_store(&comm->flight->abort, 2);
  tt_comm_ask_abort(comm);
  return TUTTI_OK;
}

tutti_status tt_comm_inherit_settings(tutti_comm *comm, const tt_plain_settings *from,
                                      const tt_override *override, int helpers) {
  const tt_plain_settings own = comm->settings.plain;
  comm->settings.plain = *from;
  comm->settings.plain.measures |= own.measures;
  comm->settings.plain.env_measures = own.env_measures;
  comm->settings.override = *override;
  tt_comm_show_name(comm);
  return helpers && helpers < comm->ranks ? tt_helpers_set(comm, helpers) : TUTTI_OK;
}

const char *tutti_comm_network(const tutti_comm *comm) {
  return comm && comm->net ? comm->net->traits.name : NULL;
}

/* Numbers the levels of the machine from the inside out. Level 1 is the innermost level that is connected by a network. */
int tutti_comm_apart(const tutti_comm *comm, int a, int b, const char **level) {
  if (level) *level = "";
  if (!comm || a < 0 || b < 0 || a >= comm->ranks || b >= comm->ranks) return -1;
  if (a == b || !tt_over_net(comm)) return 0;
  const tt_cost_model *p = tt_chooser_model(comm->plans->chooser);
  if (p->levels == 1) return 1;
  uint32_t *things = tt_cost_domains(p);
  if (!things) return -1;
  const int *place = comm->plans->place;
  const int at = tt_cost_level(p, things, place ? place[a] : a, place ? place[b] : b);
  const int apart = p->levels - comm->plans->setting.inside - at;
  free(things);
  if (level && apart > 0) *level = p->tree.level[at].name;
  return apart > 0 ? apart : 0;
}

tutti_status tutti_mem_alloc(tutti_comm *comm, size_t bytes, void **memory) {
  tutti_status status = tt_args_given("tutti_mem_alloc", "comm", comm, "memory", memory);
  if (status) return status;
  *memory = NULL;
  if (bytes == 0) return TUTTI_OK;
  *memory = comm->wire->memory->alloc(comm->wire, bytes);
  if (*memory) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_MEMORY, "tutti_mem_alloc: %zu bytes of shared memory are not available",
                 bytes);
}

tutti_status tutti_comm_register(tutti_comm *comm, void *memory, size_t bytes) {
  static const char who[] = "tutti_comm_register";
  tutti_status status = tt_args_given(who, "comm", comm, "memory", memory);
  if (!status && tt_on_device(memory, NULL))
    return tt_fail(TUTTI_ERR_UNSUPPORTED, "%s: memory is on a device; use the host's", who);
  if (status || !bytes || !comm->heap || tt_heap_segment(comm->heap)->threads) return status;
  return tt_lend(comm->heap, who, memory, bytes);
}

tutti_status tutti_comm_deregister(tutti_comm *comm, void *memory) {
  tutti_status status = tt_args_given("tutti_comm_deregister", "comm", comm, "memory", memory);
  if (status || !comm->heap || tt_heap_segment(comm->heap)->threads) return status;
  if (tt_lend_end(comm->heap, memory, false)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "tutti_comm_deregister: %p is not from tutti_comm_register",
                 memory);
}

tutti_status tutti_mem_free(tutti_comm *comm, void *memory) {
  tutti_status status = tt_args_given("tutti_mem_free", "comm", comm, NULL, NULL);
  if (status) return status;
  if (!memory || comm->wire->memory->free(comm->wire, memory)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "tutti_mem_free: %p is not from tutti_mem_alloc", memory);
}
