# start.sh - the start of a job: many ranks with few descriptors, over UCX; the real processes and simulated hosts of
# bench/starting, with small numbers. All hosts are this machine. With TUTTI_TEST_ALL=1 256 ranks on 16 hosts, which take
# minutes.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
export UCX_TLS=tcp,self
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
n=0
check() { ok "$@" && n=$((n + 1)) || n=$((n + 1)); }

# of NAME: the value with this name in the output of bench/starting.
of() { tr ' ' '\n' <"$work/out" | grep -A1 -x "$1" | tail -1; }
run_start() {
  rc=0
  timeout 200 "$BUILD/bench/starting" "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}

run_start real 40
check "40 processes of one host make a communicator" all "status 0" '[ "$(of ranks)" = 40 ]'
run_start simulated 20 3
check "20 hosts with 3 ranks each meet" all "status 0" '[ "$(of ranks)" = 60 ]'
# In all rounds a rank has 604 bytes of rows, and rank 0 the settings, 8 KiB. Units of 10 KB.
eight=$(((60 * 604 + 8192) * 8 / 10000 + 2))
check "the first process sends each row to 8 hosts at most, and so does any other" \
  all '[ "$(of first_sent | tr -d .)" -le $eight ]' '[ "$(of others_sent | tr -d .)" -le $eight ]'
check "no process needs 64 descriptors" all '[ "$(of descriptors)" -lt 64 ]'
run_start tables 20000
check "a rank that is not in use costs at most 64 bytes" all '[ "$(of bytes | cut -d. -f1)" -lt 64 ]'

if [ ! -e "$BUILD/libtutti_ucx.so" ]; then
  skip "64 descriptors over UCX" "it is not installed, or was not built (make ucx)" 1
  n=$((n + 1))
else
  ranks=32 hosts=4
  [ "${TUTTI_TEST_ALL:-}" != 1 ] || ranks=256 hosts=16
  nodes=$(for ((r = 0; r < ranks; r++)); do echo $((r * hosts / ranks)); done | paste -sd,)
  rc=0
  TOKEN=$token TUTTI_NODES=$nodes timeout -k 5 600 "$TUTTI" run --hosts localhost:$ranks \
    sh -c 'ulimit -n 64; exec "$0"' "$BUILD/examples/hello" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  check "$ranks ranks on $hosts hosts with 64 descriptors each" \
    all "status 0" '[ "$(grep -c "sum is $((ranks * (ranks - 1) / 2))$" "$work/out")" = $ranks ]'
fi
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
