#!/bin/sh
# demo_elastic.sh - the script of `make demo-elastic`: four hosts with two ranks each train. Host 2 is killed with all its
# processes, and its ranks start again on host 5, a spare one. Then host 3 loses its cable for 10 s, and comes back. The
# result must have the same accuracy as a run without faults.
#
# The hosts are network namespaces of this machine (bench/netns.sh); as root. EPOCHS=16, RATE=1gbit, CUT=10 (s without a
# cable), TUTTI_SILENCE=3. Exit status 0 only if all went so; 77 where such hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
LC_ALL=C OPENBLAS_NUM_THREADS=1 # the ranks are the parallelism
export LC_ALL OPENBLAS_NUM_THREADS
cd "$(dirname "$0")/.."
build=$(readlink -f "${BUILD:-build}")
epochs=${EPOCHS:-16} rate=${RATE:-1gbit} cut=${CUT:-10}
TUTTI=$build/tutti TUTTI_SILENCE=${TUTTI_SILENCE:-3}
export TUTTI TUTTI_SILENCE
out=$build/demo-elastic
failed=
mkdir -p "$out"
rm -f "$out"/*

# The faults, each after rank 0 has said the words. Times are those of the file of --pace. UCX blocks while it connects, to a host
# that is gone until the kernel gives it up: here after one more try, 3 s (docs/reliability.md).
cat >"$out/faults.sh" <<FAULTS
since() { awk 'END { print \$1 }' "$out/elastic.pace"; }
awaits() { until grep -q "\$1" "$out/elastic.log"; do sleep 0.1; done; }
for i in 1 2 3 4 5; do ip netns exec host\$i sh -c 'echo 1 >/proc/sys/net/ipv4/tcp_syn_retries'; done
awaits 'epoch  *2 of'
sleep 2
echo "\$(since) host 2 is killed" >>"$out/faults"
ip -n host2 link set eth0 down
kill -9 \$(ip netns pids host2)
awaits '^8 ranks continue'
sleep 2
cut=\$(since)
echo "\$cut host 3 loses its cable" >>"$out/faults"
ip -n host3 link set eth0 down
sleep $cut
ip -n host3 link set eth0 up
echo "\$(awk -v s="\$cut" 'BEGIN { print s + $cut }') host 3 has it again" >>"$out/faults"
FAULTS

# train NAME PER_HOST OPTIONS...: of tutti run.
train() {
  name=$1 per=$2
  shift 2
  status=0
  echo "== Fashion-MNIST on hosts with $per ranks: tutti run --hosts host1:2,... $* =="
  timeout 900 bash bench/netns.sh tutti 5 "$per" "$rate" "$@" "$build/examples/fashion" --survive --epochs "$epochs" \
    --pace "$out/$name.pace" >"$out/$name.log" 2>&1 || status=$?
  cat "$out/$name.log"
  [ $status != 77 ] || exit 77
  [ $status = 0 ] || failed="$failed $name:status-$status"
}
check() { grep -qE "$2" "$out/elastic.log" || failed="$failed $1"; }
accuracy() { sed -n 's/^test accuracy \([0-9.]*\) .*/\1/p' "$out/$1.log"; }

train undisturbed 2,2,2,2,0 --respawn 1
export BESIDE="sh $out/faults.sh"
train elastic 2,2,2,2,0 --respawn 16
check moved "host host2 .*; starting 2 of its ranks on host host5"
check silent "its host, host[0-9]+, has been silent for"
check joined "^2 joined"
check whole "^8 ranks continue"
check alike "the weights of the 8 ranks are the same to the last bit"
awk -v a="$(accuracy undisturbed)" -v b="$(accuracy elastic)" 'BEGIN {
  printf "accuracy %.4f without faults, %.4f with them: %+.2f %%\n", a, b, 100 * (b - a)
  exit !(a > 0 && b > 0 && b - a < 0.003 && a - b < 0.003) }' || failed="$failed accuracy"
if "${PYTHON3:-/usr/bin/python3}" tools/picture.py "$out/pace.png" 900x500 examples/demo_elastic.gp dir="$out"; then
  echo "$out/pace.png"
else
  failed="$failed picture"
fi
[ -z "$failed" ] && verdict=PASS || verdict="FAIL:$failed"
echo "demo-elastic: $verdict"
[ -z "$failed" ]
