# cli_mpi.sh - `tutti mpi`: finds the MPI and the library, and passes the right arguments to the
# launcher, or reports an error. Needs no MPI: the launchers here print their arguments.
# SPDX-License-Identifier: BSD-3-Clause
. "${BASH_SOURCE%/*}/../support/tap.bash"
unset TUTTI_REPORT TUTTI_DROPIN TUTTI_LIBRARY TUTTI_LIB LD_PRELOAD
mkdir "$work/bin" "$work/lib" "$work/with blank"
for f in ompi mpich abi; do cp "$BUILD/libtutti.so" "$work/lib/libtutti_pmpi_$f.so"; done
cp "$BUILD/libtutti.so" "$work/with blank/libtutti_pmpi_ompi.so"
lib=$(realpath "$work/lib")
fake() { # fake NAME VERSION: a launcher that prints its arguments, one per line
  printf '#!/bin/sh\n[ "$1" = --version ] && { echo "%s"; exit 0; }\nprintf "%%s\\n" "$@"\necho "LD_PRELOAD is ${LD_PRELOAD:-unset}"\nexit 5\n' "$2" >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}
fake mpirun "mpirun (Open MPI) 5.0.1"
fake mpirun.old "mpirun.openmpi (OpenRTE) 4.1.4"
fake mpiexec.hydra "HYDRA build details:"
fake mpiexec.intel "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 20260401"
fake mpiexec.ps "mpiexec 5.1.62-2"
fake mpirun.else "something else 1.0"
fake srun "slurm 22.05"
export PATH=$work/bin:$PATH TUTTI_LIBRARY=$work/lib

# told LINES: the launcher got these arguments, one after another.
told() { printf '%s\n' "$@" | diff - "$work/out" >"$work/err"; }

job mpi
ok "without arguments it explains itself" all 'status 2' 'grep -q "^usage: tutti mpi" "$work/out"'
job mpi --help
ok "--help" all 'status 0' 'grep -q "^usage: tutti mpi" "$work/out"'
job mpi mpirun -n 2 ./app --x
ok "Open MPI" all 'status 5' 'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" -n 2 ./app --x "LD_PRELOAD is unset"'
job mpi mpirun.old ./app
ok "Open MPI 4, which calls itself OpenRTE" all 'status 5' \
  'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" ./app "LD_PRELOAD is unset"'
job mpi "$work/bin/mpiexec.hydra" -n 2 ./app
ok "MPICH, by its path" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_mpich.so" -n 2 ./app "LD_PRELOAD is unset"'
job mpi mpiexec.intel -n 2 ./app
ok "Intel MPI has MPICH's interface and launcher" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_mpich.so" -n 2 ./app "LD_PRELOAD is unset"'
job mpi mpiexec.ps -n 2 python3 x.py
ok "ParaStation MPI has, too" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_mpich.so" -n 2 python3 x.py "LD_PRELOAD is unset"'
# A program that needs a library with this name; the library is empty.
needs() { # needs FAMILY SONAME
  echo 'int f(void) { return 0; }' | ${CC:-cc} -x c -shared -fPIC -Wl,-soname,"$2" - -o "$work/lib/$2" &&
    echo 'int f(void); int main(void) { return f(); }' | ${CC:-cc} -x c - -x none -Wl,--no-as-needed "$work/lib/$2" -Wl,-rpath,"$work/lib" -o "$work/needs"
  job mpi srun -n 2 "$work/needs"
  ok "srun, and a program that needs $2" all 'status 5' "told -n 2 $work/needs 'LD_PRELOAD is $lib/libtutti_pmpi_$1.so'"
}
needs ompi libmpi.so.40
needs mpich libmpi.so.12
needs mpich libmpich.so.12
needs mpich libmpi_cray.so.12
needs mpich libmpi_gnu_123.so.12
needs abi libmpi_abi.so.1
job mpi --report mpirun -n 1 ./a : -n 2 ./b
ok "--report reaches all programs of a line" all 'status 5' \
  'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" -x TUTTI_REPORT=1 -n 1 ./a : -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" -x TUTTI_REPORT=1 -n 2 ./b "LD_PRELOAD is unset"'
job mpi --report=r.json mpiexec.hydra ./a
ok "--report=FILE is made absolute" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_mpich.so" -genv TUTTI_REPORT "$PWD/r.json" ./a "LD_PRELOAD is unset"'
job mpi --report=/r.json --family=mpich mpirun ./a
ok "--family overrules the launcher" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_mpich.so" -genv TUTTI_REPORT /r.json ./a "LD_PRELOAD is unset"'
job mpi --family ompi srun -n 2 ./a
ok "another launcher finds it in the environment" all 'status 5' \
  'told -n 2 ./a "LD_PRELOAD is $lib/libtutti_pmpi_ompi.so"'
job mpi --family abi mpirun ./a : ./b
ok "--family abi: the launcher's own options" all 'status 5' \
  'told -x "LD_PRELOAD=$lib/libtutti_pmpi_abi.so" ./a : -x "LD_PRELOAD=$lib/libtutti_pmpi_abi.so" ./b "LD_PRELOAD is unset"'
job mpi --family abi mpiexec.hydra ./a
ok "--family abi, with MPICH's launcher" all 'status 5' \
  'told -genv LD_PRELOAD "$lib/libtutti_pmpi_abi.so" ./a "LD_PRELOAD is unset"'
job mpi --family abi mpirun.else -n 2 ./a
ok "--family abi, with a launcher that tutti does not know" all 'status 5' \
  'told -n 2 ./a "LD_PRELOAD is $lib/libtutti_pmpi_abi.so"'
LD_PRELOAD=$BUILD/libtutti.so job mpi mpirun ./a
ok "earlier preloads stay, and stay first" all 'status 5' \
  'told -x "LD_PRELOAD=$BUILD/libtutti.so:$lib/libtutti_pmpi_ompi.so" ./a "LD_PRELOAD is $BUILD/libtutti.so"'
TUTTI_LIBRARY=$lib/libtutti_pmpi_mpich.so job mpi mpirun ./a
ok "TUTTI_LIBRARY may be the file" all 'status 5' 'told -x "LD_PRELOAD=$lib/libtutti_pmpi_mpich.so" ./a "LD_PRELOAD is unset"'
TUTTI_LIBRARY=$lib/libtutti.so.0 job mpi mpirun ./a
ok "or another library in the folder" all 'status 5' 'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" ./a "LD_PRELOAD is unset"'
TUTTI_LIBRARY='' TUTTI_LIB=$lib job mpi mpirun ./a
ok "TUTTI_LIB is its older name" all 'status 5' 'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" ./a "LD_PRELOAD is unset"'
echo "TUTTI_LIBRARY = $lib" >"$work/conf"
(unset TUTTI_LIBRARY && TUTTI_CONF=$work/conf job mpi mpirun ./a; exit $rc)
rc=$?
ok "a configuration file may name it" all 'status 5' 'told -x "LD_PRELOAD=$lib/libtutti_pmpi_ompi.so" ./a "LD_PRELOAD is unset"'

refuses() { # refuses STATUS WORDS ARGS...: one sentence
  local want=$1 words=$2
  shift 2
  job mpi "$@"
  ok "tutti mpi $*: $words" all "status $want" 'says "^tutti mpi: .*$words"' one_line
}
refuses 2 "none of ompi, mpich and abi" --family lam mpirun ./a
refuses 2 "no option '--reprot'; did you mean '--report'" --reprot ./a
refuses 2 "which command" --report
refuses 2 "needs the name of a file" --report= mpirun ./a
refuses 125 "names none of Open MPI, MPICH, Intel MPI, MVAPICH and ParaStation MPI" mpirun.else ./a
refuses 125 "'ls' is not an mpirun" ls
refuses 127 "cannot execute 'no-such'" --family ompi no-such
export TUTTI_LIBRARY=$work/nowhere
refuses 125 "TUTTI_LIBRARY says '$work/nowhere'" mpirun ./a
export TUTTI_LIBRARY="$work/with blank"
refuses 125 "neither a blank nor a colon" mpirun ./a

# The library in each of the lib folders near the command, with a separate prefix for each.
unset TUTTI_LIBRARY
there=$(realpath "$work")
for folder in lib lib64 lib/$(${CC:-gcc} -print-multiarch); do
  mkdir -p "$there/$folder.d/bin" "$there/$folder.d/$folder"
  cp "$TUTTI" "$there/$folder.d/bin/tutti" && cp "$work/lib/libtutti_pmpi_ompi.so" "$there/$folder.d/$folder"
  TUTTI=$there/$folder.d/bin/tutti job mpi mpirun ./app
  ok "in ../$folder" all 'status 5' \
    'told -x "LD_PRELOAD=$there/$folder.d/$folder/libtutti_pmpi_ompi.so" ./app "LD_PRELOAD is unset"'
done

# The MPI is found by the library that the program needs; gcc records the SONAME of any library.
program_of() { # program_of SONAME
  echo 'int main(void) { return 0; }' >"$work/p.c"
  echo 'int there;' >"$work/l.c"
  ${CC:-gcc} -shared -fPIC "$work/l.c" -Wl,-soname,"$1" -o "$work/lib/$1" &&
    ${CC:-gcc} "$work/p.c" -Wl,--no-as-needed "$work/lib/$1" -Wl,-rpath,"$lib" -o "$work/bin/app"
}
for pair in ompi:libmpi.so.40 mpich:libmpich.so.12; do
  program_of "${pair#*:}" >"$work/out" 2>"$work/err" || continue
  TUTTI_LIBRARY=$work/lib job mpi srun -n 2 "$work/bin/app"
  ok "by the program's libraries: ${pair#*:}" all 'status 5' \
    'grep -qx "LD_PRELOAD is $lib/libtutti_pmpi_${pair%:*}.so" "$work/out"'
  case $pair in ompi:*) starter=mpiexec.hydra ;; *) starter=mpirun ;; esac
  TUTTI_LIBRARY=$work/lib refuses 125 "is a program of" $starter -n 2 "$work/bin/app"
done
# A program for the standard ABI works with every launcher, and its MPI may load more libraries.
for soname in libmpi_abi.so.0 libmpi_abi.so.1; do
  program_of libmpich.so.12 >"$work/out" 2>"$work/err" # also makes the library
  ${CC:-gcc} -shared -fPIC "$work/l.c" -Wl,-soname,$soname,--no-as-needed "$work/lib/libmpich.so.12" -Wl,-rpath,"$lib" -o "$work/lib/$soname" &&
    ${CC:-gcc} "$work/p.c" -Wl,--no-as-needed "$work/lib/$soname" -Wl,-rpath,"$lib" -o "$work/bin/app" || continue
  export TUTTI_LIBRARY=$work/lib
  job mpi srun -n 2 "$work/bin/app"
  ok "by the program's libraries: $soname" all 'status 5' 'grep -qx "LD_PRELOAD is $lib/libtutti_pmpi_abi.so" "$work/out"'
  job mpi mpirun -n 2 "$work/bin/app"
  ok "$soname, with Open MPI's launcher" all 'status 5' \
    'told -x "LD_PRELOAD=$lib/libtutti_pmpi_abi.so" -n 2 "$work/bin/app" "LD_PRELOAD is unset"'
  job mpi mpiexec.hydra -n 2 "$work/bin/app"
  ok "$soname, with MPICH's launcher" all 'status 5' \
    'told -genv LD_PRELOAD "$lib/libtutti_pmpi_abi.so" -n 2 "$work/bin/app" "LD_PRELOAD is unset"'
done
exit $bad
