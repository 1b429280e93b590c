/* room_line.c - the calling end of a connection to a waiting room (room.h): joiners, leaders, launchers.
 *
 * Invariant  No frame is sent before the room has proven that it knows the key.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "room.h"
#include "secure.h"
#include "tutti_launch.h"

enum { STEP = 64 << 10, PAD = 8 /* in bytes */ };
static const double PATIENCE = 5; /* seconds for the handshake, and for the remainder of a reply */

tutti_status tt_room_open(const tt_rendezvous *r, int rank, double limit, tt_meet_line *l) {
  *l = tt_meet_line_new(r, rank, 0, limit);
  tutti_status status = tt_meet_dial(l, r);
  if (!status) status = tt_meet_prove(l, PATIENCE);
  if (status) tt_room_close(l);
  return status;
}

void tt_room_close(tt_meet_line *l) {
  tt_secure_drop(&l->secure);
  if (l->fd >= 0) close(l->fd);
  l->fd = -1;
}

tutti_status tt_room_send(tt_meet_line *l, int kind, const void *head, size_t n, const void *bytes,
                          size_t more) {
  l->until = tt_seconds() + PATIENCE;
  return tt_meet_send_frame(l, kind, head, n, bytes, more);
}

bool tt_room_ready(const tt_meet_line *l, double until) {
  return tt_secure_waiting(l->secure) || tt_meet_ready(l->fd, POLLIN, until, NULL);
}

/* Receives the body of a reply, and appends a few zero bytes. The memory grows while the data arrives, because a
 * header may announce a much larger size. */
static tutti_status recv_body(tt_meet_line *l, size_t bytes, double until, char **body) {
  tutti_status status = TUTTI_OK;
  for (size_t have = 0, room; !status && (have < bytes || !*body); have = room) {
    room = tt_min(bytes, 2 * have + STEP);
    char *more = realloc(*body, room + PAD);
    if (!more) {
      status = tt_fail(TUTTI_ERR_MEMORY, "out of memory for %zu bytes", bytes);
      break;
    }
    *body = more;
    memset(more + have, 0, room - have + PAD);
    status = tt_meet_recv(l, more + have, room - have, until);
  }
  if (!status) return status;
  free(*body);
  *body = NULL;
  return status;
}

tutti_status tt_room_recv(tt_meet_line *l, double until, int *kind, char **body, size_t *bytes) {
  tt_reply reply;
  *body = NULL;
  *bytes = 0;
  if (!tt_room_ready(l, until)) {
    if (errno == ECANCELED) return tt_say_interrupted("tutti_comm_from_env");
    return tt_fail(TUTTI_ERR_TIMEOUT, "the waiting room at %s has not answered", l->at);
  }
  const double end = tt_seconds() + PATIENCE;
  tutti_status status = tt_meet_recv(l, &reply, sizeof reply, end);
  if (status) return status;
  if (reply.status < 0) return tt_meet_sentence(l, &reply, end);
  if (reply.status < TT_CLAIMED || reply.status > TT_NUMBERED) return tt_meet_foreign(l);
  *kind = reply.status;
  *bytes = reply.bytes;
  return recv_body(l, reply.bytes, end, body);
}

tutti_status tutti_newcomer_ask(const tutti_id *id, const tutti_newcomer_news *news, int *first,
                                int *n) {
  static const char me[] = "tutti_newcomer_ask";
  tt_rendezvous r;
  tt_meet_line l;
  tt_numbers got = {0, 0};
  char *body = NULL;
  size_t bytes = 0;
  int kind = 0;
  tutti_status status = tt_args_given(me, "id", id, "news", news);
  if (!status) status = tt_args_given(me, "first", first, "n", n);
  if (!status) status = tt_size_check(me, "news", news->size, sizeof *news);
  if (status) return status;
  *first = *n = 0;
  if (!memchr(id->text, 0, sizeof id->text))
    return tt_fail(TUTTI_ERR_ARG, "%s: the id has no end", me);
  const tt_news_of said = {news->part, news->rank, news->newcomer, news->lost_ranks, news->wants};
  status = tt_rendezvous_read(id->text, &r);
  if (!status) status = tt_room_open(&r, 0, PATIENCE, &l);
  if (status) return status;
  status = tt_room_send(&l, TT_NEWS, &said, sizeof said, NULL, 0);
  if (!status) status = tt_room_recv(&l, tt_seconds() + PATIENCE, &kind, &body, &bytes);
  if (!status && (kind != TT_NUMBERED || bytes != sizeof got)) status = tt_meet_foreign(&l);
  if (!status) memcpy(&got, body, sizeof got);
  *first = got.first;
  *n = got.n;
  free(body);
  tt_room_close(&l);
  return status;
}
