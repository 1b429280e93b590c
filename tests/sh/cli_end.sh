# cli_end.sh - `tutti run`: signals, and the check that no process is left behind.
# Every process of a test has the token of tap.bash in its environment, so
# /proc shows whether one is left.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# A rank that prints each signal that it gets, and ends without being killed.
cat >"$work/listen" <<'EOS'
for s in INT TERM HUP QUIT USR1 USR2; do trap "echo \$TUTTI_RANK $s" $s; done
echo ready
for ((i = 0; i < ${TIMES:-15}; i++)); do sleep 0.1; done
EOS
# A rank that ignores all signals and starts other processes: a child, an orphan, a daemon.
cat >"$work/stubborn" <<'EOS'
trap '' TERM INT HUP QUIT
(sleep 987 &)
setsid sleep 987 &
setsid sh -c '(setsid sleep 987 &) ; sleep 987' &
sleep 987 &
echo ready
while :; do sleep 987; done
EOS

# ---- signals are forwarded ----
for s in INT TERM HUP QUIT USR1 USR2; do
  background run -n 3 bash "$work/listen"
  lines 3 ready && kill -$s "$job"
  lines 3 "^[012] $s" || true
  wait_job
  ok "SIG$s reaches every rank, once" all "status 0" \
    '[ "$(grep -v ready "$work/out" | sort | xargs)" = "0 '$s' 1 '$s' 2 '$s'" ]'
done
background run -n 2 bash -c 'echo ready; exec sleep 50'
lines 2 ready && kill -TERM "$job"
wait_job
ok "SIGTERM ends ordinary ranks: 143" all "status 143" "says '^tutti run: interrupted by SIGTERM$'" one_line gone
background bench -n 2 -e 4 --repeats 1000
sleep 0.5
kill -INT "$job"
wait_job
ok "SIGINT in a command that starts its own ranks: it is named, no rank is blamed" all \
  "says '^tutti bench: interrupted by SIGINT$'" one_line gone
job run -n 2 bash -c '[ "$TUTTI_RANK" = 0 ] || kill -TERM $$; sleep 50'
ok "a rank that is sent SIGTERM alone is named" all "status 143" "says 'rank 1 .* was killed by SIGTERM'" gone
state() { sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null; }
stopped() { # stopped N: within 20 s, N processes of the job are stopped
  local end=$((SECONDS + 20)) n p
  while :; do
    n=0
    for p in $(alive); do [ "$(state "$p")" = T ] && n=$((n + 1)); done
    [ $n = "$1" ] && return 0
    [ $SECONDS -lt $end ] || return 1
    sleep 0.05
  done
}
background run -n 2 bash -c 'echo ready; exec sleep 4'
lines 2 ready && kill -TSTP "$job"
ok "SIGTSTP stops the ranks and the launcher" stopped 3
kill -CONT "$job"
ok "SIGCONT wakes them" stopped 0
wait_job
ok "and they end well" status 0
background run -n 2 bash "$work/stubborn"
lines 2 ready
for i in 1 2 3; do kill -INT "$job" && sleep 0.1; done
wait_job
ok "the third SIGINT ends ranks that ignore it" all "says 'third time'" gone
if command -v script >/dev/null; then
  # keys KEYS: types them when two ranks are ready.
  keys() { lines 2 ready && printf "$1" && sleep 5; }
  : >"$work/out"
  keys '\003' | SHELL=/bin/bash TOKEN=$token timeout 60 script -qefc \
    "stty -echo; TIMES=15 $TUTTI run -n 2 bash $work/listen" /dev/null >"$work/out" 2>"$work/err"
  ok "Ctrl-C on a terminal reaches every rank, once" \
    '[' "$(tr -d '\r' <"$work/out" | grep -a INT | sort | xargs)" = "0 INT 1 INT" ']'
  : >"$work/out"
  keys 'hello\n' | SHELL=/bin/bash TOKEN=$token timeout 60 script -qefc \
    "stty -echo; $TUTTI run -n 2 sh -c 'echo ready; read x; echo \$TUTTI_RANK has \$x.'" /dev/null >"$work/out" 2>"$work/err"
  ok "rank 0 reads from a terminal" '[' "$(tr -d '\r' <"$work/out" | sort | xargs)" = "0 has hello. 1 has . ready ready" ']'
  # like `ssh -t host tutti run ...`: the first process of the terminal
  : >"$work/out"
  sleep 20 | SHELL=/bin/bash TOKEN=$token script -qc "exec $TUTTI run -n 2 sh -c 'echo ready; exec sleep 50'" \
    /dev/null >"$work/out" 2>"$work/err" &
  lines 2 ready
  for p in $(alive); do
    case $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null) in script\ *) kill -9 "$p" ;; esac
  done
  ended() { local p; for p in $(alive); do case $(ps_line "$p") in *tutti*run*|*sleep\ 50*) return 1 ;; esac; done; }
  for i in $(seq 100); do ended && break; sleep 0.05; done
  ok "a terminal that goes away ends the job that was first on it" ended
else
  skip "Ctrl-C on a terminal, and its end" "no script(1)"
fi

# ---- one rank fails, the others end ----
job run -n 3 bash -c 'trap "echo \$TUTTI_RANK ends; exit 1" TERM; [ $TUTTI_RANK = 0 ] && { sleep 1.5; kill -9 $$; }
  sleep 50 & wait'
ok "the others get SIGTERM and can clean up" all "status 137" "within 20000" gone \
  '[ "$(sort "$work/out" | xargs)" = "1 ends 2 ends" ]' "one_line"
job run -n 3 bash -c '[ $TUTTI_RANK = 2 ] && { sleep 0.3; exit 9; }; . '"$work/stubborn"
ok "a rank that ignores SIGTERM is killed after 2 s, with all it started" all "status 9" "within 20000" gone
job run -n 2 --timeout 0.5 bash "$work/stubborn"
ok "--timeout: 124, said, all ended" all "status 124" "within 20000" one_line \
  "says '^tutti run: 0.5 s are over \(--timeout\): ending 2 ranks$'" gone
job run -n 2 --timeout 30 true
ok "--timeout that does not pass changes nothing" all "status 0" quiet "within 20000"
job run -n 2 bash -c '(setsid sleep 987 &); sleep 987 & exit 0'
ok "processes that ranks leave running end with the job" all "status 0" "within 20000" gone
job run -n 2 bash -c '(sleep 0.4; echo late) & exit 0'
ok "a rank about to end may finish" all "status 0" '[ "$(grep -c late "$work/out")" = 2 ]' gone
job run -n 3 --label bash -c 'echo said; [ $TUTTI_RANK = 1 ] && exit 4; sleep 987'
ok "output from before a failure is shown" all "status 4" 'grep -q "^\[1\] said" "$work/out"' gone
background run -n 3 bash -c '[ $TUTTI_RANK = 0 ] || exit 0; echo ready; exec sleep 60'
lines 1 ready
child_of() { # the only child with the token
  local p
  for p in $(alive); do [ "$(sed 's/.*) . \([0-9]*\) .*/\1/' "/proc/$p/stat" 2>/dev/null)" = "$1" ] && echo "$p"; done
}
the_guard() { # front, keeper, guard: see run.h
  child_of "$(child_of "$job")"
}
guard_children() { # their states
  local g p
  g=$(the_guard)
  for p in /proc/[0-9]*/stat; do sed -n "s/.*) \(.\) $g .*/\1/p" "$p" 2>/dev/null; done
}
end=$((SECONDS + 40)) # on a busy machine the others may not have ended yet
until children=$(guard_children | xargs) && [ "$children" = S ] || [ $SECONDS -ge $end ]; do sleep 0.05; done
kill -TERM "$job"
wait_job
ok "ranks that ended are reaped immediately" '[' "$children" = S ']'

# ---- killed ----
# Waits until three stubborn ranks have started all their processes: six sleeps each.
all_started() {
  local end=$((SECONDS + 20)) n=0 p
  while [ $n -lt 18 ] && [ $SECONDS -lt $end ]; do
    n=0
    for p in $(alive); do
      case $(tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline") in "sleep 987 ") n=$((n + 1)) ;; esac
    done
  done 2>/dev/null
}
start_stubborn() {
  background run -n 3 "$@" bash "$work/stubborn"
  lines 3 ready
  all_started
}
for label in "" --label; do
  start_stubborn $label
  kill -9 "$job"
  ok "kill -9 of tutti run ${label:-(no label)} leaves no process" gone
  wait_job
done
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
  background run -n 5 bash "$work/stubborn"
  sleep 0.00$i
  kill -9 "$job"
done
ok "also while it is starting" gone
start_stubborn
ok "(the test sees the processes it looks for)" '[' "$(alive | wc -l)" -ge 17 ']'
kill -STOP "$job" && sleep 0.1 && kill -9 "$job"
ok "also when it was stopped" gone
wait_job
start_stubborn
kill -9 "$(the_guard)"
wait_job
ok "kill -9 of the guard leaves no process, and is reported" all gone "status 137" "says 'guard process was killed'"
: >"$work/out"
TOKEN=$token setsid "$TUTTI" run -n 3 bash "$work/stubborn" >"$work/out" 2>&1 </dev/null &
job=$!
lines 3 ready && all_started
kill -9 -- -"$job"
ok "kill -9 of the whole process group leaves no process" gone
wait_job
{ TOKEN=$token timeout -s KILL 1 "$TUTTI" run -n 2 bash "$work/stubborn"; } >/dev/null 2>&1
ok "timeout -s KILL leaves no process" gone
start_stubborn
kill -9 $(alive)
ok "kill -9 of all processes together" gone
wait_job
background run -n 2 "$TUTTI" run -n 2 bash "$work/stubborn"
lines 4 ready && kill -9 "$job"
ok "a job inside a job ends with it" gone
wait_job
(sleep 987 & echo $! >"$work/other"; TOKEN=$token exec "$TUTTI" run -n 2 true)
ok "children from before tutti run are not touched" kill -0 "$(cat "$work/other")"
kill "$(cat "$work/other")"

# ---- scarce resources ----
( ulimit -n 20 && TOKEN=$token timeout 20 "$TUTTI" run -n 30 --label sleep 987 >"$work/out" 2>"$work/err"
  echo $? >"$work/rc" )
rc=$(cat "$work/rc")
ok "too few descriptors: a sentence, 125, nothing left" all "status 125" one_line \
  "says 'cannot start rank [0-9]+ of 30: pipe: Too many open files'" gone
copy=$(mktemp -d) && chmod 755 "$copy" && cp "$TUTTI" "$copy/tutti"
uid=$((100000 + $$)) # no other process has it
if [ "$(id -u)" = 0 ] && setpriv --reuid=$uid --clear-groups "$copy/tutti" --version >/dev/null 2>&1; then
  rc=0
  TOKEN=$token setpriv --reuid=$uid --clear-groups bash -c 'ulimit -u 8 && exec timeout 20 "$0" run -n 30 sleep 987' \
    "$copy/tutti" >"$work/out" 2>"$work/err" || rc=$?
  ok "too few processes: a sentence, 125, nothing left" all "status 125" "[ \$(grep -c ^tutti \"\$work/err\") = 1 ]" \
    "says 'cannot start rank [0-9]+ of 30: fork: .*ulimit -u'" gone
else
  skip "too few processes" "needs root and setpriv"
fi
rm -rf "$copy"
job run -n 100 --label true
ok "a hundred ranks" all "status 0" quiet gone
exit $bad
