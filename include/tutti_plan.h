/* tutti_plan.h - which plan runs and why: names, schedules as text, proofs, drawings, prices, wisdom; variables and traces.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TUTTI_PLAN_H
#define TUTTI_PLAN_H

#include "tutti.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "float", "bf16", ...; "?" for an unknown type. */
TUTTI_API const char *tutti_type_name(tutti_type type);
/** "sum", "minloc", ..., "user", "scaled"; "?" for an unknown op. */
TUTTI_API const char *tutti_op_name(tutti_op op);
/** "allreduce", ...; "?" for an unknown collective. */
TUTTI_API const char *tutti_coll_name(tutti_coll coll);

/** The i-th algorithm: its name and one sentence; NULL past the end. Either
 *  pointer may be NULL. The strings are the library's. */
TUTTI_API const char *tutti_algo_name(int i, const char **sentence);
/** Where the i-th algorithm comes from: a paper, in short; NULL past the end. */
TUTTI_API const char *tutti_algo_source(int i);

#define TUTTI_PLAN_TEXT 1024 /* room for what tutti_comm_plan writes, of all but very long plans */

/** The name of the plan that this communicator runs for such a call: "fold(halving)", ... A plan is
 *  proven before its first use. If the proof would take more than half a second, on more than 64
 *  ranks, the name ends in ", proven by its form": plans of that name and such parameters were proven
 *  on other numbers of ranks when this version was released. With TUTTI_VERIFY=0 it ends in
 *  ", not proven". TUTTI_ERR_ARG: it takes more than `size` bytes; tutti_error() says how many. */
TUTTI_API tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count,
                                       tutti_type type, tutti_op op, char *name, size_t size);

/** The predicted time of that plan in seconds, with the slices that it runs in. This may
 *  build all ranks' schedules, so call it on one rank. TUTTI_ERR_UNSUPPORTED: it is not priced. */
TUTTI_API tutti_status tutti_comm_price(tutti_comm *comm, tutti_coll coll, size_t count,
                                        tutti_type type, tutti_op op, double *seconds);

/** The distance of two ranks: 0 if they share memory, else the number of levels that separate
 *  them, 1 for hosts of the innermost level; -1 if a or b is not a rank. *level, if not NULL: that
 *  level's name ("node", "rack"; "" on a network without levels), owned by the communicator. */
TUTTI_API int tutti_comm_apart(const tutti_comm *comm, int a, int b, const char **level);

/** The network between ranks that share no memory, "Open MPI" or "UCX 1.13.1"; owned by the
 *  communicator. NULL: none, because all ranks share memory. */
TUTTI_API const char *tutti_comm_network(const tutti_comm *comm);

/** The schedule of `algo` as text (docs/schedules.md): one rank's, or all ranks' if rank is -1.
 *  in_place  1: that of calls with equal src and dst, or their blocks; else 0.
 *  Free *text with tutti_text_free. */
TUTTI_API tutti_status tutti_schedule_text(const char *algo, tutti_coll coll, int ranks, int rank,
                                           int root, int in_place, char **text);
TUTTI_API void tutti_text_free(char *text); /* free a `text` of this library; NULL is legal */

/** What the prover found. Blocks are those into which the schedule cuts the vector. */
typedef struct tutti_report {
  size_t size;          /* sizeof(tutti_report), set by the caller */
  int proven;           /* 1: right for every count */
  int rank_order;       /* 1: operands in rank order: right for any associative op */
  int same_grouping;    /* 1: the same bits on all ranks */
  int element; /* 1: as the contract element requires: each sum adds all inputs in one step, in rank order */
  int transitive;       /* 1: all ranks do the same, with shifted rank numbers */
  int blocks;           /* blocks of a vector */
  int steps;            /* rounds of messages on the longest chain */
  int messages;         /* most messages that one rank sends */
  int64_t sent_blocks;  /* most blocks that one rank sends */
  int64_t reduced;      /* most block reductions of one rank (n inputs: n-1) */
  int64_t copied;       /* most blocks that one rank copies */
  int scratch_blocks;   /* most scratch of one rank */
  char witness[400];    /* if not proven: rank, step, span, and why */
} tutti_report;

/** Prove the schedule in `text`, which has all ranks, as tutti_schedule_text gives
 *  it for rank -1.
 *  Returns TUTTI_OK (see report->proven); TUTTI_ERR_SCHEDULE if it is not a
 *  schedule (tutti_error() has line and column); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_check(const char *text, tutti_report *report);

/** The form of a drawing. */
typedef enum tutti_picture {
  TUTTI_PICTURE_WORDS,    /* sentences: what each rank does, round by round */
  TUTTI_PICTURE_TERMINAL, /* ranks across, time down, in characters */
  TUTTI_PICTURE_SVG,      /* the same as a drawing */
  TUTTI_PICTURE_HTML,     /* a self-contained page that steps through the rounds */
  TUTTI_PICTURE_JSON,     /* for programs: messages, steps, contents of each block over time */
  TUTTI_PICTURE_COUNT
} tutti_picture;

/** What to draw. */
typedef struct tutti_drawing {
  size_t size; /* sizeof(tutti_drawing), set by the caller */
  tutti_picture picture; /* the form */
  int rank;  /* of words and JSON: only this rank; -1 for all */
  int width; /* of a terminal, in columns; 0: unlimited */
  int color; /* of a terminal: 0 plain ASCII, 1 UTF-8 and colours, 2 UTF-8, 3 ASCII and colours */
  const char *topo; /* of an SVG and JSON: the machine's levels, such as "node:4 core:3"; NULL or "":
                       those in the algorithm's name */
} tutti_drawing;

/** Draw the schedule in `text` (all ranks, as for tutti_schedule_check).
 *
 *  drawing   what to draw, and how.
 *  *picture  text of the requested kind; free it with tutti_text_free.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG (unknown picture or rank; too narrow; more
 *            messages than can be drawn); TUTTI_ERR_SCHEDULE if it is not a schedule,
 *            or the prover refuses it (tutti_error() has the witness);
 *            TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_draw(const char *text, const tutti_drawing *drawing,
                                           char **picture);

/* ------------------------------------------------ lighter messages --- */

/** Code `count` numbers as one message between hosts would, and decode them: to try a code on your
 *  numbers. Local.
 *
 *  code   as in tutti_config.
 *  src    count elements of `type`.
 *  dst    receives what the receiver of the message would get; may equal src; NULL: nothing is decoded.
 *  bytes  receives the bytes of the message; may be NULL.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG, _TYPE; TUTTI_ERR_UNSUPPORTED: the code does not take this type. */
TUTTI_API tutti_status tutti_code_local(const char *code, const void *src, void *dst, size_t count,
                                        tutti_type type, size_t *bytes);

/* ------------------------------------------------------ prices --- */

/* What to price: a machine, a collective, and the plans that may run. */
typedef struct tutti_question {
  size_t size; /* sizeof(tutti_question), set by the caller */
  tutti_coll coll;   /* the collective */
  int ranks;         /* of the communicator */
  int root;          /* of a collective with a root */
  tutti_type type;   /* of the elements */
  tutti_op op;       /* of a collective that reduces */
  tutti_contract contract; /* what results guarantee */
  const char *net;  /* figures that override the built-in ones: "alpha=30us,beta=1e-8,gamma=2e-10" */
  const char *topo; /* placement: "rack:3 node:16 core:4", or within one machine
                       "package:2 numa:4 cache:8 core:8"; NULL or "": all ranks are equally near */
  const char *algorithm; /* as in tutti_config; NULL: tutti chooses */
  const char *only; /* price only this plan or family; NULL: all */
  double crowd;     /* ranks per core that share memory: all of them, or those below a level `node`
                       of `topo`; 0: a network, unless `topo` is one machine; or TUTTI_CROWD_HERE */
  const char *compression; /* as in tutti_config; NULL: messages are not coded */
} tutti_question;

#define TUTTI_CROWD_HERE (-1.0) /* all ranks on this machine, with its cores and the figures of a job here */

/* The price of one plan at one size. */
typedef struct tutti_offer {
  size_t size; /* sizeof(tutti_offer), set by the caller */
  const char *name; /* of the plan; the prices' */
  int slices;     /* into which it cuts the vector */
  int possible;   /* it can do this collective on this number of ranks */
  int admissible; /* possible, and the op, the contract and `algo` allow it */
  char why[800];  /* if not: why */
  double seconds;   /* the predicted time; the next five are its parts, in seconds, on the critical path */
  double latency;   /* of links */
  double transfer;  /* of bytes over links */
  double arithmetic; /* reductions */
  double processor; /* the time that a processor spends on messages */
  double copying;   /* copies within a rank */
  int steps;        /* messages on the critical path */
  int rounds;       /* if each rank sends one message, and receives one, in a round */
  int messages;     /* most messages that one rank sends */
  double vectors;   /* most data that one rank sends, in vectors */
  char bound[64];   /* the largest part: "latency", "transfer between nodes" and so on */
} tutti_offer;

typedef struct tutti_prices tutti_prices; /* the priced plans of one question */

/** Price all plans for a `question`; free *prices with tutti_prices_free. Takes milliseconds,
 *  longer on several levels. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP (tutti_error() has
 *  the line and column in `net`, the position in `topo`); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_make(const tutti_question *question, tutti_prices **prices);
TUTTI_API void tutti_prices_free(tutti_prices *prices); /* free `prices`; NULL is legal */
/** The prices that a communicator chooses plans by for such calls, with its present algorithms
 *  and contract. Free them with tutti_prices_free before the communicator, and
 *  use them in its thread. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _MEMORY. */
TUTTI_API tutti_status tutti_comm_prices(tutti_comm *comm, tutti_coll coll, tutti_type type,
                                         tutti_op op, int root, tutti_prices **prices);
/** The price of the i-th plan of `prices`, in no order, for a whole vector of `bytes`; with a code in
 *  the question, of coded messages.
 *  detail  0: name, slices, possible and seconds only; 1: all fields, which takes longer.
 *  offer   receives the price; its size is set by the caller.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG past the end; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_offer(tutti_prices *prices, uint64_t bytes, int i, int detail,
                                          tutti_offer *offer);
/** The plan of `prices` that would run for a vector of `bytes`; *offer as from tutti_prices_offer, with
 *  detail. TUTTI_ERR_UNSUPPORTED: no plan can. */
TUTTI_API tutti_status tutti_prices_chosen(tutti_prices *prices, uint64_t bytes,
                                           tutti_offer *offer);
/** Why that plan of `prices` is chosen for a vector of `bytes`: the parts of its time, the next best
 *  plan, the sizes at which others take over, and what was refused. Free *text with tutti_text_free.
 *  json  0: in words; 1: as JSON. */
TUTTI_API tutti_status tutti_prices_explain(tutti_prices *prices, uint64_t bytes, int json,
                                            char **text);
/** The same for a call on this communicator, of `count` elements as the call takes them; `json` as
 *  there. */
TUTTI_API tutti_status tutti_comm_explain(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, int json, char **text);
/** The figures of this machine's prices, as text with a comment each: from the profile, if one
 *  is found (docs/prices.md), else the built-in ones. TUTTI_PROFILE=FILE reads such text.
 *  Free *text with tutti_text_free. */
TUTTI_API tutti_status tutti_profile_text(char **text);

/* --------------------------------------------------------------- wisdom --- */

/* Measurements, and which plan won (docs/wisdom.md). A process keeps the wisdom that it imports
 * and measures. A new communicator takes it from its first rank's process, as far as it was
 * measured on the placement of its ranks. All ranks therefore make the same choice, whatever wisdom
 * the other processes have. */

/** All wisdom of this process, as text; free it with tutti_text_free. Measurements of a
 *  communicator belong to its first rank's process. */
TUTTI_API tutti_status tutti_wisdom_export(char **text);
/** Add the entries of `text`, for communicators that are made later. The newer of two entries for
 *  the same question stays. Adds all of them, or none.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: not wisdom, or of another version (tutti_error() has
 *  line and column); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_import(const char *text);
/** Add all wisdom of this process to a file, or make the file. It is locked, read, and replaced as
 *  a whole, with its mode; processes that save at the same time wait, so no entry is lost.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG: no path, or a file that is not wisdom or cannot be read, which
 *  stays as it is; TUTTI_ERR_SYSTEM: it cannot be written; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_save(const char *path);
/** Drop all wisdom of this process; it will not read TUTTI_WISDOM any more. Communicators keep
 *  theirs. */
TUTTI_API tutti_status tutti_wisdom_forget(void);
/** The fingerprint of wisdom for `ranks` processes that `tutti run` starts here, as it stands
 *  after "on" in the text. Writes at most `size` bytes, always terminated. */
TUTTI_API tutti_status tutti_wisdom_here(int ranks, char *text, size_t size);

/** What tutti_comm_measure found. */
typedef struct tutti_measured {
  size_t size;          /* sizeof(tutti_measured), set by the caller */
  const char *plan;     /* the winner; the library's, as `own` */
  int slices;           /* of the winner */
  double seconds;       /* the winner's time: the median of rounds, of the slowest rank */
  double spread;        /* seconds between the rounds' quartiles */
  double predicted;     /* the winner's price, seconds */
  const char *own;      /* the plan that the price alone would choose; the next three are its */
  int own_slices;       /* its slices */
  double own_seconds;   /* 0: it was much slower from the start, and its timing stopped */
  double own_predicted; /* its price, seconds */
  int candidates;       /* plans that were timed; 0: none, and `why` says why */
  int calls;            /* timed calls of the winner */
  double spent;         /* seconds that the measurement took */
  char why[120];        /* no plan was timed: why */
} tutti_measured;

/** Time the plans that may be the fastest for such a call (with root 0, if it has a root), on
 *  tutti's own memory, and remember the winner. Collective.
 *  measured  the result, the same on all ranks except `spent`; may be NULL.
 *  Returns   TUTTI_OK, also if there was nothing to measure; else as the call itself. */
TUTTI_API tutti_status tutti_comm_measure(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, tutti_measured *measured);

/* ------------------------------------------------------------- variables --- */

/** The i-th environment variable that tutti knows, such as "TUTTI_ALGO"; NULL past the end. It
 *  belongs to *group, which is empty for variables of launchers, tests and builds; *example is a value, and *meaning says what
 *  it does; each pointer may be NULL. */
TUTTI_API const char *tutti_variable(int i, const char **group, const char **example,
                                     const char **meaning);

/** The value of an environment variable of tutti, or else the one in a configuration file; NULL: unset. For "TUTTI_CONF": the
 *  files that were read, separated by ", "; unknown variables and wrong lines are then reported to the log, once. */
TUTTI_API const char *tutti_setting(const char *name);

/** The i-th line about what this machine supports ("wire shm: yes"), valid until the thread's next call; or NULL. */
TUTTI_API const char *tutti_info(int i);

/* ---------------------------------------------------------------- trace --- */

/** Add to the trace that the program did `name` from `begin` to `end`, in seconds of CLOCK_MONOTONIC; it is
 *  shown in a lane above this rank's. Does nothing without TUTTI_TRACE=FILE (docs/trace.md).
 *  Marks may nest, but not overlap otherwise. A communicator has 64 names of up to 47 bytes.
 *  One thread at a time per communicator. A mark that makes no sense is dropped, without an
 *  error. */
TUTTI_API void tutti_trace_mark(tutti_comm *comm, const char *name, double begin, double end);

#ifdef __cplusplus
}
#endif
#endif
