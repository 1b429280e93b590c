# smpi.py - runs the real library, and SimGrid's own algorithms, on a simulated network.
#
#   simulate("flat", 127, "tutti", [428, 9216])     {428: Run(seconds, verdict, plan, predicted), ...}
#   simulate("rack:3 node:16 core:4", 192, "tutti:fold(ring)", [1 << 20])
#   simulate("flat", 127, "tutti:bruck@4", [428])   in four slices; without: as the library cuts
#   simulate("flat", 127, "rdb", [428])             an algorithm that is built into SMPI
#
# Idea       SimGrid as a pure alpha-beta network: a message takes latency + bytes / bandwidth,
#            and messages that cross a link at the same time share it. docs/simulation.md says what
#            each setting does, and how that was checked.
# Modes      sync: a send blocks its caller until the data has arrived, and data moves when both
#            sides have called. loggp: a send blocks its caller for OVERHEAD; data moves immediately.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import os
import re
import signal
import subprocess
import tempfile

import shuffled
import topologies

Run = collections.namedtuple("Run", "seconds verdict plan predicted")
Level = collections.namedtuple("Level", "latency bandwidth")  # of the link that leaves a domain: s, B/s

ALPHA, BETA, OVERHEAD = 30e-6, 1e-8, 5e-6  # paper 001, table 2; LogGP's o
# The links of the tree, by name: paper 002's three levels, at the scale of one machine.
TREE = {"rack": Level(10e-6, 4e9), "node": Level(5e-6, 1e9), "core": Level(1e-6, 10e9)}

BUILTIN = (
    "default lr rab1 rab2 rab rab_rdb rdb redbcast ompi_ring_segmented mvapich2_rs "
    "mvapich2_two_level smp_binomial smp_binomial_pipeline smp_rdb smp_rsag smp_rsag_lr "
    "smp_rsag_rab ompi mpich mvapich2 impi"
).split()
# These hand all their messages to the network simultaneously, and pay one latency for them.
MANY_PORTED = ("rab1", "rab2")

HEAD = (
    "<?xml version='1.0'?>\n"
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    '<platform version="4.1">\n'
)
HOST = '    <host id="%s" speed="1e18f"/>\n'
LINK = '    <link id="L%s" bandwidth="%rBps" latency="%rs" sharing_policy="SPLITDUPLEX"/>\n'
ROUTE = (
    '    <route src="%s" dst="%s" symmetrical="NO">'
    '<link_ctn id="L%s" direction="%s"/></route>\n'
)


def levels(network, build="build"):
    """[(name, count)], outermost first."""
    if topologies.parse(network):
        return topologies.levels(network, build)
    return [(name, int(n)) for name, n in re.findall(r"(\w+):(\d+)", network)]


def flat(ranks, mode):
    """An ideal crossbar: each message takes its sender's link up and its reader's down."""
    alpha = ALPHA - OVERHEAD if mode == "loggp" else ALPHA
    xml = (
        '  <cluster id="flat" prefix="h" suffix="" radical="0-%d" speed="1e18f" bw="%rBps"'
        ' lat="%rs" sharing_policy="SPLITDUPLEX" loopback_bw="1e15Bps" loopback_lat="0s"/>\n' % (ranks - 1, 1 / BETA, alpha / 2)
    )
    return xml, ["h%d" % i for i in range(ranks)]


def tree(network, links, slow=None):
    """Every domain below the top has one link up; a message climbs as far as it must. slow: {rank: factor}, how much of
    its bandwidth a rank's own link has."""
    names, nodes, wires, routes, hosts = levels(network), ['    <router id="t"/>\n'], [], [], []

    def grow(parent, depth):
        level, count = names[depth]
        for i in range(count):
            me = "%s_%d" % (parent, i)
            if depth + 1 == len(names):
                nodes.append(HOST % me)
                hosts.append(me)
            else:
                nodes.append('    <router id="%s"/>\n' % me)
            own = depth + 1 == len(names) and (slow or {}).get(len(hosts) - 1) or 1
            wires.append(LINK % (me, own * links[level].bandwidth, links[level].latency))
            routes.append(ROUTE % (me, parent, me, "UP") + ROUTE % (parent, me, me, "DOWN"))
            if depth + 1 < len(names):
                grow(me, depth + 1)

    grow("t", 0)
    hosts = shuffled.order(network, hosts)
    return '  <zone id="tree" routing="Floyd">\n' + "".join(nodes + wires + routes) + "  </zone>\n", hosts


def figures(network, links, mode="sync", build="build"):
    """The same network as tutti's figures (docs/prices.md): a profile, and for plan price."""
    if network == "flat":
        begins = ["alpha=0", "gap=%r" % OVERHEAD, "delay=%r" % ALPHA] if mode == "loggp" else ["alpha=%r" % ALPHA]
        return begins + ["beta=%r" % BETA, "gamma=0", topologies.HEADER]
    if topologies.parse(network):
        return topologies.figures(network, build)
    untold = shuffled.untold(network)
    if untold:
        return untold
    names, lines, latency = [n for n, _ in levels(network)], ["gamma=0", "apart=1", topologies.HEADER], 0
    for name in reversed(names):
        latency += 2 * links[name].latency
        lines += ["%s.alpha=%r" % (name, latency), "%s.beta=%r" % (name, 1 / links[name].bandwidth)]
    return lines


def settings(mode, clock=1e-12):
    """clock: s; events within this time are merged, so that an all-to-all is simulated in fewer instants."""
    detached = 0 if mode == "sync" else 2147483647
    # s that a send holds its rank; nothing for the empty messages of a rank to itself (mpi/net.c)
    held = "0:0:0;1:%r:0" % OVERHEAD if mode == "loggp" else "0:0:0"
    return [
        "network/model:CM02", "network/weight-S:0", "network/TCP-gamma:0", "network/crosstraffic:0",
        "network/bandwidth-factor:1", "network/latency-factor:1", "network/loopback-bw:1e15",
        "network/loopback-lat:0", "smpi/simulate-computation:no", "smpi/host-speed:1e18f",
        "smpi/wtime:0", "smpi/test:0", "smpi/iprobe:1e-11", "smpi/grow-injected-times:no", "smpi/os:" + held,
        "smpi/or:0:0:0", "smpi/ois:" + held, "surf/precision:%r" % clock,
        "smpi/async-small-thresh:%d" % detached, "smpi/send-is-detached-thresh:%d" % detached,
        "smpi/privatization:dlopen", "smpi/shared-malloc-blocksize:16777216",
    ]  # fmt: skip


def environment(network, links, mode, folder, build="build"):
    """An environment without the caller's settings of tutti."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TUTTI_", "SIM_"))}
    env["TUTTI_PROFILE"] = os.path.join(folder, "profile")
    with open(env["TUTTI_PROFILE"], "w") as out:
        out.write("\n".join(figures(network, links, mode, build)) + "\n")
    if shuffled.parse(network):
        env.update(shuffled.told(network, folder))
    elif network != "flat" and levels(network, build):
        env["TUTTI_TOPO"] = " ".join("%s:%d" % level for level in levels(network, build))
    return env


CPU_SPENT = (-signal.SIGXCPU, 128 + signal.SIGXCPU)


def run(command, env, limit):
    """(text, errors, the reason of a failure or ""). limit: s of a core; other work on the machine may slow it down"""
    child = subprocess.Popen(
        ["prlimit", "--cpu=%d:%d" % (limit, limit + 5)] + command,
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        out, err = child.communicate(timeout=10 * limit)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        return out, err, "over %d s" % (10 * limit)
    if child.returncode in CPU_SPENT:
        return out, err, "over %d s" % limit
    if "Deadlock" in err:  # SMPI then ends with status 0
        return out, err, "deadlock"
    if "power of two" in err:
        return out, err, "2^k only"
    return out, err, "" if child.returncode == 0 else "status %d" % child.returncode


def read(text):
    found = {}
    for line in text.splitlines():
        part = line.split(None, 4)
        if len(part) == 5 and part[0].isdigit():
            found[int(part[0])] = Run(float(part[1]), part[3], part[4], float(part[2]) or None)
    return found


def as_named(found, plan):
    """Drops the times of runs where the library refused this plan and ran a different plan."""
    return {b: run if run.plan.startswith(plan) else Run(None, "refused", run.plan, None) for b, run in found.items()}


def write_network(network, ranks, mode, links, folder, slow=None):
    """Two files in the folder: the platform, and the hosts in the order of ranks."""
    if topologies.parse(network):
        xml, hosts = topologies.cluster(network)
    else:
        xml, hosts = flat(ranks, mode) if network == "flat" else tree(network, links, slow)
    if len(hosts) != ranks:
        raise ValueError("'%s' holds %d ranks, not %d" % (network, len(hosts), ranks))
    platform, hostfile = os.path.join(folder, "net.xml"), os.path.join(folder, "hosts")
    with open(platform, "w") as out:
        out.write(HEAD + xml + "</platform>\n")
    with open(hostfile, "w") as out:
        out.write("\n".join(hosts) + "\n")
    return platform, hostfile


def smpirun(ranks, platform, hostfile, cfg):
    """The words of the command, before the program."""
    command = ["smpirun", "-quiet", "-np", str(ranks), "-platform", platform, "-hostfile", hostfile]
    return command + ["--cfg=" + c for c in cfg] + ["--log=root.thresh:error"]


def program(network, ranks, name, arguments, plan="", links=None, build="build", limit=300, slow=None, files=None, told=(), cfg=(), more=None):
    """(text, errors, the reason of a failure or "") of build/sim/NAME. files: {name: text}, of which arguments have the name in
    braces; told: more lines of the profile; slow: as in tree(); more: variables of the environment."""
    links = links or TREE
    with tempfile.TemporaryDirectory() as folder:
        platform, hostfile = write_network(network, ranks, "sync", links, folder, slow)
        env = environment(network, links, "sync", folder, build)
        env.update(more or {})
        if plan:
            env["SIM_PLAN"] = plan
        with open(env["TUTTI_PROFILE"], "a") as out:
            out.writelines(line + "\n" for line in told)
        for file, text in (files or {}).items():
            with open(os.path.join(folder, file), "w") as out:
                out.write(text)
        words = [str(a).format(**{f: os.path.join(folder, f) for f in files or {}}) for a in arguments]
        command = smpirun(ranks, platform, hostfile, settings("sync") + list(cfg))
        return run(command + [os.path.abspath(os.path.join(build, "sim", name))] + words, env, limit)


def simulate(
    network, ranks, what, sizes, type="float", mode="sync", shared=False, links=None,
    build="build", limit=300, memory=None, clock=1e-12,
):  # fmt: skip
    """what: tutti, tutti:PLAN, tutti:PLAN@SLICES, or one of BUILTIN; links: of a tree (TREE). shared: vectors that
    are not real, so sums are not checked. memory: a list that gets the peak in KiB and the
    seconds that the simulation took. clock: as in settings()."""
    links = links or TREE
    found, left = {}, list(sizes)
    with tempfile.TemporaryDirectory() as folder:
        platform, hostfile = write_network(network, ranks, mode, links, folder)
        env = environment(network, links, mode, folder, build)
        words = [os.path.abspath(os.path.join(build, "sim", "allreduce")), "-t", type]
        cfg, plan = settings(mode, clock), ""
        if what.startswith("tutti"):
            plan, slices = re.match(r"tutti:?(.*?)(?:@(\d+))?$", what).groups()
            if plan:
                env["SIM_PLAN"] = plan
            words += ["-k", slices] if slices else []
        else:
            words += ["-b"]
            cfg.append("smpi/allreduce:" + what)
        words += ["-s"] if shared else []
        measure = ["/usr/bin/env"] if memory is None else ["/usr/bin/time", "-f", "took %M %e"]
        while left:
            command = measure + smpirun(ranks, platform, hostfile, cfg) + words + [str(b) for b in left]
            text, errors, why = run(command, env, limit)
            found.update(as_named(read(text), plan))
            took = re.search(r"^took (\d+) ([\d.]+)$", errors, re.M)
            if memory is not None and took:
                memory[:] = [int(took.group(1)), float(took.group(2))]
            left = [b for b in left if b not in found]
            if not left:
                break
            found[left.pop(0)] = Run(None, why or "no result", first_line(errors), None)
            if why in ("deadlock", "2^k only") or why.startswith("over"):
                found.update({b: Run(None, why, "", None) for b in left})
                break
    return found


REPLAY = "/usr/lib/%s/simgrid/smpireplaymain"
MPI_INT = 1  # in traces: 4 bytes, as float


def replay(network, ranks, what, size, links=None, limit=200):
    """One of BUILTIN on vectors that are not real: the time of its trace, minus that of a small one."""
    replays = next((p for p in map(REPLAY.__mod__, os.listdir("/usr/lib")) if os.path.exists(p)), None)
    if not replays:
        return Run(None, "no smpireplaymain", "", None)
    with tempfile.TemporaryDirectory() as folder:
        platform, hostfile = write_network(network, ranks, "sync", links or TREE, folder)

        def last_instant(counts):
            for r in range(ranks):
                calls = "".join("%d allreduce %d 0 %d\n" % (r, n, MPI_INT) for n in counts)
                with open(os.path.join(folder, "trace%d" % r), "w") as out:
                    out.write("%d init\n%s%d finalize\n" % (r, calls, r))
            traces = os.path.join(folder, "traces")
            with open(traces, "w") as out:
                out.writelines(os.path.join(folder, "trace%d\n" % r) for r in range(ranks))
            command = smpirun(ranks, platform, hostfile, settings("sync") + ["smpi/allreduce:" + what])
            command += ["--log=smpi_replay.thresh:info", "-replay", traces, replays]
            out, err, why = run(command, dict(os.environ), limit)
            at = re.search(r"Simulation time ([0-9.]+)", out + err)
            return (float(at.group(1)), "") if at and not why else (None, why or "no result")

        small, why = last_instant([4096])
        large, why = last_instant([4096, size // 4]) if small is not None else (None, why)
    return Run(large - small if large else None, why or "replayed", "built-in", None)


def first_line(errors):
    lines = [x for x in errors.splitlines() if not x.startswith("tutti warns:")]
    return lines[0][:200] if lines else ""
