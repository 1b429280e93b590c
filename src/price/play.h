/* play.h - what is played: the steps of all ranks, or of one that stands for all, and
 * the messages between them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PLAY_H
#define TT_PLAY_H

#include "price.h"

/* One message. Steps are numbered over all that are played. */
typedef struct tt_deal {
  uint32_t from, to;       /* the steps */
  uint32_t sender, reader; /* players */
  uint8_t level;           /* where its ends part */
  uint8_t narrowest;       /* the level of the link that takes longest */
  double share;            /* of the vector */
  double slope;            /* s/B of the whole vector through that link */
  double way;              /* s for the nodes of a torus on the way */
  double early;            /* s before the end of its step's work that it leaves */
  double again;            /* s of a core as it comes, before its reader's step */
} tt_deal;

/* What a step asks of its rank's processor: seconds, and s/B of the whole vector. */
typedef struct tt_job {
  uint32_t player, turn; /* whose, and in which place of its list */
  uint32_t needs;        /* messages and steps that must have come */
  bool receives;
  bool alone;    /* it waits for no other step */
  bool messages; /* it has some that take time of a processor */
  double processor, copying, reducing;
} tt_job;

/* When a step ended, or a message to leave, or to enter (numbered one after another), and
 * what let it begin; what follows a message may have to wait on for `delay`, a port that it
 * held is free at once. A message that enters as it leaves begins by the same cause. */
typedef struct tt_moment {
  double ready, end;
  double floor;          /* of a step that receives: not before this ... */
  double rest;           /* ... which is so long after ... */
  uint32_t cause, needs; /* (or, if the floor holds, ... */
  uint32_t writer;       /* ... this step has ended) */
} tt_moment;

/* What may happen next: a step; or a message that leaves; or, after all those, that enters. */
typedef struct tt_event {
  double at;
  uint64_t order; /* 1 bit: a message; 31: the turn of its step; 32: the number of what happens */
} tt_event;

struct tt_play {
  tt_profile profile;
  bool idle;                    /* steps take no time, for once */
  int players;                  /* 1, which stands for all ranks, or all of them */
  uint32_t steps, deals;        /* how many, in all slices */
  int senders;                  /* from which rank 0 receives */
  uint32_t slices;
  tt_job *job;                  /* of each step */
  uint32_t *then_at, *then;     /* the steps that wait for each */
  uint32_t *deal_at;            /* the first message of each step, and the end */
  tt_deal *deal;                /* by the step that sends it, in the order of its peers */
  double link_slope;            /* s/B of the vector through the link that carries most, in all */
  uint8_t link_level;           /* ... of this level */
  double saved[TT_TREE_LEVELS]; /* B of the vector that its links let through at once */
  tt_moment *moment;            /* when each step and message was */
  tt_event *event;              /* room for what is still to come */
};

/* Fill in the deals, and count them into the jobs' needs. `first`: the number of step 0 of
 * each player. False: out of memory, or some send and receive do not meet. */
bool tt_play_deals(tt_play *play, tt_sched *const *all, const uint32_t *first);
/* Fill in their levels and slopes. */
bool tt_play_links(tt_play *play);
/* In which round each message goes, from 0: played with messages that take one unit of time. */
bool tt_play_rounds(tt_play *play, uint32_t *round);
/* As tt_play_at, were the busiest link not busy all the time. */
bool tt_play_unbound(tt_play *play, double bytes, tt_terms *terms);
/* B that this link lets through at once. */
static inline double tt_play_burst(const tt_play *play) {
  return play->profile.reach[play->link_level].burst;
}
/* Room for the moments and events. */
bool tt_play_room(tt_play *play);
/* What of the vector a step moves to, or from, one peer. */
double tt_step_share(const tt_sched *s, const tt_step *step);

#endif
