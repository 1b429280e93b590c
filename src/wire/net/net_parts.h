/* net_parts.h - declarations shared by the files of the message wire.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_NET_PARTS_H
#define TT_NET_PARTS_H

#include <limits.h>
#include <stdlib.h>

#include "agree.h"

enum {
  SMALL = 8 << 10,  /* largest number of bytes that a packet carries; fewer in simulated networks */
  PIECE = 32 << 10, /* size of a data message after a packet, in bytes: small enough that MPI
                       libraries do not use a rendezvous */
  LONG_PIECE = 4 * PIECE, /* maximum over a stream, where each message costs system calls */
  OUT = 8,
  IN = 4, /* OUT, IN: messages in flight for each pair and lane */
  RECORDS = 2 * TT_WINDOW,
  DONE = 32, /* completions fetched per poll */
  TAG_BYTES = TT_LANES,
  TAG_CONTROL = 2 * TT_LANES,
  TAG_AGREE
};
_Static_assert((int)TAG_AGREE < (int)TUTTI_NET_TAGS, "tags");

/* The header of a packet. It has the low 32 bits of the network's id and of the operation's number, and the operation's
 * record. For a point-to-point message, the record has only its stamp and NO_RECORD. The header also has the size of a data
 * message that follows separately. If a data message follows, the packet itself carries no data. */
typedef struct tt_heading {
  uint32_t net, seq, hash, root;
  uint64_t count;
  uint32_t behind;
  uint16_t op : 14, rail : 2; /* rail: that carries the data message */
  uint8_t coll, type;
} tt_heading;
_Static_assert(sizeof(tt_heading) == 32, "every message carries it");
_Static_assert(TUTTI_OP_USER_END <= 1 << 14 && TUTTI_NET_RAILS <= 1 << 2, "both fit");

enum { NO_RECORD = UINT8_MAX, NEVER = INT_MAX /* instead of a slot: the message is lost */ };

static inline void tt_heading_fill(tt_heading *h, const tt_record *r) {
  h->root = r->root;
  h->count = r->count;
  h->op = (uint16_t)(r->op & ((1u << 14) - 1));
  h->coll = (uint8_t)r->coll;
  h->type = (uint8_t)r->type;
}
/* near: a number that was current at about the same time (see tt_widen). */
static inline tt_record tt_heading_record(const tt_heading *h, uint64_t near) {
  return (tt_record){{tt_widen(h->seq, near), h->hash}, h->coll, h->type, h->op, h->root, h->count};
}

typedef struct tt_net_control {
  uint64_t net;
  int32_t status;  /* status of a communicator that has ended; 0 if the message carries records */
  uint64_t about;  /* the operation that the sender asks about, and whose record `records` holds; 0
                      in an answer */
  uint64_t answer; /* in an answer, the operation asked about; the peer may not have called it
                      yet */
  union {
    tt_record records[RECORDS];
    char reason[320];
  };
} tt_net_control;

typedef struct tt_packet {
  struct tt_packet *next; /* in the free list */
  tt_heading head;
  char bytes[];
} tt_packet;

typedef struct tt_piece { /* being received, or received */
  tt_packet *packet;
  char *at, *bounce; /* bounce: buffer the bytes were received into, or NULL */
  uint64_t bytes;
  int slot; /* of the receive of the bytes; -1 once they have arrived */
} tt_piece;

typedef struct tt_in_end {
  int peer, lane;
  tt_piece queue[IN];
  uint32_t first, n;
  int listens; /* slot of the packet receive; -1 if no receive is posted */
  tt_packet *packet;
  uint64_t used; /* bytes of the first piece that have been consumed */
  bool early;    /* the bytes of the first piece are being received before its packet */
} tt_in_end;

typedef struct tt_out_rail { /* data messages to one rank over one device */
  uint32_t flying, window;   /* messages in flight; messages allowed in flight, 1 to OUT */
  double shortest;           /* fastest time from the start of a message to its receipt, in
                                seconds */
} tt_out_rail;

typedef struct tt_out_end {
  int peer, lane;
  uint32_t packets;    /* in flight */
  uint64_t sent, over; /* data messages: number started; all before `over` have completed */
  tt_out_rail rail[TUTTI_NET_RAILS];
  struct {
    bool done;
    int rail;
    double since; /* 0: no receipt requested */
  } flight[OUT];
  char *packed; /* a message under assembly (net_simulated.c) */
  size_t have;
} tt_out_end;

typedef enum kind {
  FREE,
  PACKET_OUT,
  BYTES_OUT,
  CONTROL_OUT,
  AGREE_OUT,
  PACKET_IN,
  BYTES_IN,
  STALE_IN,
  CONTROL_IN,
  AGREE_IN
} tt_slot_kind;

typedef struct tt_slot {
  tt_slot_kind kind;
  bool sure; /* the send completes only after its receive has begun */
  bool more; /* another send to the same rank follows immediately */
  union {
    tt_in_end *in;
    tt_out_end *out;
  };
  void *what;      /* packet, piece or control message; for outgoing bytes, the bounce buffer */
  uint64_t ticket; /* of outgoing bytes */
  int next_spare;  /* FREE: the next free slot, plus one; 0: none */
} tt_slot;

/* All outstanding requests. */
typedef struct tt_requests {
  tt_slot *slots;
  int spare, n, top; /* spare: a free slot plus one; n: number of slots; slots at and above top are
                        free */
} tt_requests;

/* Records of the ranks' calls (net_control.c). */
typedef struct tt_records {
  tt_record mine[RECORDS]; /* [seq mod RECORDS] */
  uint64_t newest;         /* number of the most recent one */
  int answers;             /* number of answers to the last inquiry */
} tt_records;

/* A peer that this rank has exchanged messages with, or has asked for records. */
typedef struct tt_net_peer {
  tt_in_end *in[TT_LANES]; /* made at first use, as is `out` */
  tt_out_end *out[TT_LANES];
  tt_record records[RECORDS]; /* as in tt_records */
  uint64_t asked, answered;   /* the last operation that the peer was asked about, and that it
                                 answered */
} tt_net_peer;

typedef struct tt_given { /* allocated by alloc */
  struct tt_given *next;
  void *at;
} tt_given;

typedef struct tt_net_agreement tt_net_agreement;

typedef struct tt_net {
  tt_wire wire;
  tutti_net net;
  bool failed; /* the network must not be called again */
  bool *lost;  /* for each peer, true if the network has reported it lost */
  tt_requests requests;
  tt_net_peer **peers;         /* by rank; NULL: not in use */
  tt_packet *packets;          /* free list */
  size_t piece;                /* maximum size of a data message */
  void *bounces;               /* free list, linked through the first word */
  int sending;                 /* sends in flight, except control messages and TT_LANE_P2P */
  int rails, last_rail;        /* last_rail: of the last data message */
  int flying[TUTTI_NET_RAILS]; /* data messages in flight on each rail, to all ranks */
  tt_records records;
  uint32_t splits; /* number of splits so far */
  tt_net_control hears;
  tutti_status aborted;
  double draining_since; /* time in seconds when waiting for outgoing messages started; 0 if not
                            waiting */
  char reason[sizeof((tt_net_control *)0)->reason];
  tt_net_agreement *agreement; /* NULL until first used */
  tt_given *given;
  int32_t *pids;
  uint8_t *level; /* tt_wire.paced.level */
  tt_shown shown;
} tt_net;

static inline tt_net *tt_net_of(tt_wire *w) {
  return (tt_net *)w;
}

/* ---- progress and shutdown (net_recv.c) ---- */

/* Entries of the tables in wire.h. */
tutti_status tt_net_poll(tt_wire *w, bool *moved);
void tt_net_close(tt_wire *w);

/* ---- requests, and their memory (net_slots.c) ---- */

/* Marks the network as failed, so that none of its functions is called again. Sets tutti_error() to a description of the
 * failed call and the reason. */
tutti_status tt_net_failed(tt_net *m, const char *what, int peer);
/* Starts the request described by the slot. If `number` is not NULL, stores the slot's number in *number. */
tutti_status tt_slot_start(tt_net *m, tt_slot what, int peer, int tag, void *bytes, size_t n,
                           int *number);
void tt_slot_give(tt_net *m, int s);
tt_packet *tt_packet_get(tt_net *m); /* returns NULL if out of memory */
void tt_packet_put(tt_net *m, tt_packet *p);
char *tt_bounce_get(tt_net *m, size_t bytes); /* m->piece bytes, or `bytes` if simulated; NULL if
                                                 out of memory */
void tt_bounce_put(tt_net *m, void *at);
void *tt_net_alloc(tt_wire *w, size_t bytes); /* an entry of the table in wire.h */
bool tt_net_free(tt_wire *w, void *at);

/* ---- sending (net_send.c) ---- */

tt_out_end *tt_net_out(tt_net *m, int peer, int lane); /* returns NULL if out of memory */
/* Marks a rank as in use until the network is closed. Returns the rank's state, or NULL if out of memory. */
static inline tt_net_peer *tt_net_use(tt_net *m, int peer) {
  tt_net_peer **p = &m->peers[peer];
  return *p ? *p : (*p = calloc(1, sizeof **p));
}
tutti_status tt_packet_send(tt_net *m, tt_out_end *e, tt_stamp stamp, const void *bytes,
                            size_t inside, size_t behind, int rail);
/* Records that a data message has been started on this rail, and returns its ticket. since: start time in s; 0: no
 * receipt. */
uint64_t tt_bytes_begin(tt_net *m, tt_out_end *e, int rail, double since);
/* Records that the data message with this ticket has left this process or, if a receipt was requested, has been received. */
void tt_bytes_left(tt_net *m, tt_out_end *e, uint64_t ticket);
/* Returns the tag of the data message that follows a packet. */
static inline int tt_bytes_tag(int lane, int rail) {
  return rail * TUTTI_NET_TAGS + TAG_BYTES + lane;
}
/* Entries of the table in wire.h. */
size_t tt_net_push(tt_wire *w, int peer, int lane, tt_stamp stamp, const void *bytes, size_t n,
                   size_t left, uint64_t *ticket, tutti_status *status);
bool tt_net_consumed(tt_wire *w, int peer, int lane, uint64_t ticket);

/* ---- simulated networks (net_simulated.c) ---- */

size_t tt_simulated_packet(int ranks); /* returns how many bytes fit in a packet */
/* Entries of the table in wire.h. */
tutti_status tt_net_set_levels(tt_wire *w, const uint8_t *level, bool at_once);
atomic_ullong *tt_net_make_proofs(int ranks);
void tt_net_share_proofs(tt_wire *w, atomic_ullong *proofs, bool joins);
void tt_simulated_drop_proofs(tt_net *m);
size_t tt_simulated_push(tt_net *m, tt_out_end *e, tt_stamp stamp, const void *bytes, size_t n,
                         size_t left, uint64_t *ticket, tutti_status *status);
void tt_simulated_expect(tt_net *m, tt_in_end *e, void *to,
                         size_t left); /* to: if NULL, a bounce buffer is used */
/* Handles the arrival of a packet. The data message that follows the packet may have arrived first. */
tutti_status tt_simulated_came(tt_net *m, tt_in_end *e, tt_piece *p, size_t inside, size_t behind);

/* ---- control messages (net_control.c) ---- */

tt_record *tt_net_record_of(tt_net *m, int peer, uint64_t seq); /* returns NULL if out of memory */
void tt_net_learn_record(tt_net *m, int peer, const tt_record *r);
tutti_status tt_net_listen(tt_net *m); /* starts receiving control messages from any rank */
void tt_net_control_came(tt_net *m, int peer);
/* Marks a rank as lost. If the communicator has already ended, sends the announcement of its end again. */
void tt_net_lose_peer(tt_net *m, int peer);
extern const tt_peer_ops tt_net_peer_ops;

/* ---- agreement (net_agree.c) ---- */

extern const tt_net_agree_ops tt_net_agree_table;
tutti_status tt_net_agree_listen(tt_net *m); /* posts the receive of the next message */
tutti_status tt_net_agree_heard(tt_net *m, int from, size_t bytes);

#endif
