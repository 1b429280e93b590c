/* sim.h - the state of a simulation: the steps of all ranks, or of one that represents all, and the
 * messages between them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_H
#define TT_SIM_H

#include "cost.h"

/* A message. Steps are numbered over all simulated ranks. */
typedef struct tt_sim_message {
  uint32_t from, to;       /* the steps */
  uint32_t sender, reader; /* ranks */
  uint8_t level;           /* where their paths part */
  uint8_t narrowest;       /* level of the slowest link */
  double share;            /* fraction of the vector */
  double slope;  /* s/B of the whole vector through that link, with all messages that cross it in the round */
  double way;    /* s for the nodes of a torus on its path */
  double head;   /* s between the arrival of the first of those messages at the link and its own */
  double late;   /* s/B as slope: of the messages that arrive last, if it is one of them; else of it alone */
  double early;  /* s between its departure and the end of its step's work */
  double o_next; /* s of a core on arrival, before its reader's step */
} tt_sim_message;

/* A message between hosts whose links differ: its total time, and how long the ports at its ends are
 * busy with it. Slopes as above. */
typedef struct tt_sim_ends {
  double alpha, L;
  double out_alpha, in_alpha, out_slope, in_slope;
  double crowd; /* fraction of the vector that crosses a host's link together with it */
  double rest;  /* s/B of the whole vector through the slowest link other than the hosts' */
} tt_sim_ends;

/* The work of a step on its rank's processor: seconds, and s/B of the whole vector. */
typedef struct tt_sim_task {
  uint32_t sim_rank, turn; /* its rank, and its index there */
  uint32_t needs;          /* messages and steps that it waits for */
  bool receives;
  bool alone;    /* it waits for no other step */
  bool messages; /* it has messages that take processor time */
  double o, copying, reducing;
} tt_sim_task;

/* The times of a step, or of a message's departure or arrival (numbered consecutively), and the
 * cause of its start. The next user of a message's port need not wait for L: the port is free at
 * once. A message that arrives as it leaves has the same cause for both. */
typedef struct tt_sim_timing {
  double ready, end;
  double floor;          /* of a step that receives: the earliest end */
  double rest;           /* time from the writer's end to the floor */
  uint32_t cause, needs; /* cause: of its start */
  uint32_t writer;       /* the step that determines the floor */
  uint8_t level;         /* of the message from it */
} tt_sim_timing;

/* An event that may happen next: a step, a departure, or an arrival (numbered in this order). */
typedef struct tt_sim_event {
  double at;
  uint64_t order; /* 2 bits: step, departure or arrival; 30: index of its step; 32: number */
} tt_sim_event;

struct tt_sim {
  tt_cost_model model;
  bool idle;                /* steps take no time (for finding rounds) */
  int sim_ranks;            /* 1, which represents all ranks, or all */
  uint32_t steps, messages; /* totals over all slices */
  int senders; /* ranks that send to rank 0 over the level that bounds the time */
  uint32_t slices;
  tt_sim_task *task;            /* of each step */
  uint32_t *then_at, *then;     /* the steps that wait for each step */
  uint32_t *message_at;         /* index of each step's first message, and the end */
  tt_sim_message *message;      /* by sending step, in the order of its peers */
  tt_sim_ends *ends;            /* of each message; NULL: all hosts have equal links */
  double link_slope;            /* s/B of the vector through the busiest link */
  uint8_t link_level;           /* its level */
  double link_burst;            /* its burst credit in B */
  double link_incast;           /* its incast threshold in B of a message; 0: none */
  double saved[TT_TREE_LEVELS]; /* B of the vector that a link's burst credit covers */
  tt_sim_timing *timing;        /* of each step and message */
  tt_sim_event *event;          /* the heap's memory */
  double part;                  /* of the vector: its part */
  bool staged;                  /* it is a stage of a composition, on one level: */
  uint8_t level, narrowest;     /* that level, and the level of the slowest link on its paths */
  uint8_t innermost;            /* the level of the ranks' ports */
  struct tt_sim *next;          /* the stage that follows */
};

/* The work of a step, from the model's figures. */
tt_sim_task tt_sim_job(const tt_sched *s, const tt_step *step, const tt_cost_model *model);
/* Fills in the messages and counts them among the tasks' needs. first[rank]: the number of its step
 * 0. False: out of memory, or sends and receives do not match. */
bool tt_sim_match(tt_sim *sim, tt_sched *const *all, const uint32_t *first);
/* Fills in levels and slopes of the messages. */
bool tt_sim_links(tt_sim *sim);
/* The size of the vector, in B, at and above which incast slows the busiest link: a rank then has many long messages in
 * flight, of several slices or of more than two senders. 0: never. */
double tt_sim_incast_threshold(const tt_sim *sim);
/* Where the links of hosts differ (sim_ends.c). Allocates sim->ends, which is NULL if they do not; false: out of
 * memory. */
bool tt_sim_ends_new(tt_sim *sim);
/* The i-th message has its share and its level. */
void tt_sim_ends_begin(tt_sim *sim, uint32_t i);
/* It crosses a link of that level, together with others: `carried` of the vector. */
void tt_sim_ends_cross(tt_sim *sim, uint32_t i, int level, double carried);
/* It has its slope. */
void tt_sim_ends_finish(tt_sim *sim, uint32_t i);
/* The round of each message, from 0: found by a simulation in which messages take one unit of
 * time. A rank with several ports has several messages in a round. */
bool tt_sim_rounds(tt_sim *sim, uint32_t *round);
/* The simulation of one stage, or of a plan without stages, without that bound. */
bool tt_sim_alone(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* As tt_sim_run, but without the lower bound by the busiest link. */
bool tt_sim_unbound(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* ---- unknown placement (contention.c) ---- */

/* Are these two events departures of a step's messages, or arrivals for one step, where the placement is unknown? */
bool tt_sim_together(const tt_sim *sim, uint32_t last, uint32_t event);
/* Gives the messages over such links the slopes of links that several messages share by chance. False: out of memory. */
bool tt_sim_mix(tt_sim *sim, const uint32_t *round);
/* Allocates timings and events. */
bool tt_sim_reserve(tt_sim *sim);
/* The fraction of the vector that a step moves to, or from, one peer. */
double tt_step_share(const tt_sched *s, const tt_step *step);

#endif
