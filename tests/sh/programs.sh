#!/usr/bin/env bash
# programs.sh - third-party programs from Debian, with and without tutti's library preloaded: the output is
# the same except for times, and the report is right.
#
# Run by `make check-dropin`, not by `make check`. Programs that are not installed are skipped.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
. "${BASH_SOURCE%/*}/../support/mpi.bash"
unset TUTTI_REPORT TUTTI_DROPIN TUTTI_LIB LD_PRELOAD
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
n=0 report=$work/report.json
case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac

# The MPI that a file is linked to: ompi, mpich, or nothing.
mpi_of() {
  case $(ldd "$1" 2>/dev/null) in *libmpi.so.40*) echo ompi ;; *libmpich.so.12*) echo mpich ;; esac
}
# started FOLDER COMMAND...: runs the command in the folder, with new input files; the status is in rc.
started() {
  local folder=$work/in
  rm -rf "$folder" && cp -r "$1" "$folder" && shift
  rc=0
  { (cd "$folder" && TOKEN=$token timeout -k 5 120 "$@" >"$work/out" 2>"$work/err" <"$work/stdin") || rc=$?; } 2>/dev/null
  [ ! -e "$folder/hpccoutf.txt" ] || cat "$folder/hpccoutf.txt" >>"$work/out"
}
# Prints the report as comments, one per line.
told() {
  awk '/"bytes_from"/ { f = $0; gsub(/.*"function": "|", .*/, "", f); c = $0; gsub(/.*"calls": |,.*/, "", c); served[f] += c }
       /"why"/ { f = $0; gsub(/.*"function": "|", .*/, "", f); c = $0; gsub(/.*"calls": |,.*/, "", c)
                 w = $0; gsub(/.*"why": "|"}.*/, "", w); print "#   handed on: " f " " c ", " w }
       /"failures"/ && !/"calls": 0/ { print "#   " $0 }
       END { for (f in served) printf "#   served: %s %d\n", f, served[f] }' "$report" | sort
}
total() { sed -n 's/.*"bytes_from".*"calls": \([0-9]*\),.*/\1/p' "$report" | awk '{n += $1} END {print n + 0}'; }

# compared NAME MPI RANKS FOLDER FILTER COMMAND...: FILTER removes times; stdin is $work/stdin.
compared() {
  local name=$1 mpi=$2 ranks=$3 folder=$4 filter=$5 start
  shift 5
  start=$(starter "$mpi")
  rm -f "$report"
  started "$folder" "$start" -n "$ranks" "$@"
  $filter <"$work/out" >"$work/plain"
  local plain=$rc from=${EPOCHREALTIME/./}
  started "$folder" "$TUTTI" mpi "--report=$report" "$start" -n "$ranks" "$@"
  local ms=$(((${EPOCHREALTIME/./} - from) / 1000))
  $filter <"$work/out" >"$work/with"
  diff "$work/plain" "$work/with" | head -10 >>"$work/err"
  ok "$name, $mpi, $ranks ranks: the same $(wc -l <"$work/plain") lines ($ms ms)" all "[ $plain = 0 ]" 'status 0' \
    '[ -s "$work/plain" ]' 'cmp -s "$work/plain" "$work/with"' '[ -s "$report" ]' '[ "$(total)" -gt 0 ]'
  [ ! -s "$report" ] || told
  n=$((n + 1))
}
absent() { skip "$@"; n=$((n + 1)); } # NAME REASON N

# ---- lammps: a Lennard-Jones melt, thermodynamics every ten steps ----
only_thermo() { sed -n '/^ *Step/,/^Loop time/p; /^Created/p; /neighbors/p' | grep -v '^Loop time'; }
lammps() {
  command -v lmp >/dev/null || { absent lammps "no lmp here" 3; return; }
  cat >"$work/stdin" </dev/null
  mkdir -p "$work/lammps"
  cat >"$work/lammps/in.melt" <<'EOL'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
compute r all rdf 20
fix 2 all ave/time 10 1 10 c_r[*] mode vector
thermo 10
thermo_style custom step temp epair etotal press vol
run 200
EOL
  for p in 2 3 4; do compared lammps "$(mpi_of "$(command -v lmp)")" $p "$work/lammps" only_thermo lmp -in in.melt -log none; done
}

# ---- hpcc: all parts with small sizes; results and sizes ----
only_verdicts() { grep -E 'PASSED|FAILED|Success|^Vector size|[Ee]rrors|^(N|NB|P|Q|PMAP) *:|tests completed|TableSize|HPL_N|PTRANS_(n|nb|nprow|npcol)|CommWorldProcs' | sed 's/ [0-9.]*e[+-][0-9]*$//; s/ [0-9.]* [0-9.e+-]* *\(\.\.\.\)/ \1/; /residue/!s/[0-9.]*[0-9]* s$//' | grep -vE '^(TEST|CPU|WALL)'; }
hpcc_small() {
  command -v hpcc >/dev/null || { absent hpcc "no hpcc here" 3; return; }
  cat >"$work/stdin" </dev/null
  for p in 2 3 4; do
    rm -rf "$work/hpcc" && mkdir -p "$work/hpcc"
    sed -e "5s/1000/240/; 6s/1 /1 /; 7s/80/40/; 10s/.*/1/; 11s/.*/1/; 12s/.*/$p/" \
      /usr/share/doc/hpcc/examples/_hpccinf.txt >"$work/hpcc/hpccinf.txt"
    compared hpcc "$(mpi_of "$(command -v hpcc)")" $p "$work/hpcc" only_verdicts hpcc
  done
}

# ---- mpi4py ----
all_lines() { cat; }
mpi4py() {
  local module
  module=$(/usr/bin/python3 -c 'import importlib.util as u, numpy; print(u.find_spec("mpi4py").submodule_search_locations[0])' 2>/dev/null) ||
    { absent mpi4py "no mpi4py, or no numpy here" 3; return; }
  cat >"$work/stdin" </dev/null
  mkdir -p "$work/py" && cp "${BASH_SOURCE%/*}/../support/programs.py" "$work/py"
  for p in 2 3 4; do
    compared mpi4py "$(mpi_of "$module"/MPI.*.so)" $p "$work/py" all_lines /usr/bin/python3 programs.py
  done
}

# ---- MUMPS: a sparse solver in Fortran ----
only_solution() { grep -vE '[Tt]ime|TIME|Maximum|[Mm]emory|MB|[Ee]lapsed|ESTIMATED|SPACE'; }
mumps() {
  local f=/usr/lib/mumps/dsimpletest lib
  [ -x $f ] || { absent mumps "no $f here" 7; return; }
  lib=$(ldd $f | sed -n 's/.*libdmumps[^ ]* => \([^ ]*\).*/\1/p')
  ok "mumps calls MPI from Fortran" eval "nm -D '$lib' | grep -q ' U mpi_allreduce_'"
  n=$((n + 1))
  mkdir -p "$work/mumps"
  for p in 2 3 4; do
    cp /usr/lib/mumps/input_simpletest_real "$work/stdin"
    compared "mumps (double)" "$(mpi_of $f)" $p "$work/mumps" only_solution $f
    cp /usr/lib/mumps/input_simpletest_cmplx "$work/stdin"
    compared "mumps (complex)" "$(mpi_of $f)" $p "$work/mumps" only_solution "${f%/*}/zsimpletest"
  done
}

# ---- ScaLAPACK: LU, and the tester of its communication; built for both MPIs ----
only_residuals() { sed 's/  *[0-9.]*  *[0-9.]*  *[0-9.]* \(PASSED\|FAILED\)/ \1/' | grep -vE 'IEEE|[Tt]ime|seconds|^ *$' ; }
only_results() { grep -iE 'passed|failed|errors|tests|PASS|FAIL' | grep -viE 'second'; }
scalapack() { # MPI RANKS...
  local mpi=$1 folder from=$work/scalapack
  case $mpi in ompi) folder=openmpi-tests ;; *) folder=mpich-tests ;; esac
  folder=$(ls -d /usr/lib/*/scalapack/$folder 2>/dev/null | head -1)
  [ -x "$folder/xdlu" ] && has_starter "$mpi" || { absent "scalapack, $mpi" "no xdlu, or no $(starter "$mpi") here" $(($# - 1)); return; }
  rm -rf "$from" && mkdir -p "$from"
  cat >"$work/stdin" </dev/null
  cp "$folder"/BLACS/*.dat "$from"
  cat >"$from/LU.dat" <<'EOL'
'ScaLAPACK LU factorization input file'
'MPI machine'
'LU.out'                output file name (if any)
6                       device out
3                       number of problems sizes
4 17 31                 values of M
4 13 31                 values of N
2                       number of NB's
2 8                     values of NB
1                       number of NRHS's
3                       values of NRHS
1                       number of NBRHS's
3                       values of NBRHS
4                       number of process grids (ordered pairs of P & Q)
1 2 1 2                 values of P
1 1 2 2                 values of Q
1.0                     threshold
T                       (T or F) Test Cond. Est. and Iter. Ref. Routines
EOL
  for p in "${@:2}"; do
    compared "scalapack's LU" "$mpi" "$p" "$from" only_residuals "$folder/xdlu"
  done
}

lammps
hpcc_small
mpi4py
mumps
scalapack ompi 2 3 4
scalapack mpich 2
ok "no process is left" gone
echo "1..$((n + 1))"
exit $bad
