/* drop_wrong.c - invalid calls: the MPI's own error classes and error handlers.
 *
 * Idea      The MPI chooses the error class. The program prints it, and the test compares
 *           it with the run without tutti. Every invalid call is invalid on all ranks.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "drop.h"

static int x[64], y[64];
static int handled, last;
static MPI_Comm handled_on;

static void handler(MPI_Comm *comm, int *error, ...) {
  handled++;
  last = *error;
  handled_on = *comm;
}

static int wrong_call(int which, MPI_Comm comm) {
  int counts[16], places[16];
  for (int r = 0; r < 16; r++) counts[r] = 1, places[r] = r;
  switch (which) {
    case 0: return MPI_Reduce_scatter(x, y, counts, MPI_DATATYPE_NULL, MPI_SUM, comm);
    case 1: return MPI_Allreduce(x, y, 1, MPI_DATATYPE_NULL, MPI_SUM, comm);
    case 2: return MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, comm);
    case 3: return MPI_Allreduce(x, y, 1, MPI_DOUBLE, MPI_BXOR, comm);
    case 4: return MPI_Allreduce(x, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm);
    case 5: return MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, drop_ranks + 5, comm);
    case 6: return MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, -9, comm);
    case 7: return MPI_Bcast(x, 1, MPI_INT, drop_ranks, comm);
    case 8: return MPI_Bcast(x, -3, MPI_INT, 0, comm);
    case 9: return MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, comm);
    case 10: return MPI_Allgather(x, -1, MPI_INT, y, -1, MPI_INT, comm);
    case 11: return MPI_Allgather(x, 1, MPI_DATATYPE_NULL, y, 1, MPI_DATATYPE_NULL, comm);
    case 12: return MPI_Allgatherv(x, 1, MPI_INT, y, counts, places, MPI_DATATYPE_NULL, comm);
    case 13: return MPI_Reduce_scatter_block(x, y, 1, MPI_INT, MPI_OP_NULL, comm);
    case 14: return MPI_Allreduce(x, y, -1, MPI_INT, MPI_SUM, comm);
    case 15: return MPI_Reduce_scatter_block(x, y, -1, MPI_INT, MPI_SUM, comm);
    default: return -1;
  }
}
/* MPICH 4.0 does not check the count of a reduction: the last two calls would end it. */
#ifdef OPEN_MPI
enum { WRONG = 16 };
#else
enum { WRONG = 14 };
#endif

static int class_of(int error) {
  int class = -1;
  MPI_Error_class(error, &class);
  return class;
}

static bool right_still(MPI_Comm comm) {
  int one = 1, sum = 0;
  return DROP_CALL(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm)) &&
         DROP_CHECK(sum == drop_ranks);
}

static bool returned(MPI_Comm comm) {
  bool good = true;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int w = 0; w < WRONG; w++) {
    const int error = wrong_call(w, comm);
    if (drop_rank == 0) printf("# wrong call %d: class %d\n", w, class_of(error));
    good &= DROP_CHECK(error != MPI_SUCCESS);
  }
  return good && right_still(comm);
}

/* The program's own handler is called at most once per error, on the right communicator. */
static bool heard(MPI_Comm comm) {
  MPI_Errhandler own;
  bool good = true;
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(comm, own);
  for (int w = 0; w < WRONG; w++) {
    const int before = handled;
    handled_on = MPI_COMM_NULL;
    last = MPI_SUCCESS;
    const int error = wrong_call(w, comm);
    if (drop_rank == 0)
      printf("# handler, wrong call %d: class %d, called %d times, class %d\n", w, class_of(error),
             handled - before, class_of(last));
    good &= DROP_CHECK(handled == before || handled_on == comm);
  }
  good &= right_still(comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&own);
  return good && DROP_CHECK(handled > 0);
}

/* Without a communicator, MPI_COMM_WORLD's handler is called. */
static bool no_comm(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int a = MPI_Allreduce(x, y, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL);
  const int b = MPI_Barrier(MPI_COMM_NULL);
  const int c = MPI_Bcast(x, 1, MPI_INT, 0, MPI_COMM_NULL);
  MPI_Comm none = MPI_COMM_NULL;
  const int d = MPI_Comm_free(&none);
  if (drop_rank == 0)
    printf("# MPI_COMM_NULL: classes %d %d %d %d\n", class_of(a), class_of(b), class_of(c),
           class_of(d));
  return DROP_CHECK(a && b && c && d) && right_still(MPI_COMM_WORLD);
}

/* An invalid call on one rank that fails before it communicates does not affect the other ranks. */
static bool one_rank(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int error = drop_rank ? MPI_SUCCESS : wrong_call(2, comm);
  return DROP_CHECK(drop_rank || error != MPI_SUCCESS) && right_still(comm);
}

/* One buffer for both, without MPI_IN_PLACE: some MPIs refuse it, some do not check. (In a reduce
 * it would be the root's error alone, with undefined effects on the others.) */
static bool aliased(MPI_Comm comm) {
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int error = MPI_Allreduce(x, x, 4, MPI_INT, MPI_SUM, comm);
  if (drop_rank == 0) printf("# one buffer for both: class %d\n", class_of(error));
  return right_still(comm);
}

int main(int argc, char **argv) {
  MPI_Comm comm;
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* some errors are reported there; in MPI 4: MPI_COMM_SELF */
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  drop_tell("MPI_ERRORS_RETURN", returned(comm));
  drop_tell("a handler of the program's", heard(comm));
  drop_tell("MPI_ERRORS_RETURN on MPI_COMM_WORLD", returned(MPI_COMM_WORLD));
  drop_tell("MPI_COMM_NULL", no_comm());
  drop_tell("a wrong call of one rank", one_rank(comm));
  drop_tell("one buffer for both", aliased(comm));
  MPI_Comm_free(&comm);
  return drop_end();
}
