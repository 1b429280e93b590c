#!/bin/sh
# coverage.sh - line coverage of the library and the command, per file, by gcov.
#   tools/coverage.sh BUILD-FOLDER     (after the tests ran there)
# SPDX-License-Identifier: BSD-3-Clause
set -eu
build=$1
find "$build/src" "$build/cli" -name '*.gcno' | sort | while read -r notes; do
  gcov -n -o "${notes%/*}" "${notes%.gcno}.o" 2>/dev/null
done | awk '
  /^File / { file = $2; gsub(/\047/, "", file) }
  /^Lines executed:/ && file ~ /^(src|cli)\// {
    split($2, part, ":"); sub(/%/, "", part[2])
    covered = int(part[2] * $4 / 100 + 0.5)
    if (!(file in lines)) names[++n] = file
    if (!(file in lines) || covered > hit[file]) { lines[file] = $4; hit[file] = covered }
    file = ""
  }
  END {
    printf "\n%-36s %7s %7s %7s\n", "file", "lines", "run", "%"
    for (i = 1; i <= n; i++) {
      f = names[i]; all += lines[f]; run += hit[f]
      printf "%-36s %7d %7d %6.1f%%\n", f, lines[f], hit[f], 100 * hit[f] / lines[f]
    }
    if (all) printf "%-36s %7d %7d %6.1f%%\n", "total", all, run, 100 * run / all
  }'
