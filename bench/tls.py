# tls.py - an allreduce of two ranks over UCX's TCP, over tutti's own TCP, and over TLS, alternately; and the rate of AES-GCM
# on one core.
#
#   bench/bars.py --only tls runs it, and stores the table of docs/security.md (make bench-tls OUT=docs/bench)
#
# Places     loopback: both ranks on this machine, without shared memory. hosts: two network namespaces with links of
#            10 Gbit/s (bench/netns.sh; as root).
# Figures    the median over the rounds, with the minimum and maximum. 8 B and 1 KiB in microseconds, longer vectors in MB/s
#            (size of the vector divided by the time). Each round runs one launch per side; the side that begins changes from
#            round to round. A ratio is the median of the rounds' ratios.
# SPDX-License-Identifier: BSD-3-Clause
import os
import re
import subprocess

from measure import Failed, median

SIZES = [8, 1 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]
SIDES = {"UCX": {"TUTTI_NET": "ucx", "UCX_TLS": "tcp,self"}, "TCP": {"TUTTI_NET": "tcp"}, "TLS": {"TUTTI_TLS": "all"}}
PLACES = ("loopback", "hosts")


def command(place, build, argv):
    if place == "hosts":
        return ["bash", "bench/netns.sh", "tutti", "2", "1", "10gbit"] + argv
    return [os.path.join(build, "tutti"), "run", "--hosts", "localhost:1,localhost:1"] + argv


def times(place, build, side):
    """{bytes: microseconds}, from one launch."""
    env = dict(os.environ, TUTTI=os.path.join(build, "tutti"), **SIDES[side])
    env.update({"TUTTI_NODES": "0,1"} if place == "loopback" else {})
    found = {}
    for first, last, factor in ((8, 8, 2), (1 << 10, 1 << 10, 2), (SIZES[2], SIZES[-1], 4)):
        argv = [os.path.join(build, "tutti"), "bench", "-b", str(first), "-e", str(last), "-f", str(factor), "--side", "out",
                "--budget", "0.1", "--repeats", "5"]
        done = subprocess.run(command(place, build, argv), env=env, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            raise Failed("%s, %s: %s" % (place, side, done.stderr.strip()[-300:]), done.returncode)
        for row in re.findall(r"^ +(\d+) +\d+ +\w+ +\w+ +\S+ +([\d.]+) ", done.stdout, re.M):
            found[int(row[0])] = float(row[1])
    if sorted(found) != SIZES:
        raise Failed("%s, %s: times of some sizes are missing" % (place, side))
    return found


def shown(size, us):
    if size <= 1 << 10:
        return "%.0f us (%.0f to %.0f)" % (median(us), min(us), max(us))
    rates = [size / t for t in us]
    return "%.0f MB/s (%.0f to %.0f)" % (median(rates), min(rates), max(rates))


def aes():
    """GB/s of AES-128-GCM in blocks of 16 KiB, on one core; None if openssl is not installed."""
    try:
        done = subprocess.run(["openssl", "speed", "-seconds", "1", "-bytes", "16384", "-evp", "aes-128-gcm"],
                              capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        return None
    found = re.search(r"^AES-128-GCM +([\d.]+)k", done.stdout, re.M)
    return float(found.group(1)) / 1e6 if found else None


def measured(place, build, rounds):
    """{side: {bytes: microseconds of each round}}."""
    found = {side: {} for side in SIDES}
    for r in range(rounds):
        for side in sorted(SIDES, key=lambda s: (list(SIDES).index(s) + r) % len(SIDES)):
            for size, us in times(place, build, side).items():
                found[side].setdefault(size, []).append(us)
    return found


def ratios(found, side):
    """{bytes: the side's time over UCX's}."""
    return {size: median([t / u for t, u in zip(found[side][size], us)]) for size, us in found["UCX"].items()}
