/* aggregator_daemon.h - inside the daemon: sessions, and what they want of the loop that serves them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_DAEMON_H
#define TT_AGGREGATOR_DAEMON_H

#include "aggregator.h"
#include "kernel.h"

typedef struct tt_session tt_session;

typedef struct tt_member {
  int fd;                     /* -1: not there yet; -2: gone */
  void *owner;                /* the loop's, of this connection */
  uint64_t out;               /* bytes of the session's sums that it has been sent */
  bool in_wanted, out_wanted; /* the session goes on when the connection can be read; written */
} tt_member;

typedef enum tt_stage { TT_HEADS, TT_ANSWER, TT_SUMS } tt_stage;

struct tt_session {
  tt_aggregator_seat seat; /* of the first member that came */
  uint32_t here;           /* members that are there */
  double since;            /* s, when the first came */
  bool ending;             /* no turn begins any more: a member has gone, or members differ */
  bool more;               /* there is more to do without waiting */
  bool over; /* to be closed, because nothing is left to send, or something is wrong */
  tt_stage stage;
  uint32_t next;                  /* the member whose head, or piece, is read */
  size_t have;                    /* bytes of it that have come */
  tt_aggregator_head head, other; /* of this turn; of the next member */
  tt_reducer reducer;
  uint64_t left; /* bytes of this turn that are not summed yet */
  size_t piece;  /* bytes that are summed at once */
  char *sum, *operand, *ring;
  uint64_t made;         /* bytes put into the ring so far */
  uint64_t turns, bytes; /* for the log */
  struct tt_session *following;
  tt_member member[];
};

/* Bytes of memory of a session. */
size_t tt_session_bytes(uint32_t members);
/* NULL: out of memory. */
tt_session *tt_session_new(const tt_aggregator_seat *seat);
/* Does what can be done without waiting. Then each member's in_wanted and out_wanted say what for. */
void tt_session_go_on(tt_session *s);
/* A member's connection is over. */
void tt_session_leave(tt_session *s, uint32_t member);
void tt_session_free(tt_session *s);

#endif
