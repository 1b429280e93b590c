/* drop_comms.c - communicators made in every way: many simultaneously, freed in between, with other ranks or
 * another order, and intercommunicators.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "drop.h"

enum { MOST = 2000, RANKS = 16, MANY = 30 };

/* Runs all collectives that tutti takes over, once, on a communicator whose rank order is known. */
static bool plays(MPI_Comm comm, int n) {
  static int x[MOST], y[MOST], all[MOST * RANKS];
  int rank, ranks, world[RANKS], sum = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  bool good = DROP_CALL(MPI_Barrier(comm));
  good &= DROP_CALL(MPI_Allgather(&drop_rank, 1, MPI_INT, world, 1, MPI_INT, comm));
  for (int r = 0; r < ranks; r++) sum += world[r];
  for (int i = 0; i < n; i++) x[i] = drop_rank + i;
  good &= DROP_CALL(MPI_Allreduce(x, y, n, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < n; i++) good &= y[i] == sum + ranks * i;
  good &= DROP_CALL(MPI_Bcast(x, n, MPI_INT, ranks - 1, comm));
  for (int i = 0; i < n; i++) good &= x[i] == world[ranks - 1] + i;
  good &= DROP_CALL(MPI_Reduce(x, y, n, MPI_INT, MPI_MAX, ranks / 2, comm));
  for (int i = 0; i < n && rank == ranks / 2; i++) good &= y[i] == world[ranks - 1] + i;
  for (int i = 0; i < n; i++) x[i] = drop_rank * 10000 + i;
  good &= DROP_CALL(MPI_Allgather(x, n, MPI_INT, all, n, MPI_INT, comm));
  for (int r = 0; r < ranks; r++)
    for (int i = 0; i < n; i++) good &= all[r * n + i] == world[r] * 10000 + i;
  good &= DROP_CALL(MPI_Reduce_scatter_block(all, y, n, MPI_INT, MPI_MIN, comm));
  for (int i = 0; i < n; i++) good &= y[i] == world[rank] * 10000 + i;
  return DROP_CHECK(good);
}

/* Runs plays() on a communicator and frees it. MPI_COMM_NULL: this rank is not a member. */
static bool uses(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return true;
  const bool good = plays(comm, 5) && plays(comm, MOST);
  return DROP_CALL(MPI_Comm_free(&comm)) && good;
}

static bool dups(void) {
  MPI_Comm comm, again;
  MPI_Request request;
  bool good =
      DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm)) && DROP_CALL(MPI_Comm_dup(comm, &again));
  good &= plays(again, 3) && plays(comm, 3) && uses(comm) && uses(again);
  good &= DROP_CALL(MPI_Comm_dup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm)) && uses(comm);
  good &= DROP_CALL(MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request)) &&
          DROP_CALL(MPI_Wait(&request, MPI_STATUS_IGNORE)) && uses(comm);
  good &= DROP_CALL(MPI_Comm_dup(MPI_COMM_SELF, &comm)) && uses(comm);
  return good && plays(MPI_COMM_SELF, 10);
}

static bool splits(void) {
  MPI_Comm comm;
  bool good = true;
  for (int k = 1; k <= 3; k++) {
    good &=
        DROP_CALL(MPI_Comm_split(MPI_COMM_WORLD, drop_rank % k, -drop_rank, &comm)) && uses(comm);
    good &=
        DROP_CALL(MPI_Comm_split(MPI_COMM_WORLD, drop_rank < k ? MPI_UNDEFINED : 1, 0, &comm)) &&
        uses(comm);
  }
  good &= DROP_CALL(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED,
                                        drop_ranks - drop_rank, MPI_INFO_NULL, &comm)) &&
          uses(comm);
  return good;
}

static bool groups(void) {
  MPI_Group world, most;
  MPI_Comm comm;
  const int last = drop_ranks - 1;
  int range[1][3] = {{last, drop_ranks > 2 ? 1 : 0, -1}}; /* backwards, and without rank 0 */
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_range_incl(world, 1, range, &most);
  bool good = DROP_CALL(MPI_Comm_create(MPI_COMM_WORLD, most, &comm)) && uses(comm);
  if (drop_rank > 0 || drop_ranks <= 2)
    good &= DROP_CALL(MPI_Comm_create_group(MPI_COMM_WORLD, most, 7, &comm)) && uses(comm);
  MPI_Group_free(&world);
  MPI_Group_free(&most);
  return good;
}

static bool topologies(void) {
  MPI_Comm cart, row, graph;
  const int dims[2] = {drop_ranks / 2, 2}, periods[2] = {1, 0}, keep[2] = {1, 0};
  const int next = (drop_rank + 1) % drop_ranks, before = (drop_rank + drop_ranks - 1) % drop_ranks;
  bool good = true;
  if (drop_ranks >= 2) {
    good &= DROP_CALL(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart));
    if (cart != MPI_COMM_NULL)
      good &= DROP_CALL(MPI_Cart_sub(cart, keep, &row)) && uses(row) && uses(cart);
  }
  good &=
      DROP_CALL(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                               MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph)) &&
      uses(graph);
  return good;
}

/* Each communicator is freed only after later ones were made and used. */
static bool many(void) {
  MPI_Comm comm[MANY];
  bool good = true;
  for (int k = 0; k < MANY; k++) {
    good &= DROP_CALL(MPI_Comm_split(MPI_COMM_WORLD, k % 3 ? 0 : drop_rank % 2,
                                     k % 2 ? drop_rank : -drop_rank, &comm[k]));
    good &= plays(comm[k], 1 + k);
    if (k >= 5) good &= plays(comm[k - 5], 2) && DROP_CALL(MPI_Comm_free(&comm[k - 5]));
  }
  for (int k = MANY - 5; k < MANY; k++) good &= DROP_CALL(MPI_Comm_disconnect(&comm[k]));
  return good;
}

/* An intercommunicator: the MPI performs its collectives. */
static bool two_groups(void) {
  MPI_Comm half, inter, merged;
  if (drop_ranks < 2) return true;
  const int side = drop_rank % 2, other[2] = {drop_ranks / 2, (drop_ranks + 1) / 2};
  int x = 1, sum = -1, got = -1;
  MPI_Comm_split(MPI_COMM_WORLD, side, drop_rank, &half);
  bool good = DROP_CALL(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &inter));
  good &= DROP_CALL(MPI_Barrier(inter));
  good &= DROP_CALL(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, inter)) &&
          DROP_CHECK(sum == other[side]);
  int at;
  MPI_Comm_rank(half, &at);
  got = side == 0 ? 77 : -1;
  good &= DROP_CALL(MPI_Bcast(&got, 1, MPI_INT, side ? 0 : at ? MPI_PROC_NULL : MPI_ROOT, inter));
  good &= DROP_CHECK(got == 77);
  good &= DROP_CALL(MPI_Intercomm_merge(inter, side, &merged)) && uses(merged);
  good &= DROP_CALL(MPI_Comm_dup(inter, &merged)) && DROP_CALL(MPI_Barrier(merged)) &&
          DROP_CALL(MPI_Comm_free(&merged));
  return DROP_CALL(MPI_Comm_free(&inter)) && uses(half) && good;
}

/* MPI_Finalize frees a communicator that the program never freed. */
static bool left(void) {
  MPI_Comm comm;
  return DROP_CALL(MPI_Comm_dup(MPI_COMM_WORLD, &comm)) && plays(comm, 4);
}

int main(int argc, char **argv) {
  drop_start(&argc, &argv, MPI_THREAD_SINGLE);
  drop_tell("MPI_COMM_WORLD", plays(MPI_COMM_WORLD, 1) && plays(MPI_COMM_WORLD, MOST));
  drop_tell("dup, dup_with_info, idup, MPI_COMM_SELF", dups());
  drop_tell("split, split_type", splits());
  drop_tell("create, create_group", groups());
  drop_tell("cart, cart_sub, dist_graph", topologies());
  drop_tell("many, freed in between", many());
  drop_tell("intercommunicators, merged ones", two_groups());
  drop_tell("one that is never freed", left());
  drop_tell("MPI_COMM_WORLD, after the other communicators", plays(MPI_COMM_WORLD, 100));
  return drop_end();
}
