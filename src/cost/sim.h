/* sim.h - the state of a simulation: the steps of all ranks (or of one that represents all), and the messages between
 * them.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_SIM_H
#define TT_SIM_H

#include "cost.h"

/* A message of the simulation. The numbers of its two steps are unique among all simulated ranks. */
typedef struct tt_sim_message {
  uint32_t from, to;       /* numbers of the sending and the receiving step */
  uint32_t sender, reader; /* ranks */
  uint8_t level;           /* outermost level where the two ranks are in different domains */
  uint8_t narrowest;       /* level of the slowest link on the route */
  double share;            /* fraction of the vector */
  double slope;  /* s/B of the whole vector on that link, for the round's messages that cross it */
  double way;    /* time in intermediate nodes of a torus, in s */
  double head;   /* time from the first of those arriving at the link to its own arrival, in s */
  double late;   /* s/B, like `slope`, of the messages that arrive last, if this is one of them;
                  * otherwise of this message alone */
  double early;  /* time from its departure to the end of its step's work, in s */
  double o_next; /* processor time on arrival, before the reader's step, in s */
} tt_sim_message;

/* A message between hosts that have different links: its total time, and the time for which it occupies the ports at its
 * ends. The slopes have the same units as in tt_sim_message. */
typedef struct tt_sim_ends {
  double alpha, L;
  double out_alpha, in_alpha, out_slope, in_slope;
  double crowd; /* fraction of the vector on the host's link at that time, including the message */
  double rest;  /* s/B of the whole vector on the slowest link other than the hosts' links */
} tt_sim_ends;

/* The processor time of a step. One part is in s, the other parts are in s per byte of the whole vector. */
typedef struct tt_sim_task {
  uint32_t sim_rank, turn; /* simulated rank, and index of the step in its schedule */
  uint32_t needs;          /* number of messages and steps that it waits for */
  bool receives;
  bool alone;    /* waits for no other step */
  bool messages; /* has messages that take processor time */
  double o, copying, reducing;
} tt_sim_task;

/* The times of a step or of a message's departure or arrival (numbered consecutively), and the event that it waited for. A
 * port can send its next message before L has passed. If a message departs and arrives
 * at the same time, both events have the same cause. */
typedef struct tt_sim_timing {
  double ready, end;
  double floor;          /* earliest end of a step that receives */
  double rest;           /* time from the writer's end to `floor` */
  uint32_t cause, needs; /* the event that `end` depends on; number of open dependencies */
  uint32_t writer;       /* the step that determines `floor` */
  uint8_t level;         /* level of the message from that step */
} tt_sim_timing;

/* An event without open dependencies: a step, a departure or an arrival. Event numbers are in this order. */
typedef struct tt_sim_event {
  double at;
  uint64_t order; /* 2 bits: kind of event; 30 bits: index of its step; 32 bits: event number */
} tt_sim_event;

struct tt_sim {
  tt_cost_model model;
  bool idle;                /* steps take no time (used to find rounds) */
  int sim_ranks;            /* number of simulated ranks: all, or 1 that represents all */
  uint32_t steps, messages; /* totals over all slices */
  int senders; /* number of ranks that send to rank 0 over the level that bounds the time */
  uint32_t slices;
  tt_sim_task *task;            /* work of each step */
  uint32_t *then_at, *then;     /* lists of the steps that wait for each step */
  uint32_t *message_at;         /* index of each step's first message, plus the total */
  tt_sim_message *message;      /* ordered by sending step, then as its peers */
  tt_sim_ends *ends;            /* one per message; NULL: all hosts have equal links */
  double link_slope;            /* s/B of the vector through the busiest link */
  uint8_t link_level;           /* level of that link */
  double link_burst;            /* burst credit of that link, in B */
  double link_incast;           /* its incast threshold, in B of a message; 0: none */
  double saved[TT_TREE_LEVELS]; /* bytes of the vector that a link's burst credit covers */
  tt_sim_timing *timing;        /* one per step and message event */
  tt_sim_event *event;          /* memory of the heap */
  double part;                  /* fraction of the vector that a stage works on */
  bool staged;                  /* this is a stage of a composition, on a single level: */
  uint8_t level, narrowest;     /* the stage's level, and the level of its slowest link */
  uint8_t innermost;            /* level of the ranks' ports */
  struct tt_sim *next;          /* the next stage */
};

/* Computes the processor time of a step from the parameters of the model. */
tt_sim_task tt_sim_job(const tt_sched *s, const tt_step *step, const tt_cost_model *model);
/* Sets up the messages and counts them as dependencies of the tasks. first[rank] is the number of the rank's first step.
 * Returns false if out of memory, or if sends and receives do not match. */
bool tt_sim_match(tt_sim *sim, tt_sched *const *all, const uint32_t *first);
/* Sets the level and the slope of each message. Returns false if out of memory. */
bool tt_sim_links(tt_sim *sim);
/* Returns the vector size in bytes above which incast slows the busiest link. Incast occurs if a rank has many long messages
 * in flight, from several slices or from more than two senders. Returns 0 if incast never occurs. */
double tt_sim_incast_threshold(const tt_sim *sim);
/* Allocates sim->ends if hosts have different links, or sets it to NULL if all hosts are equal (sim_ends.c). Returns false if
 * out of memory. */
bool tt_sim_ends_new(tt_sim *sim);
/* Call this after the share and the level of the i-th message have been set. */
void tt_sim_ends_begin(tt_sim *sim, uint32_t i);
/* Call this for each link that the i-th message crosses, with the link's level. `carried` is the fraction of the vector that
 * crosses the link in total. */
void tt_sim_ends_cross(tt_sim *sim, uint32_t i, int level, double carried);
/* Call this after the slope of the i-th message has been set. */
void tt_sim_ends_finish(tt_sim *sim, uint32_t i);
/* Finds the round of each message, starting at 0, with a simulation where each message takes one unit of time. If a rank has
 * several ports, it has several messages in a round. Returns false if out of memory. */
bool tt_sim_rounds(tt_sim *sim, uint32_t *round);
/* Predicts the time of a single stage, or of a plan without stages, like tt_sim_unbound. */
bool tt_sim_alone(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* Predicts the time like tt_sim_run, but without the lower bound given by the busiest link. */
bool tt_sim_unbound(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* ---- unknown placement (contention.c) ---- */

/* Returns true if the placement is unknown and both events are departures from one step or arrivals for one step. */
bool tt_sim_together(const tt_sim *sim, uint32_t last, uint32_t event);
/* Sets the slopes of messages between domains of the outermost level, which share links with other messages by chance.
 * Returns false if out of memory. */
bool tt_sim_mix(tt_sim *sim, const uint32_t *round);
/* Allocates the arrays of timings and events. Returns false if out of memory. */
bool tt_sim_reserve(tt_sim *sim);
/* Returns the fraction of the vector in each message of a step, that is, to or from each peer. */
double tt_step_share(const tt_sched *s, const tt_step *step);

#endif
