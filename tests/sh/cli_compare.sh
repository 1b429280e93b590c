# cli_compare.sh - `tutti bench --compare` and `tutti mpi --compare`: wrong command lines, libraries that are missing or
# broken, and, where an MPI is installed, a table whose numbers agree with the JSON.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
unset VIRTUAL_ENV TUTTI_REPORT TUTTI_DROPIN
quick="-b 64 -e 4K -f 64 --repeats 3 --budget 0.001 --loop" # in a loop, no time is a difference, which may be negative

# ---- wrong command lines ----
while read -r sentence; do
  read -r options
  job bench $options
  refused() { status 2 && one_line && grep -qaE -e "$sentence" "$work/err"; }
  ok "bench $options: refused" refused
done <<'END'
no library 'openmp'; did you mean 'openmpi'\?
--compare openmp
no library 'x'; there are openmpi, mpich, intelmpi, oneccl, gloo and nccl
--compare x
needs 2 to 1024 ranks
--compare openmpi -n 1
--helpers does not go with
--compare openmpi --helpers 1
at most 64 rounds
--compare openmpi --repeats 65
--root 2, but the ranks are 0 to 1
--compare openmpi --coll broadcast --root 2
neither a .svg nor a .png
--compare openmpi --plot a.pdf
option '--compare' needs a value
--compare
END
job run -n 2 "$TUTTI" bench --compare openmpi
ok "inside a job it is refused" all "status 2" "says 'starts its ranks itself'"
job explain --measured --compare openmpi -n 2
ok "explain refuses it" all "status 2" "says 'belongs to .tutti bench'"

# ---- libraries that are not there, or do not work ----
mkdir -p "$work/none/bin" "$work/fake/bin" "$work/fake/lib"
rc=0
timeout 60 env PATH=/nowhere HOME="$work" "$TUTTI" bench --compare openmpi,mpich,intelmpi,oneccl >"$work/out" 2>"$work/err" || rc=$?
ok "not installed: a line for each that says how to get it" all "status 125" "has '^# openmpi: not found. To get it: apt install'" \
  "has '^# mpich: not found'" "has '^# intelmpi: not found.*impi-rt'" "has '^# oneccl: not found.*intelmpi'" "says 'none of these libraries'" one_line
job bench --compare "mpich=$work/none"
ok "not in the folder that is named" all "status 125" "has 'none has no mpich'"
printf '#!/bin/sh\n[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.1"; exit 0; }\necho "no slots today"\nexit 3\n' >"$work/fake/bin/mpirun"
chmod +x "$work/fake/bin/mpirun"
cp "$BUILD/libtutti.so" "$work/fake/lib/libmpi.so.40"
job bench --compare "openmpi=$work/fake" $quick
ok "a launcher that fails: the last line of its output" all "status 125" "has '^# openmpi: .*mpirun failed; the last line of its output: no slots today'"
printf '#!/bin/sh\n[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.1"; exit 0; }\nwhile [ "$1" != -n ]; do shift; done\nshift 2\nexec "$@"\n' >"$work/fake/bin/mpirun"
job bench --compare "openmpi=$work/fake" $quick
ok "a library that is no MPI" all "status 125" "has '^# openmpi: .*libmpi.so.40 has no PMPI_Init'"
job bench --compare "openmpi=$work/fake" -d fp16 $quick
ok "a type that MPI does not have" all "status 125" "has '^# openmpi: MPI has no type'"
job bench-peer "$work/none/memory"
ok "the ranks' command is not for people" all "status 2" one_line "says 'starts this itself'"

# ---- the MPIs that are here ----
# The table: a row per size and state, a positive ratio; the JSON has the rounds.
sound() { awk '!/^#/ { rows++; if (NF < 5 || $1 !~ /^[0-9]+$/ || !($2 > 0) || !($3 > 0) || !($4 > 0)) bad = 1 } END { exit bad || !rows }' "$work/out"; }
for family in ompi:openmpi mpich:mpich; do
  name=${family#*:}
  if ! has_starter "${family%:*}"; then
    skip "$name" "no mpirun.$name" 8
    continue
  fi
  job bench --compare "$name" $quick --format json -o "$work/a.json"
  ok "$name: a table" all "status 0" quiet sound "has '^# (Open MPI|MPICH) [0-9.]+: /.*libmpi'" \
    "has '^# (near cores|far cores|ranks that share cores)'" "has 'takes [0-9.]+ times as long as tutti'"
  ok "$name: the JSON has every round" $python - "$work/a.json" <<'END'
import json, statistics, sys
d = json.load(open(sys.argv[1]))
p, = d["peers"]
assert d["ranks"] == 2 and d["measure"] == "loop" and d["in_place"] and p["version"], d
assert [r["bytes"] for r in p["rows"]] == [64, 4096]
for r in p["rows"]:
    n = len(r["rounds_us"])
    assert n >= 3 and n == len(r["tutti_rounds_us"]) == len(r["line_before_us"]), r
    assert sum(s["rounds"] for s in r["states"].values()) <= n
END
  job bench --compare "$name" $quick --cycle
  ok "$name: written, called and read" all "status 0" quiet "has '^# cycle: '" "has '^ +4096 '"
  job bench --compare "$name" -n 3 --coll broadcast -d int32 $quick
  ok "$name: broadcast on three ranks, call after call" all "status 0" quiet sound "has '^# loop: '"
  for coll in reduce_scatter allgather alltoall barrier; do
    job bench --compare "$name" --coll $coll $quick
    ok "$name: $coll" all "status 0" quiet "has 'takes [0-9.]+ times as long'" "! has WRONG"
  done
done

# ---- tutti mpi --compare, with a launcher that writes reports itself ----
cat >"$work/fake/bin/mpirun" <<'END'
#!/bin/sh
[ "$1" = --version ] && { echo "mpirun (Open MPI) 5.0.1"; exit 0; }
file= off=
for word; do
  case $word in TUTTI_REPORT=*) file=${word#*=} ;; TUTTI_DROPIN=0) off=1 ;; esac
done
echo "output of the program"
case "$*" in *./fails*) exit 7 ;; *./silent*) exit 0 ;; esac
if [ $off ]; then
  printf '{"tutti": "1",\n "served": [],\n "handed_on": [\n  {"function": "MPI_Bcast", "calls": 10, "seconds": 3.0, "why": "off"}]}\n' >"$file"
else
  printf '{"tutti": "1",\n "served": [\n  {"function": "MPI_Bcast", "bytes_from": 4, "plan": "x", "calls": 8, "bytes": 2048, "seconds": 0.5}],\n "handed_on": [\n  {"function": "MPI_Bcast", "calls": 2, "seconds": 0.5, "why": "faster"}]}\n' >"$file"
fi
END
cp "$BUILD/libtutti.so" "$work/fake/lib/libtutti_pmpi_ompi.so"
export TUTTI_LIB=$work/fake/lib
fake=$work/fake/bin/mpirun
job mpi --compare --rounds 2 "$fake" -n 2 ./app
ok "mpi --compare: both sides, calls, data, the gain" all "status 0" quiet "has '^MPI_Bcast +10 +80 % +2.0 KiB +3.000 .3.000 to 3.000. +1.000 .1.000 to 1.000. +2.000 +67 %$'" \
  "has '^wall time .* within the spread$|^wall time '" "has '^in collectives +10 '" "! has 'output of the program'"
job mpi --compare --rounds 2 --format json "$fake" -n 2 ./app
ok "... as JSON" $python - "$work/out" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["rounds"] == 2 and [r["name"] for r in d["rows"]] == ["wall time", "in collectives", "MPI_Bcast"], d
b = d["rows"][2]
assert (b["calls"], b["calls_by_tutti"], b["bytes_by_tutti"]) == (10, 8, 2048) and b["without_s"] == 3 and b["with_s"] == 1, b
END
job mpi --compare --rounds 1 --format csv "$fake" -n 2 ./app
ok "... as CSV" all "status 0" '[ "$(wc -l <"$work/out")" = 4 ]' "has '^MPI_Bcast,10,8,2048,3.0'"
job mpi --compare "$fake" -n 2 ./fails
ok "a program that fails: its status and the last line of its output" all "status 125" one_line "says 'without tutti ended with status 7; the last line of its output: output of the program'"
job mpi --compare "$fake" -n 2 ./silent
ok "no report" all "status 125" one_line "says 'no report: the program did not reach MPI_Finalize'"
job mpi --compare --report "$fake" ./app
ok "--compare and --report" all "status 2" one_line "says 'leave out --report'"
job mpi --rounds 0 "$fake" ./app
ok "no rounds" all "status 2" one_line "says 'not a whole number from 1 to 99'"
job mpi --format json "$fake" ./app
ok "--format alone" all "status 2" one_line "says 'belongs to --compare'"
job mpi --compare --format xml "$fake" ./app
ok "an unknown format" all "status 2" one_line "says 'text, json or csv, not .xml'"
unset TUTTI_LIB

# ---- ... and with the MPIs that are here ----
cat >"$work/app.c" <<'END'
#include <mpi.h>
int main(int argc, char **argv) {
  int x[256] = {0}, y[256];
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 2000; i++) MPI_Allreduce(x, y, 256, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
END
for family in ompi:openmpi mpich:mpich; do
  if ! has_starter "${family%:*}" || [ ! -e "$BUILD/libtutti_pmpi_${family%:*}.so" ] ||
    ! "mpicc.${family#*:}" "$work/app.c" -o "$work/app" 2>"$work/err"; then
    skip "mpi --compare with ${family#*:}" "it is not installed, or the drop-in was built without it"
    continue
  fi
  job mpi --compare --rounds 2 "$(starter "${family%:*}")" -n 2 "$work/app"
  ok "mpi --compare with ${family#*:}" all "status 0" quiet "has '^MPI_Allreduce +2000 '" "has '^MPI_Barrier +1 '" "has '^wall time +[0-9.]+ '"
done
exit $bad
