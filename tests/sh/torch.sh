#!/usr/bin/env bash
# torch.sh - PyTorch's process groups on tutti: every collective, type and op, training compared
# with gloo, errors, all kinds of exits, launchers, hosts. The full test (make check-torch) uses more ranks,
# and includes PyTorch's own tests.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
. "${BASH_SOURCE%/*}/../support/torch.bash"
all=${TUTTI_TEST_ALL:-}
# For a library with the address sanitizer, the sanitizer's runtime must be loaded first, together with the C++
# runtime, because it intercepts throw. PyTorch itself leaks. Reports go to files, because some programs
# in this test fail on purpose.
guarded=
if nm -D "$TUTTI_LIBRARY" | grep -q __asan_; then
  guarded=1
  python="env LD_PRELOAD=$(g++ -print-file-name=libasan.so):$(g++ -print-file-name=libstdc++.so.6) \
    ASAN_OPTIONS=detect_leaks=0:log_path=$work/report UBSAN_OPTIONS=print_stacktrace=1:log_path=$work/report $python"
else
  leave_if_guarded "tsan|ubsan"
fi
here=python/tests

# ---- on several ranks: programs that print TAP themselves ----
program() { # KIND RANKS TEST...: without TEST, all tests
  rc=0
  TUTTI_TORCH=${1#compiled} TOKEN=$token timeout -k 5 150 "$TUTTI" run -n "$2" $python $here/torch_ranks.py "${@:3}" >"$work/out" 2>"$work/err" || rc=$?
  sed "s/^ok - /&$1, $2 ranks: /; s/^not ok - /&$1, $2 ranks: /" "$work/out"
  status 0 || { echo "not ok - torch_ranks.py ended with status $rc" && bad=1 && sed 's/^/# /' "$work/err" | head -30; }
}
for kind in $kinds; do
  for n in $([ "$all" ] && echo 1 2 3 4 || echo 2); do program "$kind" "$n"; done
  [ "$all" ] || program "$kind" 3 every_layout shared_memory
done

# ---- the backend in Python: rank 0 warns once ----
mkdir "$work/only_python" && cp -r python/tutti "$work/only_python"
cat >"$work/slow.py" <<'EOP'
import importlib, sys, sysconfig, warnings
warnings.simplefilter("default")
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed as dist, tutti._lib
tutti._lib.folder = None  # as if nothing were built here
import tutti.torch
dist.init_process_group("tutti")
x = torch.ones(3)
dist.all_reduce(x)
dist.new_group()
assert not tutti.torch.COMPILED and x[0] == dist.get_world_size()
mine = "_".join(torch.__version__.split(".")[:2]) + sysconfig.get_config_var("EXT_SUFFIX")
for name, text in (("9_9.cpython-399-x86_64-linux-gnu.so", ""), (mine, "not a library"), (mine, "\0libtorch_cpu.so.0.1\0")) if dist.get_rank() == 0 else ():
    with open(f"{sys.argv[1]}/tutti/torch/_c10d_{name}", "w") as f:
        f.write(text)
    importlib.invalidate_caches()
    try:
        tutti.torch._compiled()
    except ImportError as why:
        print(why, flush=True)
EOP
slow() { forked 2 "$work/slow.py" "$work/only_python"; }
slow
ok "a user without the compiled backend is told so, once, and why" all 'status 0' \
  '[ "$(grep -c "PyTorch backend runs in Python (it was not built for PyTorch [0-9.]* and Python [0-9.]*)" "$work/err")" = 1 ]' 'grep -q "make torch" "$work/err"'
ok "and what other backends there are" all 'count "^it was not built for PyTorch [0-9.]* and Python 3[0-9.]*, but for PyTorch 9.9 and Python 3.99$" 1' \
  'count "\(invalid ELF header\|file too short\)$" 1' 'count " needs libtorch_cpu.so.0.1, and this PyTorch has another one$" 1'
TUTTI_TORCH=python slow
ok "but not one that asked for it" all 'status 0' '! grep -q "runs in Python" "$work/err"'

# ---- exits: the errors of each rank ----
# fault NAME HOW WANTED-STATUS PATTERN...: each pattern is on a line of the output; !PATTERN: on
# none.
fault() {
  local name=$1 how=$2 want=$3 pattern good=1
  shift 3
  forked 3 $here/torch_faults.py "$how"
  cat "$work/err" >>"$work/out"
  for pattern in "$@" '!Fatal Python|Segmentation|SIGSEGV|SIGABRT|terminate called'; do
    case $pattern in
      !*) grep -qE "${pattern#!}" "$work/out" && good= && echo "# there is: ${pattern#!}" ;;
      *) grep -qE "$pattern" "$work/out" || { good= && echo "# missing: $pattern"; } ;;
    esac
  done
  ok "$kind: $name" all "[ '$good' ]" "status $want"
}
abort='rank 1 aborted: it raised ValueError: bad batch$'
for kind in $kinds; do
  export TUTTI_TORCH=${kind#compiled}
  fault "a rank is killed" killed 137 'rank 0: .*rank 1 .*died' 'rank 2: .*rank 1 .*died'
  fault "a rank raises" raises 1 "rank 0: .*$abort" "rank 2: .*$abort" '^(\[rank1\]: )?ValueError: bad batch' \
    'rank 0: heard after 1?[0-9]\.' 'rank 2: heard after 1?[0-9]\.'
  fault "a rank raises with work under way" raises_in_flight 1 "rank 0: .*$abort" "rank 2: .*$abort" '^(\[rank1\]: )?ValueError: bad batch' \
    'rank 0: heard after 1?[0-9]\.' 'rank 2: heard after 1?[0-9]\.'
  # Only the full test runs this for each kind, because both kinds end programs in Python.
  [ "$all" ] || [ "$kind" = "${kinds%% *}" ] || continue
  for how in dead dead_messages dead_async dead_meeting; do
    rc=0
    TOKEN=$token timeout -k 5 60 $python "$here/terminal.py" 2 "$TUTTI" run -n 2 $python $here/torch_faults.py $how >"$work/out" 2>"$work/err" || rc=$?
    ok "$kind: Ctrl-C at a terminal, $how" all 'status 0' 'grep -qE "^ended 1?[0-9]{1,4} ms after Ctrl-C, status (-2|130)$" "$work/out"' \
      'grep -qE "^(.rank[01].: )?KeyboardInterrupt" "$work/out"' '! grep -qE "Exception ignored|Fatal Python|terminate called" "$work/out"'
  done
  fault "a DataLoader's workers touch the group" workers 0 'rank 0: worker 0: .*forked' 'rank 2: worker 1: .*forked' '!rror'
  fault "an end without destroy_process_group, work under way" under_way 0 '!.'
  fault "recv from a dead rank" recv_dead 137 'rank 0: .*rank 1 .*died' 'rank 2: .*rank 1 .*died' \
    'rank 0: is_success False, 0 came' 'rank 2: is_success False, 0 came' '!heard nothing'
  fault "recv from a silent rank" recv_silent 0 'rank 0: .*rank 1' 'rank 2: .*rank 1' \
    'rank 0: is_success False, 0 came' 'rank 2: is_success False, 0 came' '!heard nothing'
  fault "a rank that has received from anyone leaves" from_anyone 0 'rank 0: left' 'rank 1: went on' 'rank 2: went on' '!abort'
  fault "ranks with tensors of different sizes" sizes 0 'rank 0: .*all ?reduce of' 'rank 1: .*all ?reduce of' 'rank 2: .*all ?reduce of'
  fault "a forked worker touches the group" forks 0 'rank 1: worker: .*forked' 'rank 0: 3' 'rank 1: 3' 'rank 2: 3'
  fault "an end without destroy_process_group" quiet 0 '!.'
  fault "a callback makes and drops groups at the end" callback_at_end 0 'rank 0: sum 3' 'rank 2: sum 3'
done
unset TUTTI_TORCH
says_trained() { [ "$(grep -o 'trained on tutti, 2 ranks' "$work/out" | wc -l)" -ge 2 ]; }
job run -n 2 env TORCH_DISTRIBUTED_DEBUG=DETAIL $python $here/torch_faults.py train
ok "TORCH_DISTRIBUTED_DEBUG=DETAIL" all 'status 0' says_trained

# ---- settings ----
[ -e "$BUILD/c10d" ] || skip "TUTTI_TORCH_BRIEF" "the compiled backend was not built; make torch builds it" 6
for value in $([ ! -e "$BUILD/c10d" ] || echo 0 131072); do
  forked 2 TUTTI_TORCH_BRIEF=$value $here/torch_faults.py train
  ok "TUTTI_TORCH_BRIEF=$value" all 'status 0' says_trained
done
for value in $([ ! -e "$BUILD/c10d" ] || echo 64k -1 1.5 99999999999999999999); do
  forked 1 TUTTI_TORCH_BRIEF=$value $here/torch_faults.py quiet
  ok "TUTTI_TORCH_BRIEF=$value is refused" all 'status 1' \
    'says "^(.rank0.: )?ValueError: tutti: init_process_group: TUTTI_TORCH_BRIEF is .$value.; it is a whole number of bytes"'
done

# ---- launchers ----
# launcher NAME COMMAND...
launcher() {
  local name=$1
  shift
  rc=0
  TOKEN=$token timeout -k 5 100 "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  cat "$work"/logs/*/*/*/stdout.log >>"$work/out" 2>/dev/null
  ok "$name" all 'status 0' says_trained
}
launcher "tutti run" "$TUTTI" run -n 2 $python $here/torch_faults.py train
if has_starter ompi && [ -e "$BUILD/libtutti_pmix.so.0" ]; then
  launcher "mpirun" "$(starter ompi)" -n 2 $python $here/torch_faults.py train
else
  skip "mpirun" "no mpirun.openmpi, or no libtutti_pmix.so.0"
fi
launcher "Slurm's variables" env SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost SLURM_STEP_NUM_NODES=1 SLURM_STEP_NUM_TASKS=2 \
  bash -c 'SLURM_PROCID=0 "$@" & SLURM_PROCID=1 "$@" && wait $!' ranks $python $here/torch_faults.py train
# Debian's Python 3.11 and its PyTorch need these options.
launcher "torch.distributed.run -r 1 -t 1" $python -m torch.distributed.run --nproc_per_node 2 --standalone \
  -r 1 -t 1 --log_dir "$work/logs" $here/torch_faults.py train
for net in ucx tcp; do
  if [ -e "$BUILD/libtutti_$net.so.0" ]; then
    launcher "two hosts, over $net" env UCX_TLS=tcp,self TUTTI_NET=$net TUTTI_NODES=0,1 "$TUTTI" run --hosts localhost:1,localhost:1 \
      --env PYTHONPATH="$PYTHONPATH" --env TUTTI_LIBRARY="$TUTTI_LIBRARY" $python $here/torch_faults.py train
  else
    skip "two hosts, over $net" "there is no libtutti_$net.so"
  fi
done

# ---- PyTorch's own tests ----
theirs() { # RANKS
  rc=0
  TOKEN=$token timeout -k 5 3000 $python $here/torch_theirs.py "$1" "$work/theirs" >"$work/out" 2>"$work/err" || rc=$?
  grep -E '^(not ok|ok|#) ' "$work/out"
  status 0 || grep -q '^not ok' "$work/out" || ok "torch_theirs.py on $1 ranks ends" false
}
if [ "$all" ]; then
  theirs 2
  theirs 4
fi

# ---- the sanitizer's reports ----
if [ "$guarded" ]; then
  cat "$work"/report.* >"$work/out" 2>/dev/null
  : >"$work/err"
  ok "the sanitizer found nothing" all '[ ! -s "$work/out" ]'
fi
