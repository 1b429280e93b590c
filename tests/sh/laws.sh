# laws.sh - the rules for the sources (CONTRIBUTING.md), a TAP line each.
# Checks the sources, and $BUILD/libtutti.a and .so, which must be built.
# SPDX-License-Identifier: BSD-3-Clause
set -u
BUILD=${BUILD:-build}
CC=${CC:-gcc}
CXX=${CXX:-g++}
python=/usr/bin/python3
export PYTHONDONTWRITEBYTECODE=1
bad=0

# Each folder of src/, and after it the other folders whose headers it may include. All may include core.
rooms() {
  cat <<'EOR'
core
sched
topo
kernel
code    kernel
algo    sched topo
prove   sched
draw    sched topo algo prove
cost    sched topo
choose  algo prove cost sched topo kernel code
job
wire    job
device  job wire
trace   sched job wire
engine  sched kernel code job wire device trace
meet
run     sched topo kernel code algo prove cost choose job wire device trace engine
aggregator sched topo kernel code algo prove cost choose job wire device trace engine meet run
tune    sched topo kernel code algo prove cost choose job wire device trace engine run
comm    sched topo kernel code algo prove cost choose job wire device trace engine meet run tune
fault   sched topo kernel code algo prove cost choose job wire device trace engine meet run tune comm
api     sched topo kernel code algo prove draw cost choose job wire device trace engine meet run tune comm fault
bucket  sched topo kernel code algo prove draw cost choose job wire device trace engine meet run tune comm fault api
doctor  sched topo kernel code algo prove draw cost choose job wire device trace engine meet run tune comm fault api
EOR
}

RESEARCH=$(ls -d research 2>/dev/null) # make dist leaves it out

# law NAME: passes if stdin is empty; otherwise stdin has the violations.
law() {
  local found
  found=$(cat)
  if [ -z "$found" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1"
    echo "$found" | sed 's/^/#   /'
    bad=1
  fi
}
sources() { find include src mpi net ucx tcp pmix tls gpu cli examples tests fuzz bench shim sim c10d research '(' -name '*.[ch]' -o -name '*.[ch]pp' ')' 2>/dev/null | sort; }
in_room() { find "$@" '(' -name '*.[ch]' -o -name '*.[ch]pp' ')' 2>/dev/null | sort; }
# file:line:header of every #include "..." or <...> in the given files.
includes() { [ $# = 0 ] || grep -nHoE '^ *# *include *["<][^">]+' "$@" /dev/null | sed -E 's/:[^:]*["<]/:/'; }

# ---- allowed includes ----
# shellcheck disable=SC2046
{ find src -type f -name '*.[ch]' -o -type f -name '*.def' | sed 's/^/@ /'; rooms | sed 's/^/% /'; includes $(in_room src); } | awk '
  $1 == "@" { n = split($2, at, "/"); path[at[n]] = $2; next }
  $1 == "%" { for (i = 2; i <= NF; i++) may[$2, $i]; may[$2, "core"]; next }
  { split($0, at, ":"); split(at[1], from, "/"); n = split(at[3], name, "/")
    home = path[name[n]] # without a home it is a system header or the public header
    if (substr(home, length(home) - length(at[3])) != "/" at[3]) next
    split(home, to, "/")
    if (!((from[2], to[2]) in may)) print at[1] ":" at[2] ": " from[2] "/ may not include " at[3] " of " to[2] "/" }' |
  law "rooms include only the rooms they may"

# The table is transitively closed: if a may include b, and b may include c, then a may include c. The law above therefore
# covers indirect includes, too.
rooms | while read -r room may; do
  for m in $may; do
    for far in $(rooms | sed -n "s/^$m \(.*\)/\1/p"); do
      case " $may " in *" $far "*) ;; *) echo "$room sees $m, $m sees $far" ;; esac
    done
  done
done | law "the table of rooms is closed"

find src -mindepth 1 -maxdepth 1 -type d | sed 's|src/||' | while read -r dir; do
  rooms | grep -qE "^$dir( |$)" || echo "src/$dir is no room of the table"
done | law "every folder of src/ is a room"

includes $(in_room src/algo) | grep -vE \
  ':(limits|search|stdbool|stddef|stdint|stdio|stdlib|string)\.h$|:(algo|plan_spec|sched|schedule|topo|core|tutti)[a-z_]*\.(h|def)$' |
  law "algo/ includes no clock, environment, address, thread or MPI"

includes $(in_room src/prove) | grep -E ':(.*/)?algo' | law "prove/ never sees algo/"

# Other code treats a plan as a value: it prints or compares the whole text.
{ grep -nE '\<(strchr|strrchr|strstr|strncmp|sscanf|strcspn|strspn|strtok|memchr)\([^;]*\<(plan|spec|only|family|choice|algo|name)\>[^;]*' -r src/choose src/run src/tune src/draw src/api c10d
  grep -nE '\<tt_text_until\(' -r src c10d shim | grep -vE '^src/(sched|choose/override.c)'; } |
  grep -vE '^src/algo/plan_spec.c' | law "only plan_spec.c takes the text of a plan apart"

sed -n 's/^ *\.name = "\(.*\)",.*/\1/p' src/algo/*.c | while read -r family; do
  grep -nE "\"$family[\"(]" src/choose/*.[ch]
done | law "choose/ names no family of algorithms"

includes $(sources) | grep -E ':(.*/)?mpi\.h$' |
  grep -vE '^(mpi/|src/wire/[a-z_]*mpi[a-z_]*\.[ch]|src/api/[a-z_]*mpi[a-z_]*\.[ch]|include/tutti_mpi\.h|shim/|sim/|examples/[a-z_]*mpi|cli/meet_mpi|tests/[a-z_]*mpi|tests/unit/test_mpi_abi|tests/over/|tests/dropin/|tests/abi/|bench/)' |
  law "mpi.h only in the MPI wire, the MPI glue and the shim"

for dir in mpi gpu cli examples bench sim shim python c10d research; do
  grep -nHoE '^ *# *include *["<][^">]+' $(in_room $dir) /dev/null 2>/dev/null |
    sed -E 's/^([^:]*):([^:]*):[^"<]*(["<])/\1:\2:\3/' | while IFS=: read -r file line header; do
    name=${header#?}
    case $file:$name in bench/timing.h:../cli/touch.h | bench/gpu_driver.h:../gpu/cuda_*) continue ;; esac # these measure as `tutti bench` does, and on the driver
    case $name in *..*) echo "$file:$line: $name leaves the folder" ;; esac
    [ "$name" != quiet_thread.h ] || continue # does not need other headers of src/
    [ -e "${file%/*}/$name" ] || [ -e "$dir/$name" ] || [ -e "include/$name" ] && continue
    case $file:$name in bench/kernels.c:kernel*.h | bench/price.c:build_comm.h | bench/recording.c:* | bench/host_pointers.c:* | bench/scale.c:* | bench/starting.c:*) continue ;; # these measure internals
      shim/*:net.h | shim/*:calls.h) continue ;; esac # shim/ contains the network of mpi/
    case $header in \"*) echo "$file:$line: $name is not a public header" ;; esac
    [ -z "$(find src -path "*/$name" 2>/dev/null)" ] || echo "$file:$line: $name is internal"
  done
done | law "cli/, examples/ and other users of the library include public headers only"

# Every atomic access stronger than relaxed has its model's order, or a reason.
$python tools/orders.py 2>&1 | law "memory orders are those of the models"

# ---- symbols that the library uses, holds and exports ----
lib=$BUILD/libtutti.a so=$BUILD/libtutti.so
if [ ! -e "$lib" ] || [ ! -e "$so" ]; then
  echo "not ok - $lib and $so exist"
  exit 1
fi
nm -A -u "$lib" 2>/dev/null | awk '{print $1 $NF}' | sed -E 's/^[^:]*://' |
  grep -E ':(_?_?v?f?d?printf(_chk)?|__v?f?d?printf_chk|f?puts|f?putc|putchar|fwrite|perror|stdout|stderr|psignal|v?warnx?|v?errx?|error|v?syslog|exit|_exit|_Exit|quick_exit|abort|__assert_fail|raise)(@.*)?$' |
  law "the library never prints, exits or aborts"

nm -A -u "$lib" 2>/dev/null | awk '{print $1 $NF}' | sed -E 's/^[^:]*://' | grep -E ':(secure_)?getenv$' |
  grep -vE '^(system|config_file)\.o:' | law "variables are read by tt_env, which knows the configuration files"

# Schedules from users can be proven and drawn; the library does not run them.
nm -A -u "$lib" 2>/dev/null | awk '$NF == "tt_sched_parse" {split($1, at, ":"); print at[2]}' |
  grep -vx 'schedules.o' | law "only api/schedules.c reads schedules from texts ..."
nm -A -u "$lib" 2>/dev/null | grep ':schedules.o:' | grep -E ' tt_(program|operation|wire|comm|loop|shape|request|plan)[a-z_]*$' |
  law "... and it runs none of them"

for o in "$BUILD"/src/algo/*.o "$BUILD"/src/algo/pattern/*.o; do
  [ -e "$o" ] && nm -u "$o" | awk -v o="${o##*/}" '{print o ": " $NF}'
done | grep -E ': (getenv|secure_getenv|environ|clock.*|time|gettimeofday|localtime.*|getpid|gettid|rand.*|random.*|open.*|fopen.*|read|write|mmap.*|pthread_.*|MPI_.*|sysconf|getauxval)$' |
  law "algo/ calls no clock, environment, file, thread or MPI"

for room in sched cost choose prove; do
  [ -d "src/$room" ] || echo "there is no room $room"
  for o in "$BUILD/src/$room"/*.o; do
    [ -e "$o" ] && nm -u "$o" | awk -v o="${o##*/}" '{print o ": " $NF}'
  done
done | grep -E '^there is no room|: (getenv|secure_getenv|environ|tt_env.*|tt_seconds|clock.*|time|gettimeofday|getpid|gettid|rand.*|random.*|open.*|fopen.*|read|process_vm.*|pthread_.*|sysconf|sched_.*|getauxval)$' |
  grep -vE '^(choose|chooser)\.o: pthread_mutex_' | # communicators share choosers
  law "choosing, pricing and proving call no clock, environment, file or system"

# Calls do not read environment variables, because a program may change them during a call. Communicators read them when they
# are made.
for room in run engine engine/fast wire wire/shm wire/net; do
  for o in "$BUILD/src/$room"/*.o; do
    case $o in */proof_table.o) continue ;; esac # tt_proof_setting, for a new communicator
    [ -e "$o" ] && nm -u "$o" | awk -v o="${o##*/}" '{print o ": " $NF}'
  done
done | grep -E ': (getenv|secure_getenv|environ|tt_env.*)$' | law "calls read no environment variable"

# Folders above wire/ use a transport only through its tables, after wires.h has made it. Checks only the objects of the present
# sources, because an old build may have others.
objects() { find "$@" -name '*.c' | sed "s|\(.*\)\.c|$BUILD/\1.o|"; }
# shellcheck disable=SC2046
inside=$(nm --defined-only --extern-only $(objects src/wire) | awk 'NF == 3 {print $3}' | while read -r name; do
  grep -q "\b$name(" src/wire/wires.h || echo "$name"
done)
# shellcheck disable=SC2046
nm -A -u $(objects src | grep -v /src/wire/) | awk -v names="$inside" '
  BEGIN { n = split(names, list, "\n"); for (i = 1; i <= n; i++) hidden[list[i]] = 1 }
  $NF in hidden { print $1 " " $NF }' | law "other rooms call the wire through its tables"

objdump -p "$so" | awk '/NEEDED/ {print $2}' |
  grep -vE '^(libc|libm|libpthread|librt|ld-linux[-a-z0-9_]*)\.so' | law "libtutti needs libc only"

objdump -t "$lib" | awk '
  /^[^ ]*\.o:/ { file = $1 }
  / O / { n = 0; for (i = 2; i <= NF; i++) if ($i == "O") n = i
    section = $(n + 1)
    if (section ~ /^(\.data|\.bss|\*COM\*)/ && section !~ /^\.data\.rel\.ro/ && $NF != "tt_process" && $NF != "tt_config")
      print file " " $NF " in " section }' | law "no mutable globals but tt_process and tt_config"

nm -D --defined-only "$so" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | grep -v '^tutti_' |
  law "exported names begin with tutti_"
nm --defined-only --extern-only "$lib" 2>/dev/null | awk 'NF == 3 {print $3}' | grep -vE '^(tt|tutti)_' |
  law "external names of the static library begin with tutti_ or tt_"

exported=$(nm -D --defined-only "$so" | awk '{sub(/@.*/, "", $3); print $3}')
declared=$("$CC" -E -P include/tutti.h | grep -oE '\btutti_[a-z0-9_]+\(' | tr -d '(' | sort -u | grep -v '_fn$')
for name in $declared; do
  echo "$exported" | grep -qx "$name" || echo "$name is declared and does not exist"
done | law "every function of tutti.h exists"
for name in $exported; do
  echo "$declared" | grep -qx "$name" || [ "$name" = TUTTI_0 ] || grep -q "\b$name(" include/*.h ||
    echo "$name is exported and not in the header"
done | law "every exported function is in the header"

# src/exported.txt is the stored list. To change it is to change the interface.
echo "$exported" | grep -v '^TUTTI_0$' | LC_ALL=C sort | diff src/exported.txt - | grep '^[<>]' |
  sed 's/^</is exported no more:/; s/^>/is not in src\/exported.txt:/' | law "the exported names are the stored ones"

# ---- the public headers ----
alone() { # C COMPILER, C++ COMPILER; tutti_mpi.h needs an MPI's
  local h
  for h in include/*.h; do
    [ "$h" = include/tutti_mpi.h ] && continue
    "$1" -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c -include "$h" /dev/null 2>&1
    "$2" -std=c++11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ -include "$h" /dev/null 2>&1
  done
}
alone "$CC" "$CXX" | law "each header compiles alone, as C17 and as C++11"
if command -v clang >/dev/null; then
  alone clang clang++ | law "... and so it does with clang"
else
  echo "ok - tutti.h compiles alone with clang # SKIP no clang here; make fuzz installs it"
fi

# ---- shape ----
sources | sed 's|.*/||' | sort | uniq -d | law "file names are unique"
# `make prove` writes forms.def.
{ sources; find src cli tests tools fuzz models examples bench python $RESEARCH -name '*.sh' -o -name '*.bash' -o -name '*.def' \
  -o -name '*.html' -o -name '*.py'; ls tests/run; } |
  grep -vx src/choose/forms.def | while read -r f; do
    n=$(wc -l <"$f")
    [ "$n" -lt 500 ] || echo "$f has $n lines"
  done | law "files have fewer than 500 lines"

# Extensions: a line of exts.def and a room; their variables stand with all others.
grep -rli aggregator src | grep -v -e ^src/aggregator/ -e ^src/run/exts.def -e ^src/core/variables.def -e ^src/exported.txt | law "rooms do not name an extension"

# Lower this number when src/ has become smaller; the goal is 45000.
most=58900
n=$(find src -name '*.[ch]' -o -name '*.def' | xargs cat | wc -l)
{ [ "$n" -le $most ] || echo "src/ has $n lines"; } | law "src/ has at most $most lines"

# In sources formatted by clang-format a function starts in the first column and ends with a brace
# in the first column.
sources | while read -r f; do
  awk -v f="$f" '
    /^[A-Za-z_]/ && !/^_Static_assert/ { first = NR; name = $0 }
    /\{$/ && first && !body { if (name ~ /\(/ && name !~ /^(typedef|struct|enum|union|extern|#)[^(]*$/ && $0 !~ /= *\{$/) body = first }
    /^\}/ { if (body && NR - body + 1 >= 60) print f ":" body ": " NR - body + 1 " lines: " name
            body = 0; first = 0 }
    /;$/ && !body { first = 0 }' "$f"
done | law "functions have fewer than 60 lines"

grep -rnIE "[\"']gnuplot[\"']|\\bgnuplot +[-<]|\| *gnuplot\\b" cli src sim bench examples tools python tests c10d shim $RESEARCH Makefile mk |
  grep -vE '^(cli/gnuplot\.c|tools/picture\.py|tests/laws\.sh):' | law "only cli/gnuplot.c and tools/picture.py run gnuplot"

{ sources; find src tests tools fuzz models -name '*.sh' -o -name '*.bash' -o -name '*.html'; ls tests/run Makefile mk/*.mk; } | while read -r f; do
  head -25 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause' || echo "$f: no SPDX line at its head"
  case $f in *.[ch]) head -c 2 "$f" | grep -qF '/*' || echo "$f: does not begin with a comment" ;; esac
done | law "every file begins by saying what it is, with its licence"
# The library treats forms.def as proven for many ranks; the proofs must be of the present sources. The short form warns, because
# they take 25 minutes.
stamp=$(tools/stamp.sh)
if [ "${TEST_SHORT:-}" ] && [ -z "${CI:-}" ] && ! grep -qxF "SOURCES(\"$stamp\")" src/choose/forms.def; then
  echo "ok - make prove has proven these sources # SKIP they have changed: 'make prove' is due, and CI fails without it"
else
  { grep -qxF "SOURCES(\"$stamp\")" src/choose/forms.def ||
    echo "src/choose/forms.def was not made of these sources, $stamp: run 'make prove'"; } | law "make prove has proven these sources"
fi
grep -lE 'short\.h|TEST_SHORT|\<brief\>|over\.bash' tests/unit/*.c tests/ranks/*.c tests/sh/*.sh | grep -v 'driver.sh\|laws.sh' |
  sed 's|.*/||; s|\..*||' | grep -xFf <(sed -n 's/\( -n [0-9]*\)\{0,1\}\t.*\tcheck$//p' tests/plans.tsv) |
  sed 's/$/ has a short form, and its tier is check/' | law "tests with a short form have the tier short or full"
$python tools/rooms.py --check CONTRIBUTING.md 2>&1 | law "CONTRIBUTING.md shows the rooms as they are"
$python tools/mutants.py --check 2>&1 | law "the table of mutants fits the sources"
# lintian requires it, for `make deb`
awk '/^[^ ]/ { in_it = /^Description:/; next } in_it && length > 80 { print FILENAME ":" FNR }' debian/control |
  law "descriptions of Debian's packages have lines of 80 characters"
exit $bad
