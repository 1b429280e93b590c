/* from_mpi.c - makes a tutti communicator from an MPI communicator.
 *
 * Idea       Checks that the running MPI is the one that the library was built for, that it is
 *            initialized, and that the communicator is one of its intracommunicators. A duplicate
 *            of that communicator then becomes a network for tutti.
 * Waits      MPI_Comm_dup waits for late ranks without reporting it. It is therefore preceded by a barrier that tutti polls.
 *            When the barrier has ended, all ranks have arrived.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "net.h"
#include "tutti_create.h"
#include "tutti_mpi.h"
#include "tutti_plan.h"

static tutti_status refuse(tutti_status status, const char *format, const char *a, const char *b) {
  char sentence[400];
  snprintf(sentence, sizeof sentence, format, a, b);
  return tutti_net_refuse(status, sentence);
}

/* Checks the name of the MPI's library. The binary interface alone is not sufficient, because other MPIs have MPICH's
 * interface, and MPICH also has the standard one. If the name says nothing, as in a static library, checks the version
 * text. */
int mpi_is_ours(const mpi_calls *mpi, char version[MPI_VERSION_ROOM]) {
  int length;
  version[0] = 0;
  mpi->Get_library_version(version, &length);
#ifdef TUTTI_MPI_SIMULATED
  return 1;
#elif defined TUTTI_MPI_ABI
  int major = -1, minor = -1; /* an MPI with a different ABI sets both to -1, or lacks the
                                 function */
  return mpi->Abi_get_version && mpi->Abi_get_version(&major, &minor) == MPI_SUCCESS &&
         major == MPI_ABI_VERSION;
#else
  const char *family = mpi_family_at((const void *)mpi->Get_library_version);
  const int known =
      strcmp(TUTTI_MPI_FAMILY, "Open MPI") == 0 || strcmp(TUTTI_MPI_FAMILY, "MPICH") == 0;
  return !known || (family ? strcmp(family, TUTTI_MPI_FAMILY) == 0
                           : strncmp(version, TUTTI_MPI_FAMILY, strlen(TUTTI_MPI_FAMILY)) == 0);
#endif
}

/* Checks that this library was compiled for the running MPI, and for the MPI that the program was compiled for. */
static tutti_status check_family(const mpi_calls *mpi, const char *family, size_t size) {
  char version[MPI_VERSION_ROOM];
  if (strcmp(family, TUTTI_MPI_FAMILY) != 0 || size != sizeof(MPI_Comm))
    return refuse(TUTTI_ERR_ARG,
                  "tutti_comm_from_mpi: the program was compiled for %s, and this library for %s; "
                  "link with the libtutti_mpi of the same MPI",
                  family, TUTTI_MPI_FAMILY);
  const int ours = mpi_is_ours(mpi, version);
  version[strcspn(version, ",\n")] = 0;
  if (!ours)
    return refuse(TUTTI_ERR_ARG,
                  "tutti_comm_from_mpi: this library is for %s, but the program runs %.100s; link "
                  "with the libtutti_mpi of that MPI",
                  TUTTI_MPI_FAMILY, version);
  return TUTTI_OK;
}

static tutti_status check_running(const mpi_calls *mpi) {
  int is = 0;
  mpi->Initialized(&is);
  if (!is) return refuse(TUTTI_ERR_STATE, "tutti_comm_from_mpi: call MPI_Init first%s%s", "", "");
  mpi->Finalized(&is);
  if (is)
    return refuse(TUTTI_ERR_STATE, "tutti_comm_from_mpi: MPI has been finalized already%s%s", "",
                  "");
  return TUTTI_OK;
}

static tutti_status check_comm(const mpi_calls *mpi, MPI_Comm comm) {
  int inter = 0;
  if (comm == MPI_COMM_NULL)
    return refuse(TUTTI_ERR_ARG, "tutti_comm_from_mpi: the communicator is MPI_COMM_NULL%s%s", "",
                  "");
  const int error = mpi->Comm_test_inter(comm, &inter);
  if (error) return mpi_failed(mpi, "look at the communicator", error);
  if (!inter) return TUTTI_OK;
  return refuse(TUTTI_ERR_ARG,
                "tutti_comm_from_mpi: an intercommunicator has two groups of ranks; pass an intracommunicator (MPI_Intercomm_merge makes one)%s%s",
                "", "");
}

/* Returns 1 if `tutti run` started this process. In this case MPI sees only one process, but tutti sees all of them. */
static int started_by_tutti(const mpi_calls *mpi, MPI_Comm comm) {
  const char *size = getenv("TUTTI_SIZE");
  int ranks = 0, same = MPI_UNEQUAL;
  if (!size || atoi(size) < 2 || mpi->Comm_size(MPI_COMM_WORLD, &ranks) || ranks != 1) return 0;
  mpi->Comm_compare(comm, MPI_COMM_WORLD, &same);
  return same == MPI_IDENT || same == MPI_CONGRUENT;
}

/* Returns a number that is the same on all processes that run on one kernel and see each other's processes.
 * MPI_COMM_TYPE_SHARED is not used, because some MPIs report that each rank is alone. */
static unsigned long long kernel_number(void) {
  char text[128] = "";
  struct stat st = {0};
  FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
  unsigned long long number = 14695981039346656037u;
  if (f && !fgets(text, sizeof text - 65, f)) text[0] = 0;
  if (f) fclose(f);
  gethostname(text + strlen(text), 64);
  if (!stat("/proc/self/ns/pid", &st)) number ^= (unsigned long long)st.st_ino;
  for (const char *c = text; *c; c++) number = (number ^ (unsigned char)*c) * 1099511628211u;
  return number;
}

/* Determines the number of this rank's node, which is the lowest rank on the node. */
static int find_node(const mpi_calls *mpi, MPI_Comm comm, int ranks, int *first) {
  const unsigned long long mine = kernel_number();
  unsigned long long *all = malloc((size_t)ranks * sizeof *all);
  int error = all ? mpi->Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, comm)
                  : MPI_ERR_NO_MEM;
  for (int r = ranks - 1; r >= 0 && !error; r--)
    if (all[r] == mine) *first = r;
  free(all);
  return error;
}

/* Sets this rank's site, and the id of this network. */
static int find_site(const mpi_calls *mpi, MPI_Comm comm, tutti_net *net) {
  struct timespec t;
  int error = MPI_SUCCESS;
  net->site = (tutti_net_site){.node = net->rank};
  if (!net->simulated) error = find_node(mpi, comm, net->ranks, &net->site.node);
  clock_gettime(CLOCK_REALTIME, &t);
  net->id = (unsigned long long)t.tv_sec << 30 ^ (unsigned long long)t.tv_nsec;
  return error ? error : mpi->Bcast(&net->id, sizeof net->id, MPI_BYTE, 0, comm);
}

/* ---- over another network: MPI only exchanges addresses ---- */

typedef struct gathering {
  const mpi_calls *mpi;
  MPI_Comm comm;
} gathering;

static int gather(void *ctx, const void *mine, size_t bytes, void *all) {
  const gathering *g = ctx;
  return g->mpi->Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, g->comm);
}

static tutti_status over_another(const mpi_calls *mpi, MPI_Comm own, const char *name,
                                 tutti_comm **out) {
  gathering g = {mpi, own};
  const tutti_config config = {.size = sizeof config, .net = name};
  int rank = 0, ranks = 1;
  int error = mpi->Comm_set_errhandler(own, MPI_ERRORS_RETURN);
  if (!error) error = mpi->Comm_rank(own, &rank);
  if (!error) error = mpi->Comm_size(own, &ranks);
  tutti_status status =
      error ? mpi_failed(mpi, "look at the communicator", error) : mpi_goes_on(mpi);
  if (!status) status = tutti_comm_create_gather(out, gather, &g, ranks, rank, &config);
  mpi->Comm_free(&own);
  return status;
}

const char *mpi_another_net(void) {
  const char *name = tutti_setting("TUTTI_NET");
  return name && strcmp(name, "mpi") != 0 ? name : NULL;
}

#ifdef TUTTI_MPI_SIMULATED
static tutti_status await_all(const mpi_calls *mpi, MPI_Comm comm) {
  return (void)mpi, (void)comm, TUTTI_OK; /* simulated time would pass in each poll */
}
#else
typedef struct meeting {
  const mpi_calls *mpi;
  MPI_Request barrier;
  int error;
} meeting;

static int all_here(void *ctx) {
  meeting *m = ctx;
  int done = 0;
  m->error = m->mpi->Test(&m->barrier, &done, MPI_STATUS_IGNORE);
  return done || m->error;
}

static int forget(MPI_Comm comm, int keyval, void *barrier, void *extra) {
  (void)comm, (void)keyval, (void)extra;
  free(barrier);
  return MPI_SUCCESS;
}

/* Returns the key of the attribute that a communicator has while its barrier is incomplete. */
static int find_key(const mpi_calls *mpi, int *key) {
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  static int keyval;
  static bool made;
  pthread_mutex_lock(&once);
  const int error = made ? MPI_SUCCESS : mpi_keyval(mpi, forget, &keyval);
  made |= !error;
  *key = keyval;
  pthread_mutex_unlock(&once);
  return error;
}

/* Continues to wait in the barrier of an earlier call, if that call ended before all ranks had arrived. */
static int continue_barrier(const mpi_calls *mpi, MPI_Comm comm, MPI_Request *barrier, int *key) {
  MPI_Request *open = NULL;
  int has = 0, error = find_key(mpi, key);
  if (!error) error = mpi->Comm_get_attr(comm, *key, &open, &has);
  if (error) return error;
  if (!has || *open == MPI_REQUEST_NULL) return mpi->Ibarrier(comm, barrier);
  *barrier = *open;
  *open = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

static void leave_open(const mpi_calls *mpi, MPI_Comm comm, MPI_Request barrier, int key) {
  MPI_Request *open = malloc(sizeof *open);
  if (open) *open = barrier;
  if (open && mpi->Comm_set_attr(comm, key, open)) free(open);
}

static tutti_status await_all(const mpi_calls *mpi, MPI_Comm comm) {
  meeting m = {.mpi = mpi, .error = MPI_SUCCESS};
  int key, error = continue_barrier(mpi, comm, &m.barrier, &key);
  const tutti_status status =
      error ? TUTTI_OK
            : tutti_net_await("tutti_comm_from_mpi", "ranks that have not called it", 1, all_here, &m);
  if (!error) error = m.error;
  if (error) return mpi_failed(mpi, "meet the other ranks", error);
  if (status) leave_open(mpi, comm, m.barrier, key);
  return status;
}
#endif

tutti_status mpi_comm_from(const mpi_calls *mpi, const char *family, const void *mpi_comm,
                           size_t size, tutti_comm **out) {
  MPI_Comm comm, own;
  tutti_net net;
  if (!out) return refuse(TUTTI_ERR_ARG, "tutti_comm_from_mpi: comm is NULL%s%s", "", "");
  *out = NULL;
  tutti_status status = check_family(mpi, family, size);
  if (!status) status = check_running(mpi);
  if (status) return status;
  memcpy(&comm, mpi_comm, sizeof comm);
  if ((status = check_comm(mpi, comm))) return status;
  if (started_by_tutti(mpi, comm)) return tutti_comm_from_env(out);
  if ((status = await_all(mpi, comm))) return status;
  int error = mpi->Comm_dup(comm, &own);
  if (error) return mpi_failed(mpi, "duplicate the communicator", error);
  if (mpi_another_net()) return over_another(mpi, own, mpi_another_net(), out);
  if ((status = mpi_net(mpi, own, &net))) return status;
  error = find_site(mpi, own, &net);
  if (!error) return tutti_comm_from_net(&net, out);
  net.close(net.self, 1);
  return mpi_failed(mpi, "tell which ranks share a node", error);
}
