# figure_measure.py - measurements on this machine: a few ranks that share its memory, one
# algorithm after the other (`tutti bench`). This is not a network; docs/bench/papers.md says which
# parts of a figure it can test.
# SPDX-License-Identifier: BSD-3-Clause
import json
import os
import subprocess
import sys
import tempfile

import figure_source as source

BASELINES = [("doubling", "float"), ("fold(ring)", "float"), ("rabenseifner", "float")]
ROUNDS = 3


def bench(build, ranks, plan, kind, first, last, factor):
    """{bytes: (seconds, verdict)}: the least of the repeats, which other load disturbs least.
    Plans are not sliced, as the paper's are not."""
    env = dict(os.environ, **({"TUTTI_ALGO": plan, "TUTTI_SLICES": "1"} if plan else {}))
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        words = [
            "timeout",
            "-k",
            "5",
            "60",
            os.path.join(build, "tutti"),
            "bench",
            "-n",
            str(ranks),
            "-b",
            str(first),
            "-e",
            str(last),
            "-f",
            str(factor),
            "-d",
            kind,
            "--side",
            "in",
            "--repeats",
            "5",
            "--budget",
            "0.003",
            "--format", "json", "-o",
            out.name,
        ]
        done = subprocess.run(words, env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit("figures: %s: %s" % (" ".join(words[3:]), done.stderr.strip()[-300:]))
        rows = json.load(open(out.name))["rows"]
    return {
        r["bytes"]: (
            1e-6 * r["in_place"]["us_min"],
            "wrong" if r["in_place"]["wrong"] else "ran " + r["plan"] if plan and r["plan"] != plan else "ok",
        )
        for r in rows
    }


def jobs():
    """(ranks, plan or None for tutti's choice, type, first, last, factor)"""
    for ranks in (5, 6, source.FEW):
        for plan, kind in BASELINES + source.versions(ranks) + [(None, "float")]:
            yield ranks, plan, kind, 64, 16 * source.MI, 2 if ranks == source.FEW else 4
    for size in (source.SMALL, source.MIDDLE):
        for ranks in range(2, 9):
            for plan, kind in BASELINES + [("generalized(latency)", "int32"), (None, "float")]:
                yield ranks, plan, kind, size, size, 2
    for size in (source.SMALL, source.MIDDLE):
        for plan, kind in source.versions(source.FEW):
            if plan != "generalized(latency)":
                yield source.FEW, plan, kind, size, size, 2


def measure(table, build):
    every = list(jobs()) * ROUNDS
    found = {}
    for i, (ranks, plan, kind, first, last, factor) in enumerate(every):
        bar(i, len(every), "%d ranks, %s" % (ranks, plan or "tutti's choice"))
        for size, (seconds, verdict) in bench(build, ranks, plan, kind, first, last, factor).items():
            what = (ranks, "tutti:" + plan if plan else "tutti", kind, size)
            found[what] = min(found.get(what, (1e9, "")), (seconds, verdict))
            table.put("shm", "measured", *what, *found[what])
    bar(len(every), len(every), "measured")
    table.note(
        "measured",
        "%d cores, tutti bench, ranks of one machine, least of %d rounds of 5 repeats"
        % (os.cpu_count(), ROUNDS),
    )


def bar(done, of, what):
    if sys.stderr.isatty() or done == of:
        sys.stderr.write(
            "\r[%-30s] %3d of %d  %-40s%s"
            % ("#" * (30 * done // of), done, of, what, "\n" if done == of else "")
        )
        sys.stderr.flush()
