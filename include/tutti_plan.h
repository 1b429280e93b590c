/* tutti_plan.h - plans, for people: their names, their schedules as text, proven and
 * drawn. A part of tutti.h, which includes it.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tutti_coll {
  TUTTI_ALLREDUCE,
  TUTTI_REDUCE_SCATTER,
  TUTTI_ALL_GATHER,
  TUTTI_BROADCAST,
  TUTTI_REDUCE,
  TUTTI_BARRIER,
  TUTTI_COLL_COUNT
} tutti_coll;

/** "allreduce", ...; "?" for a number that is no collective. */
TUTTI_API const char *tutti_coll_name(tutti_coll coll);

/** The i-th algorithm: its name and one sentence; NULL past the end. Either
 *  pointer may be NULL. The strings are the library's. */
TUTTI_API const char *tutti_algo_name(int i, const char **sentence);
/** Where the i-th algorithm comes from: a paper, in short; NULL past the end. */
TUTTI_API const char *tutti_algo_source(int i);

/** Which plan this communicator runs for such a call: "fold(halving)", ...
 *  Writes at most `size` bytes, always terminated. */
TUTTI_API tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count,
                                       tutti_type type, tutti_op op, char *name, size_t size);

/** The schedule of `algo` for one rank, or for all with rank -1, as text (see
 *  docs/schedules.md); *text is freed with tutti_text_free. */
TUTTI_API tutti_status tutti_schedule_text(const char *algo, tutti_coll coll, int ranks, int rank,
                                           int root, int in_place, char **text);
TUTTI_API void tutti_text_free(char *text);

/** What the prover found out. Blocks are blocks of the schedule's own cut. */
typedef struct tutti_report {
  size_t size;          /* sizeof(tutti_report), set by the caller */
  int proven;           /* 1: right for every count */
  int rank_order;       /* 1: operands in rank order: fit for any associative op */
  int same_grouping;    /* 1: the same bits on all ranks */
  int transitive;       /* 1: every rank does the same, shifted */
  int blocks;           /* blocks of the cut */
  int steps;            /* rounds of messages on the longest chain */
  int messages;         /* most messages that one rank sends */
  int64_t sent_blocks;  /* most blocks that one rank sends */
  int64_t reduced;      /* most block reductions of one rank (n inputs: n-1) */
  int64_t copied;       /* most blocks that one rank copies */
  int scratch_blocks;   /* most scratch of one rank */
  char witness[400];    /* if not proven: rank, step, span, and why */
} tutti_report;

/** Prove the schedule that `text` holds (all ranks). The library's own ones:
 *  pass what tutti_schedule_text gave for rank -1.
 *  Returns TUTTI_OK (see report->proven); TUTTI_ERR_SCHEDULE if it is no
 *  schedule (line and column in the sentence); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_check(const char *text, tutti_report *report);

typedef enum tutti_picture {
  TUTTI_PICTURE_WORDS,    /* sentences: what each rank does, round by round */
  TUTTI_PICTURE_TERMINAL, /* ranks across, time down, in characters */
  TUTTI_PICTURE_SVG,      /* the same as a drawing */
  TUTTI_PICTURE_HTML,     /* a page, complete in itself, that steps through the rounds */
  TUTTI_PICTURE_JSON,     /* for programs: messages, steps, what each block holds when */
  TUTTI_PICTURE_COUNT
} tutti_picture;

typedef struct tutti_drawing {
  size_t size; /* sizeof(tutti_drawing), set by the caller */
  tutti_picture picture;
  int rank;  /* of words and JSON: only this rank; -1 for all */
  int width; /* of a terminal, in columns; 0 for as many as it takes */
  int color; /* of a terminal: 1 for UTF-8 and colours, 0 for plain ASCII */
} tutti_drawing;

/** Draw the schedule that `text` holds (all ranks, as for tutti_schedule_check).
 *
 *  *picture  text of the kind that was asked for; freed with tutti_text_free.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG (no such picture or rank; too narrow; more
 *            messages than can be drawn); TUTTI_ERR_SCHEDULE if it is no schedule,
 *            or the prover refuses it (the sentence has the witness);
 *            TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_draw(const char *text, const tutti_drawing *drawing,
                                           char **picture);

#ifdef __cplusplus
}
#endif
#endif
