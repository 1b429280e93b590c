#!/usr/bin/env bash
# netns.sh - several hosts on one machine, and ranks started on them: by an MPI, tutti run, or Slurm.
#
#   netns.sh openmpi|mpich|tutti|slurm HOSTS PER_HOST RATE PROGRAM ...
#
# PER_HOST: ranks of each host: 3, or 1,4,2,5 for four hosts. RATE in the syntax of tc: 200mbit, or 200mbit,20mbit for two
# hosts with different links. Variables:
# LINKS=2: each host has two links with this rate, eth0 and eth1. Each link has a separate bridge.
# AGGREGATOR=K: an additional host, with a link K times as fast, runs `tutti aggregator`; TUTTI_AGGREGATOR names it for the
# ranks. FAMILY=6: hosts have IPv6 addresses only. FAMILY=link: hosts have link-local addresses only (fe80::1).
# NETEM="loss 0.1%": options of netem for the packets of every link. BESIDE="sh FILE": a command that runs in parallel to the
# ranks. In it, `ip -n host2 link set eth0 down` disconnects a host, and `ip netns pids host2` lists its processes.
#
# Idea       Hosts are network namespaces connected by a bridge. tbf shapes every link in both directions. Each
#            host has a different host name, so that launchers and MPIs treat it as a machine.
# Invariant  Nothing remains after a run, however it ends. The bridge, the links, the names and the processes exist in
#            namespaces of the run only, and end with their first process. An exception: with more than 32 hosts the
#            kernel's limit of neighbors is raised.
# Needs root, iproute2, util-linux. Exits with 77 and the reason if it cannot run.
# SPDX-License-Identifier: BSD-3-Clause
set -eu
self=$(readlink -f "$0")
tutti=${TUTTI:-$(dirname "$(dirname "$self")")/build/tutti}

cannot() {
  echo "netns.sh: $1" >&2
  exit 77
}

LINKS=${LINKS:-1}
apart="unshare --net --mount --pid --fork --kill-child --mount-proc"

check() {
  case "${1:-}" in openmpi | mpich | tutti | slurm) ;; *) sed -n '4p' "$self" >&2 && exit 2 ;; esac
  [ $# -ge 5 ] || { sed -n '4p' "$self" >&2 && exit 2; }
  [ "$(id -u)" = 0 ] || cannot "hosts of network namespaces need root"
  case "$1" in tutti) launcher=$tutti ;; slurm) launcher="srun slurmctld slurmd" ;; *) launcher=mpirun.$1 ;; esac
  for c in ip tc unshare $launcher; do
    command -v "$c" >/dev/null || cannot "$c is missing (tools/deps.sh bench slurm installs it)"
  done
  why=$($apart sh -c "mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add a &&
    ip link add ttbr type bridge && tc qdisc add dev ttbr root tbf rate ${4%%,*} burst 128kb latency 50ms" 2>&1) ||
    cannot "this system does not let us make hosts (in a container?): $why"
  [ -z "${NETEM:-}" ] || why=$(unshare --net tc qdisc add dev lo root netem $NETEM 2>&1) ||
    cannot "this system has no netem: $why"
}

# more_neighbours HOSTS: the kernel has one neighbor table for all namespaces, with 1,024 rows by default. Hundreds of hosts
# that all connect to each other need more rows, or some peers are unreachable.
more_neighbours() {
  local k limit
  [ "$1" -gt 32 ] || return 0
  for k in 3 2 1; do
    for limit in /proc/sys/net/ipv[46]/neigh/default/gc_thresh$k; do
      [ ! -w "$limit" ] || [ "$(cat "$limit")" -ge $((k * 32768)) ] || echo $((k * 32768)) >"$limit" || true
    done
  done
}

# shape RATE COMMAND ...: shapes one end of a link, with `tc qdisc add dev ...`.
shape() {
  local rate=$1
  shift
  "$@" root handle 1: tbf rate "$rate" burst 128kb latency 50ms
  [ -z "${NETEM:-}" ] || "$@" parent 1: handle 2: netem limit 10000 $NETEM
}

# cable NAME ADDRESS RATE I: connects the host's device ethI to a bridge by a veth pair; both ends are shaped.
cable() {
  ip link add "to$4-$1" type veth peer name "eth$4" netns "$1"
  ip link set "to$4-$1" master "ttbr$4" up
  [ "${FAMILY:-4}" != link ] || ip -n "$1" link set "eth$4" addrgenmode none
  case $2 in *:*) ip -n "$1" addr add "$2/64" dev "eth$4" nodad ;; *) ip -n "$1" addr add "$2/16" dev "eth$4" ;; esac
  ip -n "$1" link set "eth$4" up
  shape "$3" ip netns exec "$1" tc qdisc add dev "eth$4"
  shape "$3" tc qdisc add dev "to$4-$1"
}

# link NAME ADDRESS RATE NUMBER: makes a host. The addresses of its second, third, ... link have 78, 79, ... instead of 77.
link() {
  ip netns add "$1"
  ip -n "$1" link set lo up
  for i in $(seq 0 $((LINKS - 1))); do cable "$1" "${2/77/$((77 + i))}" "$3" "$i"; done
  echo "$2 $1" >>/run/hosts
  printf '00000000-0000-4000-8000-%012d\n' "$4" >"/run/boot/$1"
}

# of_host LIST I: the I-th element of a comma-separated list, or the only element.
of_host() {
  case $1 in *,*) echo "$1" | cut -d, -f"$2" ;; *) echo "$1" ;; esac
}

# The address of host i: 10.77.0.i, with 240 hosts for each value of the third number; or fd77::i, or fe80::i.
address() {
  case ${FAMILY:-4} in
  4) echo "10.77.$((($1 - 1) / 240)).$((($1 - 1) % 240 + 1))" ;;
  link) printf 'fe80::%x\n' "$1" ;;
  *) printf 'fd77::%x\n' "$1" ;;
  esac
}

raise() {
  mount -t tmpfs tmpfs /run
  mkdir /run/netns /run/tmp /run/boot
  export TMPDIR=/run/tmp # MPIs leave files there
  ip link set lo up
  for i in $(seq 0 $((LINKS - 1))); do ip link add "ttbr$i" type bridge && ip link set "ttbr$i" up; done
  echo 127.0.0.1 localhost >/run/hosts
  for i in $(seq 1 "$1"); do link "host$i" "$(address "$i")" "$(of_host "$2" "$i")" "$i"; done
  set -- "$1" "${2%%,*}"
  [ -z "${AGGREGATOR:-}" ] || link sums "$(address 250)" "$((AGGREGATOR * ${2%%[a-z]*}))${2##*[0-9]}" 250
  mount --bind /run/hosts /etc/hosts
  printf '#!/bin/sh\nexec bash %s agent "$@"\n' "$self" >/run/agent
  chmod +x /run/agent
}

# on HOST COMMAND ...: runs the command with a separate host name, shared memory and boot id. UCX uses shared memory
# between processes with the same boot id only. TUTTI_KERNEL tells tutti that all hosts share this machine's cores, in
# spite of different boot ids.
on() {
  ip netns exec "$1" unshare --uts --ipc --mount sh -c 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm &&
    mount --bind "/run/boot/$0" /proc/sys/kernel/random/boot_id && exec env TUTTI_KERNEL=one "$@"' "$@"
}

# A replacement for ssh that launchers call: [-OPTIONS] HOST COMMAND ...
agent() {
  while [ "${1#-}" != "$1" ]; do shift; done
  host=$1 && shift
  on "$host" sh -c "$*"
}

# A Slurm on these hosts, without accounting and authentication. SRUN: additional options of srun.
slurm() {
  mkdir -p /run/slurm /run/log
  for i in $(seq 1 "$1"); do mkdir "/run/slurm/spool.host$i" "/run/slurm/tmp.host$i"; done
  cat >/run/slurm/slurm.conf <<CONF
ClusterName=tutti
SlurmctldHost=host1
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurm
SlurmdSpoolDir=/run/slurm/spool.%n
TmpFS=/run/slurm/tmp.%n
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.%n.pid
SlurmctldLogFile=/run/log/slurmctld
SlurmdLogFile=/run/log/slurmd.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=host[1-$1] CPUs=$2
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
  echo CgroupPlugin=cgroup/v1 >/run/slurm/cgroup.conf
  export SLURM_CONF=/run/slurm/slurm.conf
  on host1 slurmctld -D >/dev/null 2>&1 &
  for i in $(seq 1 "$1"); do on "host$i" slurmd -D -N "host$i" >/dev/null 2>&1 & done
  hosts=$1 per=$2
  shift 2
  on host1 srun --nodes="$hosts" --ntasks-per-node="$per" ${SRUN:-} "$@"
}

start() {
  mpi=$1 hosts=$2 per=$3 where= ranks=0
  raise "$hosts" "$4"
  shift 4
  for i in $(seq 1 "$hosts"); do
    here=$(of_host "$per" "$i")
    where=$where${where:+,}host$i:$here
    ranks=$((ranks + here))
  done
  if [ -n "${AGGREGATOR:-}" ]; then
    export TUTTI_KEY=${TUTTI_KEY:-$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')}
    on sums "$tutti" aggregator >/run/sums &
    until grep -q port /run/sums; do sleep 0.02; done
    export TUTTI_AGGREGATOR=sums:4747
  fi
  export UCX_TLS=${UCX_TLS:-tcp,self,sm} UCX_NET_DEVICES=${UCX_NET_DEVICES:-eth0,memory,sysv,posix,cma}
  [ -z "${BESIDE:-}" ] || $BESIDE &
  if [ "$mpi" = slurm ]; then
    slurm "$hosts" "$per" "$@"
  elif [ "$mpi" = tutti ]; then
    on host1 "$tutti" run --hosts "$where" --agent /run/agent "$@"
  elif [ "$mpi" = openmpi ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    on host1 mpirun.openmpi --mca plm_rsh_agent /run/agent --mca btl tcp,vader,self \
      --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 --mca mpi_yield_when_idle 1 \
      --host "$where" -n "$ranks" --oversubscribe --bind-to none "$@"
  else
    on host1 mpirun.mpich -launcher ssh -launcher-exec /run/agent -hosts "$where" -iface eth0 \
      -n "$ranks" "$@"
  fi
}

case "${1:-}" in
agent) shift && agent "$@" ;;
inside) # the first process of the run; when it ends, all other processes end
  shift
  trap 'exit 143' TERM INT HUP
  start "$@" &
  wait $! ;;
*)
  check "$@"
  more_neighbours "$2"
  exec $apart bash "$self" inside "$@" ;;
esac
