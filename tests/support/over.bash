# over.bash - for shell tests that run programs with several ranks over one network ($wire). All hosts are this machine;
# TUTTI_NODES defines the nodes. Sourced after tap.bash, never run.
# SPDX-License-Identifier: BSD-3-Clause
[ "${TUTTI_TEST_ALL:-}" = 1 ] && everything=1 || everything=
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }
apart=0,1,2,3,4,5,6,7,8
passes='! grep -q "^not ok" "$work/out"'

# list N: N hosts, with one rank each.
list() { printf 'localhost:1,%.0s' $(seq "$1") | sed 's/,$//'; }

over() { # RANKS NODES PROGRAM [ARGUMENTS]
  local ranks=$1 nodes=$2 program=$3 from=${EPOCHREALTIME/./}
  row "nodes $nodes" "$program" || return 0
  shift 3
  TUTTI_NODES=$nodes job run --hosts "$(list "$ranks")" "$BUILD/tests/$program" "$@"
  grep -a '^not ok\|^#' "$work/out" >>"$work/err"
  check "$wire: $program${*:+ $*} on $ranks ranks, nodes $nodes ($(((${EPOCHREALTIME/./} - from) / 1000)) ms)" \
    all "status 0" 'grep -q ^ok "$work/out"' "$passes"
}
