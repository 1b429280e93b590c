/* sim.h - what is played: the steps of all ranks, or of one that stands for all, and
 * the messages between them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_H
#define TT_SIM_H

#include "price.h"

/* One message. Steps are numbered over all that are played. */
typedef struct tt_sim_message {
  uint32_t from, to;       /* the steps */
  uint32_t sender, reader; /* players */
  uint8_t level;           /* where its ends part */
  uint8_t narrowest;       /* the level of the link that takes longest */
  double share;            /* of the vector */
  double slope;            /* s/B of the whole vector through that link */
  double way;              /* s for the nodes of a torus on the way */
  double early;            /* s before the end of its step's work that it leaves */
  double o_next;           /* s of a core as it comes, before its reader's step */
} tt_sim_message;

/* What a step asks of its rank's processor: seconds, and s/B of the whole vector. */
typedef struct tt_sim_task {
  uint32_t sim_rank, turn; /* whose, and in which place of its list */
  uint32_t needs;          /* messages and steps that must have come */
  bool receives;
  bool alone;    /* it waits for no other step */
  bool messages; /* it has some that take time of a processor */
  double o, copying, reducing;
} tt_sim_task;

/* When a step ended, or a message to leave, or to enter (numbered one after another), and
 * what let it begin; what follows a message may have to wait on for `delay`, a port that it
 * held is free at once. A message that enters as it leaves begins by the same cause. */
typedef struct tt_sim_timing {
  double ready, end;
  double floor;          /* of a step that receives: not before this ... */
  double rest;           /* ... which is so long after ... */
  uint32_t cause, needs; /* (or, if the floor holds, ... */
  uint32_t writer;       /* ... this step has ended) */
} tt_sim_timing;

/* What may happen next: a step; or a message that leaves; or, after all those, that enters. */
typedef struct tt_sim_event {
  double at;
  uint64_t order; /* 1 bit: a message; 31: the turn of its step; 32: the number of what happens */
} tt_sim_event;

struct tt_sim {
  tt_cost_model model;
  bool idle;                /* steps take no time, for once */
  int sim_ranks;            /* 1, which stands for all ranks, or all of them */
  uint32_t steps, messages; /* how many, in all slices */
  int senders;              /* from which rank 0 receives */
  uint32_t slices;
  tt_sim_task *task;            /* of each step */
  uint32_t *then_at, *then;     /* the steps that wait for each */
  uint32_t *message_at;         /* the first message of each step, and the end */
  tt_sim_message *message;      /* by the step that sends it, in the order of its peers */
  double link_slope;            /* s/B of the vector through the link that carries most, in all */
  uint8_t link_level;           /* ... of this level */
  double saved[TT_TREE_LEVELS]; /* B of the vector that its links let through at once */
  tt_sim_timing *timing;        /* when each step and message was */
  tt_sim_event *event;          /* room for what is still to come */
};

/* Fill in the deals, and count them into the jobs' needs. `first`: the number of step 0 of
 * each player. False: out of memory, or some send and receive do not meet. */
bool tt_sim_match(tt_sim *sim, tt_sched *const *all, const uint32_t *first);
/* Fill in their levels and slopes. */
bool tt_sim_links(tt_sim *sim);
/* In which round each message goes, from 0: played with messages that take one unit of time. */
bool tt_sim_rounds(tt_sim *sim, uint32_t *round);
/* As tt_sim_run, were the busiest link not busy all the time. */
bool tt_sim_unbound(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* B that this link lets through at once. */
static inline double tt_sim_burst(const tt_sim *sim) {
  return sim->model.link[sim->link_level].burst;
}
/* Room for the moments and events. */
bool tt_sim_reserve(tt_sim *sim);
/* What of the vector a step moves to, or from, one peer. */
double tt_step_share(const tt_sched *s, const tt_step *step);

#endif
