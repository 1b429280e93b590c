#!/usr/bin/env bash
# races.sh - the drop-in and PyTorch's backend under the thread sanitizer (make check-tsan): programs that call from several
# threads, and threads of ours that carry out what a program has started. The sanitizer must report nothing.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
nm -D "$BUILD/libtutti.so" | grep -q __tsan_ || { skip "races" "the library is built without the thread sanitizer" rest; exit 0; }
# UCX replaces madvise, which the C library calls when the sanitizer has already forgotten the thread that ends.
export UCX_MEM_EVENTS=no TUTTI_DROPIN=always
export TSAN_OPTIONS="suppressions=$PWD/tests/support/tsan_others.txt history_size=7 second_deadlock_stack=1 log_path=$work/races"

# judged NAME CONDITION...: the last job succeeded, its tests passed, the conditions hold, and it has no race.
judged() {
  cat "$work"/races.* >>"$work/err" 2>/dev/null
  ok "$1" all 'status 0' 'has "^ok"' '! has "^not ok"' '! compgen -G "$work/races.*" >/dev/null' "${@:2}"
  rm -f "$work"/races.*
}
# under VARIABLE=VALUE... COMMAND: output in $work/out and err, status in rc.
under() {
  rc=0
  TOKEN=$token timeout -k 5 300 env "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}

# ---- the drop-in: ranks of several threads, and the shim's own thread for non-blocking collectives ----
served=$work/served.json
for mpi in mpich ompi; do
  for program in "drop_threads multiple" "drop_requests multiple" "drop_exchange multiple" drop_pending drop_callback "drop_callback only"; do
    [ -e "$BUILD/tests/$mpi/${program%% *}" ] || { skip "$mpi: $program" "this MPI is not here"; continue; }
    rm -f "$served"
    under LD_PRELOAD="${yields[$mpi]}" "$TUTTI" mpi "--report=$served" "$(starter $mpi)" -n 2 "$BUILD/tests/$mpi/"$program
    judged "$mpi: $program" '[ -s "$served" ]'
  done
done

# ---- PyTorch's backend: its threads for collectives and for messages, in a Python that is not instrumented ----
if compgen -G "$BUILD/c10d/_c10d_*.so" >/dev/null; then
  under TUTTI_LIBRARY="$(readlink -f "$BUILD/libtutti.so")" PYTHONPATH="$PWD/python" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$TUTTI" run -n 2 \
    env LD_PRELOAD="$(g++ -print-file-name=libtsan.so):$(g++ -print-file-name=libstdc++.so.6)" $python python/tests/torch_ranks.py
  judged "PyTorch's process groups" 'has "^# compiled"'
else
  skip "PyTorch's process groups" "no PyTorch here"
fi
exit $bad
