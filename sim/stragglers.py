# stragglers.py - ranks that come late, a link at a tenth, a lost host, simulated; `make sim ONLY=stragglers`.
# Times: docs/sim/stragglers.tsv.
#
# Idea       sim/allreduce.c delays each rank as a table says, and measures the time from the last arrival to the end: the
#            cost of the late rank in addition to its delay. The best plan here leaves little to do after the last arrival.
# Network    32 hosts of one rank each, at paper 001's figures (30 us, 100 MB/s).
# Told       the profile contains the rate of the slow link (host.21.beta).
# SPDX-License-Identifier: BSD-3-Clause
import functools
import math
import random

import smpi
from results import Kept
from training import chosen, system

TABLE = "docs/sim/stragglers.tsv"
RANKS, LATE, SEED = 32, 21, 37
SIZES = (64 << 10, 1 << 20, 16 << 20)
UNREAL = 4 << 20  # bytes; longer vectors are not real
TENTH = 0.1
LOST_RANKS, LOST_SIZE = (64, 125, 250, 500), 1 << 20
LOST_PLANS = {"halving": "fold(halving)", "ring": "fold(ring)"}
LOST_RING = 125  # ranks; a ring of more takes long to simulate


def network(ranks=RANKS):
    return system("node:%d" % ranks, node=smpi.Level(smpi.ALPHA / 2, 1 / smpi.BETA))


# ---- who is late, by how much: {name: seconds of each rank} ----

def one(seconds):
    return [seconds if r == LATE else 0 for r in range(RANKS)]


def exponential(mean):
    chance = random.Random(SEED)
    return [chance.expovariate(1 / mean) for _ in range(RANKS)]


DELAYS = {"none": one(0), "one, 1 ms": one(1e-3), "one, 10 ms": one(1e-2), "one, 100 ms": one(0.1), "one, 1 s": one(1.0),
          "exponential, 1 ms": exponential(1e-3), "exponential, 100 ms": exponential(0.1)}  # fmt: skip
PLANS = {"choice": "choice", "ring": "fold(ring)", "halving": "fold(halving)", "two-shot": "two-shot", "lr": "", "rdb": "", "rab_rdb": ""}


def least_exchange(size, ranks=RANKS):
    """Seconds that any exchange takes after the last arrival: one vector in, and ceil(log2 P) messages."""
    return math.ceil(math.log2(ranks)) * smpi.ALPHA + size * smpi.BETA


def columns(run):
    return {"seconds": "-" if run.seconds is None else "%.9f" % run.seconds, "verdict": run.verdict, "ran": run.plan}


def run_allreduce(what, size, build, delays=None, slow=None, told=()):
    """The columns of a row; what: a plan, or one of SMPI's."""
    s, words, plan, cfg = network(), ["-s"] if size >= UNREAL else [], "", ()
    if what in smpi.BUILTIN:
        words.append("-b")
        cfg = ("smpi/allreduce:" + what,)
    else:
        plan, slices = chosen(s, what, size, build, told)
        words += ["-k", slices]
    words += ["-d", "{delays}", size]
    text, errors, why = smpi.program(s.network, s.ranks, "allreduce", words, plan=plan, links=dict(smpi.TREE, **s.links), build=build, limit=600,
                                     slow=slow, told=told, cfg=cfg, files={"delays": "\n".join("%.9f" % d for d in delays or one(0))})
    found = smpi.as_named(smpi.read(text), plan) if plan else smpi.read(text)
    return columns(found.get(size, smpi.Run(None, why or "no result", smpi.first_line(errors), None)))


def run_lost(ranks, plan, build):
    s = network(ranks)
    text, errors, why = smpi.program(s.network, ranks, "lost", [ranks // 3, LOST_SIZE], plan=plan, links=dict(smpi.TREE, **s.links), build=build, limit=900)
    part = text.split(None, 4)
    if why or len(part) < 5:
        return {"seconds": "-", "verdict": why or "no result", "ran": smpi.first_line(errors)}
    return {"seconds": part[1], "verdict": part[3], "ran": part[4].strip()}


def store():
    return Kept(TABLE, ["what", "ranks", "case", "plan", "bytes"], ["seconds", "verdict", "ran"])


def jobs(build):
    """As training.jobs."""
    for case, delays in DELAYS.items():
        for label, plan in PLANS.items():
            for size in SIZES:
                run = functools.partial(run_allreduce, plan or label, size, build, delays)
                yield False, "late: %s, %s, %d B" % (case, label, size), ("late", RANKS, case, label, size), run
    told = ("host.%d.beta = %r" % (LATE, smpi.BETA / TENTH),)
    for label, plan, lines in (("choice, told", "choice", told), ("choice", "choice", ()), ("ring", "fold(ring)", ()), ("halving", "fold(halving)", ()), ("lr", "lr", ()), ("rab_rdb", "rab_rdb", ())):
        for size in SIZES:
            run = functools.partial(run_allreduce, plan, size, build, None, {LATE: TENTH}, lines)
            yield False, "a link at a tenth: %s, %d B" % (label, size), ("link", RANKS, "a tenth", label, size), run
    for ranks in LOST_RANKS:
        for label, plan in LOST_PLANS.items():
            if plan == "fold(ring)" and ranks > LOST_RING:
                continue
            yield ranks > 200, "a lost host: %d ranks, %s" % (ranks, label), ("lost", ranks, "-", label, LOST_SIZE), functools.partial(run_lost, ranks, plan, build)
