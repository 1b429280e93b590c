# variables.sh - every TUTTI_ variable that the sources read is in the table, and tutti warns of unknown ones.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

hello=$PWD/$BUILD/examples/hello
"$TUTTI" help variables >"$work/help"
sed -nE 's/^  (TUTTI_[A-Z_]+)=.*/\1/p' "$work/help" | sort >"$work/table"
ok "the table has names" '[' "$(wc -l <"$work/table")" -ge 40 ']'
ok "each name once" '[' -z "$(uniq -d "$work/table")" ']'
ok "each has a sentence" '[' "$(grep -c -E '^      [A-Z`~]' "$work/help")" -ge "$(wc -l <"$work/table")" ']'

# The variables that the sources read: arguments of functions that read the environment, or whole words between quotes, as in
# tables of names. Words of the API, such as the name of an error in a message, do not count as variables.
sources() { find "$@" -type f '(' -name '*.[ch]' -o -name '*.cpp' -o -name '*.py' ')' -print0; }
product="src cli mpi ucx tcp pmix gpu shim sim c10d python/tutti examples"
{
  # shellcheck disable=SC2086
  sources $product tests bench fuzz | xargs -0 grep -hoE \
    "(getenv|tt_env[a-z_]*|environ(\.get)?[[(]|env_is_set) ?\(?[\"']TUTTI_[A-Z_]+" | grep -oE 'TUTTI_[A-Z_]+'
  # shellcheck disable=SC2086
  sources $product | xargs -0 grep -hoE "[\"']TUTTI_[A-Z_]+[\"']" | grep -oE 'TUTTI_[A-Z_]+'
} | grep -vE '^TUTTI_(ERR_.*|OK|0)?$' | sort -u >"$work/read"
ok "the sources read variables" '[' "$(wc -l <"$work/read")" -ge 35 ']'
ok "every variable that the sources read is in src/core/variables.def" \
  '[' -z "$(comm -13 "$work/table" "$work/read" | tee "$work/err")" ']'
# The sources do not read the last groups, which are variables of other programs and of scripts.
sed '/^Not read by tutti/,$d' "$work/help" | sed -nE 's/^  (TUTTI_[A-Z_]+)=.*/\1/p' | sort >"$work/said"
ok "every variable of the table is read" '[' -z "$(comm -23 "$work/said" "$work/read" | tee "$work/err")" ']'

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
job variables
ok "\`tutti variables\` names the help" all "status 2" "says 'tutti help variables'"
exit $bad
