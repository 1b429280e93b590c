#!/bin/sh
# demo_hosts.sh - the script of `make demo-hosts`: the training of `make demo` on three hosts with two
# ranks each, by `tutti run --hosts`, over UCX, without MPI.
#
# The hosts are network namespaces of this machine, each with a link of its own (bench/netns.sh);
# as root. HOSTS=3 PER_HOST=2 RATE=1gbit. First the hosts sum among themselves; then `tutti aggregator` sums, on one more
# host, whose link is as wide as all of theirs. Exit status 0 only if the accuracy is good both times; 77 where
# such hosts cannot be made. SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
cd "$(dirname "$0")/.."
build=${BUILD:-build}
hosts=${HOSTS:-3} per=${PER_HOST:-2} rate=${RATE:-1gbit}
TUTTI=$(readlink -f "$build")/tutti
export TUTTI
echo "== Fashion-MNIST on $hosts hosts with $per ranks each, links of $rate, over UCX =="
echo "tutti run --hosts host1:$per,... --agent AGENT $build/examples/fashion"
rc=0
fashion=$(readlink -f "$build")/examples/fashion
timeout 600 bash bench/netns.sh tutti "$hosts" "$per" "$rate" "$fashion" || rc=$?
if [ $rc -eq 0 ]; then
  echo "== the same, with an aggregator =="
  profile=$(mktemp)
  trap 'rm -f "$profile"' EXIT
  # what the links are known to carry: a host's, and the aggregator's
  bits=$(echo "$rate" | sed 's/[a-z]*$//') unit=$(echo "$rate" | sed 's/^[0-9]*//; s/bit$//')
  prefix=$(echo "$unit" | tr gm GM)
  echo "beta = $bits${prefix}bit/s, aggregator.beta = $((hosts * bits))${prefix}bit/s" >"$profile"
  AGGREGATOR=$hosts TUTTI_PROFILE=$profile TUTTI_LOG=info timeout 600 \
    bash bench/netns.sh tutti "$hosts" "$per" "$rate" "$fashion" || rc=$?
fi
[ $rc -eq 0 ] && verdict=PASS || verdict="FAIL (status $rc)"
echo "demo-hosts: $verdict"
exit $rc
