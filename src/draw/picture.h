/* picture.h - the data of a schedule's picture: rounds, messages, and the contents of every block over time.
 *
 * Idea       The prover runs the schedule symbolically, and the picture records the execution. The round of a message is
 *            its position on the longest chain of messages. A step that writes changes blocks at the end of its round.
 * Invariant  Only a proven schedule has a picture. The number of its rounds equals the steps in the report.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TT_PICTURE_H
#define TT_PICTURE_H

#include "prove.h"
#include "topo_tree.h"

/* A change of a block in a buffer of one rank. From the end of `round`, the block contains `value`. */
typedef struct tt_change {
  uint32_t round; /* 0 means from the start */
  uint32_t block;
  tt_value value;
  int32_t rank;
  uint32_t buf;
} tt_change;

typedef struct tt_picture {
  tt_sched *const *all;
  int ranks, data;
  uint32_t blocks, rounds;
  tutti_report report;
  tt_graph graph; /* the steps and messages of all ranks */
  tt_values *values;
  tt_memory memory;
  uint32_t *began, *ended; /* for each step, the rounds before its start and up to its end */
  tt_change *changes;      /* sorted by round; changes of one block are in their order */
  uint32_t nchanges, capacity;
  uint32_t *inputs;     /* for each value, the number of ranks whose inputs it contains */
  uint32_t *order;      /* messages, sorted by round of arrival, then by sender */
  unsigned char *marks; /* scratch for labels: one per block or rank, all 0 between uses */
  tt_tree tree;         /* the levels of the machine */
  int levels;           /* 0 if the levels are unknown */
  int *
      below; /* first and last rank with data below each helper; NULL if the levels include helpers */
  bool failed;
} tt_picture;

/* Creates a picture, which must be freed with tt_picture_free even after an error. Returns TUTTI_ERR_SCHEDULE with the
 * prover's message if the schedule is wrong, TUTTI_ERR_ARG if it is too large to draw, or TUTTI_ERR_MEMORY. */
tutti_status tt_picture_make(tt_picture *p, tt_sched *const *all, int ranks);
void tt_picture_free(tt_picture *p);

/* tt_picture_leaves returns the number of the round that sends a message, tt_picture_arrives of the round that ends
 * with its arrival. Rounds are numbered from 1. */
static inline uint32_t tt_picture_leaves(const tt_picture *p, const tt_message *m) {
  return p->began[m->from] + 1;
}
static inline uint32_t tt_picture_arrives(const tt_picture *p, const tt_message *m) {
  return p->ended[m->to];
}
/* Returns true if the receiver adds the message to its data, and false if it only stores the message. */
static inline bool tt_picture_sums(const tt_picture *p, const tt_message *m) {
  return tt_graph_step(&p->graph, m->to)->kind == TT_RECV_REDUCE;
}
/* Returns the number of inputs in a complete result. */
static inline uint32_t tt_picture_full(const tt_picture *p) {
  return tt_coll_reduces(p->all[0]->coll) ? (uint32_t)p->data : 1;
}

/* ---- the machine's levels (levels.c) ---- */

/* Sets the levels of the machine to those in `topo`. If `topo` is NULL or empty, takes them from the algorithm's name.
 * Returns TUTTI_ERR_ARG if `topo` is invalid. */
tutti_status tt_picture_levels(tt_picture *p, const char *topo);
/* Returns the number of the rank's domain on a level. Level 0 is the outermost. */
int tt_picture_domain(const tt_picture *p, int level, int rank);
/* tt_picture_crosses returns the level that a message crosses, and tt_picture_carries how many vectors it carries. */
int tt_picture_crosses(const tt_picture *p, const tt_message *m);
double tt_picture_carries(const tt_picture *p, const tt_message *m);

/* ---- the contents of blocks, round by round ---- */

typedef struct tt_snapshot {
  const tt_picture *p;
  tt_memory has;
  uint32_t next; /* index of the next change */
} tt_snapshot;

/* Creates a snapshot before the first change. Returns false if out of memory; the caller must free it even then. */
bool tt_snapshot_begin(tt_snapshot *m, const tt_picture *p);
void tt_snapshot_advance(tt_snapshot *m, uint32_t round); /* advances to the end of that round */
void tt_snapshot_free(tt_snapshot *m);
/* Returns the most complete value that any buffer of a rank has for a block, or 0 if the block has no value. */
tt_value tt_snapshot_best(const tt_snapshot *m, int rank, uint32_t block);

/* ---- labels (label.c): lists as "0-2,5", and text that is safe in each format ---- */

void tt_label_message(tt_text *t, tt_picture *p,
                      const tt_message *m); /* the blocks of the message */
void tt_label_span(tt_text *t, tt_picture *p, const tt_span *span);
void tt_label_value(tt_text *t, tt_picture *p, tt_value value); /* the ranks of the value */
void tt_label_peers(tt_text *t, tt_picture *p, const tt_step *step, int self);
/* Returns the number of the block that a message carries, or UINT32_MAX if it carries several blocks. */
uint32_t tt_label_single(const tt_picture *p, const tt_message *m);
/* Escapes a text for the output format. A question mark replaces each byte that is not ASCII. */
typedef enum tt_escape { TT_ESCAPE_NONE, TT_ESCAPE_JSON, TT_ESCAPE_XML } tt_escape;
void tt_label_escaped(tt_text *t, const char *text, tt_escape how);
/* Returns the colour of a block as 0xrrggbb. With at most 8 blocks, colour-blind readers can distinguish all colours. */
uint32_t tt_label_color(uint32_t block, uint32_t blocks);
/* Appends a title, for example "fold(ring): allreduce on 3 ranks, a vector of 3 blocks". */
void tt_label_title(tt_text *t, const tt_picture *p, tt_escape how);
/* Appends a sentence about the properties that the prover has found for the schedule. */
void tt_label_facts(tt_text *t, const tt_picture *p);

/* ---- renderers: one file each ---- */

void tt_draw_words(tt_text *t, tt_picture *p, int rank);
void tt_draw_json(tt_text *t, tt_picture *p, int rank, bool steps);
void tt_draw_svg(tt_text *t, tt_picture *p);
void tt_draw_html(tt_text *t, tt_picture *p);
/* Draws the picture in at most `width` columns, or without a limit if it is 0. Returns TUTTI_ERR_ARG if it is too wide. */
tutti_status tt_draw_terminal(tt_text *t, tt_picture *p, int width, int color);

#endif
