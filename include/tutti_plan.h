/* tutti_plan.h - which plan runs and why: names, schedules as text, proofs, drawings, predicted
 * times, wisdom; also variables and traces.
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

/** Return the name of the i-th algorithm, or NULL if there are no more. *sentence receives one sentence about the algorithm;
 *  `sentence` may be NULL. The strings belong to the library. */
TUTTI_API const char *tutti_algo_name(int i, const char **sentence);
/** Return a short reference to the paper that the i-th algorithm is from, or NULL if there are no more algorithms. */
TUTTI_API const char *tutti_algo_source(int i);

#define TUTTI_PLAN_TEXT 1024 /* buffer size for tutti_comm_plan that fits all but very long plans */

/** Get the name of the plan that this communicator runs for such a call: "fold(halving)", ... A plan is proven
 *  before its first use. If the proof would take more than half a second, on more than 64 ranks, the name ends
 *  in ", proven by its form": plans with the same name and similar parameters were proven on other numbers of
 *  ranks when this version was released. With TUTTI_VERIFY=0 it ends in ", not proven". Returns TUTTI_ERR_ARG if
 *  the name does not fit into `size` bytes; tutti_error() tells the required size. */
TUTTI_API tutti_status tutti_comm_plan(tutti_comm *comm, tutti_coll coll, size_t count,
                                       tutti_type type, tutti_op op, char *name, size_t size);

/** Get the predicted time, in seconds, of the plan that tutti_comm_plan names, with the number of slices that it uses. This
 *  may build the schedules of all ranks, so call it on one rank only. Returns TUTTI_ERR_UNSUPPORTED if the cost model does
 *  not cover the plan. */
TUTTI_API tutti_status tutti_comm_price(tutti_comm *comm, tutti_coll coll, size_t count,
                                        tutti_type type, tutti_op op, double *seconds);

/** Return the distance between two ranks. It is 0 if they share memory, and otherwise the number of network levels that
 *  separate them (1 for hosts of the innermost level); -1 if a or b is not a rank. If `level` is not NULL, *level receives
 *  the name of the outermost of these levels ("node", "rack"; "" on a network without levels), owned by the communicator. */
TUTTI_API int tutti_comm_apart(const tutti_comm *comm, int a, int b, const char **level);

/** Return the name of the network between ranks that do not share memory, such as "Open MPI" or "UCX 1.13.1". The string
 *  belongs to the communicator. Returns NULL if all ranks share memory. */
TUTTI_API const char *tutti_comm_network(const tutti_comm *comm);

/** Get the schedule of `algo` as text (docs/schedules.md), of one rank, or of all ranks if rank is -1.
 *  in_place  1: for in-place calls, with equal src and dst, or equal blocks of them; otherwise 0.
 *  Free *text with tutti_text_free. */
TUTTI_API tutti_status tutti_schedule_text(const char *algo, tutti_coll coll, int ranks, int rank,
                                           int root, int in_place, char **text);
TUTTI_API void tutti_text_free(char *text); /* free a `text` from this library; NULL is allowed */

/** What the prover has found out about a schedule. Blocks are the parts into which the schedule cuts the vector. */
typedef struct tutti_report {
  size_t size;          /* sizeof(tutti_report), set by the caller */
  int proven;           /* 1: correct for every count */
  int rank_order;       /* 1: combines operands in rank order: correct for any associative op */
  int same_grouping;    /* 1: the same bits on all ranks */
  int element; /* 1: satisfies the contract element: each sum adds all inputs in one step, in rank
                  order */
  int transitive;      /* 1: all ranks perform the same steps, with shifted rank numbers */
  int blocks;          /* number of blocks of a vector */
  int steps;           /* number of message rounds on the longest chain */
  int messages;        /* largest number of messages that a rank sends */
  int64_t sent_blocks; /* largest number of blocks that a rank sends */
  int64_t reduced;     /* largest number of block reductions by a rank (n inputs count as n-1) */
  int64_t copied;      /* largest number of blocks that a rank copies */
  int scratch_blocks;  /* largest number of scratch blocks of a rank */
  char witness[400];   /* if not proven: rank, step, span, and the reason */
} tutti_report;

/** Prove that a schedule is correct. `text` has the schedules of all ranks, as tutti_schedule_text writes them for rank -1.
 *  Returns TUTTI_OK (see report->proven); TUTTI_ERR_SCHEDULE if the text is not a schedule (tutti_error() has line and
 *  column); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_check(const char *text, tutti_report *report);

/** The kind of a drawing. */
typedef enum tutti_picture {
  TUTTI_PICTURE_WORDS,    /* sentences that describe each rank's steps, round by round */
  TUTTI_PICTURE_TERMINAL, /* a diagram in characters: ranks across, time down */
  TUTTI_PICTURE_SVG,      /* the same diagram as an SVG */
  TUTTI_PICTURE_HTML,     /* a self-contained page that shows the rounds one by one */
  TUTTI_PICTURE_JSON,     /* for programs: messages, steps, contents of each block over time */
  TUTTI_PICTURE_COUNT
} tutti_picture;

/** What to draw, and how. */
typedef struct tutti_drawing {
  size_t size; /* sizeof(tutti_drawing), set by the caller */
  tutti_picture picture; /* kind of the drawing */
  int rank;              /* for words and JSON: draw only this rank; -1 for all */
  int width;             /* for a terminal: width in columns; 0: unlimited */
  int color; /* for a terminal: 0 plain ASCII, 1 UTF-8 and colors, 2 UTF-8, 3 ASCII and colors */
  const char *topo; /* for SVG and JSON: the machine's levels, such as "node:4 core:3"; NULL or "":
                       the levels in the algorithm's name */
} tutti_drawing;

/** Draw the schedule in `text` (all ranks, as for tutti_schedule_check).
 *
 *  drawing   what to draw, and how.
 *  *picture  text of the requested kind; free it with tutti_text_free.
 *  Returns   TUTTI_OK; TUTTI_ERR_ARG (unknown kind or rank; too narrow; more messages than can be
 *            drawn); TUTTI_ERR_SCHEDULE if it is not a schedule, or the prover rejects it
 *            (tutti_error() has the witness); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_schedule_draw(const char *text, const tutti_drawing *drawing,
                                           char **picture);

/* ------------------------------------------------ compression --- */

/** Compress `count` numbers as for one message between hosts, and decompress them, to try a compression
 *  on your own numbers. Local.
 *
 *  code   as `compression` in tutti_config.
 *  src    count elements of `type`.
 *  dst    receives what the receiver of the message would get; may equal src; NULL: do not decompress.
 *  bytes  receives the size of the message in bytes; may be NULL.
 *  Returns  TUTTI_OK; TUTTI_ERR_ARG, _TYPE; TUTTI_ERR_UNSUPPORTED if the compression does not support this type. */
TUTTI_API tutti_status tutti_code_local(const char *code, const void *src, void *dst, size_t count,
                                        tutti_type type, size_t *bytes);

/* ------------------------------------------------------ predicted times --- */

/* A question to the cost model, which consists of a machine, a collective, and the plans that may run. */
typedef struct tutti_question {
  size_t size; /* sizeof(tutti_question), set by the caller */
  tutti_coll coll;   /* the collective */
  int ranks;         /* number of ranks in the communicator */
  int root;          /* for a collective with a root */
  tutti_type type;   /* type of the elements */
  tutti_op op;       /* for a collective that reduces */
  tutti_contract contract; /* guarantee on the results */
  const char *net;         /* model parameters that override the built-in ones:
                              "alpha=30us,beta=1e-8,gamma=2e-10" */
  const char *topo; /* placement: "rack:3 node:16 core:4", or within one machine "package:2 numa:4
                       cache:8 core:8"; NULL or "": all ranks are equally close */
  const char *algorithm; /* as in tutti_config; NULL: tutti chooses */
  const char *only;      /* only this plan or family; NULL: all */
  /* ranks per core, among those that share memory: all ranks, or those below a level `node` of
   * `topo`. 0: a network, unless `topo` is one machine; or TUTTI_CROWD_HERE */
  double crowd;
  const char *compression; /* as in tutti_config; NULL: messages are not compressed */
} tutti_question;

#define TUTTI_CROWD_HERE (-1.0) /* all ranks on this machine, using its cores and parameters */

/* The predicted time of one plan for one size. */
typedef struct tutti_offer {
  size_t size; /* sizeof(tutti_offer), set by the caller */
  const char *name;  /* name of the plan; owned by the tutti_prices */
  int slices;        /* number of slices into which it cuts the vector */
  int possible;      /* 1: it supports this collective on this number of ranks */
  int admissible;    /* 1: possible, and permitted by the op, the contract and `algorithm` */
  char why[800];     /* the reason, if it is not */
  double seconds;    /* predicted time in seconds; the next five are its parts on the critical path,
                        in seconds */
  double latency;    /* latency of links */
  double transfer;   /* transfer of bytes over links */
  double arithmetic; /* reductions */
  double processor;  /* time that processors spend on messages */
  double copying;   /* copies within a rank */
  int steps;        /* number of messages on the critical path */
  int rounds;       /* number of rounds, if each rank sends and receives one message per round */
  int messages;     /* largest number of messages that a rank sends */
  double vectors;   /* largest amount of data that a rank sends, in vectors */
  char bound[64];   /* the largest part: "latency", "transfer between nodes" and so on */
} tutti_offer;

typedef struct tutti_prices tutti_prices; /* the predicted times of all plans for one question */

/** Predict the times of all plans for a `question`. This takes milliseconds, or longer with several levels. Free *prices with
 *  tutti_prices_free. Returns TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP (tutti_error() has the line and column in `net`, the
 *  position in `topo`); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_make(const tutti_question *question, tutti_prices **prices);
TUTTI_API void tutti_prices_free(tutti_prices *prices); /* free `prices`; NULL is allowed */
/** Get the predicted times that a communicator uses to choose plans for such calls, with its current algorithms and contract.
 *  Use them only in the communicator's thread, and free them with tutti_prices_free before the communicator is freed. Returns
 *  TUTTI_OK; TUTTI_ERR_ARG, _TYPE, _OP, _MEMORY. */
TUTTI_API tutti_status tutti_comm_prices(tutti_comm *comm, tutti_coll coll, tutti_type type,
                                         tutti_op op, int root, tutti_prices **prices);
/** Get the i-th plan of `prices`, in unspecified order, for a whole vector of `bytes`. If the question
 *  has a compression, times are for compressed messages.
 *  detail  0: fill in only name, slices, possible and seconds; 1: all fields, which takes longer.
 *  offer   receives the result; set its size before the call.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG past the end; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_prices_offer(tutti_prices *prices, uint64_t bytes, int i, int detail,
                                          tutti_offer *offer);
/** Get the plan in `prices` that would run for a vector of `bytes`. Fills in *offer as tutti_prices_offer does with detail.
 *  Returns TUTTI_ERR_UNSUPPORTED if no plan is possible. */
TUTTI_API tutti_status tutti_prices_chosen(tutti_prices *prices, uint64_t bytes,
                                           tutti_offer *offer);
/** Explain which plan in `prices` is chosen for a vector of `bytes`, and why. Gives the parts of its time, the second best
 *  plan, the sizes at which other plans are chosen, and the plans that were rejected. Free *text with tutti_text_free.
 *  json  0: as sentences; 1: as JSON. */
TUTTI_API tutti_status tutti_prices_explain(tutti_prices *prices, uint64_t bytes, int json,
                                            char **text);
/** Explain why a plan is chosen for a call on this communicator, as tutti_prices_explain does. `count` is the count passed to
 *  the call. json 0: as sentences; 1: as JSON. Free *text with tutti_text_free. */
TUTTI_API tutti_status tutti_comm_explain(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, int json, char **text);
/** Get the parameters of this machine's cost model as text, with a comment for each. They come from the profile if there is
 *  one (docs/prices.md), and otherwise are built-in values. TUTTI_PROFILE=FILE reads such text. Free *text with
 *  tutti_text_free. */
TUTTI_API tutti_status tutti_profile_text(char **text);

/* --------------------------------------------------------------- wisdom --- */

/* Measurements of plans, and which plan was the fastest (docs/wisdom.md). A process keeps the
 * wisdom that it imports and measures. A new communicator copies it from its first rank's process,
 * provided that it was measured with the placement of its ranks. All ranks therefore make the same
 * choice, regardless of the other processes' wisdom. */

/** Get all wisdom of this process as text, and free the text with tutti_text_free. Measurements on a communicator are kept in
 *  the process of its first rank. */
TUTTI_API tutti_status tutti_wisdom_export(char **text);
/** Add the wisdom in `text` to this process, for communicators that are created later. If two entries answer the same
 *  question, the newer one is kept. Adds all entries or, on failure, none. Returns TUTTI_OK; TUTTI_ERR_ARG if the text is not
 *  wisdom, or is from another version (tutti_error() has line and column); TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_import(const char *text);
/** Add all wisdom of this process to a file, which is created if necessary. The file is locked, read, and
 *  replaced as a whole, keeping its mode. Processes that save at the same time wait, so no entry is lost.
 *  Returns TUTTI_OK; TUTTI_ERR_ARG if the path is missing, or if the file is not wisdom or cannot be read (it is
 *  then unchanged); TUTTI_ERR_SYSTEM if it cannot be written; TUTTI_ERR_MEMORY. */
TUTTI_API tutti_status tutti_wisdom_save(const char *path);
/** Discard all wisdom of this process. The process does not read TUTTI_WISDOM after this. Existing communicators keep their
 *  wisdom. */
TUTTI_API tutti_status tutti_wisdom_forget(void);
/** Get the fingerprint that wisdom has for `ranks` processes started by `tutti run` on this machine. In the text of wisdom,
 *  it appears after "on". Writes at most `size` bytes, which always include the terminating zero. */
TUTTI_API tutti_status tutti_wisdom_here(int ranks, char *text, size_t size);

/** The result of tutti_comm_measure. */
typedef struct tutti_measured {
  size_t size;          /* sizeof(tutti_measured), set by the caller */
  const char *plan;     /* the fastest plan; the string belongs to the library, as does `own` */
  int slices;           /* number of its slices */
  double seconds;       /* its time: the median over the rounds, for the slowest rank */
  double spread;        /* seconds between the quartiles of the rounds */
  double predicted;     /* its predicted time in seconds */
  const char *own;      /* the plan that the prediction alone would choose; the next three belong to
                           it */
  int own_slices;       /* number of its slices */
  double own_seconds;   /* its time; 0 if it was much slower from the start, so that its timing was
                           stopped */
  double own_predicted; /* its predicted time in seconds */
  int candidates;       /* number of plans that were timed; 0 if none, with the reason in `why` */
  int calls;            /* number of timed calls of the fastest plan */
  double spent;         /* duration of the measurement in seconds */
  char why[120];        /* the reason, if no plan was timed */
} tutti_measured;

/** Time the plans that may be the fastest for such a call (with root 0, if it has a root), on memory
 *  of the library, and remember the fastest. Collective.
 *  measured  the result, the same on all ranks except `spent`; may be NULL.
 *  Returns   TUTTI_OK, even if there was nothing to measure; otherwise the statuses of the call itself. */
TUTTI_API tutti_status tutti_comm_measure(tutti_comm *comm, tutti_coll coll, size_t count,
                                          tutti_type type, tutti_op op, tutti_measured *measured);

/* ------------------------------------------------------------- variables --- */

/** Return the name of the i-th environment variable that tutti uses, such as "TUTTI_ALGO", or NULL if there are no more.
 *  *group receives the name of its group, which is empty for variables of launchers, tests and builds. *example receives a
 *  value, and *meaning a description. Each pointer may be NULL. */
TUTTI_API const char *tutti_variable(int i, const char **group, const char **example,
                                     const char **meaning);

/** Return the value of an environment variable of tutti. If the variable is not set, return its value from a configuration
 *  file, or NULL if there is none. For "TUTTI_CONF", return the names of the files that were read, separated by ", ". In that
 *  case, unknown variables and invalid lines are also logged, once. */
TUTTI_API const char *tutti_setting(const char *name);

/** Return the i-th line of a list of features that this machine supports, such as "wire shm: yes", or NULL if there are no
 *  more. The string is valid until the thread's next call. */
TUTTI_API const char *tutti_info(int i);

/* ---------------------------------------------------------------- trace --- */

/** Add to the trace that the program executed `name` from `begin` to `end`, in seconds of CLOCK_MONOTONIC.
 *  It is shown in a lane above this rank's. Does nothing without TUTTI_TRACE=FILE (docs/trace.md). Marks may
 *  be nested, but must not overlap otherwise. A communicator keeps 64 names of up to 47 bytes;
 *  further names are shown as "mark". One thread at a time per communicator. An invalid mark is dropped, without an error. */
TUTTI_API void tutti_trace_mark(tutti_comm *comm, const char *name, double begin, double end);

#ifdef __cplusplus
}
#endif
#endif
