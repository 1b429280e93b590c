# docs.sh - the manual's pages: links, anchors and pictures, the questions, the quoted messages, the pages that are made from
# the command and the header, and the examples of the C API. `make check-site` checks the finished site.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"

# made COMMAND...: status in rc, output in $work/out and err.
made() { rc=0 && "$@" >"$work/out" 2>"$work/err" || rc=$?; }

made $python tools/check_docs.py links
ok "every link, anchor and picture exists, and every page is reachable" all 'status 0' '[ ! -s "$work/out" ]'
made $python tools/check_docs.py questions
ok "each of the 20 questions is answered two clicks from the first page" all 'status 0' '[ ! -s "$work/out" ]'
made $python tools/check_docs.py messages
ok "each message of docs/troubleshooting.md is one that a source prints" all 'status 0' '[ ! -s "$work/out" ]'
made $python tools/pages.py --build "$BUILD" --check
ok "the pages made of the command and of the header say what these say" all 'status 0' '[ ! -s "$work/out" ]'

# Mistakes are detected; each one is made in a copy.
copy=$work/copy
mkdir -p "$copy/python"
cp -r docs tools src cli mpi net ucx tcp shim c10d README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE "$copy" && cp -r python/tutti "$copy/python"
noticed() { # noticed NAME FILE SED-SCRIPT CHECK WORDS
  cp "$copy/$2" "$work/kept" && sed -i "$3" "$copy/$2"
  made $python "$copy/tools/check_docs.py" "$4"
  ok "noticed: $1" all 'status 1' "has '$5'"
  cp "$work/kept" "$copy/$2"
}
echo "# Alone" >"$copy/docs/alone.md"
made $python "$copy/tools/check_docs.py" links
ok "noticed: a page that no page leads to" all 'status 1' "has 'alone.md: no way leads there'"
rm "$copy/docs/alone.md"
made $python "$copy/tools/check_docs.py"
ok "the copy is good" status 0
noticed "a link to no page" docs/mpi.md 's/](dropin.md)/](dropout.md)/' links 'there is no docs/dropout.md'
noticed "an anchor without a heading" docs/tune.md 's/#measuring-them/#guessing-them/' links 'prices.md has no heading #guessing-them'
noticed "a missing picture" docs/concepts.md 's/](concepts.svg)/](conceits.svg)/' links 'there is no docs/conceits.svg'
noticed "a page without a title" docs/wisdom.md '1d' links 'wisdom.md: does not begin with a title'
sed -i '/troubleshooting.md)/d' "$copy/docs/README.md"
made $python "$copy/tools/check_docs.py" questions
ok "noticed: an answer that is three clicks away" all 'status 1' "has 'troubleshooting.md is not linked from docs/README.md'"
cp docs/README.md "$copy/docs/README.md"
noticed "an answer that is gone" docs/hosts.md 's/^## Under Slurm/## At work/' questions 'hosts.md has no heading #under-slurm'
noticed "a question without an answer" docs/faq.md 's/^### How do I run under Slurm?/### Slurm/' questions 'docs/faq.md does not answer it'
noticed "an answer without its link" docs/faq.md 's/hosts.md#under-slurm/hosts.md/' questions 'docs/faq.md has no link to hosts.md#under-slurm'
noticed "a page that is named but not linked" docs/tune.md '$a See docs/prices.md for more.' links 'docs/prices.md is named, but not linked'

noticed "a message that no source prints" docs/troubleshooting.md 's/is not the shared memory of/is not the stored memory of/' messages \
  "no source says .is not the stored memory of a tutti job"

# Every public function has an example, and the examples run.
grep -ohE '\btutti_[a-z_]+\(' include/tutti.h include/tutti_start.h | grep -v '_fn($' | sort -u >"$work/functions"
while read -r f; do grep -qF "$f" examples/api.c || echo "$f"; done <"$work/functions" >"$work/out"
ok "every function of tutti.h has an example in examples/api.c" '[' ! -s "$work/out" -a "$(wc -l <"$work/functions")" -ge 50 ']'
grep -vx tutti_python_guard src/exported.txt | while read -r f; do grep -qF "$f(" examples/api*.c || echo "$f"; done >"$work/out"
ok "every exported function has one, but for the one that takes Python's objects" '[' ! -s "$work/out" -a "$(wc -l <src/exported.txt)" -ge 140 ']'
for program in api api_more api_create api_device; do
  for n in 1 3; do
    job run -n $n "$BUILD/examples/$program"
    ok "the examples of $program.c are right on $n ranks" all 'status 0' "has '^[0-9]+ examples$'" quiet
  done
done
for name in $("$TUTTI" help | sed -nE 's/^  ([a-z]+) .*/\1/p' | grep -v '^help$'); do [ -e "docs/man/tutti-$name.1" ] || echo "$name"; done >"$work/out"
while read -r f; do [ -e "docs/man/${f%(}.3" ] || echo "$f"; done <"$work/functions" >>"$work/out"
ok "every command and every function of tutti.h has a man page" '[' ! -s "$work/out" ']'
exit $bad
