/* grow_net.c - tutti_comm_grow between hosts: the survivors of a communicator and joiners create a new one.
 *
 * Idea       Growing repeats the bootstrap (create.c) with other rounds. The survivors send their rows to the first
 *            of them, the leader, over the communicator that shrinking has made. The joiners send theirs through the
 *            waiting room of the job's launcher (room.h). The leader distributes the table of all rows. The failure
 *            of a survivor is detected as in any call; the failure of a joiner is detected by the room.
 * Cost       For each round: a gather to the leader over connections that the agreement has made, two broadcasts, and
 *            one message from the leader to the room and back.
 * Invariant  No rank waits for a process that has ended. Ranks may see different results of an attempt; shrink.c lets
 *            them agree on one of three outcomes: all have the communicator, a rank was lost and they try again, or
 *            growing has failed.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "grow_net.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm_view.h"
#include "create.h"
#include "long_wait.h"
#include "room.h"

enum { WHY = 300, ROOM_S = 10 /* seconds to reach the room */ };
static const double LOOK_S = 0.1; /* interval between reports of a waiting leader, in seconds */

struct tt_growth {
  tutti_comm *rest;
  const char *name; /* of the public function */
  int least;
  tt_meet_line line; /* the leader's connection to the waiting room */
  tt_invitation invitation;
  bool last; /* this is the last round, which carries only its status */
  bool told; /* the last failure was reported to all ranks */
};

/* A message from the leader to the other survivors. */
typedef struct word {
  int32_t status; /* if not TUTTI_OK, `why` is the reason */
  int32_t joiners, waits;
  uint32_t bytes; /* size of the table that follows */
  char why[WHY];
} word;

static bool leads_growth(const tt_growth *w) {
  return w->rest->rank == 0;
}

static void set_why(word *x, tutti_status status) {
  x->status = status;
  snprintf(x->why, sizeof x->why, "%.299s", tutti_error());
}

/* ---- claiming joiners ---- */

static tutti_status ask_room(tt_growth *w, double limit) {
  tt_rendezvous r;
  const char *id = tt_env("TUTTI_ID");
  if (!id)
    return tt_fail(TUTTI_ERR_UNSUPPORTED,
                   "this job takes in no joiners: it was started without tutti run --respawn");
  const tt_claim claim = {tt_version_number(), (uint32_t)tt_min(1e3 * limit, 4e9), w->least, 0};
  tutti_status status = tt_rendezvous_read(id, &r);
  if (!status) status = tt_room_open(&r, w->rest->rank, tt_min(limit, ROOM_S), &w->line);
  return status ? status : tt_room_send(&w->line, TT_CLAIM, &claim, sizeof claim, NULL, 0);
}

/* Polls once for a reply from the waiting room, and fills in *x, the leader's message to the other survivors. */
static void hear_room(tt_growth *w, double limit, word *x) {
  char *body;
  size_t n;
  int kind;
  tt_claimed is;
  *x = (word){.waits = !tt_room_ready(&w->line, tt_seconds() + LOOK_S)};
  if (x->waits && errno == ECANCELED) {
    x->waits = 0;
    set_why(x, tt_say_interrupted(w->name));
  }
  if (x->waits || x->status) return;
  tutti_status status = tt_room_recv(&w->line, tt_seconds(), &kind, &body, &n);
  if (!status && (kind != TT_CLAIMED || n != sizeof is)) status = tt_meet_foreign(&w->line);
  if (!status) memcpy(&is, body, sizeof is);
  free(body);
  if (status) set_why(x, status);
  if (!status && is.claimed < 0)
    set_why(x, tt_too_few_joiners(w->least, is.there, is.possible, is.total, limit));
  if (!status && is.claimed > TT_MEET_RANKS - w->rest->ranks)
    set_why(x, tt_meet_foreign(&w->line));
  x->joiners = x->status ? 0 : is.claimed;
}

/* Waits for joiners, and sets *joiners to their number on all ranks. A job without a waiting room can still grow by 0 ranks. */
static tutti_status claim_joiners(tt_growth *w, int *joiners) {
  const double limit = tt_connect_timeout(120);
  tt_long_wait wait = tt_long_wait_begin(w->name);
  word x = {.waits = 1};
  tutti_status status = leads_growth(w) ? ask_room(w, limit) : TUTTI_OK;
  if (status == TUTTI_ERR_UNSUPPORTED && !w->least)
    x.waits = 0;
  else if (status)
    set_why(&x, status);
  do {
    if (leads_growth(w) && x.waits && !x.status) hear_room(w, limit, &x);
    if (!w->least && x.status == TUTTI_ERR_UNSUPPORTED) x = (word){.joiners = 0};
    status = tt_broadcast(w->rest, w->name, 0, &x, sizeof x);
    tt_long_wait_for(&wait, "joiners");
  } while (!status && !x.status && x.waits);
  tt_long_wait_end(&wait);
  *joiners = x.joiners;
  if (!status && x.status) return tt_fail((tutti_status)x.status, "%s: %.250s", w->name, x.why);
  return status;
}

/* ---- a round ---- */

enum { SLOT = 4096 /* size of the row that a survivor sends to the leader, in bytes */ };

typedef struct rows { /* on the leader: the rows of all ranks of the new communicator */
  const tt_row **row;
  tt_row *own;
  char *slots;  /* rows of the survivors */
  char *guests; /* rows of the joiners */
} rows;

static void free_rows(rows *x) {
  free(x->row);
  free(x->own);
  free(x->slots);
  free(x->guests);
}

/* Returns the new rank of survivor r. */
static int rank_after(const tt_growth *w, int r) {
  return r < w->invitation.first ? r : r + w->invitation.joiners;
}

/* Sends the row of each survivor, or the survivor's error, to the leader. The leader's own row may have any length. */
static tutti_status bring_to_leader(tt_growth *w, tutti_status failed, const void *mine,
                                    size_t bytes, rows *x) {
  char slot[SLOT] = "";
  size_t n;
  if (!failed && sizeof *x->own + bytes > SLOT && !leads_growth(w))
    failed = tt_fail(TUTTI_ERR_SYSTEM, "it has %zu bytes to say, and %zu are possible", bytes,
                     SLOT - sizeof *x->own);
  x->own = tt_row_new(failed, mine, bytes, &n);
  if (!x->own) return tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", bytes);
  memcpy(slot, x->own, tt_min(n, SLOT));
  return tt_gather_first(w->rest, w->name, slot, x->slots, SLOT);
}

/* Called by the leader. Finds the rows of the survivors in the gathered data. */
static tutti_status read_slots(const tt_growth *w, rows *x) {
  for (int r = 0; r < w->rest->ranks; r++) {
    const tt_row *its = r ? (const tt_row *)(const void *)(x->slots + (size_t)r * SLOT) : x->own;
    if (r && its->bytes > SLOT - sizeof *its)
      return tt_fail(TUTTI_ERR_SYSTEM, "rank %d sent %u bytes", r, its->bytes);
    if (its->of) return tt_row_failure(r, its);
    x->row[rank_after(w, r)] = its;
  }
  return TUTTI_OK;
}

/* Called by the leader. Finds the rows of the joiners in the data from the waiting room, each inside another row. */
static tutti_status read_guests(tt_growth *w, size_t n, rows *x) {
  const tt_invitation *i = &w->invitation;
  const char *at = x->guests, *end = at + n;
  for (int k = 0; k < i->joiners; k++) {
    const tt_row *outer = (const tt_row *)(const void *)at, *its = outer + 1;
    if ((size_t)(end - at) < 2 * sizeof *its) return tt_meet_foreign(&w->line);
    if (tt_row_bytes(outer->bytes) > (size_t)(end - at) - sizeof *outer ||
        outer->bytes < sizeof *its || its->bytes > outer->bytes - sizeof *its)
      return tt_meet_foreign(&w->line);
    if (its->of && its->bytes)
      return tt_fail((tutti_status)its->of, "%.*s", (int)tt_min(its->bytes, 250), its->text);
    x->row[i->first + k] = its;
    at += sizeof *outer + tt_row_bytes(outer->bytes);
  }
  return TUTTI_OK;
}

static tutti_status hear_guests(tt_growth *w, size_t *n, char **body) {
  int kind = 0;
  const tutti_status status =
      tt_room_recv(&w->line, tt_seconds() + w->invitation.limit, &kind, body, n);
  if (status || kind == TT_BROUGHT) return status;
  return tt_meet_foreign(&w->line);
}

/* Called by the leader when a survivor has failed. The cause may be the death of a joiner, since UCX then reports a
 * peer that it cannot reach. The waiting room reports the death shortly afterwards, and the ranks try again. */
static tutti_status blame_joiner(tt_growth *w, tutti_status failed) {
  char why[WHY], *body;
  size_t n;
  snprintf(why, sizeof why, "%.299s", tutti_error());
  if (!tt_room_ready(&w->line, tt_seconds() + LOOK_S)) return failed;
  const tutti_status status = hear_guests(w, &n, &body);
  free(body);
  return status ? status : tt_fail(failed, "%s", why);
}

/* Called by the leader. Builds the table of all rows, and sends it to the joiners. */
static tutti_status make_table(tt_growth *w, rows *x, tt_table *all) {
  size_t n = 0;
  tutti_status status = read_slots(w, x);
  if (status) return blame_joiner(w, status);
  status = hear_guests(w, &n, &x->guests);
  if (!status) status = read_guests(w, n, x);
  if (status || w->last) return status;
  status = tt_table_make(w->invitation.ranks, x->row, all);
  return status ? status : tt_room_send(&w->line, TT_HAND, all->base, all->bytes, NULL, 0);
}

/* Broadcasts the status of the leader, and then the table, to the survivors. */
static tutti_status hand_out(tt_growth *w, tutti_status made, tt_table *all) {
  word said = {.bytes = (uint32_t)all->bytes};
  if (made) set_why(&said, made);
  tutti_status status = tt_broadcast(w->rest, w->name, 0, &said, sizeof said);
  w->told = !status && said.status;
  if (w->told) return tt_fail((tutti_status)said.status, "%.290s", said.why);
  if (status || w->last) return status;
  if (!leads_growth(w)) status = tt_table_new(said.bytes, all);
  if (!status) status = tt_broadcast(w->rest, w->name, 0, all->base, all->bytes);
  if (!status && !leads_growth(w)) status = tt_table_seal(all);
  if (!status && !tt_table_valid(all, w->invitation.ranks))
    status = tt_fail(TUTTI_ERR_SYSTEM, "the first rank handed out no table of %d ranks",
                     w->invitation.ranks);
  return status;
}

static tutti_status gather_with_guests(tt_meeting *m, tutti_status failed, const void *mine,
                                       size_t bytes, tt_table *all) {
  tt_growth *w = m->self;
  const size_t P = leads_growth(w) ? (size_t)m->ranks : 1;
  rows x = {.row = calloc(P, sizeof *x.row), .slots = malloc(P * SLOT)};
  *all = (tt_table){.fd = -1};
  w->told = false;
  tutti_status status =
      x.row && x.slots ? TUTTI_OK : tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu ranks", P);
  if (!status) status = bring_to_leader(w, failed, mine, bytes, &x);
  if (!status) {
    const tutti_status made = leads_growth(w) ? make_table(w, &x, all) : TUTTI_OK;
    status = hand_out(w, made, all);
  }
  free_rows(&x);
  if (status) tt_table_drop(all);
  if (status && !w->told) tt_comm_spoil(w->rest, status); /* lets the others stop waiting */
  return status;
}

/* ---- an attempt ---- */

/* Called by the leader. Sends an invitation to the joiners, followed by the restrictions on plans as text. */
static tutti_status invite(tt_growth *w) {
  tt_text text = {.at = NULL};
  tt_override_print(&text, &w->rest->settings.override);
  tt_text_add(&text, "%c", 0);
  const tutti_status status =
      text.failed ? tt_fail(TUTTI_ERR_MEMORY, "out of memory for the algorithms of joiners")
                  : tt_room_send(&w->line, TT_HAND, &w->invitation, sizeof w->invitation, text.at,
                                 text.length);
  free(text.at);
  return status;
}

static tutti_status create_with_guests(tt_growth *w, int joiners, tutti_comm **out) {
  tutti_comm *rest = w->rest;
  tt_invitation *i = &w->invitation;
  *i = (tt_invitation){.ranks = rest->ranks + joiners,
                       .first = rest->ranks - rest->helpers,
                       .joiners = joiners,
                       .helpers = rest->helpers,
                       .limit = tt_connect_timeout(120),
                       .settings = rest->settings.plain};
  tt_meeting m = {
      .rank = rank_after(w, rest->rank),
      .ranks = i->ranks,
      .limit = i->limit,
      .light =
          true, /* so that no rank of the new communicator waits for a rank that has abandoned it */
      .wide = true,
      .gather = gather_with_guests,
      .self = w};
  tt_table none;
  tutti_status status = leads_growth(w) ? invite(w) : TUTTI_OK;
  if (!status) status = tt_create(&m, NULL, out);
  if (!status) status = tt_guest_settle(*out, i, &rest->settings.override);
  if (*out) status = tt_comm_spoil(*out, status);
  w->last = true;
  return gather_with_guests(&m, status, NULL, 0, &none);
}

tt_growth *tt_grow_begin(tutti_comm *rest, int least, const char *name) {
  tt_growth *w = calloc(1, sizeof *w);
  if (!w) return NULL;
  *w = (tt_growth){.rest = rest, .least = least, .name = name, .line = {.fd = -1}};
  return w;
}

tt_grown tt_grow_try(tt_growth *w, tutti_comm **out, tutti_status *status) {
  int joiners = 0;
  *out = NULL;
  *status = claim_joiners(w, &joiners);
  if (!*status && !joiners)
    *out = w->rest;
  else if (!*status)
    *status = create_with_guests(w, joiners, out);
  if (!*status) return TT_GROW_DONE;
  return *status == TUTTI_ERR_PEER_LOST || *status == TUTTI_ERR_ABORTED ? TT_GROW_AGAIN
                                                                        : TT_GROW_FAILS;
}

void tt_grow_end(tt_growth *w, bool admits) {
  if (admits && w->line.fd >= 0 && w->invitation.joiners)
    tt_room_send(&w->line, TT_ADMIT, NULL, 0, NULL, 0);
  tt_room_close(&w->line);
  free(w);
}
