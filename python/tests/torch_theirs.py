"""PyTorch's own tests of process groups, of torch.testing, with "tutti" as the backend.

    BACKEND=tutti WORLD_SIZE=2 TEMP_DIR=/tmp/x python3 torch_theirs.py [-v] [TestDist.test_all_reduce_sum]

The table LEFT_OUT lists tests that do not run, with reasons. Two things that Debian's PyTorch 1.13 lacks under
Python 3.11 are added here: a module `expecttest`, and a dataclass that Python 3.11 refuses.
SPDX-License-Identifier: BSD-3-Clause
"""
import dataclasses
import os
import re
import sys
import types
import unittest

os.environ.setdefault("GLOG_minloglevel", "2")
os.environ.setdefault("BACKEND", "tutti")

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

import tutti.torch  # noqa: E402,F401  (the spawned ranks import this file again)
from torch.testing._internal import common_distributed, common_utils  # noqa: E402
from torch.testing._internal.common_distributed import DistTestCases  # noqa: E402

if not torch.cuda.is_available():  # otherwise every rank would start only to find that out
    no_gpu = unittest.skip("needs a GPU")
    common_distributed.skip_if_no_gpu, common_distributed.skip_if_lt_x_gpu = no_gpu, lambda count: no_gpu

# Tests skip backends by name; tutti can do what these need, so they run.
NAMED = re.compile("Only MPI supports|[Rr]equires backends? to be|get_future is only supported|GLOO Batch Send Recv")
SKIP = "sandcastle_skip" if hasattr(common_utils, "sandcastle_skip") else "skip_but_pass_in_sandcastle"  # 1.13, 2
_skip, _skip_if = getattr(common_utils, SKIP), getattr(common_utils, SKIP + "_if")
setattr(common_utils, SKIP, lambda why: (lambda test: test) if NAMED.search(why) else _skip(why))
setattr(common_utils, SKIP + "_if", lambda holds, why: _skip_if(holds and not NAMED.search(why), why))

for feature in ("ddp", "subgroup", "plugin"):
    DistTestCases.backend_feature.setdefault(feature, set()).add("tutti")

from torch.testing._internal.distributed.distributed_test import DistributedTest, TestDistBackend  # noqa: E402

# Regular expressions of names, and the reasons for leaving them out.
LEFT_OUT = {
    r"cuda|gpu|nccl|cudnn|multigpu": "needs a GPU",
    r"monitored_barrier" + ("" if torch.__version__ < "2" else "_gloo_rank_0_timeout"):
        "PyTorch 1.13 refuses it for every backend but gloo; the one of rank 0 wants gloo's words",
    r"monitored_barrier_gloo$" if int(os.environ["WORLD_SIZE"]) > 2 else r"$^":
        "wants gloo's words on the ranks that have come; tutti names the missing rank there, too",
    r"ddp_logging_data_cpu" if torch.__version__ >= "2" else r"$^": "PyTorch 2 calls every backend but its own 'custom'",
    r"batch_isend_irecv_(op|mixed_backend)_err|new_subgroups_with_group_param": "fails with gloo, too",
    r"accumulate_gradients_no_sync": "makes its model for gloo, NCCL and MPI only, and ends with UnboundLocalError",
    r"timeout": "is about the words of gloo's and NCCL's own timeouts",
    r"quantized|sparse|create_ddp_model": "needs what only NCCL or gloo have",
    r"sync_batch_?norm|SyncBatchNorm": "needs a GPU",
    r"zero_?redundancy.*overlap|hierarchical|post_localSGD|periodic_model_averager_param": "needs a GPU",
    r"stateless_api|verify_model_across|undefined_grad|ddp_unused_params_rebuild|detect_ddp_is_actually":
        "needs a GPU, or is skipped by its own conditions",
}


def left_out(name):
    return next((why for pattern, why in LEFT_OUT.items() if re.search(pattern, name)), None)


class TestDist(TestDistBackend, DistributedTest._DistTestBase):
    def setUp(self):
        why = left_out(self._testMethodName)
        if why:
            self.skipTest(why)
        super().setUp()
        self._spawn_processes()


if __name__ == "__main__":
    unittest.main(module=sys.modules[__name__])
