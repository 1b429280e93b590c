# meeting.py - the time of the bootstrap of ranks on 2 to 128 hosts, and how it grows; `make
# bench-meeting`, as root.
#
#   meeting.py [--build DIR] [--hosts 2,4,8,16,32,64,128] [--times N] [--out DIR]     --out: also stores meeting.json
#
# Hosts are network namespaces of this machine (netns.sh), with one rank each. Prints medians, and
# the greatest sum. Exits with 77 and the reason if hosts cannot be made.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import sys

import record
from hosts import HERE, Failed, Skipped, lines
from measure import median

HOSTS = "2,4,8,16,32,64,128"
RATE = "1gbit"


def rows(build, hosts, times):
    """The times of each repetition in ms: met, opened, exchanged, met and exchanged (see meeting.c)."""
    program = os.path.abspath(os.path.join(build, "bench", "meeting"))
    if not os.path.exists(os.path.join(build, "libtutti_ucx.so")) or not os.path.exists(program):
        raise Skipped("libtutti_ucx.so or bench/meeting was not built")
    argv = ["setpriv", "--pdeathsig", "KILL", "bash", os.path.join(HERE, "netns.sh"), "tutti", str(hosts), "1", RATE]
    env = {"TUTTI": os.path.abspath(os.path.join(build, "tutti"))}
    return [[float(x) for x in line.split()[1:]] for line in lines(argv + [program, str(times)], 60 + 10 * hosts, env)
            if line[:1].isdigit()]


def columns(each):
    """Medians, and the greatest sum."""
    return [median([r[i] for r in each]) for i in range(4)] + [max(r[3] for r in each)]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--hosts", default=HOSTS)
    p.add_argument("--times", type=int, default=15)
    p.add_argument("--out")
    args = p.parse_args()
    print("%6s %10s %12s %12s %12s %12s   ms, medians of %d" %
          ("hosts", "meeting", "exchange", "both", "at most", "UCX opens", args.times))
    stored = []
    for hosts in args.hosts.split(","):
        try:
            met, opened, exchanged, both, most = columns(rows(args.build, int(hosts), args.times))
            print("%6s %10.2f %12.2f %12.2f %12.2f %12.1f" % (hosts, met, exchanged, both, most, opened), flush=True)
            stored.append([hosts] + ["%.0f ms" % ms for ms in (met, exchanged, both, opened)])
        except (Skipped, Failed) as e:
            print("meeting.py: %s hosts: %s" % (hosts, e), file=sys.stderr)
            return 77 if isinstance(e, Skipped) else 1
    if args.out:
        about = record.about("medians of %d meetings, one rank a host, 1 Gbit/s" % args.times, "make bench-meeting")
        about["columns"] = ["hosts", "meeting", "exchange of addresses", "both", "UCX opens"]
        record.store(os.path.join(args.out, "meeting.json"), about, stored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
