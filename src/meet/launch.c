/* launch.c - reads a launcher's environment: this rank's identity, and the rendezvous of all ranks.
 *
 * Idea       A table of launchers, each with the names of its variables. `tutti run --hosts` opens the rendezvous
 *            itself and passes its id to the ranks. With other launchers, rank 0 opens one on a port that all ranks
 *            can compute.
 * Keys       For other launchers, the key is derived from the number of the job, which distinguishes jobs, and from
 *            TUTTI_KEY, which excludes processes that do not know it. Without TUTTI_KEY anyone can compute the key,
 *            so it only connects processes of one user on one host (trust.c). Ports do not depend on TUTTI_KEY.
 * Source     The manuals of torch.distributed.run and srun.
 * SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"
#include "meet_line.h"

typedef struct launcher {
  const char *name, *rank, *size; /* names of variables */
  const char *needs;              /* if this variable is not set, the launcher is not in use */
  tutti_status (*find)(tt_launch *l);
} launcher;

static tutti_status launcher_env_error(const char *name) {
  const char *value = tt_env(name);
  return tt_fail(TUTTI_ERR_SYSTEM, "%s%s%.60s: that is not what the launcher should say", name,
                 value ? "=" : " is not set", value ? value : "");
}

/* Derives a key from the values of these environment variables with a one-way function. */
static void make_key(tt_rendezvous *r, const char *const *names, int n) {
  unsigned char digest[TT_DIGEST];
  tt_sha256 s;
  tt_sha256_begin(&s);
  for (int i = 0; i < n; i++) {
    const char *value = tt_env(names[i]);
    tt_sha256_add(&s, value ? value : "", value ? strlen(value) + 1 : 1);
  }
  tt_sha256_end(&s, digest);
  tt_rendezvous_key(r, digest);
}

/* ---- tutti run --hosts, or another program that provides an id ---- */

static tutti_status find_own(tt_launch *l) {
  return tt_rendezvous_read(tt_env("TUTTI_ID"), &l->at);
}

/* ---- torchrun ---- */

/* torchrun's own store uses MASTER_PORT, so use the next port. */
static tutti_status find_torch(tt_launch *l) {
  static const char *const words[] = {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
                                      "TORCHELASTIC_RESTART_COUNT", "TUTTI_KEY"};
  const long port = tt_env_int("MASTER_PORT", 1, 65534, 0);
  if (!port) return launcher_env_error("MASTER_PORT");
  if (!tt_env("MASTER_ADDR")) return launcher_env_error("MASTER_ADDR");
  l->at.hosts = 1;
  l->at.open = !tt_env("TUTTI_KEY");
  tt_key_look("TUTTI_KEY", tt_env("TUTTI_KEY"));
  snprintf(l->at.host[0], sizeof l->at.host[0], "%s", tt_env("MASTER_ADDR"));
  l->at.port = (int)tt_env_int("TUTTI_PORT", 1, 65535, port + 1);
  make_key(&l->at, words, 5);
  return TUTTI_OK;
}

/* ---- Slurm ---- */

/* Finds the first host in a host list. For example, finds "a01" in "a[01-04,7],b". Returns false if the list cannot be parsed. */
static bool first_host(const char *list, char *host, size_t size) {
  const size_t name = strcspn(list, ",[");
  size_t digits = 0;
  if (list[name] == '[') digits = strcspn(list + name + 1, "-,]");
  if (name + digits == 0 || name + digits >= size) return false;
  snprintf(host, size, "%.*s%.*s", (int)name, list, (int)digits, list + name + (digits != 0));
  return true;
}

static tutti_status find_slurm(tt_launch *l) {
  static const char *const words[] = {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NODELIST",
                                      "TUTTI_KEY"};
  if (!first_host(tt_env("SLURM_STEP_NODELIST"), l->at.host[0], sizeof l->at.host[0]))
    return launcher_env_error("SLURM_STEP_NODELIST");
  l->at.hosts = 1;
  l->at.open = !tt_env("TUTTI_KEY");
  tt_key_look("TUTTI_KEY", tt_env("TUTTI_KEY"));
  make_key(&l->at, words, 3);
  const long port = 15000 + (long)(strtoul(l->at.key + TT_KEY - 8, NULL, 16) % 16000);
  l->at.port = (int)tt_env_int("TUTTI_PORT", 1, 65535, port);
  make_key(&l->at, words, 4);
  return TUTTI_OK;
}

static const launcher launchers[] = {
    {"TUTTI_ID", "TUTTI_RANK", "TUTTI_SIZE", "TUTTI_ID", find_own},
    {"torchrun", "RANK", "WORLD_SIZE", "MASTER_PORT", find_torch},
    {"torchrun", "RANK", "WORLD_SIZE", "MASTER_ADDR", find_torch},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST", find_slurm},
};

/* Launchers that tutti_comm_from_env does not support, or that have not set all of their variables. `size` is the
 * variable with the number of ranks. `instead` tells the user what to do; NULL means to use MPI. */
static const struct {
  const char *size, *by, *instead;
} others[] = {
    {"PMI_SIZE", "MPICH's mpirun", NULL},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", NULL},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun", NULL},
    {"PALS_SIZE", "PALS", NULL},
    {"FLUX_JOB_SIZE", "Flux", NULL},
    {"WORLD_SIZE", "torchrun, or a program like it,",
     "set RANK, MASTER_ADDR and MASTER_PORT, as torchrun does"},
    {"SLURM_STEP_NUM_TASKS", "srun", "set SLURM_PROCID and SLURM_STEP_NODELIST, as srun does"},
};

tutti_status tt_launch_alone(void) {
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const char *value = tt_env(others[i].size);
    if (!value || strtol(value, NULL, 10) < 2) continue;
    return tt_fail(TUTTI_ERR_SYSTEM,
                   "%s=%.20s says that %s started this process as one of several ranks, and "
                   "tutti_comm_from_env cannot find the others: %s; or start them with `tutti run`",
                   others[i].size, value, others[i].by,
                   others[i].instead
                       ? others[i].instead
                       : "call MPI_Init and tutti_comm_from_mpi(MPI_COMM_WORLD, &comm)");
  }
  return TUTTI_OK;
}

tutti_status tt_launch_find(tt_launch *l) {
  *l = (tt_launch){.by = NULL};
  for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
    const launcher *x = &launchers[i];
    if (!tt_env(x->needs) || !tt_env(x->rank) || !tt_env(x->size)) continue;
    l->by = x->name;
    l->ranks = (int)tt_env_int(x->size, 1, 1 << 20, -1);
    l->rank = (int)tt_env_int(x->rank, 0, (1 << 20) - 1, -1);
    if (l->ranks < 1) return launcher_env_error(x->size);
    if (l->rank < 0 || l->rank >= l->ranks) return launcher_env_error(x->rank);
    l->serves = l->rank == 0 && x->find != find_own;
    return x->find(l);
  }
  return TUTTI_OK;
}
