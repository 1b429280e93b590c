# cli_run.sh - `tutti run`: the command line, statuses, input and output.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# ---- the ranks' environment ----
job run -n 5 sh -c 'echo $TUTTI_RANK of $TUTTI_SIZE'
ok "each of five ranks gets its number" all "status 0" quiet \
  '[ "$(sort "$work/out")" = "0 of 5
1 of 5
2 of 5
3 of 5
4 of 5" ]'
job run -n 2 --env A=1 -e B='x y=z' sh -c 'echo "$A $B"'
ok "--env reaches the ranks" all "status 0" "out_is '1 x y=z
1 x y=z'"
job run -n 2 printf '%s|' a 'b c' --label -n
ok "the program's own options are left alone" out_is 'a|b c|--label|-n|a|b c|--label|-n|'
echo hello >"$work/in"
rc=0
TOKEN=$token timeout 20 "$TUTTI" run -n 3 --label cat <"$work/in" >"$work/out" 2>"$work/err" || rc=$?
ok "rank 0 gets the input, the others nothing" all "status 0" "out_is '[0] hello'"
rc=0
TOKEN=$token timeout 20 "$TUTTI" run -n 2 sh -c 'cat; echo end' <&- >"$work/out" 2>"$work/err" || rc=$?
ok "a closed input is an empty one" all "status 0" "out_is 'end
end'"
job run -n 1 sh -c 'ulimit -Sn; ls /proc/self/fd | wc -l'
(ulimit -Sn; ls /proc/self/fd | wc -l) </dev/null 2>"$work/err" | cat >"$work/want"
ok "the limit of descriptors is unchanged" '[' "$(head -1 "$work/out")" = "$(head -1 "$work/want")" ']'
ok "one descriptor more: the job's memory" '[' "$(tail -1 "$work/out")" -le $(($(tail -1 "$work/want") + 1)) ']'

# ---- statuses ----
job run -n 3 true
ok "all well: 0, and nothing said" all "status 0" quiet "out_is ''"
job run -n 3 sh -c '[ $TUTTI_RANK = 0 ] && exit 0; sleep 0.5; echo $TUTTI_RANK'
ok "a rank that ends well early leaves the others alone" all "status 0" '[ "$(wc -l <"$work/out")" = 2 ]'
job run -n 4 sh -c '[ $TUTTI_RANK = 2 ] && exit 7; exec sleep 50'
ok "the failing rank's status" all "status 7" "within 20000"
ok "it names the rank, its pid and its status" all one_line \
  "says '^tutti run: rank 2 \(pid [0-9]+\) exited with status 7; ending the other 3$'"
job run -n 3 sh -c '[ $TUTTI_RANK = 1 ] && kill -SEGV $$; exec sleep 50'
ok "128 + signal of a killed rank" all "status 139" "within 20000"
ok "it names the signal" says '^tutti run: rank 1 \(pid [0-9]+\) was killed by SIGSEGV'
job run -n 3 --keep-going sh -c '[ $TUTTI_RANK = 1 ] && exit 5; sleep 0.3; echo $TUTTI_RANK'
ok "--keep-going lets the others run on" all "status 5" '[ "$(sort "$work/out" | xargs)" = "0 2" ]' \
  "says 'rank 1 .* exited with status 5; the other 2 continue'"

# ---- programs that do not start ----
job run -np 4 true
ok "mpirun's -np: the error names tutti's option" all "status 2" one_line "says '\-np is -n here'"
job run -n 4 no-such-program
ok "not found: 127 and one sentence" all "status 127" one_line "says \"'no-such-program': not found\""
# A folder of PATH that this user may not read. Root may read all folders, so root runs the test as another user.
mkdir -m 700 "$work/closed" && cp "$TUTTI" "$work/tutti" && chmod 755 "$work"
if [ "$(id -u)" != 0 ]; then as_user= && chmod 0 "$work/closed"; else as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"; fi
rc=0
(cd "$work" && PATH=$work/closed:$PATH TOKEN=$token $as_user ./tutti run -n 1 no-such-program >"$work/out" 2>"$work/err") || rc=$?
ok "... also where a folder of PATH is closed" all "status 127" one_line "says \"'no-such-program': not found\""
cp "$BUILD/libtutti.so" "$work/libtutti_pmpi_ompi.so" && chmod 755 "$work/libtutti_pmpi_ompi.so"
rc=0
(cd "$work" && PATH=$work/closed:$PATH TUTTI_LIB=$work TOKEN=$token $as_user ./tutti mpi --family ompi no-such-program >"$work/out" 2>"$work/err") || rc=$?
ok "... and under tutti mpi" all "status 127" one_line "says \"cannot execute 'no-such-program': No such file\""
chmod 700 "$work/closed"
job run -n 4 ./no/such/program
ok "a path not found: the same" all "status 127" one_line
echo 'echo hi' >"$work/text"
job run -n 4 "$work/text"
ok "not executable: 126 and one sentence" all "status 126" one_line "says 'permission denied'"
job run -n 2 "$work"
ok "a directory: 126" all "status 126" one_line
printf '#!/no/such/interpreter\n' >"$work/script" && chmod +x "$work/script"
job run -n 2 "$work/script"
ok "a missing interpreter is called that" all "status 127" one_line "says 'interpreter was not found'"
cp "$work/script" "$work/here"
(cd "$work" && timeout 20 "$TUTTI" run -n 2 here 2>err)
ok "a program of this folder: suggests ./" says "did you mean './here'"

# ---- wrong command lines ----
for n in 0 -1 4097 99999999999999999999 x 2x '' 1.5; do
  job run -n "$n" true
  ok "-n '$n' is refused" all "status 2" one_line "says \"^tutti run: -n '$n' is not a number of ranks\""
done
job run true
ok "no -n" all "status 2" one_line
job run -n 2
ok "no program" all "status 2" one_line
job run -n
ok "-n without number" all "status 2" one_line "says 'needs a value'"
for t in 0 -1 x nan 1e99; do
  job run -n 1 --timeout "$t" true
  ok "--timeout $t is refused" all "status 2" one_line
done
job run -n 1 --env X true
ok "--env without = is refused" all "status 2" one_line
job run --lable -n 2 true
ok "a wrong option suggests the right one" all "status 2" "says \"did you mean '--label'\""
job rnu -n 2 true
ok "a wrong command suggests the right one" all "status 2" "says \"did you mean 'run'\""
job help run
ok "help of a command" all "status 0" 'grep -q "^usage: tutti run" "$work/out"'
job --version
ok "--version" all "status 0" 'grep -qE "^tutti [0-9]+\.[0-9]+\.[0-9]+$" "$work/out"'
job info
ok "info" all "status 0" 'grep -q "^cores  *[0-9]" "$work/out"' 'grep -q "^wire shm" "$work/out"' 'grep -q "^instruction sets" "$work/out"'
job info --format json
ok "info --format json is an object" all "status 0" '[ "$(head -c 1 "$work/out")" = "{" ]' \
  'grep -q "\"version\": \"" "$work/out"'

# ---- output ----
printf 'a\000b\377\n\nlast' >"$work/bytes"
job run -n 1 --label cat "$work/bytes"
printf '[0] a\000b\377\n[0] \n[0] last\n' >"$work/want"
ok "bytes, empty lines and a last line without end" all "status 0" 'cmp -s "$work/want" "$work/out"'
job run -n 2 --label sh -c 'echo out; echo err >&2'
ok "stdout and stderr stay apart" all '[ "$(sort "$work/out" | xargs)" = "[0] out [1] out" ]' \
  '[ "$(sort "$work/err" | xargs)" = "[0] err [1] err" ]'
cat >"$work/talk" <<'TALK'
awk -v r="$TUTTI_RANK" 'BEGIN {
  x = "x"; while (length(x) < 8192) x = x x
  for (i = 0; i < 2000; i++) {
    line = r ":" i ":" substr(x, 1, i * 37 % 8191)
    if (i % 2) print line; else print line > "/dev/stderr"
  } }'
TALK
rc=0
TOKEN=$token timeout 60 "$TUTTI" run -n 4 --label sh "$work/talk" 2>&1 | cat >"$work/out"
ok "no line of 4 talkative ranks is torn or lost" awk -F: '
  { if ($1 != "[" substr($1, 2, 1) "] " substr($1, 2, 1)) wrong = 1
    if (length($3) != $2 * 37 % 8191 || seen[$1, $2]++) wrong = 1
    n++ }
  END { exit wrong || n != 8000 }' "$work/out"
job run -n 2 --label sh -c 'head -c 3000000 /dev/zero; echo; echo end'
ok "a line of three million bytes stays whole" '[' "$(grep -ac '^\[[01]\] ' "$work/out") $(wc -c <"$work/out")" = \
  "4 $((2 * (4 + 3000001 + 4 + 4)))" ']'
TOKEN=$token timeout 20 "$TUTTI" run -n 2 --label yes 2>/dev/null | head -2 >"$work/out"
TOKEN=$token timeout 20 "$TUTTI" run -n 2 --label echo hi | true
ok "also if it never read" '[' "${PIPESTATUS[0]}" != 124 ']'
ok "a reader that leaves ends the job" all '[ "$(wc -l <"$work/out")" = 2 ]' gone
{ TOKEN=$token timeout 20 "$TUTTI" run -n 2 --label sh -c 'seq 200000' | (sleep 1; cat) >"$work/out"; } 2>"$work/err"
ok "a slow reader loses nothing" '[' "$(wc -l <"$work/out")" = 400000 ']'
rc=0
TOKEN=$token timeout 20 "$TUTTI" run -n 2 --label echo hi >/dev/full 2>"$work/err" || rc=$?
ok "output that cannot be written is an error" all "status 125" one_line "says 'cannot write .*: No space left'"

# ---- cores ----
cores=$("$TUTTI" info | sed -n 's/^cores  *\([0-9]*\).*/\1/p')
if [ "$cores" -ge 2 ]; then
  job run -n 2 --bind sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status
  ok "--bind gives each rank a separate core" all "status 0" '! grep -q "[-,]" "$work/out"' \
    '[ "$(sort -u "$work/out" | wc -l)" = 2 ]'
else
  skip "--bind gives each rank a separate core" "one core"
fi
job run -n $((cores + 1)) --bind -v true
ok "more ranks than cores: not bound, said with --verbose" all "status 0" "says 'not bound'"
job run -n $((cores + 1)) --bind true
ok "and not a word without" all "status 0" quiet
one=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
rc=0
TOKEN=$token timeout 20 taskset -c "$one" "$TUTTI" run -n 1 --bind \
  sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status >"$work/out" 2>"$work/err" || rc=$?
ok "--bind stays inside the cores it was given" all "status 0" "out_is $one"
exit $bad
