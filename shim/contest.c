/* contest.c - determines whether tutti or the MPI is faster for a kind of call.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "contest.h"

bool turns_wanted;

/* Returns true if tutti and the MPI may compute results that differ in some bits, from the same values or from the same
 * values in another order. */
static bool may_differ(int ranks, tutti_type type, tutti_op op) {
  const bool rounds = type >= TUTTI_FLOAT16 && type <= TUTTI_COMPLEX_DOUBLE;
  const bool sums = op == TUTTI_SUM || op == TUTTI_PROD;
  if (op >= TUTTI_OP_COUNT) return true; /* a user-defined op */
  return rounds && (ranks > 2 || !sums); /* the minimum of a NaN and a number differs between
                                            them */
}

static int size_of(size_t bytes) {
  const int k = bytes < 2 ? 0 : 64 - __builtin_clzll(bytes - 1);
  return k < TURN_SIZES ? k : TURN_SIZES - 1;
}

turn *turns_find(turns *t, int ranks, tutti_coll coll, size_t bytes, tutti_type type, tutti_op op) {
  const bool computes = coll == TUTTI_ALLREDUCE || coll == TUTTI_REDUCE ||
                        coll == TUTTI_REDUCE_SCATTER || coll == TUTTI_SCAN || coll == TUTTI_EXSCAN;
  if (!turns_wanted || (computes && may_differ(ranks, type, op))) return NULL;
  const int size = size_of(bytes);
  turn *kind = &t->of[coll][size];
  kind->size = (uint8_t)size;
  return kind;
}

void turn_begin(turn *t, tutti_comm *comm, shim_function function) {
  t->comm = comm;
  t->function = function;
  t->until = 0;
  t->since = report_now();
}

/* `clearly`: the MPI must be faster by this factor, because times have some noise. `between`: blocks until the next
 * measurement, multiplied by the ratio of the slower time to the faster one. The ratio is limited to `most`, because a
 * measured time may be wrong. */
static const double clearly = 0.97, between = 300, most = 8;

static double best(const double *ns) {
  double least = ns[0];
  for (int i = 1; i < TURN_ROUNDS; i++)
    if (ns[i] < least) least = ns[i];
  return least;
}

/* Agrees with the other ranks on which of tutti and the MPI is faster. If the ranks cannot agree, the communicator has
 * failed, and the next call reports the reason. */
static void settle(turn *t, uint32_t counted) {
  double slowest[2 * TURN_ROUNDS];
  t->settled = true;
  t->again = UINT32_MAX;
  if (tutti_allreduce(t->comm, t->spent, slowest, 2 * TURN_ROUNDS, TUTTI_DOUBLE, TUTTI_MAX)) return;
  const double by_tutti = best(slowest), by_mpi = best(slowest + TURN_ROUNDS);
  const double longer = by_mpi > by_tutti ? by_mpi / by_tutti : by_tutti / by_mpi;
  t->mpis = by_mpi < clearly * by_tutti;
  t->again = (uint32_t)(between * (longer < most ? longer : most)) * turn_block(t);
  report_turns(t->function, t->size, by_mpi / counted, by_tutti / counted, t->mpis);
}

void turn_count(turn *t) {
  if (--t->again == 0) *t = (turn){.size = t->size};
}

int turn_end(turn *t, int code) {
  const uint64_t now = t->until ? t->until : report_now();
  const uint32_t block = turn_block(t), before = t->calls / block, first = block / 5;
  if (t->calls % block >= first) t->spent[turn_is_mpis(t)][before / 2] += (double)(now - t->since);
  if (++t->calls == 2 * TURN_ROUNDS * block) settle(t, block - first);
  return code;
}
