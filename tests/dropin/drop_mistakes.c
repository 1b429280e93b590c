/* drop_mistakes.c - the mistakes of the MPI Bugs Initiative, in collectives that tutti serves: ranks that
 * differ in the call, the root, the op, the type, the count, the communicator or the order; missing calls and
 * waits on a rank; freed handles; invalid arguments. Run with tutti only, and with TUTTI_TIMEOUT: an MPI may
 * hang, or combine data of different calls.
 *
 * Usage     drop_mistakes [NAME]    NAME: one of `alone`, which may end the job
 * Idea      Each row of `mistakes` has rank 0's calls and those of the others. It runs on a new communicator, with blocking
 *           calls and with requests, and must be an error on every rank: in the call, or (for a rank that needs nothing from
 *           the others) in the barrier that follows. Those of `alone` each run in a separate process, which must end, and
 *           either fail or print a warning.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "drop.h"

enum { LONGEST = 9000, RANKS = 4 };
enum what {
  NOTHING,
  ALLREDUCE,
  REDUCE,
  BCAST,
  ALLGATHER,
  ALLGATHERV,
  REDUCE_SCATTER,
  BLOCKS,
  BARRIER
};
enum type { INT, FLOAT, DOUBLE, CHAR, NO_TYPE };
enum op { SUM, MAX, PROD, BXOR, NO_OP };
enum where {
  HERE,
  THERE,
  NOWHERE
}; /* this communicator, another of the same ranks, MPI_COMM_NULL */
typedef struct
    call { /* unset fields are 0: sum, of ints, to or from root 0, on this communicator */
  enum what what;
  int count, root;
  enum type type;
  enum op op;
  enum where where;
} call;
#define CALL(which, ...)       \
  (call) {                     \
    .what = which, __VA_ARGS__ \
  }
/* NONE: not a mistake. BLOCKING: a mistake of blocking calls only. ARGUMENT: all ranks call the same. */
enum kind { NONE, DIFFER, BLOCKING, ARGUMENT };
typedef struct mistake {
  const char *name;
  enum kind kind;
  call first[2], others[2]; /* of rank 0, and of the other ranks */
} mistake;

static const mistake mistakes[] = {
    {"none", NONE, {CALL(ALLREDUCE, .count = 4)}, {CALL(ALLREDUCE, .count = 4)}},
    {"call: allreduce, bcast", DIFFER, {CALL(ALLREDUCE, .count = 4)}, {CALL(BCAST, .count = 4)}},
    {"call: barrier, allreduce", DIFFER, {CALL(BARRIER)}, {CALL(ALLREDUCE, .count = 1)}},
    {"call: reduce, allgather",
     DIFFER,
     {CALL(REDUCE, .count = 900)},
     {CALL(ALLGATHER, .count = 900)}},
    {"call: reduce, bcast", DIFFER, {CALL(REDUCE, .count = 4)}, {CALL(BCAST, .count = 4)}},
    {"call: long bcast, barrier", DIFFER, {CALL(BCAST, .count = 9000)}, {CALL(BARRIER)}},
    {"call: left out", DIFFER, {CALL(ALLREDUCE, .count = 4)}, {CALL(NOTHING)}},
    {"root: bcast", DIFFER, {CALL(BCAST, .count = 4)}, {CALL(BCAST, .count = 4, .root = 1)}},
    {"root: reduce", DIFFER, {CALL(REDUCE, .count = 900)}, {CALL(REDUCE, .count = 900, .root = 1)}},
    {"op: allreduce",
     DIFFER,
     {CALL(ALLREDUCE, .count = 4)},
     {CALL(ALLREDUCE, .count = 4, .op = MAX)}},
    {"op: reduce", DIFFER, {CALL(REDUCE, .count = 900)}, {CALL(REDUCE, .count = 900, .op = PROD)}},
    {"op: reduce_scatter",
     DIFFER,
     {CALL(REDUCE_SCATTER, .count = 4)},
     {CALL(REDUCE_SCATTER, .count = 4, .op = BXOR)}},
    {"type: allreduce",
     DIFFER,
     {CALL(ALLREDUCE, .count = 4)},
     {CALL(ALLREDUCE, .count = 4, .type = FLOAT)}},
    {"type: reduce",
     DIFFER,
     {CALL(REDUCE, .count = 4, .type = DOUBLE)},
     {CALL(REDUCE, .count = 8, .type = FLOAT)}},
    {"type: bcast", DIFFER, {CALL(BCAST, .count = 4)}, {CALL(BCAST, .count = 4, .type = DOUBLE)}},
    {"type: allgather",
     DIFFER,
     {CALL(ALLGATHER, .count = 4)},
     {CALL(ALLGATHER, .count = 4, .type = CHAR)}},
    {"count: allreduce", DIFFER, {CALL(ALLREDUCE, .count = 4)}, {CALL(ALLREDUCE, .count = 5)}},
    {"count: long allreduce",
     DIFFER,
     {CALL(ALLREDUCE, .count = 8000)},
     {CALL(ALLREDUCE, .count = 9000)}},
    {"count: reduce", DIFFER, {CALL(REDUCE, .count = 4)}, {CALL(REDUCE, .count = 3)}},
    {"count: bcast", DIFFER, {CALL(BCAST, .count = 4)}, {CALL(BCAST, .count = 3)}},
    {"count: bcast of nothing", DIFFER, {CALL(BCAST, .count = 0)}, {CALL(BCAST, .count = 3)}},
    {"count: allgather", DIFFER, {CALL(ALLGATHER, .count = 4)}, {CALL(ALLGATHER, .count = 3)}},
    {"count: allgatherv", DIFFER, {CALL(ALLGATHERV, .count = 4)}, {CALL(ALLGATHERV, .count = 3)}},
    {"count: reduce_scatter",
     DIFFER,
     {CALL(REDUCE_SCATTER, .count = 4)},
     {CALL(REDUCE_SCATTER, .count = 3)}},
    {"count: reduce_scatter_block", DIFFER, {CALL(BLOCKS, .count = 4)}, {CALL(BLOCKS, .count = 3)}},
    {"communicator",
     DIFFER,
     {CALL(ALLREDUCE, .count = 4)},
     {CALL(ALLREDUCE, .count = 4, .where = THERE)}},
    {"order of communicators",
     BLOCKING,
     {CALL(ALLREDUCE, .count = 4), CALL(BARRIER, .where = THERE)},
     {CALL(BARRIER, .where = THERE), CALL(ALLREDUCE, .count = 4)}},
    {"order of calls",
     DIFFER,
     {CALL(ALLREDUCE, .count = 4), CALL(BCAST, .count = 4)},
     {CALL(BCAST, .count = 4), CALL(ALLREDUCE, .count = 4)}},
    {"order of roots",
     DIFFER,
     {CALL(BCAST, .count = 9000), CALL(BCAST, .count = 9000, .root = 1)},
     {CALL(BCAST, .count = 9000, .root = 1), CALL(BCAST, .count = 9000)}},
    {"argument: no communicator", ARGUMENT, {CALL(BARRIER, .where = NOWHERE)}, {{.what = NOTHING}}},
    {"argument: a negative count", ARGUMENT, {CALL(BCAST, .count = -1)}, {{.what = NOTHING}}},
    {"argument: a root too great",
     ARGUMENT,
     {CALL(REDUCE, .count = 1, .root = 99)},
     {{.what = NOTHING}}},
    {"argument: a negative root",
     ARGUMENT,
     {CALL(BCAST, .count = 1, .root = -7)},
     {{.what = NOTHING}}},
    {"argument: no op", ARGUMENT, {CALL(ALLREDUCE, .count = 1, .op = NO_OP)}, {{.what = NOTHING}}},
    {"argument: an op of other types",
     ARGUMENT,
     {CALL(ALLREDUCE, .count = 1, .type = FLOAT, .op = BXOR)},
     {{.what = NOTHING}}},
    {"argument: no type",
     ARGUMENT,
     {CALL(ALLGATHER, .count = 1, .type = NO_TYPE)},
     {{.what = NOTHING}}},
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static double x[2][LONGEST], y[2][RANKS * LONGEST];
static int counts[2][RANKS], places[2][RANKS];

/* Makes the call on the k-th pair of vectors; as a request, if `q` is set. */
static int make(const call *c, int k, MPI_Comm comm, MPI_Request *q) {
  const MPI_Datatype type =
      (MPI_Datatype[]){MPI_INT, MPI_FLOAT, MPI_DOUBLE, MPI_CHAR, MPI_DATATYPE_NULL}[c->type];
  const MPI_Op op = (MPI_Op[]){MPI_SUM, MPI_MAX, MPI_PROD, MPI_BXOR, MPI_OP_NULL}[c->op];
  void *src = x[k], *dst = y[k];
  for (int r = 0; r < drop_ranks; r++) counts[k][r] = c->count, places[k][r] = r * c->count;
#define MAKE(Name, name, ...) return q ? MPI_I##name(__VA_ARGS__, q) : MPI_##Name(__VA_ARGS__)
  switch (c->what) {
    case ALLREDUCE: MAKE(Allreduce, allreduce, src, dst, c->count, type, op, comm);
    case REDUCE: MAKE(Reduce, reduce, src, dst, c->count, type, op, c->root, comm);
    case BCAST: MAKE(Bcast, bcast, src, c->count, type, c->root, comm);
    case ALLGATHER: MAKE(Allgather, allgather, src, c->count, type, dst, c->count, type, comm);
    case ALLGATHERV:
      MAKE(Allgatherv, allgatherv, src, c->count, type, dst, counts[k], places[k], type, comm);
    case REDUCE_SCATTER: MAKE(Reduce_scatter, reduce_scatter, src, dst, counts[k], type, op, comm);
    case BLOCKS:
      MAKE(Reduce_scatter_block, reduce_scatter_block, src, dst, c->count, type, op, comm);
    case BARRIER: MAKE(Barrier, barrier, comm);
    default: return MPI_SUCCESS;
  }
#undef MAKE
}

/* Plays this rank's part; returns the first error. */
static int play(const mistake *m, bool requests, const MPI_Comm *comms) {
  const call *calls = drop_rank && m->kind != ARGUMENT ? m->others : m->first;
  MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int error = MPI_SUCCESS;
  for (int k = 0; k < 2 && !error; k++)
    error = make(&calls[k], k, calls[k].where == NOWHERE ? MPI_COMM_NULL : comms[calls[k].where],
                 requests ? &q[k] : NULL);
  for (int k = 0; k < 2; k++) {
    const int next = q[k] == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Wait(&q[k], MPI_STATUS_IGNORE);
    if (!error) error = next;
  }
  return !error && m->kind != ARGUMENT ? MPI_Barrier(comms[HERE]) : error;
}

static void judge(const mistake *m, bool requests) {
  char name[80], text[MPI_MAX_ERROR_STRING] = "none";
  const bool right = m->kind == NONE || (m->kind == BLOCKING && requests);
  MPI_Comm comms[2];
  int n;
  for (int i = 0; i < 2; i++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Barrier(comms[i]); /* tutti makes its communicator here, with MPI calls */
  }
  const int error = play(m, requests, comms);
  if (error) MPI_Error_string(error, text, &n);
  if (right != !error) printf("# rank %d: %s: the error is: %s\n", drop_rank, m->name, text);
  snprintf(name, sizeof name, "%s, %s", m->name, requests ? "by requests" : "blocking");
  drop_tell(name, right == !error);
}

/* ---- mistakes that may end the job ---- */

static void no_wait(MPI_Comm comm) {
  MPI_Request q;
  make(&CALL(ALLREDUCE, .count = 9000), 0, comm, &q);
}

static void no_wait_on_one(MPI_Comm comm) {
  MPI_Request q;
  make(&CALL(ALLREDUCE, .count = 4), 0, comm, &q);
  if (drop_rank) MPI_Wait(&q, MPI_STATUS_IGNORE);
}

static void freed_in_flight(MPI_Comm comm) {
  no_wait(comm);
  MPI_Comm_free(&comm);
}

static void freed_comm(MPI_Comm comm) {
  MPI_Comm copy = comm;
  MPI_Comm_free(&copy);
  make(&CALL(ALLREDUCE, .count = 4), 0, comm, NULL);
}

static void freed_request(MPI_Comm comm) {
  MPI_Request q, copy;
  make(&CALL(ALLREDUCE, .count = 4), 0, comm, &q);
  copy = q;
  MPI_Wait(&copy, MPI_STATUS_IGNORE);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}

/* The other ranks do not take part before rank 0's request was freed, which ends the job. */
static void freed_active(MPI_Comm comm) {
  MPI_Request q;
  if (drop_rank) MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
  make(&CALL(ALLREDUCE, .count = 4), 0, comm, &q);
  MPI_Request_free(&q);
  for (int r = 1; r < drop_ranks && drop_rank == 0; r++) MPI_Send(NULL, 0, MPI_BYTE, r, 0, comm);
}

static void freed_type(MPI_Comm comm) {
  MPI_Datatype type, copy;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_commit(&type);
  copy = type;
  MPI_Type_free(&type);
  MPI_Bcast(x, 1, copy, 0, comm);
}

static void started_twice(MPI_Comm comm) {
  MPI_Request q;
  ALLREDUCE_INIT(x, y, 4, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &q);
  MPI_Start(&q);
  MPI_Start(&q);
}

static void one_ends(MPI_Comm comm) {
  if (drop_rank == 0) make(&CALL(ALLREDUCE, .count = 4), 0, comm, NULL);
}

static void fatal(MPI_Comm comm) {
  make(&CALL(ALLREDUCE, .count = drop_rank + 1), 0, comm, NULL);
}

static void negative_count(MPI_Comm comm) {
  make(&CALL(ALLREDUCE, .count = -1), 0, comm, NULL);
}

static const struct {
  const char *name;
  void (*make)(MPI_Comm comm);
} alone[] = {{"no-wait", no_wait},
             {"no-wait-on-one", no_wait_on_one},
             {"comm-freed-in-flight", freed_in_flight},
             {"freed-comm", freed_comm},
             {"freed-request", freed_request},
             {"freed-active", freed_active},
             {"freed-type", freed_type},
             {"started-twice", started_twice},
             {"one-ends", one_ends},
             {"fatal", fatal},
             {"negative-count", negative_count}};

int main(int argc, char **argv) {
  drop_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  for (size_t i = 0; argc > 1 && i < sizeof alone / sizeof *alone; i++) {
    MPI_Comm comm;
    if (strcmp(argv[1], alone[i].name) != 0) continue;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    alone[i].make(comm);
    return drop_end();
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF,
                          MPI_ERRORS_RETURN); /* MPI 4: for calls without a communicator */
  for (int i = 0; i < 2 * MISTAKES; i++) judge(&mistakes[i / 2], i % 2);
  return drop_end();
}
