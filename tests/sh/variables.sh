# variables.sh - every TUTTI_ variable that the sources read is in the table; tutti warns of unknown ones; configuration files.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

hello=$PWD/$BUILD/examples/hello
"$TUTTI" help variables >"$work/help"
sed -nE 's/^TT_(VARIABLE|HIDDEN)\(([A-Z_]+), .*/TUTTI_\2/p' src/core/variables.def | sort >"$work/table"
sed -nE 's/^  (TUTTI_[A-Z_]+)=.*/\1/p' "$work/help" >"$work/shown"
ok "the table has names" '[' "$(wc -l <"$work/table")" -ge 40 ']'
ok "each name once" '[' -z "$(uniq -d "$work/table")" ']'
ok "users are shown about thirty, and those for debugging last" all '[ "$(sed "/^For debugging/,\$d" "$work/help" | grep -c "^  TUTTI_")" -le 32 ]' \
  'sed "1,/^For debugging/d" "$work/help" | grep -q "^  TUTTI_ENGINE="' '! grep -qE "TUTTI_(TEST_|PROVE|RANK|LIB=)" "$work/help"'
ok "each has a type, a default and a scope" '[' "$(grep -c -E '^      Type: ' "$work/help")" = "$(wc -l <"$work/shown")" ']'
ok "each has a sentence" '[' "$(grep -c -E '^      [A-Z`~]' "$work/help")" -ge "$((2 * $(wc -l <"$work/shown")))" ']'

# The variables that the sources read: arguments of functions that read the environment, or whole words between quotes, as in
# tables of names. Words of the API, such as the name of an error in a message, do not count as variables.
sources() { find "$@" -type f '(' -name '*.[ch]' -o -name '*.cpp' -o -name '*.py' ')' -print0; }
product="src cli mpi ucx tcp pmix gpu shim sim c10d python/tutti examples"
{
  # shellcheck disable=SC2086
  sources $product tests bench fuzz | xargs -0 grep -hoE \
    "(getenv|tt_env[a-z_]*|tutti_setting|environ(\.get)?[[(]|env_is_set) ?\(?[\"']TUTTI_[A-Z_]+" | grep -oE 'TUTTI_[A-Z_]+'
  # shellcheck disable=SC2086
  sources $product | xargs -0 grep -hoE "[\"']TUTTI_[A-Z_]+[\"']" | grep -oE 'TUTTI_[A-Z_]+'
} | grep -vE '^TUTTI_(ERR_.*|OK|0)?$' | sort -u >"$work/read"
ok "the sources read variables" '[' "$(wc -l <"$work/read")" -ge 35 ']'
ok "every variable that the sources read is in src/core/variables.def" \
  '[' -z "$(comm -13 "$work/table" "$work/read" | tee "$work/err")" ']'
ok "every variable that is shown is read" '[' -z "$(sort "$work/shown" | comm -23 - "$work/read" | tee "$work/err")" ']'

# ---- the warning ----
job run -n 2 env TUTTI_TIMOUT=30 "$hello"
ok "a misspelled variable is told once, with the name that is near" all "status 0" one_line \
  "says 'TUTTI_TIMOUT is not a variable of tutti and has no effect; did you mean TUTTI_TIMEOUT\?'"
job run -n 2 env TUTTI_WHATEVER_THIS_IS=1 "$hello"
ok "no suggestion if no name is similar" all "status 0" one_line "says 'no effect .\`tutti help variables'"
job run -n 2 env TUTTI_ROOT=/opt TUTTI_TEST_ALL=1 TUTTI_HOME=/opt "$hello"
ok "those of module files and of the tests are known" all "status 0" quiet
job run -n 2 env MYTUTTI_X=1 TUTTI=1 "$hello"
ok "other names are none of tutti's" all "status 0" quiet
TUTTI_ALGOS=ring job explain -n 4 --size 1KiB
ok "a command says it, too" all "status 0" one_line "says 'explain: TUTTI_ALGOS is not a variable .*mean TUTTI_ALGO\?'"

# ---- configuration files ----
config=$work/home/.config/tutti.conf
mkdir -p "$work/home/.config"
printf '# mine\n\nTUTTI_TIMEOUT = soon  # a wrong value\nTUTTI_TIMOUT = 3\nTUTTI_RANK = 1\nnonsense\n' >"$config"
at_home() { env -u TUTTI_CONF -u XDG_CONFIG_HOME HOME="$work/home" "$@"; }
home_job() { # home_job WORDS...: as job, with the file in this home
  rc=0
  at_home TOKEN="$token" timeout 60 "$TUTTI" "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
}
home_job run -n 2 "$hello"
ok "the user's file is read, and wrong lines are told once, with their numbers" all "status 0" '[ "$(wc -l <"$work/err")" = 4 ]' \
  "says 'TUTTI_TIMEOUT=.soon. is not a positive number'" "says '$config:4: TUTTI_TIMOUT is not a variable .*mean TUTTI_TIMEOUT\?'" \
  "says '$config:5: TUTTI_RANK has no effect in a file'" "says '$config:6: expected TUTTI_NAME = value'"
home_job explain -n 4 --size 1KiB
ok "a command tells them, too" all "status 0" "says 'explain: $config:6: expected'"
home_job info
ok "tutti info shows which file was read" all "status 0" "has '^configuration +$config\$'"
echo 'TUTTI_TIMEOUT = later' >"$config"
home_job run -n 2 env TUTTI_TIMEOUT=30 "$hello"
ok "the environment wins" all "status 0" quiet
home_job run -n 2 env TUTTI_TIMEOUT= "$hello"
ok "even an empty variable" all "status 0" quiet
echo 'TUTTI_TIMEOUT = never' >"$work/other"
home_job run -n 2 env TUTTI_CONF="$work/other" "$hello"
ok "TUTTI_CONF names another file" all "status 0" one_line "says 'TUTTI_TIMEOUT=.never. is not'"
home_job run -n 2 env TUTTI_CONF=/no/such/file "$hello"
ok "a file that is not there is told" all "status 0" one_line "says '/no/such/file: No such file or directory'"
mkdir "$work/etc" "$work/etcwork"
if unshare -m mount -t overlay overlay -o "lowerdir=/etc,upperdir=$work/etc,workdir=$work/etcwork" /etc 2>/dev/null; then
  echo 'TUTTI_TIMEOUT = etc' >"$work/system" && echo 'TUTTI_SLICES = etc' >>"$work/system"
  with_etc() {
    rc=0
    at_home TOKEN="$token" timeout 60 unshare -m sh -c 'mount -t overlay overlay -o "lowerdir=/etc,upperdir=$0/etc,workdir=$0/etcwork" /etc &&
      cp "$0/system" /etc/tutti.conf && exec "$@"' "$work" "$@" >"$work/out" 2>"$work/err" </dev/null || rc=$?
  }
  with_etc "$TUTTI" run -n 1 "$hello"
  ok "the user's file wins over /etc's, line by line" all "status 0" '[ "$(wc -l <"$work/err")" = 2 ]' "says 'TUTTI_TIMEOUT=.later.'" "says 'TUTTI_SLICES=.etc.'"
  with_etc "$TUTTI" info
  ok "tutti info shows both" all "status 0" "has '^configuration +/etc/tutti.conf, $config\$'"
else
  skip "the user's file and /etc's" "/etc cannot be replaced here" 2
fi
job variables
ok "\`tutti variables\` names the help" all "status 2" "says 'tutti help variables'"
exit $bad
