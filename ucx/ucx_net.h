/* ucx_net.h - internals of a network over UCX.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_UCX_NET_H
#define TUTTI_UCX_NET_H

#include <stdatomic.h>

#include "ucx.h"

enum { CHUNK = 64, PLAIN = 0, SURE = 1, RECEIPT = 2 };
enum { RANK_BITS = 24, TAG_AT = 24, KIND_AT = 30, NUMBER_AT = 32 };
#define UCX_ALL_RANKS (((ucp_tag_t)1 << RANK_BITS) - 1)
#define UCX_ALL_TAGS  ((ucp_tag_t)63 << TAG_AT)
#define UCX_SURE      ((ucp_tag_t)SURE << KIND_AT)

typedef struct ucx_slot {
  ucx_net *net;
  struct ucx_slot *next; /* in the queue of completed slots, or of those that await receipts */
  int number, peer, tag; /* tag: with its rail, as the table has it */
  int busy;  /* UCX holds it */
  int taken; /* it is a request of tutti's */
  int receives, awaits, failed;
  void *request;
  size_t bytes;
} ucx_slot;

struct ucx_net {
  ucx_net *next; /* of the world */
  ucx_world *world;
  uint32_t number;
  int rank, ranks;
  int *processes;
  ucx_slot **chunks;
  int nchunks, busy, losses; /* busy: requests that UCX holds; losses: the world's, as last seen */
  unsigned skips;            /* polls that found something without UCX progress */
  atomic_int out;            /* busy requests that are sends */
  int closed;
  int told;                     /* how many of the world's losses were reported */
  ucx_slot *first, **end;       /* completed */
  ucx_slot *asked, **asked_end; /* sent, receipt pending: oldest first */
  ucx_slot receipt[TUTTI_NET_RAILS]; /* receives of the next receipts */
  double cancels;               /* start of the first wait for a partial message; 0: none */
  char error[200];
};

static inline int ucx_process(const ucx_net *n, int rank) {
  return n->processes ? n->processes[rank] : rank;
}

static inline int ucx_rail_of(int tag) {
  return tag / TUTTI_NET_TAGS;
}

static inline ucp_tag_t ucx_tag(const ucx_net *n, int kind, int tag, int rank) {
  return (ucp_tag_t)n->number << NUMBER_AT | (ucp_tag_t)kind << KIND_AT | (ucp_tag_t)(tag % TUTTI_NET_TAGS) << TAG_AT |
         (ucp_tag_t)rank;
}

/* For the table (tutti_net.h). */
unsigned ucx_net_fresh(void *self);
int ucx_net_pick(void *self, unsigned number, const int *ranks, int n, tutti_net *net);

#endif
