"""Jobs of ranks that use PyTorch, one after another. This process imports PyTorch once, and forks the ranks.

    python3 forked.py FOLDER     reads lines: RANKS [VARIABLE=VALUE...] SCRIPT [ARGUMENT...]

The ranks have torchrun's environment, and PyTorch's store is here. What they print is in FOLDER/out and FOLDER/err. After each job a
line is printed, the job's exit status: that of the first rank that failed, 128 more than the signal that killed it, or 124 after LIMIT
seconds, when the ranks print where they are. SPDX-License-Identifier: BSD-3-Clause
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
    """Waits for the ranks; the job's exit status."""
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
    """This process is a rank now; what it runs."""
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
    """In a rank it returns what to run; here, at the end of the input, nothing."""
    for line in sys.stdin:
        size, *words = line.split()
        store = dist.TCPStore("127.0.0.1", 0, None, True, datetime.timedelta(seconds=LIMIT), False)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))  # never destroyed: a rank would end this process's thread
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
