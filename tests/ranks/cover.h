/* cover.h - the covering table: test cases of every kind, run on real ranks and compared with a plain loop.
 *
 * Idea       a case is one line of words that determines the run completely, so a
 *            failure prints it and TUTTI_TEST_CASE='...' repeats it. The n-th case
 *            of a table is a pure function of (P, seed), so the ranks (threads or
 *            processes) agree on it without communication.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COVER_H
#define COVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tutti.h"

/* User-defined ops: one commutative, one not; and a sum with a premultiplier. */
enum { COVER_USER = TUTTI_OP_COUNT, COVER_ORDERED, COVER_SCALED, COVER_OPS };
enum { COVER_APART, COVER_IN_PLACE, COVER_MIXED }; /* mixed: on odd ranks only */
enum { COVER_BLOCKING, COVER_WAIT, COVER_TEST, COVER_PERSISTENT, COVER_ON /* a stream */ };
/* The allocator of the buffers: malloc; tutti; tutti on odd ranks; chosen for each buffer; pages that are registered,
 * chosen for each buffer; device memory; device memory or malloc, chosen for each buffer. */
enum {
  COVER_MALLOC,
  COVER_TUTTI_MEMORY,
  COVER_ODD,
  COVER_EACH,
  COVER_REGISTERED,
  COVER_CARD,
  COVER_CARD_EACH
};
/* How counts vary by rank: `count` each; then per-rank lists: equal, arbitrary, 0 for most, everything on one
 * rank, nothing at all. */
enum { COVER_EVEN, COVER_LISTED, COVER_UNEVEN, COVER_FEW, COVER_HEIR, COVER_NONE, COVER_SPREADS };
enum { COVER_PERIOD = 509 }; /* period of the data: keeps the reference cheap */

typedef struct cover_case {
  int ranks;
  char algo[128]; /* "auto": tutti chooses */
  tutti_coll coll;
  tutti_type type;
  int op;
  size_t count;
  int root, in_place, slices, memory, manner, spread;
  int helpers; /* number of ranks without data: the last ones */
  int rough;   /* floats that round: all ranks must get the same bits, close to the sum */
  uint64_t seed;
} cover_case;

/* ---- cases (cover_case.c) ---- */

uint64_t cover_seed(void); /* TUTTI_TEST_SEED, or from the clock */
bool cover_all(void);      /* TUTTI_TEST_ALL is set: the full product */
/* The number of cases on P ranks, and the n-th case. */
size_t cover_cases(int ranks);
cover_case cover_case_at(int ranks, uint64_t seed, size_t n);
void cover_print(const cover_case *c, char *line, size_t size);
bool cover_parse(const char *line, cover_case *c);
bool cover_has_op(tutti_type type, int op);

/* ---- which plan ran (cover_forced.c) ---- */

enum { COVER_INTEGERS, COVER_FLOATS };
/* Makes a case that names this entry of the table and that the entry supports, with helpers if needed. Returns
 * false if the entry supports no case on that number of ranks. */
bool cover_force(cover_case *c, int entry, int kind);
/* Call before and after the case. Returns false, with the reason, if another plan ran although the
 * named algorithm supports the case. */
void cover_watch(tutti_comm *comm);
bool cover_ran_as_named(const tutti_comm *comm, const cover_case *c, tutti_op op, char *why,
                        size_t size);
/* Returns how many entries never ran with floats or with integers, and describes the first. On fewer than
 * COVER_ENOUGH ranks, entries that support no case are excused; on more ranks, entries that support one on
 * another number of ranks up to COVER_SMALL. */
enum { COVER_ENOUGH = 6, COVER_SMALL = 8 };
int cover_never_ran(int ranks, char *why, size_t size);

/* ---- each rank's part (cover_part.c) ---- */

typedef struct cover_part { /* of the vector, in elements */
  size_t from, n;
  bool there; /* false: the buffer is not accessed */
} cover_part;

bool cover_varied(const cover_case *c);            /* the counts are given per rank */
size_t cover_count(const cover_case *c, int rank); /* elements of its block */
size_t cover_pair(const cover_case *c, int from,
                  int to); /* of a varied all-to-all: elements of that block */
size_t cover_whole(const cover_case *c);
cover_part cover_src(const cover_case *c, int rank);
cover_part cover_dst(const cover_case *c, int rank);
bool cover_reduces(tutti_coll coll);
bool cover_prefix(tutti_coll coll); /* scan or exscan: it has no avg */
/* The number of ranks, counted from 0, whose inputs this rank's result sums up. */
int cover_summed(const cover_case *c, int rank);
/* Collectives without a sum: returns the rank whose src provides element i of this rank's dst. *at: the
 * position in that src; the next `run` elements follow it. */
int cover_origin(const cover_case *c, int rank, size_t i, size_t *at, size_t *run);

/* ---- data (cover_data.c) ---- */

/* ---- vectors in device memory (cover_card.c) ---- */

bool cover_cards(void); /* TUTTI_TEST_CARD is set: cases have vectors on a card */
/* Opens this rank's device. Returns false and prints the reason if the rank has none. */
bool cover_open_card(int rank);
/* The case's call in stream order. counts: NULL: one for all ranks. */
tutti_call cover_call(tutti_op op, const cover_case *c, const size_t *counts, const void *src,
                      void *dst);
tutti_status cover_on_stream(tutti_comm *m, tutti_op op, const cover_case *c, const size_t *counts,
                             const void *src, void *dst, void *stream);

typedef struct cover_ops { /* handles of the user-defined ops */
  tutti_op user, ordered;
  tutti_op scaled[2]; /* this rank's: exact, rough */
} cover_ops;

size_t cover_align(tutti_type type);
uint64_t cover_mix(uint64_t x);
/* Fills `to` with elements 0 .. n-1 of rank `rank`'s input. */
void cover_fill(const cover_case *c, int rank, void *to, size_t n);
/* The premultiplier of a rank for COVER_SCALED; the second function makes such ops in
 * ops->scaled. */
double cover_factor(int rough, int rank);
bool cover_make_scaled(cover_ops *ops, int rank);
void cover_drop_scaled(const cover_ops *ops);
/* The sum over the first `ranks` ranks, by a loop in rank order. *size, if not NULL: the result of the same
 * loop over the magnitudes (rough cases). */
void cover_reduce(const cover_case *c, int ranks, void *to, size_t n, double *size);
/* Is `got` as good as `expected`? */
bool cover_same(const cover_case *c, const void *got, const void *expected, double size);
void cover_user_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx);
void cover_ordered_op(const void *a, const void *b, void *dst, size_t n, tutti_type t, void *ctx);

/* ---- running (cover_run.c) ---- */

/* The op of a case. */
tutti_op cover_handle(const cover_ops *ops, const cover_case *c);

/* Runs this rank's part of a case. Returns true if everything is right. Otherwise `why` describes the error,
 * and *over says whether the communicator is broken. `side` is another communicator of the same ranks. */
bool cover_run(tutti_comm *comm, tutti_comm *side, const cover_ops *ops, const cover_case *c,
               bool *over, char *why, size_t size);
/* A case in flight, among others on the same communicator. cover_settle sets the plan (and helpers and slices)
 * of the communicator from a case. cover_begin returns NULL, with the status, if the call fails; cover_end
 * finishes like cover_run. */
typedef struct cover_flight cover_flight;
tutti_status cover_settle(tutti_comm *comm, const cover_case *c);
cover_flight *cover_begin(tutti_comm *comm, const cover_ops *ops, const cover_case *c,
                          tutti_status *status);
bool cover_end(cover_flight *flight, char *why, size_t size);
/* Starts the collective of the case on these buffers. */
tutti_status cover_start(tutti_comm *comm, const cover_ops *ops, const cover_case *c,
                         const void *src, void *dst, tutti_request **request);

#endif
