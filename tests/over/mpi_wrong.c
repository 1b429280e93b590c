/* mpi_wrong.c - invalid arguments and settings of a communicator over MPI: all ranks get an error message, and
 * no rank hangs.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scenes.h"
#include "tutti_mpi.h"

static int me, ranks;

/* Prints a line of TAP: is `good` true on all ranks? */
static int tell(const char *what, bool good) {
  int bad = !good, any = 1;
  MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (me == 0) printf("%s - %s\n", any ? "not ok" : "ok", what);
  fflush(stdout);
  return any;
}

static bool refused(MPI_Comm mpi, tutti_status want, const char *words) {
  tutti_comm *comm = (tutti_comm *)&me;
  return ERROR(tutti_comm_from_mpi(mpi, &comm), want, words) && CHECK(comm == NULL);
}

static bool refused_of(const char *family, size_t size) {
  const MPI_Comm world = MPI_COMM_WORLD;
  tutti_comm *comm = (tutti_comm *)&me;
  return ERROR(tutti_comm_from_mpi_of(family, &world, size, &comm), TUTTI_ERR_ARG,
               "compiled for|this library for " TUTTI_MPI_FAMILY "|libtutti_mpi of the same MPI") &&
         CHECK(comm == NULL);
}

static bool no_intercommunicator(void) {
  MPI_Comm half, inter;
  if (ranks < 2) return true;
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 3, &inter);
  const bool good = refused(inter, TUTTI_ERR_ARG, "intercommunicator|MPI_Intercomm_merge");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  return good;
}

/* An environment variable that is set on rank `first` and the ranks after it. */
typedef struct setting {
  const char *name, *value;
  int first;
  tutti_status status;
  const char *words;
} setting;

static const setting wrong[] = {
    {"TUTTI_NODES", "0,x", 0, TUTTI_ERR_ARG, "0,x|expected a number"},
    {"TUTTI_TOPO", "node:50 core:3", 0, TUTTI_ERR_ARG, "TUTTI_TOPO|node:50 core:3|150 ranks"},
    {"TUTTI_TOPO", "node:0", 0, TUTTI_ERR_ARG, "TUTTI_TOPO"},
    {"TUTTI_TOPO", "/no/such/file", 0, TUTTI_ERR_ARG, "topology|/no/such/file"},
    {"TUTTI_TOPO", "rack: nobody", 0, TUTTI_ERR_ARG, "TUTTI_TOPO"},
    {"TUTTI_ALGO", "no-such", 0, TUTTI_ERR_ARG, "TUTTI_ALGO|no-such"},
    {"TUTTI_CONTRACT", "maybe", 0, TUTTI_ERR_ARG, "TUTTI_CONTRACT|maybe"},
    {"TUTTI_CONTRACT", "maybe", 1, TUTTI_ERR_ARG, "TUTTI_CONTRACT|maybe"}, /* differs between ranks */
};

static bool refuses_setting(const setting *s) {
  if (ranks <= s->first) return true;
  if (me >= s->first) setenv(s->name, s->value, 1);
  const bool good = refused(MPI_COMM_WORLD, s->status, s->words);
  unsetenv(s->name);
  return good;
}

static bool works(tutti_comm *comm) {
  uint64_t one = 1;
  return ERROR(tutti_allreduce(comm, &one, &one, 1, TUTTI_UINT64, TUTTI_SUM), TUTTI_OK, "") &&
         CHECK(one == (uint64_t)ranks);
}

static bool works_still(void) {
  tutti_comm *comm;
  return ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, &comm), TUTTI_OK, "") && works(comm) &&
         ERROR(tutti_comm_free(comm), TUTTI_OK, "");
}

/* One object of each kind outlives MPI; another was freed before. */
static bool outlives(tutti_comm **comm) {
  static uint32_t x[100000];
  tutti_comm *freed;
  return ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, comm), TUTTI_OK, "") &&
         ERROR(tutti_allreduce(*comm, x, x, 100000, TUTTI_UINT32, TUTTI_SUM), TUTTI_OK, "") &&
         ERROR(tutti_comm_dup(*comm, &freed), TUTTI_OK, "") && works(freed) &&
         ERROR(tutti_comm_free(freed), TUTTI_OK, "");
}

/* The communicator can only be freed. */
static bool is_over(tutti_comm *comm) {
  static uint32_t x[100000];
  tutti_comm *other;
  bool good = true;
  /* it may succeed if it needs no communication */
  const tutti_status status = tutti_allreduce(comm, x, x, 100000, TUTTI_UINT32, TUTTI_SUM);
  if (status) good = ERROR(status, TUTTI_ERR_SYSTEM, "MPI has been finalized");
  good &= ERROR(tutti_comm_split(comm, 0, 0, &other), TUTTI_ERR_SYSTEM, "MPI has been finalized");
  return ERROR(tutti_comm_free(comm), TUTTI_OK, "") && good;
}

int main(int argc, char **argv) {
  tutti_comm *comm;
  int failed = 0;
  alarm(60);
  const bool before = refused(MPI_COMM_WORLD, TUTTI_ERR_STATE, "call MPI_Init first");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  failed += tell("before MPI_Init", before);
  failed += tell("no place for the communicator",
                 ERROR(tutti_comm_from_mpi(MPI_COMM_WORLD, NULL), TUTTI_ERR_ARG, "comm is NULL"));
  failed += tell("MPI_COMM_NULL", refused(MPI_COMM_NULL, TUTTI_ERR_ARG, "MPI_COMM_NULL"));
  failed += tell("an intercommunicator", no_intercommunicator());
  const bool mpich = strcmp(TUTTI_MPI_FAMILY, "MPICH") == 0;
  failed += tell("a program for another MPI",
                 refused_of(mpich ? "Open MPI" : "MPICH", mpich ? 8 : 4) &&
                     refused_of("SMPI", sizeof(MPI_Comm)) &&
                     refused_of(TUTTI_MPI_FAMILY, sizeof(MPI_Comm) + 4));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char what[80];
    snprintf(what, sizeof what, "%s=%s%s", wrong[i].name, wrong[i].value, wrong[i].first ? ", not on rank 0" : "");
    failed += tell(what, refuses_setting(&wrong[i]));
  }
  failed += tell("the communicator works after these errors", works_still());
  const bool lives = outlives(&comm);
  failed += tell("a communicator that outlives MPI", lives);
  MPI_Finalize();
  bool good = lives && is_over(comm);
  good &= refused(MPI_COMM_WORLD, TUTTI_ERR_STATE, "finalized already");
  good &= ERROR(tutti_finalize(), TUTTI_OK, "");
  printf("%s - after MPI_Finalize, rank %d\n", good ? "ok" : "not ok", me);
  return !good || failed;
}
