# start.py - the targets of starting a job of very many ranks: real processes on this machine, and a simulated job of
# 10,000 ranks on 625 hosts (see bench/starting.c). They need several GB of memory, and use all cores of the machine for a
# minute.
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess

from measure import Failed
from verdict import at_most, skipped

TITLE = "a job of thousands of ranks starts: 2,048 processes here, 10,000 simulated ranks on 625 hosts"
REAL, HOSTS, PER_HOST = 2048, 625, 16
QUICK = {"real": 64, "hosts": 20}
LIMIT = 400  # s
STORED = {}


def start(build, *words):
    """{NAME: value} of the line that bench/starting prints."""
    argv = [os.path.join(build, "bench", "starting")] + [str(w) for w in words]
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, check=False)
    if done.returncode:
        raise Failed(" ".join(argv) + ": " + done.stderr.decode(errors="replace")[-300:])
    fields = done.stdout.decode().split()
    return dict(zip(fields[::2], map(float, fields[1::2])))


def memory_free():
    """Available memory in GB."""
    for line in open("/proc/meminfo"):
        if line.startswith("MemAvailable"):
            return int(line.split()[1]) / 1e6
    return 0


def bars(build, quick):
    ranks, hosts = (QUICK["real"], QUICK["hosts"]) if quick else (REAL, HOSTS)
    rows = []
    if memory_free() < 12 and not quick:
        yield skipped("%d processes of this host join, s" % ranks, "less than 12 GB of memory are free")
    else:
        real, why = {}, ""
        try:
            real = start(build, "real", ranks)
            rows.append(["%d processes of one host" % ranks, "%.1f s" % real["seconds"], "%.2f GB" % (real["megabytes"] / 1e3),
                         "%d" % real["descriptors"], ""])
        except Failed as e:
            why = str(e)
        yield at_most("%d processes of this host join, s" % ranks, 15, real.get("seconds"), why)
        yield at_most("their memory, shared pages once, GB", 10, real["megabytes"] / 1e3 if real else None, why)
    far = start(build, "simulated", hosts, PER_HOST)
    rows.append(["%d ranks of %d hosts, simulated" % (far["ranks"], hosts), "%.1f s" % far["seconds"],
                 "%.2f GB" % (far["megabytes"] / 1e3), "%d" % far["descriptors"], "%.1f MB" % far["first_sent"]])
    yield at_most("%d simulated ranks: rank 0 sends, MB" % far["ranks"], 50, far["first_sent"])
    yield at_most("descriptors of a process, its 16 ranks together", 64, far["descriptors"])
    tables = start(build, "tables", hosts * PER_HOST)
    yield at_most("tables of a communicator, B for each rank that is not in use", 64, tables["bytes"])
    STORED["start"] = ("a job of very many ranks starts", ["job", "time", "memory", "descriptors of a process", "rank 0 sends"], rows)
