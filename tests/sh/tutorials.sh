# tutorials.sh - the tutorials of docs/tutorials/ work: their programs are saved, their commands run in order, and each
# line of the expected output is printed, where "..." matches any text.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
root=$PWD
case $BUILD in /*) built=$BUILD ;; *) built=$PWD/$BUILD ;; esac
CC=${CC:-gcc}

# Simulates an installed tutti: the command, and the output of pkg-config.
mkdir "$work/bin"
ln -s "$TUTTI" "$work/bin/tutti"
printf '#!/bin/sh\necho "-I%s/include %s/libtutti.a -pthread -lm %s"\n' "$root" "$built" "${SANITIZE:-}" >"$work/bin/pkg-config"
printf '#!/bin/sh\nexec %s "$@"\n' "$CC" >"$work/bin/cc"
printf '#!/bin/sh\nexec %s "$@"\n' "$python" >"$work/bin/python3"
printf '#!/bin/sh\nexec %s -s CC=%s "$@"\n' "$(command -v make)" "$CC" >"$work/bin/make"
chmod +x "$work"/bin/*
export PATH=$work/bin:$built:$PATH PYTHONPATH=$root/python${PYTHONPATH:+:$PYTHONPATH}

# Splits a page: programs into files named by their first line; commands into 1.sh, 2.sh ..., and the expected output
# of the commands up to that point into 1.want, 2.want ...
cat >"$work/split.py" <<'EOP'
import re, sys
page, folder = sys.argv[1:]
n = 0
for kind, body in re.findall(r"^```(\w+)\n(.*?)^```$", open(page).read(), re.S | re.M):
    if kind in ("c", "python", "schedule"):
        name = re.match(r"(?:/\*|#) ([\w.]+\.\w+)\b", body)
        if name:
            open("%s/%s" % (folder, name.group(1)), "w").write(body)
    elif kind == "sh":
        n += 1
        open("%s/%d.sh" % (folder, n), "w").write(body)
    elif kind == "text":
        open("%s/%d.want" % (folder, n), "w").write(body)
EOP

# expected FILE: checks that each line of the file, as a pattern, matches in $work/out.
expected() {
  local line pattern
  while IFS= read -r line; do
    pattern=$(printf '%s' "$line" | sed -E 's/[][\\.*^$+?(){}|/]/\\&/g; s/ *(\\\.){3} */.*/g; s/  +/ +/g')
    grep -qaE -e "$pattern" "$work/all" || { echo "# no line is like: $line"; return 1; }
  done <"$1"
}

# tutorial NAME [FOLDER]: runs its commands in FOLDER (default: a new folder), with a test for each block.
tutorial() {
  local name=$1 folder=${2:-$work/$1} i rc
  mkdir -p "$folder" && "$python" "$work/split.py" "$root/docs/tutorials/$name.md" "$folder"
  [ ! -e "$folder/relay.c" ] || [ ! -d "$folder/src/algo" ] || mv "$folder/relay.c" "$folder/src/algo"
  for ((i = 1; ; i++)); do
    [ -e "$folder/$i.sh" ] || break
    rc=0
    (cd "$folder" && TOKEN=$token timeout -k 5 300 bash -e "$i.sh") >"$work/out" 2>"$work/err" </dev/null || rc=$?
    cat "$work/out" "$work/err" >"$work/all"
    ok "$name, $(grep -v '^ *#' "$folder/$i.sh" | head -1 | cut -c 1-60)" all "status $rc" '[ $rc = 0 ]' \
      "[ ! -e '$folder/$i.want' ] || expected '$folder/$i.want'"
  done
}

tutorial late
tutorial survive
if has_starter ompi && [ -e "$built/libtutti_pmpi_ompi.so" ] && command -v mpicc.openmpi >/dev/null; then
  tutorial faster
else
  skip "faster" "no Open MPI, or no drop-in for it" 4
fi

# The algorithm is added to a copy of the sources; only the files that depend on its two files are compiled.
copy=$work/tutti
mkdir -p "$copy/build"
cp -a Makefile mk tools cli src net tcp include examples docs "$copy"
cp -a "$built"/flags "$built"/src "$built"/cli "$built"/net "$built"/tcp "$built"/libtutti* "$built"/tutti "$copy/build" 2>/dev/null
case $BUILD in
build)
  export -n CC CFLAGS MAKEFLAGS MAKELEVEL MFLAGS 2>/dev/null
  printf '#!/bin/sh\n[ -x ./build/tutti ] && exec ./build/tutti "$@"\nexec %s "$@"\n' "$TUTTI" >"$work/bin/tutti.new"
  chmod +x "$work/bin/tutti.new" && mv "$work/bin/tutti.new" "$work/bin/tutti"
  tutorial algorithm "$copy"
  ;;
*) skip "algorithm" "the copy is built as build/ is" 8 ;;
esac

if "$python" -c 'import torch' 2>/dev/null && [ -e "$built/libtutti_ucx.so" ]; then
  tutorial ddp
else
  skip "ddp" "no PyTorch for $python, or no UCX" 2
fi
exit $bad
