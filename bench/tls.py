# tls.py - what TLS between hosts costs: an allreduce of two ranks over UCX's TCP and over tutti's own network with TLS, by
# turns; and what AES-GCM alone does on one core.
#
#   bench/tls.py [--rounds N] [--build DIR]
#
# Places     loopback: both ranks on this machine, which share no memory. hosts: two network namespaces with links of
#            10 Gbit/s (bench/netns.sh; as root).
# Figures    the median over the rounds, with the least and the greatest. 8 B in microseconds, longer vectors in MB/s: the
#            vector's bytes over the time. Each round runs one launch per side, another one first in each.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import re
import subprocess
import tempfile

from measure import Failed, bytes_name, median

SIZES = [8, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20]
SIDES = {"UCX": {"TUTTI_NET": "ucx", "UCX_TLS": "tcp,self"}, "TLS": {"TUTTI_TLS": "all"}}
PLACES = ("loopback", "hosts")


def command(place, build, argv):
    if place == "hosts":
        return ["bash", "bench/netns.sh", "tutti", "2", "1", "10gbit"] + argv
    return [os.path.join(build, "tutti"), "run", "--hosts", "localhost:1,localhost:1"] + argv


def times(place, build, side):
    """{bytes: microseconds} of one launch."""
    env = dict(os.environ, TUTTI=os.path.join(build, "tutti"), **SIDES[side])
    env.update({"TUTTI_NODES": "0,1"} if place == "loopback" else {})
    found = {}
    for first, last, factor in ((8, 8, 2), (SIZES[1], SIZES[-1], 4)):
        with tempfile.NamedTemporaryFile(suffix=".json") as out:
            argv = [os.path.join(build, "tutti"), "bench", "-b", str(first), "-e", str(last), "-f", str(factor), "--side",
                    "out", "--budget", "0.1", "--repeats", "5", "-J", out.name]
            done = subprocess.run(command(place, build, argv), env=env, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise Failed("%s, %s: %s" % (place, side, done.stderr.strip()[-300:]), done.returncode)
            for row in re.findall(r"^ +(\d+) +\d+ +\w+ +\w+ +\S+ +([\d.]+) ", done.stdout, re.M):
                found[int(row[0])] = float(row[1])
            json.load(out)
    return found


def shown(size, us):
    if size == 8:
        return "%.0f us (%.0f to %.0f)" % (median(us), min(us), max(us))
    rates = [size / t for t in us]
    return "%.0f MB/s (%.0f to %.0f)" % (median(rates), min(rates), max(rates))


def aes():
    """MB/s of AES-128-GCM in blocks of 16 KiB, on one core."""
    done = subprocess.run(["openssl", "speed", "-seconds", "1", "-bytes", "16384", "-evp", "aes-128-gcm"],
                          capture_output=True, text=True, timeout=60)
    found = re.search(r"^AES-128-GCM +([\d.]+)k", done.stdout, re.M)
    return float(found.group(1)) / 1e3 if found else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--build", default=os.environ.get("BUILD", "build"))
    args = p.parse_args()
    build = os.path.abspath(args.build)
    print("AES-128-GCM on one core: %s MB/s" % ("?" if aes() is None else "%.0f" % aes()))
    for place in PLACES:
        all_times = {side: [] for side in SIDES}
        try:
            for round_ in range(args.rounds):
                for side in sorted(SIDES, reverse=round_ % 2 == 1):
                    all_times[side].append(times(place, build, side))
        except Failed as e:
            print("%s: %s" % (place, e))
            continue
        print("\n| %s | UCX's TCP | TLS |\n|---|---:|---:|" % place)
        for size in sorted(all_times["UCX"][0]):
            print("| %sB | %s | %s |" % (bytes_name(size) + (" " if size == 8 else ""),
                                         *(shown(size, [t[size] for t in all_times[side]]) for side in ("UCX", "TLS"))))


if __name__ == "__main__":
    main()
