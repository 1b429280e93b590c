/* report.h - counts the calls that tutti serves, and those passed to the MPI, with the reason.
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_REPORT_H
#define SHIM_REPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tutti.h"

typedef enum shim_function {
#define PLAIN(name, lower, parameters, arguments) SHIM_##name, SHIM_I##lower, SHIM_##name##_init,
#define X                                         PLAIN
#include "collectives.def"
  SHIM_FUNCTIONS
} shim_function;

#define SHIM_WHYS(W)                                                             \
  W(SERVED, "")                                                                  \
  W(OFF, "TUTTI_DROPIN=0, on this rank or another")                              \
  W(BEFORE, "MPI was not initialized")                                           \
  W(AFTER, "MPI was about to end")                                               \
  W(OTHER_MPI, "this library is for another MPI than the one that runs")         \
  W(FAILED, "tutti could not make its own communicator")                         \
  W(ALONE, "a communicator of one rank")                                         \
  W(FOREIGN, "ranks of another MPI_COMM_WORLD, which may not have this library") \
  W(INTER, "an intercommunicator")                                               \
  W(REFUSED, "arguments that the MPI refuses")                                   \
  W(PAIR, "only the MPI knows whether this type and op fit")                     \
  W(HOLES, "a type with holes, and a user-defined op")                           \
  W(SIZE, "tutti has no type of this size (it has 1, 2, 4, 8 and 16 bytes)")     \
  W(NO_PLAN, "tutti has no plan for it")                                         \
  W(FASTER, "the MPI is faster at this size, or it was its turn to be measured") \
  W(NO_THREAD, "no thread may make progress: MPI was not initialized for MPI_THREAD_MULTIPLE")

typedef enum shim_why {
#define W(name, sentence) WHY_##name,
  SHIM_WHYS(W)
#undef W
      SHIM_WHY_COUNT
} shim_why;

extern int report_wanted; /* TUTTI_REPORT is set; otherwise nothing is counted */
/* Calls that were passed to the MPI. The time does not include nonblocking and persistent calls. */
typedef struct handed {
  _Atomic uint64_t calls, ns;
} handed;
extern handed report_handed[SHIM_FUNCTIONS][SHIM_WHY_COUNT];
uint64_t report_now(void); /* in ns */

/* Call report_hand_on before the MPI's function, and pass the function's result to report_back afterwards. */
static inline uint64_t report_hand_on(shim_function f, shim_why why) {
  if (!report_wanted) return 0;
  atomic_fetch_add_explicit(&report_handed[f][why].calls, 1, memory_order_relaxed);
  return report_now();
}
static inline int report_back(shim_function f, shim_why why, uint64_t since, int code) {
  if (since)
    atomic_fetch_add_explicit(&report_handed[f][why].ns, report_now() - since,
                              memory_order_relaxed);
  return code;
}

/* A row of the report: one function, one range of sizes and one plan. */
typedef struct row row;
typedef struct last_row { /* the last call of a function on a communicator, and its row */
  size_t count;
  tutti_type type;
  tutti_op op;
  row *row;
} last_row;

/* A call that tutti has served. plans: these values determine which plan ran. */
typedef struct served_call {
  shim_function function;
  tutti_coll coll;
  int plans;
  size_t count, bytes;
  tutti_type type;
  tutti_op op;
} served_call;

void report_begin(int rank);
/* Counts a communicator in the report. `why` is WHY_SERVED if tutti serves the communicator; otherwise it is the reason why
 * the communicator is left to the MPI. */
void report_communicator(const char *name, shim_why why);
/* Prints a line on stderr, only once, which says that tutti serves no calls in this process. Prints nothing if no report was
 * requested. */
void report_nothing(const char *why);
uint64_t report_now(void); /* in ns */
void report_served(tutti_comm *comm, last_row *last, const served_call *call, uint64_t since);
/* Records a comparison of tutti and the MPI for a function and for sizes up to 2^size bytes. The times are ns per call on the
 * slowest rank. mpi: the MPI serves all later calls of this kind. */
void report_turns(shim_function function, int size, double mpi_ns, double tutti_ns, bool mpi);
/* Counts a failure. Only the first message is kept. */
void report_failure(const char *sentence);
/* Writes the report on rank 0, if requested. */
void report_end(void);

#endif
