#!/usr/bin/env bash
# doc_tables.sh - the tables of docs/ agree with the files of docs/bench/.
#
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# made COMMAND...: status in rc, output in $work/out and err.
made() { rc=0 && "$@" >"$work/out" 2>"$work/err" || rc=$?; }

made $python tools/doc_tables.py --check
ok "each table of docs/ is what its file gives" all 'status 0' '[ ! -s "$work/out" ]'
ok "there are tables" [ "$(cat docs/*.md docs/*/*.md | grep -c '^<!-- table ')" -ge 20 ]

page=docs/bench/README.md
awk '/^<!-- table /{seen = 1} seen && /^\| [0-9]/ && !done {sub(/\| [^|]* \|/, "| changed |"); done = 1} {print}' "$page" >"$work/page.md"
made $python tools/doc_tables.py --check "$work/page.md"
ok "a changed figure is noticed" all 'status 1' 'grep -q "make tables" "$work/out"'
made $python tools/doc_tables.py "$work/page.md"
ok "... and put right" cmp -s "$page" "$work/page.md"

# Verdicts are computed from the numbers.
cat >"$work/rule.py" <<'EOC'
import sys
sys.path.insert(0, "tools")
import doc_tables as t
assert [t.verdict(100, x) for x in (100, 109, 92, 112, 81, 130, 70)] == ["agrees"] * 3 + ["roughly"] * 2 + ["no"] * 2
assert [t.verdict(None, x) for x in (True, False, None, "not tried")] == ["agrees", "no", "-", "not tried"]
EOC
made $python "$work/rule.py"
ok "verdicts: within 10 % agrees, within 25 % roughly" status 0
echo "1..5"
exit $bad
