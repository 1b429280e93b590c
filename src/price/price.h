/* price.h - what a plan costs on a machine: its critical path, in seconds.
 *
 * Idea       play the schedules against a clock. A step starts once those it waits for
 *            have ended; a message keeps a port of its sender and one of its reader busy
 *            for alpha + bytes * beta; processors copy and reduce. Nothing is modelled
 *            twice: the closed forms of the papers are tests of this (test_price.c).
 * Links      a link that leaves a thing of the machine (a node, a rack) is shared by what
 *            its ranks send out of it in the same round.
 * Uniform    where every rank does the same with partners that do the same, one rank is
 *            played for all.
 * Torus      with `hop`, a level of nodes is a circle of links to neighbours: a message goes
 *            the shorter way round, and takes all the links on it.
 * Cache      the bytes of a vector that is larger than it cost more to move: for those in it
 *            nothing changes, so the time stays a line on either side.
 * Burst      a link that lets bytes through at once owes the time for them: a message does
 *            not take it, but of calls that follow each other none takes less.
 * Size       for one order of events the time is a line in the size of the vector;
 *            tt_price_curve finds the few lines that matter.
 * Source     Kolmakov and Zhang 2020, section 4 (alpha, beta, gamma); Cho et al. 2019,
 *            equations 1, 9 and 10 (links).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "schedule.h"
#include "topo_tree.h"

/* What a message between things of one level costs. */
typedef struct tt_link {
  double alpha;  /* s that a port is busy with it, whatever its size */
  double L;      /* s on top until its reader can go on; no port is busy */
  double beta;   /* s/B over the link that leaves a thing of this level */
  double o;      /* s of the processor at either end, ... */
  double o_next; /* ... and for each further one of the same step */
  double burst;  /* B that the link lets through at once when it has rested */
  int ports;     /* such messages that a rank sends, or receives, at once; 0 is 1 */
} tt_link;

typedef struct tt_cost_model {
  int ranks, levels;            /* levels >= 1 */
  tt_tree tree;                 /* as many levels, outermost first */
  tt_link link[TT_TREE_LEVELS]; /* of messages whose ends part at this level */
  bool half;                    /* a port does not send and receive at once */
  bool apart;                   /* each level has ports of its own */
  bool torus;                   /* links are a node's own, not shared further up */
  double hop;                   /* s for each further link of a torus that a message crosses;
                                     0: none leads through other nodes */
  double gamma;                 /* s/B reduced */
  double message;               /* s of the processor to send or receive one */
  double o_next;                /* s for each further peer of the same step */
  double copy;                  /* s/B that the processor moves at either end */
  double piece;                 /* B after which a reader begins to copy; 0: after all */
  double saved_per_input;       /* s/B of it for each further input that a step adds in one pass */
  double cache;                 /* B of a vector that lie near the processors; 0: all of them */
  double far_ratio;             /* as many times as much it costs to move one of the rest */
  bool published;               /* what goes to several readers is copied once */
  bool exported;                /* the readers find it where it is */
  double cores;                 /* that all ranks share; 0: each has its own */
  bool migrates;                /* ranks go on where a core is free; or each has one, for good */
} tt_cost_model;

static inline int tt_ports(const tt_link *link) {
  return link->ports > 1 ? link->ports : 1;
}

/* One level, and nothing costs anything. */
void tt_cost_flat(tt_cost_model *model, int ranks);

/* The thing of each level that each rank is in, [level * ranks + rank]; the caller frees it.
 * NULL: out of memory. And the level at which two ranks part. */
uint32_t *tt_cost_domains(const tt_cost_model *model);
int tt_cost_level(const tt_cost_model *model, const uint32_t *domains, int a, int b);

/* Where a time goes: sums along the critical path, in seconds. */
typedef struct tt_breakdown {
  double time;                     /* the sum of the rest */
  double fixed, slope;             /* the same as a line: s, s/B of the vector */
  double latency[TT_TREE_LEVELS];  /* alpha and delay, per level */
  double transfer[TT_TREE_LEVELS]; /* by the level of the link that is the narrowest */
  double o, copying, reducing;
  int messages[TT_TREE_LEVELS]; /* on the path */
  bool shared_cores;            /* what binds is all ranks' work on the cores */
} tt_breakdown;

typedef struct tt_sim tt_sim;

/* Make ready to play: of all `n` ranks' schedules; or, if `uniform`, of the first one,
 * which may then be alone in the list but for those that it receives from. NULL: out of
 * memory, or a receive without its send. The schedules are not looked at any more. */
tt_sim *tt_sim_new(tt_sched *const *all, int n, bool uniform, const tt_cost_model *model);
/* The same in slices, at most `flight` at once, each a part of the vector. NULL: out of memory. */
tt_sim *tt_sim_slices(const tt_sim *whole, int slices, int flight);
/* How long it takes with a vector of so many bytes. False: out of memory, or the
 * schedules wait for each other. */
bool tt_sim_run(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* Steps and messages. */
uint32_t tt_sim_events(const tt_sim *sim);
/* What the busiest rank sends: messages, and how many times the vector; and the same of
 * the busiest one at each level. */
typedef struct tt_sends {
  int messages;
  double vectors, level[TT_TREE_LEVELS];
} tt_sends;
tt_sends tt_sim_busiest(const tt_sim *sim);
void tt_sim_free(tt_sim *sim);

/* ---- the time as a function of the size ---- */

enum { TT_CURVE = 12 };

/* From from[i] bytes on the time is fixed[i] + slope[i] * bytes. */
typedef struct tt_curve {
  int n;
  double link;  /* s/B of the busiest link: it takes no less ... */
  bool saves;   /* ... and some of it may be let through at once */
  int messages; /* that the busiest rank sends */
  int senders;  /* from which rank 0 receives */
  double
      burst_limit; /* B of the vector from which on a message is longer than what is let through */
  double from[TT_CURVE], fixed[TT_CURVE], slope[TT_CURVE];
} tt_curve;

bool tt_price_curve(tt_sim *sim, tt_curve *curve);
/* What a link owes it makes up for while ranks wait for other things, but not for all of it
 * where both take about as long: seconds of the two together. */
static inline double tt_made_up(double link, double other) {
  const double most = link > other ? link : other;
  const double part = most > 0 ? (link > other ? other : link) / most : 0;
  return most * (1 + part * part * part * part / 4);
}

static inline double tt_curve_at(const tt_curve *c, double bytes) {
  int i = c->n - 1;
  while (i > 0 && bytes < c->from[i]) i--;
  const double time = c->fixed[i] + c->slope[i] * bytes;
  const double link = c->saves ? tt_made_up(c->link * bytes, c->fixed[0]) : c->link * bytes;
  return time > link ? time : link;
}

#endif
