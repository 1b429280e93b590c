/* aggregator_daemon.h - internals of the daemon: sessions, and their requests to the event loop.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_DAEMON_H
#define TT_AGGREGATOR_DAEMON_H

#include "aggregator.h"
#include "kernel.h"

typedef struct tt_session tt_session;

/* Turns whose sums are in the ring; what a member wants in them is found by their number modulo this. */
enum { TT_SESSION_TURNS = 8 };

typedef struct tt_member {
  int fd;             /* -1: not connected yet; -2: gone */
  tt_secure *secure;  /* of this connection; its owner's */
  void *owner;        /* the loop's, of this connection */
  uint64_t turn, out; /* the turn whose sums it gets; bytes of the ring that it needs no more */
  tt_stretch gives;   /* in this turn */
  tt_stretch wants[TT_SESSION_TURNS];
  bool in_wanted, out_wanted; /* the session continues when the connection can be read; written */
  bool sends_no_more; /* its side of the connection is closed, but some of its bytes are still unread */
} tt_member;

typedef enum tt_stage { TT_HEADS, TT_ANSWER, TT_SUMS } tt_stage;

typedef struct tt_uplink {
  int fd;
  tt_secure *secure;          /* its owner's */
  void *owner;                /* the loop's, of this connection; NULL: it is closed */
  double lost_since;          /* s */
  bool lost;                  /* no turn continues */
  bool in_wanted, out_wanted; /* as of a member */
  size_t from, to;            /* bytes that still have to be sent to the parent */
  size_t head;                /* bytes of the answer's head that have come */
  tt_aggregator_sum answer;
  uint64_t back; /* bytes behind it that have come */
  char bytes[];
} tt_uplink;

struct tt_session {
  tt_aggregator_seat seat; /* of the first member that came */
  uint32_t here;           /* members that are there */
  double since;            /* s, when the first came */
  bool ending;             /* no turn begins any more: a member has gone, or members differ */
  bool more;               /* there is more to do without waiting */
  bool over; /* to be closed: everything has been sent, or an error occurred */
  tt_stage stage;
  uint32_t next;                  /* the member whose head, or piece, is read */
  size_t have;                    /* bytes of it that have come */
  tt_aggregator_head head, other; /* of this turn; of the next member */
  tt_reducer reducer;
  tt_stretch gives, wants; /* of all members together, in this turn */
  uint64_t at;             /* where in the vector the next piece begins */
  size_t piece;            /* bytes that are summed in one pass, at most */
  uint32_t givers;         /* members whose bytes are in the sum of this piece */
  char *sum, *operand, *ring;
  tt_uplink *up; /* NULL: sums are complete here */
  uint64_t made; /* bytes put into the ring so far */
  struct {
    uint64_t begin, end; /* of its sums in the ring, with their head */
    uint64_t at;         /* where in the vector these sums begin */
  } turn[TT_SESSION_TURNS];
  uint64_t answered;     /* turns whose head is in the ring */
  uint64_t turns, bytes; /* for the log */
  struct tt_session *following;
  tt_member member[];
};

/* Bytes of memory of a session. */
size_t tt_session_bytes(const tt_aggregator_seat *seat);
/* NULL: out of memory. */
tt_session *tt_session_new(const tt_aggregator_seat *seat);
/* Does what can be done without waiting. Then each member's in_wanted and out_wanted say what for. */
void tt_session_go_on(tt_session *s);
/* A member's connection has ended. */
void tt_session_leave(tt_session *s, uint32_t member);
void tt_session_free(tt_session *s);

/* ---- to the aggregator above (uplink.c) ---- */

/* Over a connection that has a seat there, and its owner. NULL: out of memory. The caller frees it and closes the
 * connection. */
tt_uplink *tt_uplink_new(tt_connection to, void *owner);
size_t tt_uplink_bytes(void);
/* How many bytes can be put before some are sent; put: that many at most. */
size_t tt_uplink_room(const tt_uplink *u);
void tt_uplink_put(tt_uplink *u, const void *bytes, size_t n);
/* Did anything move? */
bool tt_uplink_send(tt_uplink *u);
/* Returns how many of n bytes have come. */
size_t tt_uplink_read(tt_uplink *u, void *to, size_t n);

#endif
