/* aggregator_daemon.h - declarations for the daemon: sessions, and their requests to the event loop.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_DAEMON_H
#define TT_AGGREGATOR_DAEMON_H

#include "aggregator.h"
#include "kernel.h"

typedef struct tt_session tt_session;

/* Maximum number of turns whose sums are in the ring at the same time. The array of the ranges that a member wants is indexed
 * by the turn, modulo this number. */
enum { TT_SESSION_TURNS = 8 };

typedef struct tt_member {
  int fd;             /* -1: not connected yet; -2: disconnected */
  tt_secure *secure;  /* of this connection; belongs to `owner` */
  void *owner;        /* the event loop's data for this connection */
  uint64_t turn, out; /* the turn whose sums the member receives; bytes of the ring that it has
                         received or skipped */
  tt_stretch gives;   /* in the current turn */
  tt_stretch wants[TT_SESSION_TURNS];
  bool in_wanted, out_wanted; /* the session can continue once the connection is readable, or
                                 writable */
  bool sends_no_more; /* the member has closed its side of the connection, but some of its bytes are
                         still unread */
} tt_member;

typedef enum tt_stage { TT_HEADS, TT_ANSWER, TT_SUMS } tt_stage;

typedef struct tt_uplink {
  int fd;
  tt_secure *secure;          /* belongs to `owner` */
  void *owner;                /* the event loop's data for this connection; NULL once it is
                                 closed */
  double lost_since;          /* time in seconds */
  bool lost;                  /* the connection is lost; the current turn cannot continue */
  bool in_wanted, out_wanted; /* as in tt_member */
  size_t from, to;            /* the range of `bytes` that still has to be sent to the parent */
  size_t head;                /* bytes of the answer's head that have arrived */
  tt_aggregator_sum answer;
  uint64_t back; /* bytes after the head that have arrived */
  char bytes[];
} tt_uplink;

struct tt_session {
  tt_aggregator_seat seat; /* of the first member that arrived */
  uint32_t here;           /* number of members that have arrived */
  double since;            /* time in seconds when the first member arrived */
  bool ending;             /* no further turn starts, because a member has left or members made
                              different calls */
  bool more;               /* the session can do more work without waiting */
  bool over; /* the session must be closed: everything has been sent, or an error occurred */
  tt_stage stage;
  uint32_t next;                  /* the member whose head or piece is being read */
  size_t have;                    /* bytes of it that have arrived */
  tt_aggregator_head head, other; /* of this turn; of the next member */
  tt_reducer reducer;
  tt_stretch gives, wants; /* the union of all members' ranges, in this turn */
  uint64_t at;             /* offset of the next piece in the vector */
  size_t piece;            /* maximum number of bytes summed in one pass */
  uint32_t givers;         /* number of members whose bytes are in the sum of this piece */
  char *sum, *operand, *ring;
  tt_uplink *up; /* NULL if sums are complete here */
  uint64_t made; /* number of bytes written to the ring so far */
  struct {
    uint64_t begin, end; /* range of its sums in the ring, including their head */
    uint64_t at;         /* offset of these sums in the vector */
  } turn[TT_SESSION_TURNS];
  uint64_t answered;     /* number of turns whose head has been written to the ring */
  uint64_t turns, bytes; /* for the log */
  struct tt_session *following;
  tt_member member[];
};

/* Returns the memory that a session needs, in bytes. */
size_t tt_session_bytes(const tt_aggregator_seat *seat);
/* Returns NULL if out of memory. */
tt_session *tt_session_new(const tt_aggregator_seat *seat);
/* Does all work that needs no waiting. Sets in_wanted and out_wanted of each member to the events to wait for next. */
void tt_session_go_on(tt_session *s);
/* Notifies the session that a member's connection has ended. */
void tt_session_leave(tt_session *s, uint32_t member);
void tt_session_free(tt_session *s);

/* ---- the connection to the aggregator above (uplink.c) ---- */

/* Makes an uplink over a connection to the aggregator above, which has already assigned a seat. `owner` identifies the
 * connection in the event loop. Returns NULL if out of memory. The caller frees the uplink and closes the connection. */
tt_uplink *tt_uplink_new(tt_connection to, void *owner);
size_t tt_uplink_bytes(void);
/* tt_uplink_room returns how many bytes fit into the buffer; tt_uplink_put appends at most that many bytes. */
size_t tt_uplink_room(const tt_uplink *u);
void tt_uplink_put(tt_uplink *u, const void *bytes, size_t n);
/* Returns true if anything was sent. */
bool tt_uplink_send(tt_uplink *u);
/* Reads up to n of the bytes that have arrived. Returns the number of bytes read. */
size_t tt_uplink_read(tt_uplink *u, void *to, size_t n);

#endif
