"""Flight records, in the format of PyTorch's flight recorder: the last operations that each rank began and completed.

After a failure, such as a timeout, the records of all ranks show where the ranks diverged. PyTorch's analyzer (python3 -m
torch.distributed.flight_recorder.fr_trace FOLDER) reads one file per rank, a pickled dictionary with "version", "pg_config",
"pg_status" and "entries". It accepts only names that begin with "nccl:", so all names here do.

Ring stores the operations of the backend in Python; the compiled backend stores its own (c10d/flight.hpp).
SPDX-License-Identifier: BSD-3-Clause
"""
from __future__ import annotations

import collections
import json
import math
import os
import pickle
import time
from typing import Any, Callable, Iterable, Optional

import torch.distributed as _dist

import tutti

_VERSION = "2.10"  # of the format
_NAMES = {"all_reduce_coalesced": "allreduce_coalesced", "barrier": "all_reduce_barrier"}  # name here: name of the NCCL backend
_worlds: list[bool] = [False]  # for each world of this process: has the record been written after a failure?


def _size() -> int:
    try:
        return int(os.environ.get("TORCH_FR_BUFFER_SIZE") or os.environ.get("TORCH_NCCL_TRACE_BUFFER_SIZE") or 2000)
    except ValueError:
        return 0


class Ring:
    """The last operations of the backend in Python."""

    def __init__(self) -> None:
        self._entries: collections.deque[dict[str, Any]] = collections.deque(maxlen=max(_size(), 0))
        self._last, self._seqs = 0, collections.Counter()  # type: ignore[var-annotated]

    def add(self, group: int, name: str, inputs: Iterable[Any], outputs: Iterable[Any], timeout: float,
            ends: Optional[tuple[int, int]] = None) -> dict[str, Any]:
        """Add an operation that begins. ends: for a message, this rank and the peer."""
        message = ends is not None
        self._last += 1
        self._seqs[group, message] += 1
        at = time.time_ns()
        ins, outs = list(inputs), list(outputs)
        entry = dict(id=self._last, group=group, seq=self._seqs[group, message], name=name, message=message,
                     rank=ends[0] if ends else 0, peer=ends[1] if ends else -1, timeout=int(1e3 * timeout),
                     created=at, started=at, completed=0,
                     input_sizes=[list(t.shape) for t in ins], output_sizes=[list(t.shape) for t in outs],
                     input_dtypes=[_type_name(t) for t in ins], output_dtypes=[_type_name(t) for t in outs])
        self._entries.append(entry)
        return entry

    def last(self, group: int) -> int:
        """The number of collectives that the group has begun."""
        return int(self._seqs[group, False])

    def records(self) -> list[dict[str, Any]]:
        return list(self._entries)


_TYPES = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int8": "Char", "uint8": "Byte",
          "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex64": "ComplexFloat",
          "complex128": "ComplexDouble"}


def _type_name(tensor: Any) -> str:
    """The name of the tensor's type in C++."""
    name = str(tensor.dtype).replace("torch.", "")
    return _TYPES.get(name, name)


# ---- in PyTorch's form ----

def _groups() -> dict[int, tuple[str, str, list[int]]]:
    """Name, description and ranks of PyTorch's process groups on tutti, by tutti's number of the group."""
    from . import _c10d
    module = _dist.distributed_c10d
    world = getattr(module, "_world", None)
    names = world.pg_names if world else getattr(module, "_pg_names")
    ranks = world.pg_group_ranks if world else getattr(module, "_pg_group_ranks")
    return {_c10d.number(pg): (str(names.get(pg, i)), "undefined" if i else "default_pg", sorted(of))
            for i, (pg, of) in enumerate(ranks.items()) if isinstance(pg, _dist.ProcessGroup) and _c10d.number(pg) >= 0}


def _sizes(name: str, sizes: list[list[int]]) -> list[list[int]]:
    """The sizes of the operation's tensors as the analyzer expects them: a list of tensors counts as one tensor."""
    if name == "all_to_all":
        return [[sum(math.prod(one) for one in sizes)]]
    return [[len(sizes)] + sizes[0]] if name in ("all_gather", "reduce_scatter") and len(sizes) > 1 else sizes


def _entry(e: dict[str, Any], group: tuple[str, str, list[int]], collectives: int) -> dict[str, Any]:
    """collectives: the number of the group's last collective."""
    name, arrow = _NAMES.get(e["name"], e["name"]), {"send": "->", "recv": "<-"}.get(e["name"])
    types = {side: e[side + "_dtypes"] for side in ("input", "output")}
    return {
        "record_id": e["id"] - 1, "pg_id": e["group"], "process_group": (group[0], group[1]),
        "collective_seq_id": collectives, "p2p_seq_id": e["seq"] if e["message"] else 0, "is_p2p": e["message"],
        "op_id": e["id"], "profiling_name": f"nccl:{name}" + (f" {e['rank']}{arrow}{e['peer']}" if arrow else ""),
        "time_created_ns": e["created"], "time_discovered_started_ns": e["started"] or None,
        "time_discovered_completed_ns": e["completed"] or None,
        "duration_ms": (e["completed"] - e["started"]) / 1e6 if e["completed"] else None,
        "input_sizes": _sizes(name, e["input_sizes"]), "input_dtypes": types["input"],
        "output_sizes": _sizes(name, e["output_sizes"]), "output_dtypes": types["output"],
        "state": "completed" if e["completed"] else "started" if e["started"] else "scheduled",
        "retired": bool(e["completed"]), "timeout_ms": e["timeout"], "frames": [],
    }


def flight_record() -> dict[str, Any]:
    """The last operations of this rank's process groups, in the format of PyTorch's flight recorder. TORCH_FR_BUFFER_SIZE is
    their maximum number (2000). Local. json and pickle can store the result."""
    from . import _c10d
    groups = _groups()
    last: dict[int, int] = {}
    entries: list[dict[str, Any]] = []
    status: dict[str, dict[str, int]] = {}
    for e in _c10d.records():
        if e["group"] not in groups:
            continue  # the group was destroyed
        group = groups[e["group"]]
        if not e["message"]:
            last[e["group"]] = e["seq"]
            known = status.setdefault(group[0], dict.fromkeys((f"last_{word}_collective" for word in
                                                               ("enqueued", "started", "completed")), -1))
            for word, has in (("enqueued", True), ("started", e["started"]), ("completed", e["completed"])):
                if has:
                    known[f"last_{word}_collective"] = e["seq"]
        entries.append(_entry(e, group, last.get(e["group"], 0)))
    return {"version": _VERSION, "entries": entries, "pg_status": status, "nccl_comm_state": {},
            "pg_config": {name: {"name": name, "desc": desc, "ranks": str(ranks)} for name, desc, ranks in groups.values()},
            "tutti": {"version": tutti._lib.VERSION, "world": len(_worlds)}}


# ---- after a failure ----

def _pickle(path: str, record: dict[str, Any]) -> None:
    with open(path, "wb") as file:
        pickle.dump(record, file)


def _json(path: str, record: dict[str, Any]) -> None:
    with open(path + ".json", "w", encoding="utf-8") as file:
        json.dump(record, file, indent=1)


_FILES: dict[str, Callable[[str, dict[str, Any]], None]] = {
    "TORCH_FR_DUMP_TEMP_FILE": _pickle, "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": _pickle, "TUTTI_TORCH_DUMP": _json}


def asked() -> bool:
    """Does an environment variable name a file for the record?"""
    return any(os.environ.get(name) for name in _FILES)


def failed() -> None:
    """Write the record after an operation has failed, once per world. An error while writing gives a warning only."""
    if _worlds[-1] or not asked() or not _dist.is_initialized():
        return
    _worlds[-1] = True
    again = f"world{len(_worlds)}_" if len(_worlds) > 1 else ""  # a new default group numbers its ranks differently
    record = flight_record()
    for name, write in _FILES.items():
        if os.environ.get(name):
            try:
                write(f"{os.environ[name]}{again}{_dist.get_rank()}", record)
            except OSError as why:
                tutti._exit._log.warning("%s: the flight record is not written: %s", name, why)


def new_world() -> None:
    """Note that a new default group is made."""
    _worlds.append(False)
