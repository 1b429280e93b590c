/* members.c - tutti communicators of some ranks of MPI_COMM_WORLD. Only these ranks take part, in
 * any thread.
 *
 * Idea       The members exchange messages on a communicator of the shim, with a tag derived from their number. The
 *            program's communicator is not used, so a thread may make a tutti communicator for it while the program runs
 *            (async.c). Members on one node need no network among them; otherwise an MPI communicator is made for them.
 * Cost       Four all-gathers of log2(n) messages each; on one node, no memory of the MPI.
 * Source     The all-gather is that of Bruck et al., IEEE Trans. Parallel Distrib. Syst. 8(11), 1997.
 * SPDX-License-Identifier: BSD-3-Clause */
#include "members.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "report.h"
#include "tutti_net.h"
#include "tutti_plan.h"

static MPI_Comm own; /* has all ranks */
static bool has_own;
static uint64_t my_rank, all_ranks, tags = 32768;
static _Atomic uint64_t counter;

bool members_begin(int rank, int ranks) {
  int *most = NULL, has = 0;
  my_rank = (uint64_t)rank;
  all_ranks = (uint64_t)ranks;
  if (next()->Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &has) == MPI_SUCCESS && has)
    tags = (uint64_t)*most + 1;
  has_own = !next()->net.Comm_dup(MPI_COMM_WORLD, &own);
  return has_own && !next()->net.Comm_set_errhandler(own, MPI_ERRORS_RETURN) &&
         !mpi_goes_on(&next()->net);
}

void members_end(void) {
  if (has_own) next()->Comm_free(&own);
  has_own = false;
}

uint64_t members_number(void) {
  return atomic_fetch_add(&counter, 1) * all_ranks + my_rank;
}

static int tag_of(const members *m) {
  return (int)(m->number % tags);
}

void members_await(int (*done)(void *), void *ctx) {
  tutti_net_await("the first collective of an MPI communicator", "its other ranks", 0, done, ctx);
}

typedef struct exchange {
  MPI_Request of[2];
  int error;
} exchange;

static int both_over(void *ctx) {
  exchange *x = ctx;
  MPI_Status statuses[2];
  int done = 0;
  net_enter(&next()->net, MPI_THREAD_MULTIPLE, 1);
  x->error = next()->Testall(2, x->of, &done, statuses);
  net_leave();
  return done || x->error;
}

/* Sends and receives a message, as MPI_Sendrecv does. Some ranks may be late for the first collective on a communicator, so
 * this uses tutti's wait, which warns about late ranks. */
static int send_and_receive(const void *src, int to, void *dst, int from, int bytes, int tag) {
  exchange x = {{MPI_REQUEST_NULL, MPI_REQUEST_NULL}, MPI_SUCCESS};
  x.error = next()->net.Irecv(dst, bytes, MPI_BYTE, from, tag, own, &x.of[0]);
  if (!x.error) x.error = next()->net.Isend(src, bytes, MPI_BYTE, to, tag, own, &x.of[1]);
  if (!x.error) members_await(both_over, &x);
  return x.error;
}

/* Implements tutti_gather_fn. */
static int gather(void *ctx, const void *mine, size_t bytes, void *all) {
  const members *m = ctx;
  const size_t n = (size_t)m->n;
  char *ring = malloc(n * bytes + 1);
  int error = ring && n * bytes <= INT_MAX ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  if (ring) memcpy(ring, mine, bytes);
  for (int k = 1; k < m->n && !error; k *= 2) {
    const int to = m->list[(m->mine + m->n - k) % m->n], from = m->list[(m->mine + k) % m->n];
    const int some = (int)bytes * (k < m->n - k ? k : m->n - k);
    error = send_and_receive(ring, to, ring + (size_t)k * bytes, from, some, tag_of(m));
  }
  for (size_t i = 0; i < n && !error; i++)
    memcpy((char *)all + ((size_t)m->mine + i) % n * bytes, ring + i * bytes, bytes);
  free(ring);
  return error;
}

typedef struct vote {
  uint64_t number;
  uint64_t yes;
} vote;

bool members_agree(const members *m, bool yes) {
  const vote mine = {m->number, yes};
  vote *all = malloc((size_t)m->n * sizeof *all);
  bool agreed = all && !gather((void *)(uintptr_t)m, &mine, sizeof mine, all);
  for (int i = 0; agreed && i < m->n; i++) agreed = all[i].number == m->number && all[i].yes;
  free(all);
  return agreed;
}

/* Returns true if all members share memory. */
static bool near(const members *m, const tutti_comm *world) {
  for (int i = 1; i < m->n; i++)
    if (tutti_comm_apart(world, m->list[0], m->list[i], NULL) != 0) return false;
  return true;
}

/* Opens a network among the members, using MPI. MPICH 4.0 crashes if the group belongs to another communicator. */
static tutti_status open_net(const members *m, tutti_net *net) {
  MPI_Group all, group;
  MPI_Comm among;
  int error = next()->Comm_group(own, &all);
  if (!error) error = next()->Group_incl(all, m->n, m->list, &group);
  if (error) return mpi_failed(&next()->net, "make a group of ranks", error);
  error = next()->Comm_create_group(own, group, tag_of(m), &among);
  next()->Group_free(&group);
  next()->Group_free(&all);
  if (error) return mpi_failed(&next()->net, "make a communicator", error);
  return mpi_net(&next()->net, among, net);
}

bool members_comm(const members *m, tutti_comm *world, tutti_comm **out) {
  tutti_net net;
  const bool needs = !near(m, world) && !mpi_another_net();
  tutti_status status = needs ? open_net(m, &net) : TUTTI_OK;
  *out = NULL;
  if (status) report_failure(tutti_error());
  if (!members_agree(m, !status)) {
    if (needs && !status) net.close(net.self, 1);
    return false;
  }
  status = tutti_comm_among(world, m->list, m->n, gather, (void *)(uintptr_t)m, needs ? &net : NULL,
                            out);
  if (status) report_failure(tutti_error());
  if (members_agree(m, !status)) return true;
  tutti_comm_free(*out);
  *out = NULL;
  return false;
}
