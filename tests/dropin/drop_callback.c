/* drop_callback.c - callbacks that MPI_Finalize calls first: delete callbacks of attributes of MPI_COMM_SELF,
 * which libraries use to clean up. All of MPI works in them (MPI 5.0, 11.2.4).
 *
 * Idea      The callback performs blocking collectives on a communicator that had some before, on one that had none, and on
 *           one that it makes; it starts a persistent collective and frees what it can. With the argument "only", the
 *           persistent one is freed without another start. The callback prints its TAP lines itself, because nothing runs
 *           afterwards.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "drop.h"

static MPI_Comm used, fresh; /* the communicators of the simulated library */
static MPI_Request prepared = MPI_REQUEST_NULL;
static int one = 1, sum;
static bool only, good = true;

static void add_up(MPI_Comm comm) {
  int total = 0;
  good &= DROP_CALL(MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, comm)) &&
          DROP_CHECK(total == drop_ranks) && DROP_CALL(MPI_Barrier(comm));
}

/* Rank 0 starts the collective before messages travel around all ranks, the others after them. */
static void play_prepared(void) {
  const int to = (drop_rank + 1) % drop_ranks, from = (drop_rank + drop_ranks - 1) % drop_ranks;
  int seen;
  sum = 0;
  if (drop_rank == 0) good &= DROP_CALL(MPI_Start(&prepared));
  for (int i = 0; i < 200; i++)
    good &= DROP_CALL(MPI_Sendrecv(&one, 1, MPI_INT, to, 0, &seen, 1, MPI_INT, from, 0, used,
                                   MPI_STATUS_IGNORE));
  if (drop_rank != 0) good &= DROP_CALL(MPI_Start(&prepared));
  good &= DROP_CALL(MPI_Wait(&prepared, MPI_STATUS_IGNORE)) && DROP_CHECK(sum == drop_ranks);
}

static int clean_up(MPI_Comm comm, int key, void *value, void *extra) {
  MPI_Comm made;
  int finalized = 1;
  (void)comm, (void)key, (void)value, (void)extra;
  MPI_Finalized(&finalized);
  good &= DROP_CHECK(!finalized);
  add_up(used);
  add_up(fresh);
  add_up(MPI_COMM_WORLD);
  good &= DROP_CALL(MPI_Comm_split(used, 0, -drop_rank, &made));
  add_up(made);
  if (prepared != MPI_REQUEST_NULL) {
    if (!only) play_prepared();
    good &= DROP_CALL(MPI_Request_free(&prepared));
  }
  good &= DROP_CALL(MPI_Comm_free(&made)) && DROP_CALL(MPI_Comm_free(&used)) &&
          DROP_CALL(MPI_Comm_free(&fresh));
  drop_tell("collectives in a callback of MPI_Finalize", good);
  drop_plan();
  return MPI_SUCCESS;
}

int main(int argc, char **argv) {
  int key;
  const int level = drop_start(&argc, &argv, MPI_THREAD_MULTIPLE);
  only = argc > 1 && strcmp(argv[1], "only") == 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &used);
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  add_up(used);
  if (level == MPI_THREAD_MULTIPLE) {
    good &=
        DROP_CALL(ALLREDUCE_INIT(&one, &sum, 1, MPI_INT, MPI_SUM, used, MPI_INFO_NULL, &prepared));
    play_prepared();
  }
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Finalize();
  return !good;
}
