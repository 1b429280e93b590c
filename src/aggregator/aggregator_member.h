/* aggregator_member.h - inside a member of sums: its turns, what it has sent, and the takeover.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_AGGREGATOR_MEMBER_H
#define TT_AGGREGATOR_MEMBER_H

#include "aggregator.h"

enum { TT_AGGREGATOR_BUFFER = 256 << 10 };

/* ---- what this member has sent (kept_shares.c) ---- */

/* Heads and bytes of all turns from `turn` on, in order: at[from] to at[to]. */
typedef struct tt_kept_shares {
  char *at;
  size_t from, to, capacity;
  uint64_t turn; /* turns before */
  bool failed;   /* there was no memory for some */
} tt_kept_shares;

void tt_kept_add(tt_kept_shares *k, const void *bytes, size_t n);
/* All members have the sums of the first `got` turns. */
void tt_kept_drop(tt_kept_shares *k, uint64_t got);
/* Where a turn begins, and the bytes of the sums, with their heads, of the turns from there to `end`. false: it is
 * not kept. */
bool tt_kept_find(const tt_kept_shares *k, uint64_t turn, uint64_t end, size_t *at, size_t *sums);
void tt_kept_free(tt_kept_shares *k);

/* ---- a member ---- */

/* Whose turn it is on one of the two ways. */
typedef struct tt_turns {
  uint64_t op;      /* index in the queue of operations */
  uint32_t slice;   /* of that operation */
  uint64_t moved;   /* bytes of this turn that have passed, without its head */
  uint32_t part;    /* index of the virtual rank whose bytes pass */
  uint64_t of_part; /* bytes of it that have passed */
  size_t head;      /* bytes of its head that have passed */
} tt_turns;

typedef struct tt_takeover tt_takeover;

typedef struct tt_aggregator_member {
  tt_wire wire;
  tt_secure *secure;   /* of fd */
  int fd, epoll, also; /* fd: -1: none now; also: the descriptor in `epoll` beside fd; -1: none */
  uint32_t events;
  char where[TT_AGGREGATOR_WHERE], why[TT_AGGREGATOR_WHY];
  bool lost, differs; /* the connection is over; members made different calls */
  bool blocked;       /* the system took less than was pushed */
  struct {
    uint64_t seq;
    uint32_t window;
  } queue[2 * TT_WINDOW]; /* operations, by their number modulo its length */
  uint64_t queued;        /* operations so far */
  tt_share share[TT_LANE_P2P];
  uint8_t ways[TT_LANE_P2P]; /* on which a share has not passed yet: out, in */
  tt_turns out, in;
  tt_aggregator_head head; /* of the turn that goes out */
  double pace;             /* B/s at most; 0: no limit */
  long silence;            /* s after which the host is lost; 0: never */
  tt_aggregator_sum sum;   /* the head of this turn's sum */
  uint64_t got;            /* turns whose sum has come whole */
  char *buffer;
  size_t from, to; /* what is in the buffer */
  size_t skip;     /* bytes that will come for the second time */
  tt_kept_shares kept;
  size_t again;          /* from here on kept shares are sent again; kept.to: all have been */
  tt_takeover *takeover; /* NULL: the ranks cannot take over */
} tt_aggregator_member;

/* The sums are over on this member; the first reason counts. */
void tt_member_lose(tt_aggregator_member *a, const char *why);
/* Sends kept shares again; true: something moved. */
bool tt_member_send_again(tt_aggregator_member *a);
/* Takes what comes for the second time, though no run waits for it: else the rank that makes the sums could not end.
 * True: something moved. */
bool tt_member_skip(tt_aggregator_member *a);

/* ---- the ranks in the place of the aggregator (takeover.c) ---- */

/* The wire among the ranks is yet to come. NULL: out of memory. */
tt_takeover *tt_takeover_new(const tt_session_map *map, int ranks);
void tt_takeover_free(tt_takeover *t);
/* The aggregator is lost; from now on no sums are made, until all ranks know. */
void tt_takeover_begin(tt_aggregator_member *a, const char *why);
tt_sums_by tt_takeover_by(const tt_takeover *t, uint64_t *from);
bool tt_takeover_drive(tt_aggregator_member *a, tt_wire *among, uint64_t seq);
/* A rank that has not said where it is; on others than the first rank: the first. */
int tt_takeover_awaits(const tt_takeover *t);
bool tt_takeover_owes(const tt_aggregator_member *a);
/* Are all ranks alive, as far as is known? */
bool tt_takeover_alive(const tt_takeover *t);

#endif
