# mpi.bash - for tests that start programs with an MPI: also as root, with more ranks than cores, without a
# remote shell, quietly, and with files in $work (two mpiruns of Open MPI that share a folder conflict when
# they create and remove it). Sourced after tap.bash, never run. SPDX-License-Identifier: BSD-3-Clause
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm=isolated \
  OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none \
  OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_orte_tmpdir_base=$work \
  OMPI_MCA_btl_base_warn_component_unused=0 OMPI_MCA_btl_vader_single_copy_mechanism=none \
  UCX_LOG_LEVEL=error
# starter MPI: the MPI's launcher by Debian's name. has_starter MPI: is it installed? (abi: tests/abi over MPICH)
starter() { case $1 in ompi) echo mpirun.openmpi ;; *) echo mpirun.mpich ;; esac; }
has_starter() { command -v "$(starter "$1")" >/dev/null; }

# ${yields[MPI]}: a library to preload, which makes waiting ranks yield their core, and sleep if that takes long. Open MPI
# has a setting for that; MPICH's ranks spin, and with more ranks than cores each of its calls takes milliseconds; if they
# only yield, too, where others use the cores. The library ends the program if two threads drive MPICH's worker (the first
# one) simultaneously, which UCX forbids.
declare -A yields=([ompi]= [mpich]= [abi]=)
case $BUILD in
*asan*) ;; # its runtime wants to be the first library
*)
  if has_starter mpich && ${CC:-cc} -x c -O2 -shared -fPIC - -o "$work/yields.so" -ldl <<'EOC'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  static __thread int idle;
  static void *_Atomic first;
  static atomic_int inside;
  void *none = NULL;
  const int is_first = atomic_compare_exchange_strong(&first, &none, worker) || none == worker;
  if (is_first && atomic_fetch_add(&inside, 1)) {
    fprintf(stderr, "two threads drive MPICH's worker at once\n");
    abort();
  }
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned events = real(worker);
  if (is_first) atomic_fetch_sub(&inside, 1);
  idle = events ? 0 : idle + 1;
  if (idle > 20) /* nanosleep may be the test's own */
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 1000}, NULL);
  else if (idle > 2)
    sched_yield();
  return events;
}
EOC
  then yields[mpich]=$work/yields.so yields[abi]=$work/yields.so; fi ;;
esac
