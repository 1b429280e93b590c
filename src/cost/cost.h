/* cost.h - predicts the time of a plan on a machine: its critical path, in seconds.
 *
 * Idea       simulate the schedules. A step starts once the steps and messages it waits for
 *            have ended. A message occupies a port of its sender and one of its reader
 *            for alpha + bytes * beta; processors copy and reduce. Nothing is modelled
 *            twice: the closed forms of the papers are tests of this (test_price.c).
 * Links      a link that leaves a domain of the machine (a node, a rack) is shared by the
 *            messages that its ranks send out of it in the same round. Several may leave it (topologies.h).
 * Uniform    if every rank does the same with partners that do the same, one rank is
 *            simulated for all.
 * Cache      if a vector is larger than the cache, the bytes beyond it cost more to move. Those
 *            in the cache cost the same, so the time remains a line on either side.
 * Hosts      the links of single hosts may differ. A message takes the larger alpha, and the time of the
 *            slowest link on its way. The port at either end is busy for as long as its own link takes.
 * Burst      a link may have burst credit: after a rest, the first bytes pass without delay. A single message
 *            saves their transfer time, but calls in sequence take as long as without credit.
 * Size       for one order of events the time is a line in the size of the vector;
 *            tt_price_curve finds the few lines that matter.
 * Source     Kolmakov and Zhang 2020, section 4 (alpha, beta, gamma); Cho et al. 2019,
 *            equations 1, 9 and 10 (links).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "schedule.h"
#include "topo_tree.h"

/* The cost of a message between domains of one level. */
typedef struct tt_link {
  double alpha;  /* s that a message occupies a port, whatever its size */
  double L;      /* extra latency until its reader can continue, in s; no port is busy */
  double g;      /* s at least from one message that its port sends to the next; 0: none */
  double beta;   /* s/B over the link that leaves a domain of this level */
  double o;      /* s of the processor at either end */
  double o_next; /* the same for each next message of the same step */
  double burst;  /* burst credit of a rested link, in B */
  double incast_threshold; /* B of a message: simultaneous messages of this size or more slow it down; 0: as burst */
  double code; /* s/B of the vector for processors to code and decode it, half at either end */
  int ports;   /* messages that a rank can send, or receive, simultaneously; 0 means 1 */
  int paths; /* links that leave a domain of this level side by side (topology_fat_tree.c); 0 means 1 */
  int pairs; /* 1: one to each other domain of the level; beta is that of one link */
} tt_link;

/* The hosts of a model's ranks, where the links of some hosts differ (host_links.h). */
typedef struct tt_hosts {
  int level;                       /* whose domains are the hosts */
  int kinds;                       /* kind 0 are the hosts that do not differ */
  tt_link (*link)[TT_TREE_LEVELS]; /* of each kind, as in tt_cost_model */
  uint8_t *kind;                   /* of each rank's host */
} tt_hosts;

/* The load of links where the placement of ranks is unknown (contention.c). */
typedef struct tt_contention {
  /* Messages on each of the busiest links, if each place has one on its way; 0: the placement is known. */
  double mean;
  double excess;   /* more of them on the busiest one, by chance */
  double nearest;  /* s less than alpha that the nearest message over these links takes */
  double furthest; /* s more than alpha that a message to the furthest place takes */
} tt_contention;

/* Shared memory, and the cores on which ranks run. */
typedef struct tt_shm_costs {
  double o;               /* s of the processor to send or receive a message */
  double o_next;          /* s for each next peer of the same step */
  double copy;            /* s/B that the processor copies at either end */
  double piece;           /* B after which a reader begins to copy; 0: the whole message */
  double saved_per_input; /* s/B saved by each input after the first that a step adds in a pass */
  double cache;           /* B of a vector that fit in the cache; 0: all */
  double far_ratio;       /* cost ratio: moving a byte outside the cache over one inside */
  bool published;         /* data for several readers is copied once */
  bool exported;          /* readers take the data from where it is */
  double cores;           /* shared by all ranks; 0: each rank has its own */
  bool migrates;          /* ranks migrate to a free core; else each has a fixed one */
} tt_shm_costs;

/* LogGP for each level, a topology, and shared memory. */
typedef struct tt_cost_model {
  /* ---- the topology (topologies.h) ---- */
  int ranks, levels;   /* levels >= 1 */
  tt_tree tree;        /* of that many levels, outermost first */
  const int *position; /* of each rank in the tree; NULL: ranks are in its order */
  bool torus;          /* each node has two separate links on every level */
  double hop;          /* s for each link of a torus after the first; 0: messages cross no nodes */
  tt_contention contention; /* of the links that leave domains of the outermost level */
  /* ---- costs ---- */
  tt_link link[TT_TREE_LEVELS]; /* of messages whose ranks part at this level */
  tt_hosts *hosts;              /* whose links differ from these; NULL: none. The caller's */
  bool half_duplex;             /* a port cannot send and receive at the same time */
  bool ports_per_level;         /* and a rank sends one message of a slice at a time */
  double header;                /* B that a message adds to its own bytes on links */
  double gamma;                 /* s/B reduced */
  tt_shm_costs shm;             /* of ranks that share memory or cores */
  int uncontended_from;         /* ranks of this number and above never wait for ports or own links; 0: none */
} tt_cost_model;

static inline bool tt_rank_uncontended(const tt_cost_model *model, uint32_t rank) {
  return model->uncontended_from && rank >= (uint32_t)model->uncontended_from;
}

static inline int tt_ports(const tt_link *link) {
  return link->ports > 1 ? link->ports : 1;
}

/* The link of a level at a rank's end. */
static inline const tt_link *tt_link_at(const tt_cost_model *model, int level, uint32_t rank) {
  return model->hosts ? &model->hosts->link[model->hosts->kind[rank]][level] : &model->link[level];
}

static inline bool tt_placement_unknown(const tt_cost_model *model) {
  return model->contention.mean > 0;
}

/* Messages that have ports there simultaneously; 1 where the placement is unknown: a step counts as one (contention.c). */
static inline int tt_ports_at_once(const tt_cost_model *model, int level, uint32_t rank) {
  return tt_placement_unknown(model) && level == 0 ? 1 : tt_ports(tt_link_at(model, level, rank));
}

/* One level, and all costs are 0. */
void tt_cost_flat(tt_cost_model *model, int ranks);

/* On a torus whose nodes have several ports, the algorithm torus.c uses all links; slices would share them only by chance. */
static inline bool tt_links_fill_themselves(const tt_cost_model *model) {
  return model->torus && tt_ports(&model->link[model->levels - 1]) > 1;
}

static inline int tt_cost_position(const tt_cost_model *model, int rank) {
  return model->position ? model->position[rank] : rank;
}

/* The domain of each rank at each level, [level * ranks + rank]; the caller frees it. NULL: out of
 * memory. */
uint32_t *tt_cost_domains(const tt_cost_model *model);
int tt_cost_level(const tt_cost_model *model, const uint32_t *domains, int a, int b);

/* The parts of a predicted time: sums along the critical path, in seconds. */
typedef struct tt_breakdown {
  double time;                     /* the sum of the parts */
  double fixed, slope;             /* the time as a line: s, s/B of the vector */
  double latency[TT_TREE_LEVELS];  /* alpha and L, per level */
  double transfer[TT_TREE_LEVELS]; /* by the level of the slowest link */
  double o, copying, reducing;
  int messages[TT_TREE_LEVELS]; /* on the path */
  bool shared_cores;            /* the cores, shared by all ranks, are the bottleneck */
} tt_breakdown;

typedef struct tt_sim tt_sim;

/* Prepares the simulation of all `n` ranks' schedules; or, if `uniform`, of the first rank's. The
 * list may then contain only that one and those of the ranks it receives from. NULL: out of memory,
 * or a receive has no matching send. Does not keep the schedules. */
tt_sim *tt_sim_new(tt_sched *const *all, int n, bool uniform, const tt_cost_model *model);
/* The same in slices, of which at most `flight` run simultaneously. NULL: out of memory. */
tt_sim *tt_sim_slices(const tt_sim *whole, int slices, int flight);
/* Is this number of slices small enough for tt_sim_slices? */
bool tt_sim_can_slice(const tt_sim *whole, int slices);
/* Predicts the time for a vector of `bytes` bytes. False: out of memory, or the schedules
 * deadlock. */
bool tt_sim_run(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* What the busiest rank sends: messages, and bytes as multiples of the vector; per level, the
 * latter for the busiest rank of that level. */
typedef struct tt_sends {
  int messages;
  double vectors, level[TT_TREE_LEVELS];
} tt_sends;
tt_sends tt_sim_busiest(const tt_sim *sim);
/* The number of rounds if each rank sends one message, and receives one, in a round. False: out of
 * memory. */
bool tt_sim_one_port(tt_sim *sim, int *rounds);
/* The number of messages to simulate. */
uint64_t tt_sim_messages(const tt_sim *sim);
void tt_sim_free(tt_sim *sim);

/* ---- a composition: simulations that follow one another (sim_stages.c) ---- */

/* The model of a group of ranks of one level alone, where all groups do the same in parallel. False: levels share
 * something in the model, such as cores; or the group is a part of a circle of a torus. */
bool tt_cost_stage(const tt_cost_model *model, int level, int ranks, tt_cost_model *stage);
/* Appends a stage that works on a part of the vector, 1 being the whole, to *first, which is NULL at
 * first. Takes the stage. */
void tt_sim_append(tt_sim **first, tt_sim *stage, double part, const tt_cost_model *model,
                   int level);

/* ---- the time as a function of the size ---- */

enum { TT_CURVE = 12 };

/* From `from` bytes on, the time is fixed + slope * bytes. */
typedef struct tt_line {
  double from, fixed, slope;
} tt_line;

typedef struct tt_curve {
  int n;
  double link;             /* s/B of the busiest link: a lower bound */
  bool saves;              /* that link has burst credit */
  int messages;            /* sent by the busiest rank */
  double incast_threshold; /* B of the vector: incast slows that link at this size and above; 0: never */
  int senders;             /* ranks that send to rank 0 over that link's level */
  tt_line line[TT_CURVE];
} tt_curve;

bool tt_price_curve(tt_sim *sim, tt_curve *curve);
/* Appends a line that is valid for `from` bytes and more. If the curve is full, the line with the shortest range
 * is dropped. */
void tt_curve_add(tt_curve *curve, double from, tt_line line);
/* Seconds for a link's work and other waits together. They overlap, but not fully if both take
 * about as long. */
static inline double tt_partial_overlap(double link, double other) {
  const double most = link > other ? link : other;
  const double part = most > 0 ? (link > other ? other : link) / most : 0;
  return most * (1 + part * part * part * part / 4);
}

/* B of a message: many simultaneous messages of this size or more (incast) slow a link; 0: they do not. */
static inline double tt_incast_threshold(const tt_link *link) {
  return link->incast_threshold > 0 ? link->incast_threshold : link->burst;
}

/* s that incast adds to a link's `work` (README.md). from: as incast_threshold of a curve. */
static inline double tt_incast_cost(double work, double from, double bytes) {
  return from > 0 && bytes > from ? 0.15 * work : 0;
}

static inline double tt_curve_at(const tt_curve *c, double bytes) {
  int i = c->n - 1;
  while (i > 0 && bytes < c->line[i].from) i--;
  const double time = c->line[i].fixed + c->line[i].slope * bytes;
  const double link =
      c->saves ? tt_partial_overlap(c->link * bytes, c->line[0].fixed) : c->link * bytes;
  return (time > link ? time : link) + tt_incast_cost(c->link * bytes, c->incast_threshold, bytes);
}

#endif
