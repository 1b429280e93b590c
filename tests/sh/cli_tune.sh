# cli_tune.sh - `tutti tune` writes a profile that programs find and read. Errors in a profile
# name the line and column, and the built-in parameters are used instead. Also `tutti explain
# --measured`.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
err() { grep -qaE -e "$1" "$work/err"; }
profile=$work/profile
machine=$("$TUTTI" info | sed -n 's/^machine  *//p')

# ---- tune ----
TUTTI_ALGO=ring TUTTI_CONTRACT=exact job tune --seconds 3 -o "$profile"
ok "tune: measures, whatever the environment says, and says what" all "status 0" quiet \
  "has '^a copy: '" "has '^process_vm_readv: '" "has 'is woken: .* us'" "has 'factor of '" "has '^written to $profile'"
ok "tune: in the time that it was given" within 20000
figures="gamma shm.turn shm.crowd.message shm.crowd.again shm.crowd.copy shm.crowd.loop.message
  shm.crowd.loop.again shm.crowd.loop.copy gamma.bf16 gamma.double gamma.int8
  code.int8 code.fp8 code.lossless"
[ "$(nproc)" -gt 1 ] && figures="$figures shm.wake shm.message shm.again shm.copy shm.loop.message shm.loop.again shm.loop.copy shm.cache shm.far shm.loop.far shm.between"
lacking=
for f in $figures; do
  grep -qE "^$f +=  *[0-9.e+-]+  *# [sB]" "$profile" || lacking="$lacking $f"
done
ok "tune: the profile contains every parameter, with its unit" [ -z "$lacking" ]
ok "tune: and host, date and machine" all "grep -q '^# Measured by .* on $(uname -n), 20' '$profile'" \
  "grep -qxF 'machine                = $machine' '$profile'"
ok "tune: no file is left" [ -z "$(ls /tmp/tutti-tune-* 2>/dev/null)" ]
# The parameters are plausible: the time per byte is more than zero and less than a microsecond.
ok "tune: figures are possible" awk '/^[a-z].*=/ && $1 != "machine" && $1 != "network" && $1 != "shm.cache" && ($3 < 0 || $3 > 1e-3) {exit 1}' "$profile"

TUTTI_PROFILE=$profile job bench -n 2 -e 4 --repeats 1
ok "the profile is read without a word" all "status 0" quiet
# The cost of compression decides whether a call is compressed. On this link compression saves time, unless it takes a
# microsecond per byte.
coded=
for cost in "" ,code.int8=1us; do
  TUTTI_PROFILE=$profile job explain -n 4 -s 4MiB --network "beta=40ns$cost" --code error=1e-2
  coded="$coded $(grep -c "^Coded: as int8" "$work/out")"
done
TUTTI_PROFILE=$profile job info --profile
ok "tune: the figures of codes are read, shown, and decide" all "status 0" '[ "$coded" = " 1 0" ]' \
  '[ "$(sed -n "s/^code.int8 *= *\([0-9.e+-]*\).*/\1/p" "$work/out")" = "$(sed -n "s/^code.int8 *= *\([0-9.e+-]*\).*/\1/p" "$profile")" ]'
printf 'rack.alpha = 7us # by hand\nshm.copy = 1\n' >>"$profile"
job tune --seconds 1 -o "$profile"
ok "tune again: figures that were not measured now stay, the others are replaced" all "status 0" \
  "grep -q '^rack.alpha = 7us # by hand' '$profile'" "! grep -q '^shm.copy = 1$' '$profile'" \
  '[ "$(grep -c ^shm.turn "$profile")" = 1 ]'
printf 'alpha = 1us\nmachine = 3 x another\nrack.alpha = 7us\n' >"$profile"
job tune --seconds 1 -o "$profile"
ok "tune: figures of another machine do not stay" all "status 0" "! grep -q rack.alpha '$profile'"
XDG_CONFIG_HOME=$work/a/b job tune --seconds 1
ok "tune: the user's own folder, made if need be" all "status 0" '[ -s "$work/a/b/tutti/profile" ]'
job tune --seconds 1 -o -
ok "tune: to stdout" all "status 0" quiet "has '^gamma  *= '"
job tune --seconds 1 -o "$work/none/x/../../profile/x"
ok "tune: a file that cannot be" all "status 125" one_line "err 'cannot write'"
HOME='' XDG_CONFIG_HOME='' job tune
ok "tune: no home" all "status 2" one_line "err 'say -o FILE'"
for words in "--seconds x" "--seconds 0" "-x" "one" "-o"; do
  job tune $words
  ok "tune $words: refused" all "status 2" one_line "err '^tutti tune: '" "[ ! -s '$work/out' ]"
done

# ---- how programs find the profile ----
seen() { # the predicted times at 4 bytes that a program prints show which parameters it uses
  TUTTI_EXPLAIN=1 job bench -n 2 -b 4 -e 4 --repeats 1
  price=$(sed -n 's/^# Predicted: \([0-9.]* [a-z]*\),.*/\1/p' "$work/err" | head -1)
}
unset TUTTI_PROFILE
export HOME=$work/home XDG_CONFIG_HOME=
mkdir -p "$work/home/.config/tutti" "$work/xdg/tutti"
slow="shm.wake=7ms,shm.turn=7ms,machine=$machine"
seen && built_in=$price
echo "$slow" >"$work/home/.config/tutti/profile"
seen && at_home=$price
XDG_CONFIG_HOME=$work/xdg seen && nowhere=$price
echo "shm.wake=9ms,shm.turn=9ms" >"$work/xdg/tutti/profile"
XDG_CONFIG_HOME=$work/xdg seen && config=$price
TUTTI_PROFILE=none XDG_CONFIG_HOME=$work/xdg seen && none=$price
TUTTI_PROFILE=$work/home/.config/tutti/profile XDG_CONFIG_HOME=$work/xdg seen && said=$price
echo "# prices: $built_in, $at_home, $nowhere, $config, $none, $said"
ok "a profile at home is found" all '[ -n "$at_home" ]' '[ "$at_home" != "$built_in" ]'
ok "XDG_CONFIG_HOME goes before it" all '[ "$nowhere" = "$built_in" ]' '[ "$config" != "$at_home" ]' '[ "$config" != "$built_in" ]'
ok "TUTTI_PROFILE=none: the built-in figures" [ "$none" = "$built_in" ]
ok "TUTTI_PROFILE goes before all" [ "$said" = "$at_home" ]
XDG_CONFIG_HOME=$work/xdg job explain -n 2 --size 4 --shm
ok "explain --shm takes its figures" all "status 0" "has '^Predicted: 9.00 ms'"
XDG_CONFIG_HOME=$work/xdg job explain -n 2 --size 4 --shm --network shm.wake=3ms
ok "... and options override them" all "status 0" "has '^Predicted: 3.00 ms'"
TUTTI_PROFILE=none job info --profile && cp "$work/out" "$work/builtin"
XDG_CONFIG_HOME=$work/xdg job explain -n 2 --size 4 --shm --profile "$work/builtin"
ok "... or only those of a file" all "status 0" "has '^Predicted: $built_in'"
XDG_CONFIG_HOME=$work/xdg job info
ok "info says which" all "status 0" "has '^profile +$work/xdg/tutti/profile'"

# The system's profile, in this test's own mount namespace; the user's profile takes precedence.
mkdir -p "$work/etc/tutti" "$work/nobody"
echo "shm.wake=5ms,shm.turn=5ms" >"$work/etc/tutti/profile"
cp /etc/ld.so.cache "$work/etc" 2>/dev/null
printf '#!/bin/sh\nexec unshare -m sh -c '"'mount --bind $work/etc /etc && exec \"\$0\" \"\$@\"'"' "%s" "$@"\n' "$TUTTI" >"$work/elsewhere"
chmod +x "$work/elsewhere"
if why=$(unshare -m mount --bind "$work/etc" /etc 2>&1); then
  TUTTI_PROFILE=$work/etc/tutti/profile seen && of_system=$price
  HOME=$work/nobody TUTTI=$work/elsewhere seen
  ok "/etc/tutti/profile is found" all "status 0" '[ -n "$price" ]' '[ "$price" = "$of_system" ]' '[ "$price" != "$built_in" ]'
  TUTTI=$work/elsewhere seen
  ok "... a profile at home goes before it" [ "$price" = "$at_home" ]
  TUTTI_PROFILE=none TUTTI=$work/elsewhere seen
  ok "... and TUTTI_PROFILE=none, too" [ "$price" = "$built_in" ]
  HOME=$work/nobody TUTTI=$work/elsewhere job info
  ok "... info says it" all "status 0" "has '^profile +/etc/tutti/profile'"
else
  skip "/etc/tutti/profile is found" "no view of the files of our own here: ${why##*$'\n'}" 4
fi

# Rank 0's profile applies to all ranks; otherwise they would choose differently. The profiles of other ranks
# are not read.
echo "shm.copy=1us,shm.crowd.copy=1us" >"$work/of0"
echo "shm.loop.copy=1us,shm.loop.further=1us,shm.crowd.loop.copy=1us,shm.crowd.loop.further=1us" >"$work/of1"
echo "no profile" >"$work/of2"
chosen() { awk '$1 == 65536 {print $NF}' "$work/out"; }
for r in 0 1; do
  TUTTI_PROFILE=$work/of$r job bench -n 3 -b 64K -e 64K --repeats 1
  alone[r]=$(chosen)
done
for turn in "0 1 2" "1 2 0"; do
  set -- $turn
  first=${alone[$1]}
  cp "$work/of$1" "$work/rank0" && cp "$work/of$2" "$work/rank1" && cp "$work/of$3" "$work/rank2"
  job run -t 40 -n 3 sh -c 'TUTTI_PROFILE=$1/rank$TUTTI_RANK exec "$0" bench -b 64K -e 64K --repeats 1' "$TUTTI" "$work"
  ok "rank 0's profile holds for all: those of $turn" all "status 0" quiet '[ "${alone[0]}" != "${alone[1]}" ]' \
    '[ "$(chosen)" = "$first" ]'
done

# ---- errors in a profile ----
# text | error; the job continues with the built-in parameters
n=0
while IFS='|' read -r text says; do
  n=$((n + 1))
  printf "$text" >"$work/bad"
  TUTTI_PROFILE=$work/bad seen
  ok "wrong profile $n: $says" all "status 0" "err 'profile .$work/bad., $says.*the built-in parameters are used'" \
    '[ "$price" = "$built_in" ]'
done <<'END'
shm.wake = 7ms\nalpha 3|line 2, column 7: expected =
gamma = 1e-11\n\n  beta = fast|line 3, column 10: expected seconds per byte
alfa = 1us|line 1, column 1: expected a parameter
shm.wake = 7ms\nmachine = 64 x Cray-1\n|line 2, column 1: its parameters are of .64 x Cray-1.
shm.wake = -7ms|line 1, column 12: expected a time
shm.wake = 7ms, gamma.float128 = 1|line 1, column 17: expected a parameter
\177ELF\002\001|line 1, column 1: expected a parameter
shm.wake = 7ms\ngamma\0 = x|line 2, column 6: expected text, found a NUL byte
END
head -c 100000 /dev/zero | tr '\0' '#' >"$work/bad"
TUTTI_PROFILE=$work/bad seen
ok "a profile that is too long" all "status 0" "err 'cannot be read: File too large; the built-in'"
TUTTI_PROFILE=$work seen
ok "a profile that is a folder" all "status 0" "err 'cannot be read: Is a directory; the built-in'"
mkfifo "$work/pipe"
TUTTI_PROFILE=$work/pipe seen
ok "a profile that is a pipe: tune does not wait for a writer" all "status 0" "err 'pipe. cannot be read: it is not a regular file; the built-in'"
TUTTI_PROFILE=$work/nothing seen
ok "a missing profile" all "status 0" "err 'cannot be read: No such file or directory; the built-in'"
export TUTTI_PROFILE=none

# ---- between hosts, which MPI ranks simulate ----
. "${BASH_SOURCE%/*}/../support/mpi.bash"
in_full= # with the first MPI that is here; others are other networks, which are measured in the same way
for m in ompi mpich; do
  if [ "$in_full" ] && [ "${TUTTI_TEST_ALL:-}" != 1 ]; then break; fi
  if [ -x "$TUTTI-$m" ] && has_starter $m; then
    rc=0
    TUTTI_NODES=0,1,2,2 LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 4 "$TUTTI" tune -o "$profile" >"$work/out" 2>"$work/err" || rc=$?
    ok "tune over $m: adds a network's parameters to this machine's" all "status 0" \
      "grep -qE '^beta += [0-9.e-]+ ' '$profile'" "grep -qE '^ports += [1-4] ' '$profile'" "grep -q ^shm.turn '$profile'" \
      "grep -qE '^code.lossless += [0-9.e-]+ ' '$profile'" \
      "grep -qE '^network += [A-Z]' '$profile'" \
      "has '^3 hosts: '" "has '^repeats of a game differ by [0-9]+ % in the mean(: NOISY|$)'"
    # on this network the parameters apply as if the profile did not name a network; on other networks the built-in
    # parameters apply
    net=$(sed -n 's/^network *= //p' "$profile") n=
    for of in "network = $net" "network = Another 1" ""; do
      printf 'alpha=50ms\nlength.alpha=1us\nprocessor=0\n%s\n' "$of" >"$work/of"
      TUTTI_PROFILE=$work/of TUTTI_EXPLAIN=1 TUTTI_NODES=0,1,2,2 LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 4 "$TUTTI" bench -b 4 -e 4 --repeats 1 >"$work/out" 2>"$work/err" || rc=$?
      n="$n $(cat "$work/out" "$work/err" | grep -c 'its network parameters are of .Another 1., and this one is .*; the built-in'),$(cat "$work/out" "$work/err" | grep -qE '^# Predicted: [0-9.]+ s|^# Predicted: [1-9][0-9.]+ ms'; echo $?)"
    done
    ok "over $m: figures of another network are not used, with one warning" all "status 0" '[ "$n" = " 0,0 1,1 0,0" ]' "has ."
    in_full=1
    printf 'alpha=30us\nhost.n2.beta=1e-6\nhost.0.beta=1e-6\n' >"$work/of"
    TUTTI_PROFILE=$work/of TUTTI_EXPLAIN=1 TUTTI_NODES=0,1,2,2 LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 4 "$TUTTI" bench -b 256k -e 256k --repeats 1 >"$work/out" 2>"$work/err" || rc=$?
    ok "over $m: figures of single hosts, by name and by number" all "status 0" "cat '$work/out' '$work/err' | grep -q '# Links differ: 2 hosts have'"
    printf 'machine = %s\nnetwork = Another 1\nrack.beta = 1ns\nshm.turn = 1us\n' "$machine" >"$work/x"
    TUTTI_NODES=0,1 LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 2 "$TUTTI" tune -o "$work/x" >"$work/out" 2>"$work/err" || rc=$?
    ok "tune over $m: parameters of another network are removed" all "status 0" "grep -q ^shm.turn '$work/x'" "! grep -q ^rack '$work/x'" "grep -q '^network *= $net$' '$work/x'"
    rm "$work/x"
    TUTTI_NODES=0,1,2,3 TUTTI_TOPO="rack:2 node:2 core:1" LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 4 "$TUTTI" tune -o "$work/levels" >"$work/out" 2>"$work/err" || rc=$?
    ok "tune over $m: of each level" all "status 0" "has '^rack: repeats of a game differ by'" "has '^node: repeats'" "grep -q '^rack.beta ' '$work/levels'" "grep -q '^node.beta ' '$work/levels'" "grep -qE '^rack.ports += [1-4] ' '$work/levels'" "grep -qE '^node.ports += [1-4] ' '$work/levels'"
    TUTTI_NODES=0,1,1 LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 3 "$TUTTI" explain --measured -b 64 -e 64 --repeats 1 >"$work/out" 2>"$work/err" || rc=$?
    ok "explain --measured over $m" all "status 0" "has '^ +64 B  '" "has '^Chosen over best: '"
    LD_PRELOAD=${yields[$m]} timeout -k 5 300 "$(starter $m)" -n 2 "$TUTTI" tune -o "$work/x" >"$work/out" 2>"$work/err"
    ok "tune over $m: one host has no network" all "[ ! -e '$work/x' ]" "err 'share memory'"
  else
    skip "tune over $m" "no $(starter $m), or the command was built without this MPI" 7
  fi
done

# ---- between hosts that are network namespaces, one with a slow link; a second run replaces its parameter ----
rc=0
printf 'machine = %s\nhost.host3.beta = 1\nhost.host3.lan.ports = 2\nhost.host9.beta = 1us\nhost.2.beta = 1\n' "$machine" >"$work/hosts"
timeout 120 bash bench/netns.sh tutti 3 1 200mbit,200mbit,50mbit "$TUTTI" tune -o "$work/hosts" >"$work/out" 2>"$work/err" || rc=$?
if [ $rc = 77 ]; then
  skip "tune: a host with a slow link" "$(sed -n 's/^netns.sh: //p' "$work/err" | head -1)"
else
  ok "tune: a host with a slow link" all "status 0" "has '^host host3 differs: '" '[ "$(grep -c "^host.host3" "$work/hosts")" -le 2 ]' \
    'awk "/^beta /{all = \$3} /^host.host3.beta /{slow = \$3} END {exit !(slow > 2 * all && slow < 8 * all)}" "$work/hosts"' \
    "grep -q '^host.host9.beta = 1us' '$work/hosts'" "! grep -q '^host.2' '$work/hosts'"
fi

# ---- explain --measured ----
job explain --measured -n 3 -b 4 -e 4K -f 32 --repeats 2 --format json -o "$work/m.json"
ok "explain --measured: a line per size" all "status 0" quiet "has '^ +4 B  [a-z]'" "has '^ +128 B  '" "has '^ +4 KiB  '" \
  "has '^Chosen over best: [0-9.]+ in the geometric mean'" "has 'Predicted within 1.3 of measured: [0-3] of 3'"
ok "explain --measured: and all as JSON" $python - "$work/m.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
assert d["ranks"] == 3 and [r["bytes"] for r in d["rows"]] == [4, 128, 4096]
for r in d["rows"]:
    ran = [p for p in r["plans"] if p.get("measured_s")]
    assert len(r["plans"]) > 10 and len(ran) > 3 and r["measured_s"] > 0 and r["noise"] >= 1
    names = [p["plan"] for p in r["plans"]]
    assert len(set(names)) == len(names) and r["best"].split(" in ")[0] in names and r["chosen"].split(",")[0] in names, r
    assert [p["predicted_s"] for p in r["plans"]] == sorted(p["predicted_s"] for p in r["plans"])
    same = r["chosen"].split(",")[0] == r["best"]
    assert r["best_s"] == r["measured_s"] and r["chosen_over_best"] == 1 if same else r["best_s"] > 0, r
END
if [ "$(nproc)" -gt 1 ]; then
  echo "shm.between = 0.001ns" >"$work/near"
  TUTTI_PROFILE=$work/near job explain --measured -n 2 -b 64 -e 64 --repeats 1 --format json -o "$work/n.json"
  ok "explain --measured: cores that never stand so" all "status 0" quiet "has 'in 0 of 15 rounds, so all count'" \
    'grep -q "\"rounds\": 15, \"rounds_as_tuned\": 0" "$work/n.json"'
else
  skip "explain --measured: cores that never stand so" "one core"
fi
job explain --measured -n 2 -b 64 -e 64 --repeats 1 --algo two-shot
ok "explain --measured --algo" all "status 0" "has '^ +64 B  two-shot '"
if command -v gnuplot >/dev/null; then
  job explain --measured -n 2 -b 4 -e 1K -f 16 --repeats 1 --plot "$work/m.svg"
  ok "explain --measured --plot" all "status 0" quiet "grep -q 'the chosen plan, measured' '$work/m.svg'" \
    "grep -q 'runs: [a-z]' '$work/m.svg'"
else
  skip "explain --measured --plot" "no gnuplot"
fi
for words in "" "-n 0" "-n 2 --plot x.txt" "-n 2 x" "-n 2 --repeats 60" "-n 2 -b 8 -e 4"; do
  job explain --measured $words
  ok "explain --measured $words: refused" all "status 2" one_line "err '^tutti explain: '"
done
exit $bad
