/* net_joiner.c - a process that joins a job on several hosts: it waits in the waiting room of the job's rendezvous
 * until the ranks invite it, and then creates the new communicator together with them (guests.h).
 *
 * Invariant  It has a communicator only when all ranks have it. If a rank or another joiner is lost before that, it
 *            destroys its part, and waits again. It waits until the launcher ends, or for TUTTI_CONNECT_TIMEOUT.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "create.h"
#include "guests.h"
#include "long_wait.h"
#include "room.h"

typedef struct guest {
  tt_meet_line line;
  tt_handed at; /* its claim, and its index in the claim */
  tt_invitation invitation;
  tt_override override; /* override of the communicator that grows */
  bool alone; /* the others have given up */
  tt_long_wait wait;
} guest;

static tutti_status others_are_gone(guest *g) {
  g->alone = true;
  return tt_fail(
      TUTTI_ERR_PEER_LOST,
      "this process is a joiner, and the ranks that admitted it have given up, or are gone");
}

/* Receives a message from the leader. The message begins with the claim of this joiner and its index in the claim
 * (g->at), and *bytes is the size of the rest. The caller frees *body. */
static tutti_status receive(guest *g, double until, int wanted, char **body, size_t *bytes) {
  int kind = 0;
  const tutti_status status = tt_room_recv(&g->line, until, &kind, body, bytes);
  if (status) return status;
  if (kind == wanted && *bytes >= sizeof g->at) {
    memcpy(&g->at, *body, sizeof g->at);
    *bytes -= sizeof g->at;
    return TUTTI_OK;
  }
  free(*body);
  *body = NULL;
  return kind == TT_ALONE ? others_are_gone(g) : tt_meet_foreign(&g->line);
}

static tutti_status bring(guest *g, tutti_status failed, const void *mine, size_t bytes) {
  size_t n;
  if (failed) tt_fail(failed, "a joiner (%s): %.200s", g->line.hello.who, tutti_error());
  tt_row *row = tt_row_new(failed, mine, bytes, &n);
  if (!row) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", bytes);
  const tutti_status status =
      tt_room_send(&g->line, TT_BRING, &g->at.claim, sizeof g->at.claim, row, n);
  free(row);
  return status;
}

/* Executes a round of the bootstrap between the survivors and the joiners. */
static tutti_status gather_as_guest(tt_meeting *m, tutti_status failed, const void *mine,
                                    size_t bytes, tt_table *all) {
  guest *g = m->self;
  char *body;
  size_t n;
  *all = (tt_table){.fd = -1};
  if (g->alone) return others_are_gone(g);
  tutti_status status = bring(g, failed, mine, bytes);
  if (!status) status = receive(g, tt_seconds() + m->limit, TT_HANDED, &body, &n);
  if (status) return status;
  status = tt_table_new(n, all);
  if (!status) memcpy(all->base, body + sizeof g->at, n);
  free(body);
  if (!status) status = tt_table_seal(all);
  if (!status && !tt_table_valid(all, m->ranks)) {
    tt_table_drop(all);
    status = tt_meet_foreign(&g->line);
  }
  return status;
}

/* Executes the last round of the bootstrap, after which this process is admitted if all ranks have succeeded. If a
 * failure of this process is the reason for a rejection, returns that failure. */
static tutti_status be_admitted(guest *g, tutti_status status) {
  char *body = NULL, why[300] = "";
  size_t n;
  if (status) snprintf(why, sizeof why, "%s", tutti_error());
  tutti_status said = g->alone ? TUTTI_ERR_PEER_LOST : bring(g, status, NULL, 0);
  if (!said) said = receive(g, tt_seconds() + g->invitation.limit, TT_ADMITTED, &body, &n);
  free(body);
  if (!status || status == TUTTI_ERR_PEER_LOST || status == TUTTI_ERR_ABORTED) return said;
  g->alone = false;
  return tt_fail(status, "%s", why);
}

static tutti_status create_with_others(guest *g, tutti_comm **out) {
  const tt_invitation *i = &g->invitation;
  tt_meeting m = {.rank = i->first + (int)g->at.place,
                  .ranks = i->ranks,
                  .limit = i->limit,
                  .light = true,
                  .wide = true,
                  .gather = gather_as_guest,
                  .self = g};
  tutti_status status = tt_create(&m, NULL, out);
  if (!status) status = tt_guest_settle(*out, i, &g->override);
  if (*out) status = tt_comm_spoil(*out, status);
  status = be_admitted(g, status);
  if (status) tt_comm_destroy(*out);
  if (status) *out = NULL;
  return status;
}

tutti_status tt_guest_settle(tutti_comm *comm, const tt_invitation *i,
                             const tt_override *override) {
  comm->joiners = i->joiners;
  return tt_comm_inherit_settings(comm, &i->settings, override, i->helpers);
}

/* Returns true if the invitation is valid for the joiner with this index in the claim. */
static bool is_invitation(const tt_invitation *i, uint32_t place) {
  return i->ranks > 0 && i->ranks <= TT_MEET_RANKS && i->joiners > 0 && i->joiners <= i->ranks &&
         i->helpers >= 0 && i->helpers < i->ranks &&
         i->first == i->ranks - i->joiners - i->helpers && i->first >= 0 &&
         place < (uint32_t)i->joiners && i->limit > 0 && i->limit < 1e9;
}

/* Reads an invitation and the text that follows it. */
static tutti_status read_invitation(guest *g, const char *body, size_t bytes) {
  tt_invitation *i = &g->invitation;
  if (bytes <= sizeof *i || body[bytes - 1]) return tt_meet_foreign(&g->line);
  memcpy(i, body, sizeof *i);
  return is_invitation(i, g->at.place) ? tt_override_parse(body + sizeof *i, i->ranks, &g->override)
                                       : tt_meet_foreign(&g->line);
}

/* Waits for an invitation. Warns once about a long wait. Fails after TUTTI_CONNECT_TIMEOUT, if that is set. */
static tutti_status await_invitation(guest *g) {
  const double limit = tt_connect_timeout(0);
  double asked = 0;
  for (;;) {
    char *body = NULL;
    size_t n = 0;
    const double next = tt_seconds() + tt_long_wait_due(&g->wait), last = g->wait.since + limit;
    const tutti_status status =
        receive(g, limit > 0 && last < next ? last : next, TT_HANDED, &body, &n);
    const tutti_status read = status ? status : read_invitation(g, body + sizeof g->at, n);
    free(body);
    if (!status) return read;
    if (tt_interrupted(&asked)) return tt_say_interrupted(g->wait.call);
    if (g->alone || status == TUTTI_ERR_TIMEOUT) {
      const tutti_status late = tt_joiner_waits(&g->wait);
      g->alone = false;
      if (late) return late;
      continue;
    }
    return status;
  }
}

tutti_status tt_guest_join(const tt_rendezvous *r, int rank, int number, tutti_comm **out) {
  guest g = {.wait = tt_long_wait_begin("tutti_comm_from_env")};
  const tt_wait mine = {number, tt_version_number()};
  tt_settings own; /* reports an invalid setting before other ranks depend on this one */
  tutti_status status = tt_settings_read(&own, 1);
  if (!status) status = tt_room_open(r, rank, tt_create_limit(NULL), &g.line);
  if (status) return status;
  status = tt_room_send(&g.line, TT_WAIT, &mine, sizeof mine, NULL, 0);
  for (; !status && !*out; g.alone = false) {
    status = await_invitation(&g);
    if (!status) status = create_with_others(&g, out);
    if (status == TUTTI_ERR_PEER_LOST && g.alone) status = TUTTI_OK;
  }
  tt_long_wait_end(&g.wait);
  tt_room_close(&g.line);
  return status;
}
