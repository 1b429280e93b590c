"""Runs jobs of ranks that use PyTorch, one after another. This process imports PyTorch once, and forks the ranks.

    python3 forked.py FOLDER     reads lines: RANKS [VARIABLE=VALUE...] SCRIPT [ARGUMENT...]

The ranks get the environment of torchrun; this process serves the store. Their output goes to FOLDER/out and FOLDER/err. A line
with the exit status is printed for each job: the status of the first rank that failed, 128 plus the signal that killed it, or
124 after LIMIT seconds, when the ranks print their stacks. SPDX-License-Identifier: BSD-3-Clause
"""
import ctypes
import datetime
import faulthandler
import os
import runpy
import signal
import sys
import time

import torch.distributed as dist
import torch.nn.parallel  # noqa: F401  pylint: disable=unused-import

LIMIT = 100


def ended(pids):
    """Wait for the ranks, and return the job's exit status."""
    until, left, first = time.monotonic() + LIMIT, set(pids), 0
    while left:
        for pid in set(left):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                left.remove(pid)
                code = os.waitstatus_to_exitcode(status)
                first = first or (code if code >= 0 else 128 - code)
        if time.monotonic() > until:
            first = 124
            for pid in left:
                os.kill(pid, signal.SIGABRT)
        time.sleep(0.002)
    return first


def become(rank, ends, words):
    """Turn this process into a rank, and return the script that it is to run."""
    for descriptor, file in enumerate([open(os.devnull, "rb"), *ends]):
        os.dup2(file.fileno(), descriptor)
    faulthandler.enable(2)
    begins = next(i for i, word in enumerate(words) if "=" not in word)
    os.environ.update((word.split("=", 1) for word in words[:begins]), RANK=str(rank), LOCAL_RANK=str(rank), MASTER_ADDR="127.0.0.1",
                      TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0")
    sys.argv[:] = words[begins:]
    sys.path[0] = os.path.dirname(words[begins])
    return words[begins]


def jobs(folder):
    """Run the jobs. Returns the script to run in a forked rank, and None in this process at the end of the input."""
    for line in sys.stdin:
        size, *words = line.split()
        store = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=LIMIT), False)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))  # keeps a rank from ending this process's thread
        os.environ.update(WORLD_SIZE=size, MASTER_PORT=str(store.port))
        pids = []
        with open(f"{folder}/out", "wb") as out, open(f"{folder}/err", "wb") as err:
            for rank in range(int(size)):
                pid = os.fork()
                if pid == 0:
                    return become(rank, (out, err), words)
                pids.append(pid)
        print(ended(pids), flush=True)
    return None


if __name__ == "__main__":
    script = jobs(sys.argv[1])
    if script:
        runpy.run_path(script, run_name="__main__")
