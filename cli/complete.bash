# complete.bash - Tab for `tutti`, in bash, and in zsh after `autoload bashcompinit; bashcompinit`.
#
# Idea      commands and options are read from `tutti help`, algorithms from `tutti plan list`, so
#           that nothing here grows old; only the words that an option takes stand in a table.
# SPDX-License-Identifier: BSD-3-Clause

_tutti_commands() { tutti help 2>/dev/null | awk '/^  [a-z]/ { print $1 }'; }
_tutti_options() { tutti help "$1" 2>/dev/null | awk '{ while (match($0, /(^|[ ,[|])--?[A-Za-z][a-z-]*/)) {
  word = substr($0, RSTART, RLENGTH); sub(/^[^-]/, "", word); print word; $0 = substr($0, RSTART + RLENGTH) } }'; }
_tutti_algorithms() { tutti plan list 2>/dev/null | awk '/^[a-z].*\./ { print $1 }'; }

_tutti_values() { # OPTION of COMMAND: the words that it takes; fails if they are files, or numbers
  case $1 in
    --coll) echo allreduce reduce_scatter allgather broadcast reduce barrier scan exscan gather scatter alltoall ;;
    --type) echo float double bf16 fp16 fp8_e4m3 fp8_e5m2 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex_float complex_double ;;
    --op) echo sum prod min max avg land lor lxor band bor bxor minloc maxloc ;;
    --side) echo out in ;;
    --format) echo text json csv ;;
    --compare) echo openmpi mpich intelmpi gloo nccl oneccl ;;
    --family) echo ompi mpich abi ;;
    --algo) _tutti_algorithms ;;
    *) return 1 ;;
  esac
}

_tutti() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words= i
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words="$(_tutti_commands) --version"
  elif [ "$command" = run ] || [ "$command" = mpi ]; then # the program's words are its own
    for ((i = 2; i < COMP_CWORD; i++)); do
      case ${COMP_WORDS[i]} in
        -n | -t | -e | -r | -H | -a | --ranks | --timeout | --env | --respawn | --hosts | --agent | -f | --family | --rounds | --format) i=$((i + 1)) ;;
        -*) ;;
        *)
          COMPREPLY=($(compgen -f -- "$word"))
          return
          ;;
      esac
    done
  fi
  if [ -z "$words" ]; then
    case $command:$COMP_CWORD:$before in
      help:2:*) words="$(_tutti_commands) variables model" ;;
      plan:2:*) words="list show check draw export import run price" ;;
      plan:3:list) words=$(_tutti_options plan) ;;
      plan:3:*) words="$(_tutti_algorithms) all" ;;
      *)
        if ! words=$(_tutti_values "$before"); then
          case $word in -*) words=$(_tutti_options "$command") ;; esac
        fi
        ;;
    esac
  fi
  if [ -n "$words" ]; then
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  elif [ "$command" = run ] || [ "$command" = mpi ]; then
    COMPREPLY=($(compgen -c -f -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _tutti tutti
