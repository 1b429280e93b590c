# over_ucx.sh - programs with several ranks over UCX. The hosts are all this one; TUTTI_NODES defines the
# nodes. Without UCX only the test that needs none runs. SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/in_background.bash"
wire=ucx
. "${BASH_SOURCE%/*}/../support/over.bash"
export UCX_TLS=tcp,self
# UCX's leaks at exit have no symbols; other tests check tutti's own leaks.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0

if [ ! -e "$BUILD/libtutti_ucx.so" ]; then
  skip "over UCX" "it is not installed, or was not built (make ucx)" 44
  n=$((n + 1))
  TUTTI_NODES=0,1 TUTTI_NET=ucx job run --hosts "$(list 2)" "$BUILD/examples/hello"
  check "two nodes that need UCX: a sentence on all" all "status 1" '[ "$(grep -c "cannot be loaded" "$work/err")" -ge 1 ]'
else
  brief || in_background over 4 0,1 mp_scenes
  brief || in_background over 3 $apart mp_parting
  brief || for nodes in $apart 0,0,1; do in_background over 3 $nodes mp_told; done
  for p in 1 2 3 4 5 6 ${everything:+7 8 9}; do over $p $apart mp_cover; done
  for nodes in 0,0,1 0,1 0,1,1,0,2; do over 5 $nodes mp_cover; done
  over 3 $apart mp_exact
  for nodes in 0,0,1,1 ${everything:+$apart 0,1,0,2,1}; do over 5 $nodes mp_coded; done
  for p in 2 ${everything:+3 4 6 7 8 9}; do over $p $apart mp_coded; done
  brief || over 6 0,0,0,1,2,2 mp_coded
  over 3 $apart mp_wrong
  over 4 0,0,1 mp_wrong
  told
  for nodes in $apart 0,0,1,1,2; do over 5 $nodes mp_asleep; done
  for nodes in $apart 0,0,1; do over 3 $nodes mp_stall $((${everything:-0} ? 3 : 1)); done
  over 3 $apart mp_stall 1 1795384486308 # rank 0's calls never wait
  [ ! "$everything" ] || for nodes in $apart 0,0,1; do over 3 $nodes mp_scenes; over 2 $nodes mp_large; done
  killed_between_nodes
  # messages in several parts, some of which never come: UCX 1.13 cannot cancel a receive of one
  UCX_TCP_TX_SEG_SIZE=8k TUTTI_NODES=$apart job run -k --hosts "$(list 5)" "$BUILD/tests/mp_deaths" 165074234 4 far
  check "4 of 5 ranks die amid messages in parts" all '[ "$(grep -c "^survived" "$work/out")" = 1 ]'
  for each in UCX_TLS=nonsense UCX_TLS=self UCX_TLS=sm,self UCX_NET_DEVICES=nosuch0; do
    UCX_TLS=tcp,self job run -k --hosts "$(list 2)" env TUTTI_NODES=0,1 $each "$BUILD/examples/hello"
    check "UCX without a device, $each: a sentence on all" all "status 1" \
      "[ \"\$(grep -c 'has no network to the other hosts: UCX .*$each' \"\$work/err\")\" = 2 ]"
  done
  UCX_TLS=tcp,self TUTTI_NODES=0,1,2 job run -k --hosts "$(list 3)" sh -c '[ $TUTTI_RANK = 1 ] && export UCX_TLS=self; exec "$0"' "$BUILD/examples/hello"
  # rank 1 cannot reach rank 2, nor rank 0 rank 1: whichever comes first is why all fail
  said="has no network to the other hosts: UCX .* cannot reach rank"
  check "one of three hosts without a device: one sentence on all" all "status 1" \
    '[ "$(grep -cE "rank (0 .*$said 1|1 .*$said 2) on .*: Destination is unreachable" "$work/err")" = 3 ]' \
    '[ "$(grep -oE "$said [12] on" "$work/err" | sort -u | wc -l)" = 1 ]'
  TUTTI_NET=no/such TUTTI_NODES=0,1 job run -k --hosts "$(list 2)" "$BUILD/examples/hello"
  check "a missing network: an error on all ranks" all "status 1" '[ "$(grep -c "cannot be loaded" "$work/err")" = 2 ]'
  for mpi in ompi $(brief || echo mpich); do
    . "${BASH_SOURCE%/*}/../support/mpi.bash"
    if [ ! -x "$BUILD/tests/$mpi/mp_cover" ] || ! has_starter $mpi; then
      skip "TUTTI_NET=ucx under $mpi" "no $(starter $mpi), or the tests were built without this MPI" 4
      n=$((n + 1))
      continue
    fi
    rc=0
    TUTTI_NET=$(readlink -f "$BUILD")/libtutti_ucx.so TUTTI_NODES=0,1 timeout 60 "$(starter $mpi)" -n 3 "$BUILD/tests/$mpi/mp_cover" >"$work/out" 2>"$work/err" </dev/null || rc=$?
    check "TUTTI_NET=ucx under $mpi" all "status 0" 'grep -q ^ok "$work/out"' "$passes"
    for each in "0,1 single" "- single" "0,1 multiple"; do
      read -r nodes level <<<"$each"
      [ $nodes = - ] && set -- || set -- TUTTI_NODES=$nodes
      rc=0
      env "$@" TUTTI_NET="$(readlink -f "$BUILD")/libtutti_ucx.so" timeout 60 "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/mpi_beside" $level >"$work/out" 2>"$work/err" </dev/null || rc=$?
      check "TUTTI_NET=ucx under $mpi, $level, nodes $nodes: MPI makes progress, too" all "status 0" '[ "$(grep -c ^ok "$work/out")" = 8 ]'
    done
  done
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
