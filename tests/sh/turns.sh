#!/usr/bin/env bash
# turns.sh - the drop-in times its own collectives and those of the MPI. The test makes the MPI or tutti slow, and checks that
# the faster library runs all later calls. tutti runs floating-point sums on three ranks in any case, and every call with
# TUTTI_DROPIN=always. A preloaded library delays each message of one of the two by 1 ms, which is more than other processes of
# the machine do: both use TCP, Open MPI with writev and tutti with sendmsg.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/dropin.bash"
unset TUTTI_DROPIN

# delays.so: the function that DELAYED names takes 1 ms more.
cat >"$work/delays.c" <<'EOC'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
static void *delayed(const char *name) {
  const char *which = getenv("DELAYED");
  if (which && strcmp(which, name) == 0) clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 1000000}, NULL);
  return dlsym(RTLD_NEXT, name);
}
ssize_t writev(int fd, const struct iovec *from, int n) { return ((ssize_t (*)(int, const struct iovec *, int))delayed("writev"))(fd, from, n); }
ssize_t sendmsg(int fd, const struct msghdr *m, int flags) { return ((ssize_t (*)(int, const struct msghdr *, int))delayed("sendmsg"))(fd, m, flags); }
EOC

# by FUNCTION: the side that executes it after the first calls, from the report, once for each kind of call.
by() {
  sed -n "s/.*\"function\": \"$1\", \"bytes_to\".*\"by\": \"\([A-Za-z]*\)\".*/\1/p" "$report" | tr '\n' ' '
}
run() { # RANKS: runs the program; the caller's variables choose the MPI's transport
  rm -f "$report"
  run_mpi "$TUTTI" mpi "--report=$report" "$(starter ompi)" -n "$1" "$BUILD/tests/ompi/drop_turns"
}

mpi=ompi
has_starter ompi && [ -e "$BUILD/tests/ompi/drop_turns" ] || { skip "the drop-in measures itself" "no Open MPI" 4; echo "1..4"; exit 0; }
case $BUILD in
*asan*) ;; # its runtime wants to be the first library
*) ${CC:-cc} -shared -fPIC "$work/delays.c" -o "$work/delays.so" -ldl && yields[ompi]=$work/delays.so ;;
esac
ours='[ "$(by MPI_Bcast)$(by MPI_Barrier)$(by MPI_Allreduce)" = "tutti tutti tutti " ]'
OMPI_MCA_btl=self,tcp DELAYED=writev run 2
ok "an MPI that is slow serves nothing that was measured" all 'status 0' '! grep -q "^not ok" "$work/out"' "$ours" '[ "$(by MPI_Reduce)" = "" ]'
theirs='[ "$(by MPI_Bcast)$(by MPI_Barrier)" = "MPI MPI " ]'
DELAYED=sendmsg TUTTI_NODES=0,1 TUTTI_NET=tcp run 2
ok "where tutti is slow, the MPI serves" all 'status 0' '! grep -q "^not ok" "$work/out"' "$theirs" '[ "$(handed MPI_Bcast)" -gt 150 ]'
DELAYED=sendmsg TUTTI_NODES=0,1,2 TUTTI_NET=tcp run 3
ok "but for sums that round, on three ranks" all 'status 0' '[ "$(served MPI_Allreduce)" -ge 300 ]' '[ "$(handed MPI_Allreduce)" -le 300 ]'
TUTTI_NODES=0,1 TUTTI_NET=tcp TUTTI_DROPIN=always run 2
ok "TUTTI_DROPIN=always: nothing is handed on" all 'status 0' '[ "$(by MPI_Bcast)" = "" ]' '[ "$(handed MPI_Bcast)" = 0 ]' \
  '[ "$(served MPI_Bcast)" = 300 ]'
echo "1..4"
exit $bad
