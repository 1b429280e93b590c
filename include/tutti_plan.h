/* tutti_plan.h - plans, for people: their names, their schedules as text, proven,
 * drawn and priced. A part of tutti.h, which includes it.
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
  TUTTI_SCAN,
  TUTTI_EXSCAN,
  TUTTI_GATHER,
  TUTTI_SCATTER,
  TUTTI_ALL_TO_ALL,
  TUTTI_COLL_COUNT
} tutti_coll;

/** "allreduce", ...; "?" for a number that is no collective. */
TUTTI_API const char *tutti_coll_name(tutti_coll coll);

/** The i-th algorithm: its name and one sentence; NULL past the end. Either
 *  pointer may be NULL. The strings are the library's. */
TUTTI_API const char *tutti_algo_name(int i, const char **sentence);
/** Where the i-th algorithm comes from: a paper, in short; NULL past the end. */
TUTTI_API const char *tutti_algo_source(int i);

/** Which plan this communicator runs for such a call: "fold(halving)", ... It is proven before its
 *  first use. Where that would take more than half a second, on more than 64 ranks, ", proven by its
 *  form" follows: plans of that name, with such parameters, were proven on other numbers of ranks when
 *  this version was made. With TUTTI_VERIFY=0 ", not proven" follows.
 *  Writes at most `size` bytes, always terminated. */
TUTTI_API tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count,
                                       tutti_type type, tutti_op op, char *name, size_t size);

/** How many seconds the price says that plan takes, in as many slices as it runs in. All ranks'
 *  schedules may have to be built: ask on one rank. TUTTI_ERR_UNSUPPORTED: it is not priced. */
TUTTI_API tutti_status tutti_comm_price(tutti_comm *comm, tutti_coll coll, size_t count,
                                        tutti_type type, tutti_op op, double *seconds);

/** How far apart two ranks are: 0 if they share memory, else how many levels of the machine
 *  part them, 1 for hosts of the innermost level. *level, if wanted: that level's name ("node",
 *  "rack"; "" on a network without levels), the communicator's. -1: there is no such rank. */
TUTTI_API int tutti_comm_apart(const tutti_comm *comm, int a, int b, const char **level);

/** What carries messages between ranks that share no memory, "Open MPI" or "UCX 1.13.1"; the
 *  communicator's. NULL: nothing does, for all were started to share it. */
TUTTI_API const char *tutti_comm_network(const tutti_comm *comm);

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
  int color; /* of a terminal: 0 plain ASCII, 1 UTF-8 and colours, 2 UTF-8, 3 ASCII and colours */
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

/* ------------------------------------------------------ prices --- */

/* A machine, a collective, and what may run: what is to be priced. */
typedef struct tutti_question {
  size_t size; /* sizeof(tutti_question), set by the caller */
  tutti_coll coll;
  int ranks, root;
  tutti_type type;
  tutti_op op;
  tutti_contract contract;
  const char *net;  /* figures, over the built-in ones: "alpha=30us,beta=1e-8,gamma=2e-10" */
  const char *topo; /* how ranks sit: "rack:3 node:16 core:4"; NULL or "": all alike */
  const char *algo; /* as for tutti_comm_set_algo; NULL: tutti's choice */
  const char *only; /* one plan, or one family: no others are priced; NULL: all */
  double crowd;     /* ranks per core that share memory; 0: a network; or TUTTI_CROWD_HERE */
} tutti_question;

/* All ranks on this machine: its cores, and the figures that a job here would go by. */
#define TUTTI_CROWD_HERE (-1.0)

/* What one plan would take, for one size. */
typedef struct tutti_offer {
  size_t size; /* sizeof(tutti_offer), set by the caller */
  char name[128];
  int slices;
  int possible;   /* it can do this collective on so many ranks */
  int admissible; /* and the op, the contract and the wish allow it */
  char why[300];  /* if not: why */
  double seconds;
  /* of the critical path, in seconds: they add up to it */
  double latency, transfer, arithmetic, processor, copying;
  int steps;        /* messages on the critical path */
  int messages;     /* most messages that one rank sends */
  double vectors;   /* most that one rank sends, in vectors */
  char bound[64];   /* the largest part: "latency", "transfer between nodes", ... */
} tutti_offer;

typedef struct tutti_prices tutti_prices;

/** Price all plans for a question; freed with tutti_prices_free. Takes milliseconds, and
 *  more on several levels. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP (the sentence has
 *  line and column of figures, the place in a topology); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_make(const tutti_question *question, tutti_prices **prices);
TUTTI_API void tutti_prices_free(tutti_prices *prices);
/** The prices that a communicator chooses by, for such calls on it, with its wish and its
 *  contract as they are now. Freed with tutti_prices_free, before the communicator, and used
 *  by the thread that uses it. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _MEMORY. */
TUTTI_API tutti_status tutti_comm_prices(tutti_comm *comm, tutti_coll coll, tutti_type type,
                                         tutti_op op, int root, tutti_prices **prices);
/** The i-th plan at `bytes` of the whole vector, in no order. With `detail` where the time
 *  goes, which takes longer; without, name, slices, possible and seconds only.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG past the end; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_offer(tutti_prices *prices, uint64_t bytes, int i, int detail,
                                          tutti_offer *offer);
/** The one that would run, with detail. TUTTI_ERR_UNSUPPORTED: none can. */
TUTTI_API tutti_status tutti_prices_chosen(tutti_prices *prices, uint64_t bytes,
                                           tutti_offer *offer);
/** Why it is chosen: the parts of its time, the next best, where others take over, what
 *  was refused. In words, or as JSON; freed with tutti_text_free. */
TUTTI_API tutti_status tutti_prices_explain(tutti_prices *prices, uint64_t bytes, int json,
                                            char **text);
/** The same for a call on this communicator, of `count` elements as the call takes them. */
TUTTI_API tutti_status tutti_comm_explain(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, int json, char **text);
/** The figures that prices are made of here, as text with a comment each: those of the profile
 *  that is found (docs/prices.md), else the built-in ones. What TUTTI_PROFILE=FILE reads.
 *  Freed with tutti_text_free. */
TUTTI_API tutti_status tutti_profile_text(char **text);

/* --------------------------------------------------------------- wisdom --- */

/* What was measured, and which plan won (docs/wisdom.md). A process keeps all that it is told
 * and measures; a communicator, when it is made, takes what its first rank's process has that
 * was measured where its ranks sit. So all ranks choose alike, whatever the others have. */

/** All that this process has, as text; freed with tutti_text_free. What a communicator
 *  measures its first rank's process has. */
TUTTI_API tutti_status tutti_wisdom_export(char **text);
/** Adds what the text says, for communicators that are made from then on; of two entries
 *  about the same the newer stays. All of it, or nothing.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: it is no wisdom, or of another version (the sentence has
 *  line and column); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_import(const char *text);
/** Adds all that this process has to a file, or makes it. Whoever saves to it at the same time
 *  waits, so nothing is lost: the file is locked, read, and replaced as a whole, in its mode.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: no path, or there is something that is no wisdom, or not to
 *  be read: it stays; TUTTI_ERR_SYSTEM: it cannot be written; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_save(const char *path);
/** This process has none then, and does not read TUTTI_WISDOM any more. Communicators keep
 *  theirs. */
TUTTI_API tutti_status tutti_wisdom_forget(void);
/** What wisdom of `ranks` processes that `tutti run` starts here is stamped with: what stands
 *  behind "on" in the text. Writes at most `size` bytes, always terminated. */
TUTTI_API tutti_status tutti_wisdom_here(int ranks, char *text, size_t size);

typedef struct tutti_measured {
  size_t size;          /* sizeof(tutti_measured), set by the caller */
  char plan[128];       /* what won ... */
  int slices;
  double seconds;       /* ... took: the median of rounds, of the slowest rank */
  double spread;        /* s between the rounds' quarters */
  double predicted;     /* its price */
  char own[128];        /* what the price alone would run, and the same of it */
  int own_slices;
  double own_seconds;   /* 0: it was much slower at once, and not timed any further */
  double own_predicted;
  int candidates;       /* plans that were timed; 0: none, and `why` says why */
  int calls;            /* of the one that won */
  double spent;         /* s */
  char why[120];
} tutti_measured;

/** Times the plans that may be the fastest for such a call, of root 0 where there is one, on
 *  memory of tutti's own, and remembers which was. Collective.
 *  measured  what came of it, the same on all ranks but for `spent`; may be NULL.
 *  Returns   TUTTI_OK, also if there was nothing to measure; as the call otherwise. */
TUTTI_API tutti_status tutti_comm_measure(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, tutti_measured *measured);
/** 1: blocking calls, and persistent ones when they are made, are measured before they first
 *  run, if no wisdom is about calls of that kind and about that size. Same on all ranks. The
 *  environment variable TUTTI_MEASURE=1 (of the first rank) sets it for every communicator. */
TUTTI_API tutti_status tutti_comm_set_measure(tutti_comm *comm, int on);

/* --------------------------------------------------------------- doctor --- */

/** What the ranks of a job do that runs, or hangs, on this machine: each one's process, call, and
 *  whom it waits for; then what is wrong, a sentence a line. Nothing in the job is touched.
 *
 *  pid      of any rank, or of who started them (`tutti run`, mpirun); the caller's, unless
 *           that is root.
 *  json     1: the same as one JSON object.
 *  *text    freed with tutti_text_free.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG: there is no such process; TUTTI_ERR_SYSTEM: it is another
 *           user's, has no ranks that share memory, or another version of tutti;
 *           TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_job_report(long pid, int json, char **text);

/* ---------------------------------------------------------------- trace --- */

/** With TUTTI_TRACE=FILE (docs/trace.md): what the program did from `begin` to `end`,
 *  seconds of CLOCK_MONOTONIC, in a lane above this rank's; elsewhere nothing. Marks may
 *  lie in each other, but not overlap otherwise. 64 names per communicator, up to 47 bytes
 *  each. One thread at a time per communicator. Refuses nothing: a mark that makes no sense
 *  is dropped. */
TUTTI_API void tutti_trace_mark(tutti_comm *comm, const char *name, double begin, double end);

#ifdef __cplusplus
}
#endif
#endif
