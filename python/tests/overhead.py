"""overhead.py - measures the overhead of Python: the time of calls on 4 bytes compared with the C function called through
ctypes with prepared arguments. On one rank, so the library has nothing to do. CPU time of the fastest round.

    python3 python/tests/overhead.py [CALLS per round [MOST]]    fails if a call takes more than MOST times the prepared one

SPDX-License-Identifier: BSD-3-Clause
"""
import array
import ctypes
import sys
import time
import timeit

import numpy as np

import tutti
from tutti._lib import lib

comm = tutti.from_threads(1)[0]
x, y = np.ones(1, "f4"), np.ones(1, "f4")
at = x.ctypes.data, y.ctypes.data
plain = array.array("f", [1])
frozen = x.copy()
frozen.flags.writeable = False
request = comm.allreduce_init(x, out=x)
handle = ctypes.byref(request._handle)


def step():
    request.start()
    request.wait()


CALLS = {
    "C, through ctypes, arguments ready": lambda: lib.tutti_allreduce(comm._handle, *at, 1, 10, 0),
    "comm.allreduce(x, out=x)": lambda: comm.allreduce(x, out=x),
    "comm.allreduce(x, out=y)": lambda: comm.allreduce(x, out=y),
    "comm.allreduce(x)": lambda: comm.allreduce(x),
    "tutti.allreduce(x, 'max', y)": lambda: tutti.allreduce(x, "max", y),
    "comm.allreduce(read-only, out=y)": lambda: comm.allreduce(frozen, out=y),
    "comm.allreduce(array.array, out=itself)": lambda: comm.allreduce(plain, out=plain),
    "comm.iallreduce(x, out=x).wait()": lambda: comm.iallreduce(x, out=x).wait(),
    "persistent: start, wait": step,
    "comm.barrier()": comm.barrier,
}
n = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
most = float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
tutti.init(comm)
times = {}
for name, call in CALLS.items():
    call()
    times[name] = min(timeit.repeat(call, number=n, repeat=7, timer=time.process_time)) / n
    print(f"# {times[name] * 1e6:6.2f} us  {name}", flush=True)
slow = [name for name, each in times.items() if each > most * next(iter(times.values()))]
if slow:
    sys.exit(f"more than {most:g} times the prepared call: {', '.join(slow)}")
