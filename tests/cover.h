/* cover.h - the covering table: cases of every kind, run on real ranks and
 * compared with a plain loop.
 *
 * Idea       a case is a line of words; it says all that a run depends on, so a
 *            failure prints it and TUTTI_TEST_CASE='...' repeats it. The n-th case
 *            of a table is a pure function of (P, seed), so ranks need not talk to
 *            agree on it, be they threads or processes.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COVER_H
#define COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

/* User-defined: one that commutes, one that does not; a sum of what is multiplied before. */
enum { COVER_USER = TUTTI_OP_COUNT, COVER_ORDERED, COVER_SCALED, COVER_OPS };
enum { COVER_APART, COVER_IN_PLACE, COVER_MIXED }; /* mixed: on odd ranks only */
enum { COVER_BLOCKING, COVER_WAIT, COVER_TEST, COVER_PERSISTENT };
/* Whose memory: malloc's, tutti's; tutti's on odd ranks; as each buffer's chance has it. */
enum { COVER_MALLOC, COVER_TUTTI_MEMORY, COVER_ODD, COVER_EACH };
/* Counts of the ranks: `count` each; and given one by one: as many, any, 0 for most, all
 * for one of them, nothing at all. */
enum { COVER_EVEN, COVER_LISTED, COVER_UNEVEN, COVER_FEW, COVER_HEIR, COVER_NONE, COVER_SPREADS };
enum { COVER_PERIOD = 509 }; /* data repeat after so many elements: a cheap reference */

typedef struct cover_case {
  int ranks;
  char algo[128]; /* "auto": tutti's own choice */
  tutti_coll coll;
  tutti_type type;
  int op;
  size_t count;
  int root, in_place, slices, memory, manner, spread;
  int helpers; /* so many ranks, the last ones, bring no data */
  int rough;   /* floats that round: same bits on all ranks, close to the sum */
  uint64_t seed;
} cover_case;

/* ---- cases (cover_case.c) ---- */

uint64_t cover_seed(void); /* TUTTI_TEST_SEED, or from the clock */
bool cover_all(void);      /* TUTTI_TEST_ALL is set: the full product */
/* How many cases there are on P ranks, and the n-th. */
size_t cover_cases(int ranks);
cover_case cover_case_at(int ranks, uint64_t seed, size_t n);
void cover_print(const cover_case *c, char *line, size_t size);
bool cover_parse(const char *line, cover_case *c);
bool cover_has_op(tutti_type type, int op);

/* ---- which plan ran (cover_forced.c) ---- */

enum { COVER_INTEGERS, COVER_FLOATS };
/* A case that names this entry of the table and that it can do, with helpers where it needs them;
 * false: it can do no case on that number of ranks. */
bool cover_force(cover_case *c, int entry, int kind);
/* Before the call, and after it: false, and why, if another plan ran than the one that is named,
 * though that can do it. */
void cover_watch(tutti_comm *comm);
bool cover_ran_as_named(const tutti_comm *comm, const cover_case *c, tutti_op op, char *why,
                        size_t size);
/* How many entries never ran, with floats or with integers; and the first of them. On fewer than
 * COVER_ENOUGH ranks an entry that can do nothing is excused. */
enum { COVER_ENOUGH = 6 };
int cover_never_ran(int ranks, char *why, size_t size);

/* ---- what a rank has (cover_part.c) ---- */

typedef struct cover_part { /* of the vector, in elements */
  size_t from, n;
  bool there; /* else the buffer is not looked at */
} cover_part;

bool cover_varied(const cover_case *c);            /* the counts are listed */
size_t cover_count(const cover_case *c, int rank); /* elements of its block */
size_t cover_whole(const cover_case *c);
cover_part cover_src(const cover_case *c, int rank);
cover_part cover_dst(const cover_case *c, int rank);
bool cover_reduces(tutti_coll coll);
bool cover_prefix(tutti_coll coll); /* scan or exscan: it has no avg */
/* Of how many ranks, from 0 on, is its result the sum? */
int cover_summed(const cover_case *c, int rank);
/* Where nothing is summed: whose src belongs at place i of its dst, and from which place
 * `at`; the `run` elements from there on follow. */
int cover_origin(const cover_case *c, int rank, size_t i, size_t *at, size_t *run);

/* ---- data (cover_data.c) ---- */

typedef struct cover_ops { /* handles of the user-defined ops */
  tutti_op user, ordered;
  tutti_op scaled[2]; /* of this rank: exact, rough */
} cover_ops;

size_t cover_align(tutti_type type);
uint64_t cover_mix(uint64_t x);
/* Elements 0 .. n-1 of rank `rank`'s input. */
void cover_fill(const cover_case *c, int rank, void *to, size_t n);
/* By what a rank's input is multiplied for COVER_SCALED; such ops, into ops->scaled. */
double cover_factor(int rough, int rank);
bool cover_make_scaled(cover_ops *ops, int rank);
void cover_drop_scaled(const cover_ops *ops);
/* The sum over the first `ranks` ranks, by a loop in rank order; *size, if not NULL, that
 * of the magnitudes as doubles (rough cases). */
void cover_reduce(const cover_case *c, int ranks, void *to, size_t n, double *size);
/* Is the got element as good as the expected one? */
bool cover_same(const cover_case *c, const void *got, const void *expected, double size);
void cover_user_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx);
void cover_ordered_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx);

/* ---- running (cover_run.c) ---- */

/* The op of a case. */
tutti_op cover_handle(const cover_ops *ops, const cover_case *c);

/* This rank's part of a case. True if all is well; else `why` says what is not,
 * and *over that the communicator is broken. `side` is another communicator of
 * the same ranks. */
bool cover_run(tutti_comm *comm, tutti_comm *side, const cover_ops *ops, const cover_case *c,
               bool *over, char *why, size_t size);
/* Start the collective that the case describes, on these buffers. */
tutti_status cover_start(tutti_comm *comm, const cover_ops *ops, const cover_case *c,
                         const void *src, void *dst, tutti_request **request);

#endif
