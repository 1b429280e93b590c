/* hello_mpi.c - adds the numbers of all ranks of an MPI job. Every rank gets the sum.
 * Try: mpirun.openmpi -n 4 build/examples/hello_mpi_ompi
 *      TUTTI_NODES=0,0,1,1 TUTTI_EXPLAIN=1 mpirun.mpich -n 4 build/examples/hello_mpi_mpich
 *      tutti run -n 4 build/examples/hello_mpi_ompi
 * SPDX-License-Identifier: BSD-3-Clause */
#include <mpi.h>
#include <stdio.h>
#include <tutti_mpi.h>
#include <tutti_plan.h>

/* Prints the output of TUTTI_EXPLAIN=1, and warnings. */
static void say(void *ctx, int level, const char *line) {
  (void)ctx, (void)level;
  fprintf(stderr, "%s\n", line);
}

/* Aborts all ranks if a call has failed on this rank, because the other ranks may be waiting for it. */
static void check(tutti_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", tutti_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char **argv) {
  tutti_comm *comm = NULL;
  char host[MPI_MAX_PROCESSOR_NAME], plan[TUTTI_PLAN_TEXT];
  int length;
  MPI_Init(&argc, &argv);
  tutti_log_set(say, NULL);
  check(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm));
  int mine = tutti_comm_rank(comm), sum = 0;
  check(tutti_allreduce(comm, &mine, &sum, 1, TUTTI_INT32, TUTTI_SUM));
  check(tutti_comm_plan(comm, TUTTI_ALLREDUCE, 1, TUTTI_INT32, TUTTI_SUM, plan, sizeof plan));
  MPI_Get_processor_name(host, &length);
  printf("rank %d of %d on %s: the ranks' sum is %d, by %s\n", mine, tutti_comm_size(comm), host,
         sum, plan);
  check(tutti_comm_free(comm));
  check(tutti_finalize());
  return MPI_Finalize() != MPI_SUCCESS;
}
