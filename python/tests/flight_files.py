"""Reads the flight records of three ranks, with the rules of PyTorch's analyzer. torch_flight.sh runs it.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import math
import pickle
import sys


def files(prefix):
    records = []
    for rank in range(3):
        with open(f"{prefix}{rank}", "rb") as file:
            records.append(pickle.load(file))
    assert len({r["version"] for r in records}) == 1
    members = {}
    for r in records:
        for name, config in r["pg_config"].items():
            ranks = members.setdefault(name, config["ranks"])
            assert ranks == config["ranks"], f"group {name}: {ranks}, {config['ranks']}"
    calls = {}
    for rank, r in enumerate(records):
        assert [e["record_id"] for e in r["entries"]] == sorted({e["record_id"] for e in r["entries"]})
        for e in r["entries"]:
            if not e["is_p2p"]:
                calls.setdefault((e["process_group"][0], e["collective_seq_id"]), {})[rank] = e
    for (group, seq), of in calls.items():
        assert sorted(of) == json.loads(members[group]), f"group {group}, {seq}: ranks {sorted(of)}"
        names = {e["profiling_name"] for e in of.values()}
        assert len(names) == 1, f"group {group}, {seq}: {names}"
        one, n = of[0], len(of)
        kind = one["profiling_name"][5:]
        for e in of.values():
            assert kind == "scatter" or e["input_sizes"] == one["input_sizes"], f"{kind}: {e['input_sizes']}"
            assert kind == "gather" or e["output_sizes"] == one["output_sizes"], f"{kind}: {e['output_sizes']}"
            assert "reduce" not in kind or kind == "reduce_scatter" or e["input_sizes"] == e["output_sizes"], kind
        numel = {side: math.prod(one[side + "_sizes"][0]) if one[side + "_sizes"] else 0 for side in ("input", "output")}
        assert kind != "all_gather" or numel["output"] == n * numel["input"]
        assert kind != "reduce_scatter" or numel["input"] == n * numel["output"]
    last = max((of for of in calls.values() if 0 in of), key=lambda of: of[0]["record_id"])  # rank 0's
    print(f"{len(calls)} collectives, the last one: " + ", ".join(e["state"] for e in last.values()))


if __name__ == "__main__":
    files(sys.argv[1])
