/* cost.h - predicts the time of a plan on a machine: its critical path, in seconds.
 *
 * Idea       The schedules are simulated. A step starts when the steps and messages that it waits for have ended. A
 *            message occupies a port of its sender and one of its reader for alpha + bytes * beta. Processors copy and
 *            reduce. test_price.c compares the result with the closed forms of the papers.
 * Links      A link that leaves a domain of the machine (a node, a rack) is shared by the messages that the domain's
 *            ranks send out of it in the same round. A domain may have several such links (topologies.h).
 * Uniform    If all ranks do the same with partners that do the same, one rank is simulated for all.
 * Cache      If a vector is larger than the cache, only the bytes beyond the cache cost more to move. The time
 *            therefore remains a linear function of the size on either side.
 * Hosts      The links of single hosts may differ. A message has the larger alpha of its two ends and is as slow as the
 *            slowest link of its route. The port at either end is busy for as long as the link at that end takes.
 * Burst      A link may have burst credit: after an idle period, the first bytes pass without delay. This saves the
 *            transfer time of a single message, but calls in sequence take as long as without credit.
 * Size       For a fixed order of events, the time is a linear function of the vector's size. tt_price_curve finds the
 *            few lines that matter.
 * Source     Kolmakov and Zhang 2020, section 4 (alpha, beta, gamma); Cho et al. 2019, equations 1, 9 and 10 (links).
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PRICE_H
#define TT_PRICE_H

#include "schedule.h"
#include "topo_tree.h"

/* The cost of a message between two domains of a level. */
typedef struct tt_link {
  double alpha;  /* time that a message occupies a port, regardless of its size, in s */
  double L;      /* additional latency until the reader can continue, in s; no port is busy */
  double g;      /* minimum time from one message of a port to the next, in s; 0: none */
  double beta;   /* s/B on the link that leaves a domain of this level */
  double o;      /* processor time at either end, in s */
  double o_next; /* like o, per additional message of the same step */
  double burst;  /* burst credit of an idle link, in B */
  double incast_threshold; /* simultaneous messages of at least this size, in B, slow down the link;
                            * 0: the same as burst */
  double code; /* compression plus decompression, in s per byte of the vector, half at each end */
  int ports;   /* number of messages that a rank can send, or receive, simultaneously; 0 means 1 */
  int paths; /* parallel links that leave a domain of this level (topology_fat_tree.c); 0 means 1 */
  int pairs; /* 1: a separate link, of this beta, leads to each other domain of the level */
} tt_link;

/* The hosts of all ranks, in a model where the links of some hosts differ (host_links.h). */
typedef struct tt_hosts {
  int level;                       /* the level whose domains are the hosts */
  int kinds;                       /* number of kinds; kind 0 is the hosts that do not differ */
  tt_link (*link)[TT_TREE_LEVELS]; /* links of each kind, as in tt_cost_model */
  uint8_t *kind;                   /* kind of each rank's host */
} tt_hosts;

/* The load of links in a network where the placement of ranks is unknown (contention.c). */
typedef struct tt_contention {
  /* Messages on each of the busiest links if every place sends one message; 0: the placement is known. */
  double mean;
  double excess;   /* additional messages on the most loaded of these links, by chance */
  double nearest;  /* how much less than alpha a message from the nearest place takes, in s */
  double furthest; /* how much more than alpha a message to the furthest place takes, in s */
} tt_contention;

/* The costs of communication through shared memory, and the cores that the ranks run on. */
typedef struct tt_shm_costs {
  double o;               /* processor time to send or receive a message, in s */
  double o_next;          /* like o, per additional peer of the same step */
  double copy;            /* processor time to copy a byte at either end, in s */
  double piece;           /* bytes after which a reader starts to copy; 0: the whole message */
  double saved_per_input; /* s/B saved for each additional input of a step in one pass */
  double cache;           /* bytes of a vector that fit in the cache; 0: all */
  double far_ratio;       /* cost of moving a byte outside the cache, relative to one inside */
  bool published;         /* data for several readers is copied once */
  bool exported;          /* readers access the data in place */
  double cores;           /* number of cores that all ranks share; 0: each rank has its own */
  bool migrates;          /* ranks migrate to free cores; otherwise each has a fixed core */
} tt_shm_costs;

/* A cost model: LogGP parameters for each level, a topology, and the costs of shared memory. */
typedef struct tt_cost_model {
  /* ---- the topology (topologies.h) ---- */
  int ranks, levels;   /* levels >= 1 */
  tt_tree tree;        /* has `levels` levels, outermost first */
  const int *position; /* position of each rank in the tree; NULL: ranks are in the tree's order */
  bool torus;          /* each node has two separate links on every level */
  double hop;          /* time for each link of a torus after the first, in s; 0: no hops */
  tt_contention contention; /* for the links that leave domains of the outermost level */
  /* ---- costs ---- */
  tt_link link[TT_TREE_LEVELS]; /* for messages between ranks whose domains differ at this level */
  tt_hosts *hosts;              /* hosts whose links differ; owned by the caller; NULL: none */
  bool half_duplex;             /* a port cannot send and receive at the same time */
  bool ports_per_level;         /* separate ports per level; a rank's slice sends one message at a
                                 * time */
  double header;                /* bytes that each message adds to its payload on links */
  double gamma;                 /* s per byte reduced */
  tt_shm_costs shm;             /* for ranks that share memory or cores */
  int uncontended_from;         /* ranks from this one up never wait for ports or own links; 0:
                                 * none */
} tt_cost_model;

static inline bool tt_rank_uncontended(const tt_cost_model *model, uint32_t rank) {
  return model->uncontended_from && rank >= (uint32_t)model->uncontended_from;
}

static inline int tt_ports(const tt_link *link) {
  return link->ports > 1 ? link->ports : 1;
}

/* Returns the parameters of the link that a rank uses at a level. */
static inline const tt_link *tt_link_at(const tt_cost_model *model, int level, uint32_t rank) {
  return model->hosts ? &model->hosts->link[model->hosts->kind[rank]][level] : &model->link[level];
}

static inline bool tt_placement_unknown(const tt_cost_model *model) {
  return model->contention.mean > 0;
}

/* Returns the number of messages that can use the rank's ports at a level at the same time. Returns 1 if the placement is
 * unknown, because all messages of a step then count as one (contention.c). */
static inline int tt_ports_at_once(const tt_cost_model *model, int level, uint32_t rank) {
  return tt_placement_unknown(model) && level == 0 ? 1 : tt_ports(tt_link_at(model, level, rank));
}

/* Creates a model that has a single level and no costs. */
void tt_cost_flat(tt_cost_model *model, int ranks);

/* Returns true if plans keep the links busy without slices. On a torus whose nodes have several ports, the algorithm in
 * torus.c uses all links, whereas slices would spread over them only by chance. */
static inline bool tt_links_fill_themselves(const tt_cost_model *model) {
  return model->torus && tt_ports(&model->link[model->levels - 1]) > 1;
}

static inline int tt_cost_position(const tt_cost_model *model, int rank) {
  return model->position ? model->position[rank] : rank;
}

/* Returns an array with the domain of each rank at each level, at index [level * ranks + rank]. Returns NULL if out of
 * memory. The caller frees the array. */
uint32_t *tt_cost_domains(const tt_cost_model *model);
int tt_cost_level(const tt_cost_model *model, const uint32_t *domains, int a, int b);

/* The parts that a predicted time consists of. Each part is a sum along the critical path, in seconds. */
typedef struct tt_breakdown {
  double time;                     /* the sum of the parts */
  double fixed, slope;             /* the time as a line: s, and s per byte of the vector */
  double latency[TT_TREE_LEVELS];  /* alpha and L, per level */
  double transfer[TT_TREE_LEVELS]; /* by level of the slowest link on the route */
  double o, copying, reducing;
  int messages[TT_TREE_LEVELS]; /* number of messages on the path, per level */
  bool shared_cores;            /* the cores, shared by all ranks, are the bottleneck */
} tt_breakdown;

typedef struct tt_sim tt_sim;

/* Prepares a simulation of the schedules of all `n` ranks or, if `uniform`, of the first rank only. In that case the list
 * needs only this schedule and those of the ranks that it receives from. Returns NULL if out of memory, or if a receive has
 * no matching send. The schedules are needed only during this call. */
tt_sim *tt_sim_new(tt_sched *const *all, int n, bool uniform, const tt_cost_model *model);
/* Cuts a simulation into slices, at most `flight` of which run at the same time. Returns NULL if out of memory. */
tt_sim *tt_sim_slices(const tt_sim *whole, int slices, int flight);
/* Returns true if tt_sim_slices can cut a simulation into this number of slices. */
bool tt_sim_can_slice(const tt_sim *whole, int slices);
/* Predicts the time for a vector of `bytes` bytes. Returns false if out of memory, or if the schedules would deadlock. */
bool tt_sim_run(tt_sim *sim, double bytes, tt_breakdown *breakdown);
/* The number of messages that the busiest rank sends, and the data in them, in multiples of the vector. `level` is the data
 * that the busiest rank of each level sends over that level. */
typedef struct tt_sends {
  int messages;
  double vectors, level[TT_TREE_LEVELS];
} tt_sends;
tt_sends tt_sim_busiest(const tt_sim *sim);
/* Computes the number of rounds when each rank sends at most one message and receives at most one in a round. Returns false
 * if out of memory. */
bool tt_sim_one_port(tt_sim *sim, int *rounds);
/* Returns the number of messages in the simulation. */
uint64_t tt_sim_messages(const tt_sim *sim);
void tt_sim_free(tt_sim *sim);

/* ---- a composition: a sequence of simulations (sim_stages.c) ---- */

/* Creates the model of a single group of ranks at a level, while all other groups do the same. Returns false if levels share
 * a resource in the model, such as cores, or if the group is only a part of a ring of a torus. */
bool tt_cost_stage(const tt_cost_model *model, int level, int ranks, tt_cost_model *stage);
/* Appends a stage to a list, which takes ownership of it. *first is NULL for an empty list. The stage works on the fraction
 * `part` of the vector. */
void tt_sim_append(tt_sim **first, tt_sim *stage, double part, const tt_cost_model *model,
                   int level);

/* ---- the time as a function of the size ---- */

enum { TT_CURVE = 12 };

/* One piece of a curve. For at least `from` bytes, the time is fixed + slope * bytes. */
typedef struct tt_line {
  double from, fixed, slope;
} tt_line;

typedef struct tt_curve {
  int n;
  double link;             /* s/B of the busiest link, which is a lower bound */
  bool saves;              /* the busiest link has burst credit */
  int messages;            /* number of messages sent by the busiest rank */
  double incast_threshold; /* vector size in bytes above which incast slows that link; 0: never */
  int senders;             /* number of ranks that send to rank 0 over that link's level */
  tt_line line[TT_CURVE];
} tt_curve;

bool tt_price_curve(tt_sim *sim, tt_curve *curve);
/* Appends a line that applies to at least `from` bytes. If the curve is full, drops the line with the shortest range. */
void tt_curve_add(tt_curve *curve, double from, tt_line line);
/* Returns the time of a link's transfers together with other waits, in seconds. The two overlap, but not completely if they
 * take about equally long. */
static inline double tt_partial_overlap(double link, double other) {
  const double most = link > other ? link : other;
  const double part = most > 0 ? (link > other ? other : link) / most : 0;
  return most * (1 + part * part * part * part / 4);
}

/* Returns the message size in bytes above which many simultaneous messages slow a link (incast), or 0 if they never do. */
static inline double tt_incast_threshold(const tt_link *link) {
  return link->incast_threshold > 0 ? link->incast_threshold : link->burst;
}

/* Returns the seconds that incast adds to a link's transfer time `work` (README.md). `from` is a curve's incast_threshold. */
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
