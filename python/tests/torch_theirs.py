"""PyTorch's own tests of process groups (torch.testing), on gloo and on tutti. tutti must pass each test that gloo passes,
unless DIFFERS gives a reason for the test.

    python3 torch_theirs.py RANKS FOLDER [REGEX]     prints TAP; FOLDER/BACKEND/NAME.RANK has the error of a failed test

One process imports PyTorch, and forks the ranks of each test. For Debian's PyTorch 1.13 under Python 3.11 it adds a module
`expecttest`, and a hash function for a dataclass that Python 3.11 refuses.
SPDX-License-Identifier: BSD-3-Clause
"""
import atexit
import collections
import dataclasses
import os
import re
import signal
import sys
import time
import traceback
import types
import unittest

RANKS, FOLDER, LIMIT = int(sys.argv[1]), sys.argv[2], 120  # time limit of a test in seconds
# The tests choose their conditions by BACKEND; both backends run with those of gloo.
os.environ.update(BACKEND="gloo", WORLD_SIZE=str(RANKS), TEMP_DIR=FOLDER, GLOG_minloglevel="2", OMP_NUM_THREADS="1")

stub = types.ModuleType("expecttest")
stub.TestCase, stub.ACCEPT = type("TestCase", (unittest.TestCase,), {}), False
sys.modules.setdefault("expecttest", stub)

_dataclass = dataclasses.dataclass


def _hashable(cls=None, /, **options):
    def dress(c):
        more = {} if options.get("frozen") or "__hash__" in c.__dict__ else {"unsafe_hash": True}
        return _dataclass(c, **{**more, **options})
    return dress if cls is None else dress(cls)


dataclasses.dataclass = _hashable
import torch  # noqa: E402
import torch.distributed._shard.sharded_tensor  # noqa: E402,F401

dataclasses.dataclass = _dataclass

from torch.testing._internal import common_distributed as common, common_utils  # noqa: E402

# Reasons for which tests skip gloo by name, although tutti can do what they need. Tests with these reasons are run.
NAMED = re.compile("Only MPI supports|[Rr]equires backends? to be|get_future is only supported|GLOO Batch Send Recv")
SKIP = "sandcastle_skip" if hasattr(common_utils, "sandcastle_skip") else "skip_but_pass_in_sandcastle"  # 1.13, 2
_skip, _skip_if = getattr(common_utils, SKIP), getattr(common_utils, SKIP + "_if")
setattr(common_utils, SKIP, lambda why: (lambda test: test) if NAMED.search(why) else _skip(why))
setattr(common_utils, SKIP + "_if", lambda holds, why: _skip_if(holds and not NAMED.search(why), why))
from torch.testing._internal.distributed import distributed_test as theirs  # noqa: E402

for names in common.DistTestCases.backend_feature.values():
    if "gloo" in names:
        names.add("tutti")


class TestDist(theirs.TestDistBackend, theirs.DistributedTest._DistTestBase):
    def run_test(self, name, pipe):
        if "accumulate_gradients" in name:  # the test has models for known backends only
            theirs.BACKEND = "gloo"
        super().run_test(name, pipe)


TOO = "fails on gloo, too"
# Regular expressions of test names, and the reasons why tutti does not pass. A test that passes must not be listed, unless it
# fails on gloo, too, for some numbers of ranks.
DIFFERS = {
    "cuda|SyncBatchNorm": TOO,  # a GPU is missing
    "barrier_timeout_global|batch_isend_irecv_(op|mixed_backend|tensor)_err|new_subgroups_with_group_param": TOO,
    "monitored_barrier_gloo_rank_0_timeout": "wants gloo's words; tutti names the missing rank",
    "sparse_all_reduce": "tutti refuses sparse tensors, and says to_dense()",
}
if torch.__version__ >= "2":
    DIFFERS["ddp_logging_data_cpu"] = "PyTorch 2 calls every backend but its own 'custom'"
else:
    DIFFERS["monitored_barrier"] = "PyTorch 1.13 refuses it for every backend but gloo"
CODES = {skip.exit_code for skip in common.TEST_SKIPS.values()}


def rank(backend, name, r, file, log):
    """Run one rank of a test in a forked process. The exit status is that of PyTorch's test."""
    out = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)
    common.tmp_dir._finalizer.detach()  # the parent owns the folder
    os.environ.update(RANK=str(r), BACKEND=backend)
    theirs.BACKEND = backend
    code = 0
    try:
        if backend == "tutti":
            import tutti.torch  # noqa: F401  pylint: disable=unused-import
        ends = torch.multiprocessing.Pipe()
        TestDist._run(r, name, file, ends[0])
    except SystemExit as why:
        code = why.code if isinstance(why.code, int) else int(why.code is not None)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    try:
        atexit._run_exitfuncs()
    finally:
        sys.stdout.flush()
        os._exit(code)


def ended(pids):
    """The exit statuses of the ranks. Ranks that still run after LIMIT seconds are killed."""
    until, left, codes = time.monotonic() + LIMIT, set(pids), []
    while left:
        pid = next((p for p in left if (found := os.waitpid(p, os.WNOHANG))[0]), None)
        if pid is not None:
            left.remove(pid)
            codes.append(os.waitstatus_to_exitcode(found[1]))
        elif time.monotonic() > until:
            for p in left:
                os.kill(p, signal.SIGKILL)
            until += LIMIT
        else:
            time.sleep(0.003)
    return codes


def outcome(backend, name):
    """Run a test: pass, skip or fail."""
    test = TestDist(name)
    test.setUp()
    folder = os.path.join(FOLDER, backend)
    os.makedirs(folder, exist_ok=True)
    sys.stdout.flush()
    pids = []
    for r in range(RANKS):
        pid = os.fork()
        if pid == 0:
            rank(backend, name, r, test.file_name, os.path.join(folder, f"{name}.{r}"))
        pids.append(pid)
    codes = ended(pids)
    test.tearDown()
    return "pass" if not any(codes) else "skip" if CODES.issuperset({*codes} - {0}) else "fail"


def judge(name, gloo, tutti):
    """The reason why these outcomes are not as expected; empty if they are."""
    why = next((reason for pattern, reason in DIFFERS.items() if re.search(pattern, name)), None)
    if tutti == "pass":
        return f"it passes, and DIFFERS says: {why}" if why and why != TOO else ""
    if gloo == tutti == "skip":
        return ""
    return "" if why and (why != TOO or gloo == "fail") else f"{gloo} on gloo, {tutti} on tutti"


def main():
    TestDist.setUpClass()
    counts, bad = {b: collections.Counter() for b in ("gloo", "tutti")}, 0
    wanted = re.compile(sys.argv[3] if sys.argv[3:] else "")
    for name in sorted(n for n in dir(TestDist) if n.startswith("test_") and wanted.search(n)):
        got = {"gloo": outcome("gloo", name)}
        got["tutti"] = "skip" if got["gloo"] == "skip" else outcome("tutti", name)  # the same conditions
        for backend, found in got.items():
            counts[backend][found] += 1
        why = judge(name, **got)
        if why:
            print(f"not ok - {name}: {why}", flush=True)
        elif got["gloo"] != got["tutti"]:
            print(f"# {name}: {got['gloo']} on gloo, {got['tutti']} on tutti", flush=True)
        bad += bool(why)
    told = "; ".join(f"{b}: {', '.join(f'{n} {what}' for what, n in sorted(c.items()))}" for b, c in counts.items())
    print(f"{'not ok' if bad else 'ok'} - PyTorch's own tests on {RANKS} ranks ({told})")
    return bool(bad)


sys.exit(main())
