# gpu.py - the cost of the GPU support for calls on host vectors. Other targets need a GPU (tools/on-gpu.sh).
# SPDX-License-Identifier: BSD-3-Clause
import os
import subprocess

from verdict import at_most, skipped

TITLE = "host vectors if no device exists; vectors on a GPU if one exists"
NEED_GPU = ("through the host: of the bus both ways, from 4 MiB", "kernels on 2 processes: of the card's memory, from 64 MiB",
            "100 deaths: none hangs")


def bars(build, quick):
    program = [os.path.join(build, "bench", "host_pointers"), "11" if quick else "301"]
    said = subprocess.run(program, env=dict(os.environ, TUTTI_DEVICE="none"), stdout=subprocess.PIPE, universal_newlines=True,
                          timeout=120, check=True).stdout
    yield at_most("a call on host vectors: ns to detect that no device exists", 5, float(said))
    for name in NEED_GPU:
        yield skipped(name, "make bench-gpu judges it, on a machine with a GPU")
