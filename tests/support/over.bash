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

# Ranks on several nodes are killed: one of three, then several at random moments.
killed_between_nodes() {
  local nodes each ranks deaths seed
  for nodes in 0,1,2 0,0,1; do
    TUTTI_NODES=$nodes job run -k --hosts "$(list 3)" "$BUILD/tests/mp_lost"
    check "$wire: a rank is killed between nodes $nodes: the others name it soon" all \
      '[ "$(grep -c "^ok - rank [02] .*rank 1 (pid [0-9]*) died" "$work/out")" = 2 ]' "$passes"
  done
  for each in "5 $apart 2" "5 $apart 4" "5 0,0,1,1,2 3" "4 0,1,1,0 3" ${everything:+"8 $apart 7" "6 0,0,1 5"}; do
    read -r ranks nodes deaths <<<"$each"
    row deaths || continue
    for seed in $drawn ${everything:+1 2 3 4 5 6 7 8 9}; do
      TUTTI_NODES=$nodes job run -k --hosts "$(list "$ranks")" "$BUILD/tests/mp_deaths" $seed "$deaths" far
      check "$wire: $deaths of $ranks ranks on nodes $nodes die, the others shrink and go on, $seed" \
        all '[ "$(grep -c "^survived" "$work/out")" = $((ranks - deaths)) ]'
    done
  done
}
