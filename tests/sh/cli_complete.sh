# cli_complete.sh - the shell completions of `tutti`.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

PATH=$(dirname "$TUTTI"):$PATH
. "${BASH_SOURCE%/*}/../../cli/complete.bash"

offers() { # arguments: the words of a command line, the last one incomplete; prints the completions on one line
  read -ra COMP_WORDS <<<"$1."
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]%.}
  _tutti
  printf '%s\n' "${COMPREPLY[@]}" | sort -u | xargs
}

cd "$work" && mkdir -p quaint_folder && touch file.json
while IFS='|' read -r line words; do
  ok "'$line'" '[' "$(offers "$line")" = "$words" ']'
done <<'END'
tutti be|bench
tutti help mo|model
tutti plan sh|show
tutti plan show fold(h|fold(halving)
tutti bench --sp|--spread
tutti bench -o|-o
tutti bench --coll al|allgather allreduce alltoall
tutti bench --side |in out
tutti bench -o fi|file.json
tutti trace --format |csv json text
tutti mpi --family=|
tutti run -n 2 quaint_fol|quaint_folder
tutti run -n 2 ./x --ver|
END
for option in $(tutti help bench | grep -oE -- '--[a-z]+' | sort -u); do
  ok "every option of bench: $option" grep -qw -e "$option" <(offers "tutti bench --")
done
for type in $(_tutti_values --type); do
  job bench -b 64 -e 64 --iters 1 -w 0 --repeats 1 --type "$type"
  ok "type $type is one" status 0
done
for op in $(_tutti_values --op); do
  job bench -b 64 -e 64 --iters 1 -w 0 --repeats 1 --op "$op" --type "$(case $op in *loc) echo float_int ;; *) echo int32 ;; esac)"
  ok "op $op is one" status 0
done
for coll in $(_tutti_values --coll); do
  job bench -b 64 -e 64 --iters 1 -w 0 --repeats 1 --coll "$coll"
  ok "collective $coll is one" status 0
done
exit $bad
