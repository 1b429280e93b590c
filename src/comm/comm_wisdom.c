/* comm_wisdom.c - the wisdom of a communicator: its first rank sends its wisdom to all ranks.
 *
 * Idea       When a communicator is created, its first rank selects the entries of its process that were measured
 *            with the same placement, and sends them to the others. All ranks thus make the same choices, even if
 *            their own files differ. Entries that are measured later are added on all ranks (measure.c). Entries are
 *            sent as text, because a plan is a value of one process.
 * Cost       If the first rank has no wisdom, a flag in a message that is sent in any case reports this, and nothing
 *            else is sent.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "comm_wisdom.h"

#include <stdlib.h>

#include "plan_cache.h"

/* Selects the wisdom entries for the placement of this communicator. Selects no entries if out of memory. */
static void pick(tutti_comm *comm) {
  char words[TT_PLACEMENT_TEXT];
  if (!tt_wisdom_pick(tt_comm_fingerprint(comm, words), &comm->plans->wisdom))
    tt_wisdom_clear(&comm->plans->wisdom);
}

uint32_t tt_announce(void) {
  return tt_wisdom_announce() | tt_exts_wanted() << TT_ANNOUNCED_EXTS;
}

static bool can_use(const tutti_comm *comm) {
  return comm->ranks > 1 && !(comm->net && comm->net->traits.simulated);
}

static void set_measures(tutti_comm *comm, uint32_t said) {
  comm->settings.plain.measures = comm->settings.plain.env_measures = said & TT_WISDOM_MEASURES;
}

tutti_status tt_text_share(tutti_comm *comm, const char *who, int root, tt_text *text) {
  uint64_t n = comm->rank == root && !text->failed ? text->length : 0;
  tutti_status status = tt_broadcast(comm, who, root, &n, sizeof n);
  if (!status && n && comm->rank != root && !(text->at = calloc(1, n + 1)))
    status = tt_break_if_memory(comm, tt_fail(TUTTI_ERR_MEMORY, "out of memory for %s", who));
  if (!status && n) status = tt_broadcast(comm, who, root, text->at, n);
  text->length = status ? 0 : n;
  return status;
}

/* Other ranks may already be using the communicator, so it may fail during this function. The next collective call
 * on this rank then reports the failure, as it would without wisdom. */
tutti_status tt_wisdom_share(tutti_comm *comm, uint32_t said) {
  static const char who[] = "the wisdom of a communicator";
  if (!can_use(comm)) return TUTTI_OK;
  set_measures(comm, said);
  if (!(said & TT_WISDOM_EXISTS)) return TUTTI_OK;
  tt_text text = {0};
  if (comm->rank == 0) pick(comm);
  if (comm->plans->wisdom.n) tt_wisdom_print(&text, &comm->plans->wisdom);
  tutti_status status = TUTTI_OK;
  if (!tt_text_share(comm, who, 0, &text) && text.length && comm->rank)
    status = tt_break_if_memory(comm, tt_wisdom_parse(&comm->plans->wisdom, text.at, who));
  free(text.at);
  return status;
}

tutti_status tt_wisdom_share_threads(tutti_comm *const *comms, int n) {
  const uint32_t said = tt_wisdom_announce();
  if (!can_use(comms[0])) return TUTTI_OK;
  if (said & TT_WISDOM_EXISTS) pick(comms[0]);
  for (int r = 0; r < n; r++) {
    set_measures(comms[r], said);
    if (r && !tt_wisdom_merge(&comms[r]->plans->wisdom, &comms[0]->plans->wisdom))
      return tt_fail(TUTTI_ERR_MEMORY, "out of memory for the wisdom of %d ranks", n);
  }
  return TUTTI_OK;
}
