/* comm.c - operations on a communicator other than communication.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "build_comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tutti_comm_rank(const tutti_comm *comm) {
  return comm ? comm->rank : -1;
}
int tutti_comm_size(const tutti_comm *comm) {
  return comm ? comm->ranks : -1;
}

enum { PEERS_FROM = 1000 }; /* polls before it looks at the peers */

/* Does rank r share memory with this one, and has it died? Data to other ranks goes or fails. */
/* each busy, abort, in_flight_count: order: seq_cst, a lock of one process (check-tsan) */

static bool near_and_gone(const tutti_comm *comm, int r) {
  const bool near =
      !tt_over_net(comm) || (comm->info[r].index >= 0 &&
                             comm->info[r].placement.node == comm->info[comm->rank].placement.node);
  return near && !comm->wire->peer->alive(comm->wire, r);
}

/* Can peers no longer read staged pieces of completed operations, or will none of them ever? */
static bool is_drained(void *ctx, unsigned turn, tutti_status *status) {
  tutti_comm *comm = ctx;
  (void)status;
  if (comm->broken || comm->wire->channel->drained(comm->wire) || tt_comm_is_over(comm))
    return true;
  if (turn % 16 == 0) tt_idle();
  if (turn < PEERS_FROM || turn % 100) return false;
  bool over = tt_comm_differs(comm); /* such a peer will never read it */
  for (int r = 0; r < comm->ranks && !over; r++) over = near_and_gone(comm, r);
  return over;
}

tutti_status tutti_comm_free(tutti_comm *comm) {
  tutti_status status = tt_alive();
  if (status || !comm) return status;
  for (int is_free = 0; !atomic_compare_exchange_weak(&comm->busy, &is_free, 1); is_free = 0) {
    if (is_free == 1)
      return tt_fail(TUTTI_ERR_STATE, "tutti_comm_free: another thread is inside a call on it");
    sched_yield();
  }
  if (comm->flight->requests) {
    int n = comm->flight->requests;
    tt_comm_leave(comm);
    return tt_fail(TUTTI_ERR_STATE,
                   "tutti_comm_free: %d request%s of this communicator %s not waited for or freed",
                   n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
  }
  status = tt_streams_wait(comm, "tutti_comm_free");
  if (!status) status = tt_wait_until("tutti_comm_free", is_drained, comm);
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
  int is_free = 0, none = 0;
  if (!atomic_compare_exchange_strong(&comm->flight->abort, &none, 1))
    return TUTTI_OK; /* requested */
  memcpy(comm->flight->abort_why, text, sizeof text);
  atomic_store(&comm->flight->abort, 2);
  if (atomic_compare_exchange_strong(&comm->busy, &is_free, 2)) tt_comm_leave(comm);
  return TUTTI_OK;
}

/* Requests in flight have their plans already. */
tutti_status tt_nothing_runs(const tutti_comm *comm, const char *function) {
  if (!comm->flight->unfinished) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_STATE, "%s: requests are in flight; wait for them", function);
}

tutti_status tutti_comm_set_algo(tutti_comm *comm, const char *algo) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_algo");
  if (status) return status;
  tt_override override;
  status = tt_override_parse(algo, comm->ranks, &override);
  if (status) status = tt_fail(status, "tutti_comm_set_algo: %.300s", tutti_error());
  if (!status) status = tt_nothing_runs(comm, "tutti_comm_set_algo");
  if (!status) {
    comm->settings.override = override;
    tt_plans_forget(comm);
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_set_contract(tutti_comm *comm, tutti_contract contract) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_contract");
  if (status) return status;
  status = tt_contract_check("tutti_comm_set_contract", contract, comm->ranks);
  if (!status) status = tt_code_contract("tutti_comm_set_contract", &comm->settings.wish, contract);
  if (!status) status = tt_nothing_runs(comm, "tutti_comm_set_contract");
  if (!status) {
    comm->settings.contract = contract;
    tt_plans_forget(comm);
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_set_code(tutti_comm *comm, const char *code) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_code");
  if (status) return status;
  tt_code_wish wish;
  status = tt_code_parse("tutti_comm_set_code", code, &wish);
  if (!status) status = tt_code_contract("tutti_comm_set_code", &wish, comm->settings.contract);
  if (!status) status = tt_nothing_runs(comm, "tutti_comm_set_code");
  if (!status) tt_coding_set(comm, &wish);
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_set_slices(tutti_comm *comm, int slices) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_slices");
  if (status) return status;
  if (slices < 0 || slices > 1 << 20)
    status =
        tt_fail(TUTTI_ERR_ARG, "tutti_comm_set_slices: %d is not from 0 to %d", slices, 1 << 20);
  if (!status) {
    comm->settings.slices = slices;
    tt_plans_forget(comm);
  }
  tt_comm_leave(comm);
  return status;
}

tutti_status tutti_comm_set_timeout(tutti_comm *comm, double seconds) {
  tutti_status status = tt_comm_enter(comm, "tutti_comm_set_timeout");
  if (status) return status;
  if (!(seconds >= 0 && seconds <= 1e9))
    status = tt_fail(TUTTI_ERR_ARG, "tutti_comm_set_timeout: %g is not from 0 to 1e9 s", seconds);
  else
    comm->settings.timeout = seconds;
  tt_comm_leave(comm);
  return status;
}

tutti_status tt_comm_inherit_settings(tutti_comm *comm, const tt_settings *from, int helpers) {
  const tt_settings own = comm->settings;
  comm->settings = *from;
  comm->settings.measures |= own.measures;
  comm->settings.explains = own.explains;
  return helpers && helpers < comm->ranks ? tutti_comm_set_helpers(comm, helpers) : TUTTI_OK;
}

const char *tutti_comm_network(const tutti_comm *comm) {
  return comm && comm->net ? comm->net->traits.name : NULL;
}

/* Counts levels of the machine, starting with the innermost one over a network. */
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
  return tt_fail(TUTTI_ERR_MEMORY, "tutti_mem_alloc: %zu bytes of shared memory cannot be had",
                 bytes);
}

tutti_status tutti_mem_free(tutti_comm *comm, void *memory) {
  tutti_status status = tt_args_given("tutti_mem_free", "comm", comm, NULL, NULL);
  if (status) return status;
  if (!memory || comm->wire->memory->free(comm->wire, memory)) return TUTTI_OK;
  return tt_fail(TUTTI_ERR_ARG, "tutti_mem_free: %p is not from tutti_mem_alloc", memory);
}
