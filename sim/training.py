# training.py - steps of data-parallel training, simulated: tutti's buckets while layers are computed, compared with one allreduce of
# all gradients at the end, and with one for each tensor; `make sim ONLY=training`. Times: docs/sim/training.tsv.
#
# Idea       sim/training.c runs a step of the real library on the network of a paper, or on one of 4 to 64 hosts; the
#            computation is simulated time, in the shares that sim/layers.py gives each layer.
# Buckets    as long as the library would make them: with k buckets of t seconds each, the k of the least (k + 1) t.
#            They are computed once, here; otherwise each simulated rank would compute them again.
# Codes      compressed messages between hosts (docs/lighter.md) consist of short frames, each of which would pay a simulated latency.
#            They are therefore simulated by shorter vectors: "buckets+error=1e-2" has LEFT of the numbers. Like sums, compression takes
#            no simulated time.
# Scale      gradients have a 64th of their length, on links of a 64th of their rate. The times are the same (but for SMPI's and tutti's 48
#            bytes in each message), and this machine has a 64th to add and to copy.
# Looks      while a rank computes, it looks after its sums LOOKS times in a step, as a progress thread does; "calls": only when a
#            tensor is ready.
# SPDX-License-Identifier: BSD-3-Clause
import collections
import functools
import json
import os
import subprocess

import figure_two as two
import layers
import smpi
from results import Kept

TABLE = "docs/sim/training.tsv"
LOOKS = 500
SCALE = 64
LEFT = 0.254  # of the bytes, by int8 with an error of 1e-2 (docs/lighter.md)
MIB = 1 << 20

# A system: its levels, the number of ranks, and the links of each level.
System = collections.namedtuple("System", "network ranks links")
# What is trained there. part: of 4 bytes that a number has.
Task = collections.namedtuple("Task", "name system layers step plans ways part")


def system(network, **links):
    ranks = 1
    for _, n in smpi.levels(network):
        ranks *= n
    return System(network, ranks, links)


# ---- the systems ----

def cluster(gpus):
    """Paper 002's, with the latency that figure_two derives, all of it on the ranks' own links."""
    names = two.NAMES[: len(two.GPUS[gpus])]
    links = {n: smpi.Level(two.LATENCY / 2 if n == "core" else 0, w) for n, w in zip(names, two.WIDTHS)}
    return system(two.topo(two.GPUS[gpus]), **links)


# Paper 003: 5 nodes of 8 GPUs, 10 GB/s inside and 6 GB/s between them. It gives no latency; 20 us are ours.
BAIDU = system("node:5 core:8", core=smpi.Level(5e-6, 10e9), node=smpi.Level(5e-6, 6e9))
BAIDU_ALONE = 0.370  # s of an iteration on one GPU
# 4 to 64 hosts of one rank each: 25 Gbit/s, and racks with a quarter of their hosts' bandwidth (with two hosts: half).
HOSTS = {4: (2, 2), 8: (2, 4), 16: (4, 4), 32: (4, 8), 64: (4, 16)}
RATE = 25e9 / 8  # B/s


def hosts(n):
    racks, each = HOSTS[n]
    return system("rack:%d node:%d" % (racks, each), node=smpi.Level(5e-6, RATE), rack=smpi.Level(5e-6, RATE * max(1, each / 4)))


ALONE = {"resnet50": 0.163, "bert-large": 0.180}  # s: 32 images (paper 002's GPU); 4,096 tokens at 46 TFLOP/s


# ---- plans, and how long buckets are ----

def unproven(plan):
    """Variables for equation 7's plan, two-level(LEVELS,scatter), which is proven on few ranks only: `make prove` has no form of it,
    and 96 simulated ranks would each prove it for long."""
    return {"TUTTI_VERIFY": "0"} if "scatter" in plan else {}


def priced(s, plan, size, build, told=()):
    """(name, slices, seconds) of a plan, or of the choice ("all"). told: more lines of a profile."""
    net = ",".join(smpi.figures(s.network, dict(smpi.TREE, **s.links)) + [x.replace(" ", "") for x in told])
    return ask(s.network, s.ranks, net, plan, max(4, int(size) // 4 * 4), build)


@functools.lru_cache(maxsize=None)
def ask(network, ranks, net, plan, size, build):
    command = [os.path.join(build, "tutti"), "plan", "price", plan, "-n", str(ranks), "--size", str(size), "--format", "json", "--levels", network, "--network", net]
    env = dict(os.environ, **unproven(plan))
    said = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True, env=env).stdout)
    offer = next(p for p in said["plans"] if p["plan"] == said["chosen"])
    return said["chosen"], said["slices"], offer["seconds"]


def chosen(s, plan, size, build, told=()):
    """(name, slices) of "choice" for vectors of that size; and of PLAN@SLICES."""
    if plan == "choice":
        return priced(s, "all", size, build, told)[:2]
    name, _, slices = plan.partition("@")
    return name, int(slices) if slices else priced(s, name, size, build, told)[1]


def bucket_bytes(s, plan, total, build):
    """As src/bucket/bucket_create.c has it."""
    name = chosen(s, plan, total, build)[0]
    best, least, k = total, None, 1
    while total // k >= 64:
        every = (k + 1) * priced(s, name, total // k, build)[2]
        if least is None or every < least:
            best, least = total // k, every
        if every > 2 * least:
            break
        k += 1 + k // 4
    return best


# ---- one step ----


def part_of(task, way):
    return task.part * (LEFT if "error" in way else 1)


def way_of(task, plan, way, build):
    """(words for training.c, the plan's name). way: one, tensors, buckets; buckets@25, of 25 MiB; buckets+calls; buckets+error=1e-2"""
    total = int(4 * part_of(task, way) * layers.floats(task.layers))
    kind, _, extra = way.partition("+")
    kind, _, mib = kind.partition("@")
    size = int(mib) * MIB if mib else bucket_bytes(task.system, plan, total, build) if kind == "buckets" else total
    name, slices = chosen(task.system, plan, size, build)
    words = ["-w", kind, "-k", 1 if kind == "tensors" else slices, "-p", 0 if extra == "calls" else "%.6f" % (task.step / LOOKS)]
    return words + (["-b", size // SCALE] if kind == "buckets" else []), name


def carry_out(task, label, way, build):
    """The columns of a row."""
    plan, total = task.plans[label], int(4 * part_of(task, way) * layers.floats(task.layers))
    if way == "buckets" and bucket_bytes(task.system, plan, total, build) >= total:  # one bucket is one sum at the end
        same = store().get(*key_of(task, label, "one"))
        if same:
            return {c: same[c] for c in ("seconds", "computed", "sums", "verdict", "ran")}
    forward, table = layers.step(task.layers, task.step, part_of(task, way) / SCALE)
    links = {name: smpi.Level(x.latency, x.bandwidth / SCALE) for name, x in dict(smpi.TREE, **task.system.links).items()}
    words, name = way_of(task, plan, way, build)
    words += ["-f", "%.9f" % forward, "-s", "{table}"]
    text, errors, why = smpi.program(task.system.network, task.system.ranks, "training", words, plan=name, links=links,
                                     build=build, limit=1800, files={"table": table}, more=unproven(plan))
    part = text.split(None, 5)
    if why or len(part) < 6:
        return {"seconds": "-", "computed": "-", "sums": "-", "verdict": why or "no result", "ran": smpi.first_line(errors)}
    verdict = part[4] if part[5].startswith(name) else "refused"
    return {"seconds": part[0], "computed": part[1], "sums": part[2], "verdict": verdict, "ran": part[5].strip()}


# ---- all of them ----

FIVE = ("one", "buckets", "buckets@25", "buckets+calls", "tensors")


def tasks():
    for gpus in two.SIMULATED_GPUS:
        plans = {name: plan + "@1" for name, plan in two.plans(two.GPUS[gpus]).items()}
        yield Task("002", cluster(gpus), "resnet50", two.ALONE / 1e3, plans, ("one", "buckets"), 1.0)
    plans = {name: plan + "@1" for name, plan in two.plans(two.GPUS[192]).items()}
    yield Task("002-fp16", cluster(192), "resnet50", two.ALONE / 4.8e3, plans, ("one", "buckets"), 0.5)
    for model in ("lstm", "bert-large"):
        plans = {"ring": "fold(ring)", "halving": "fold(halving)", "blueconnect": "blueconnect(%s)" % BAIDU.network, "choice": "choice"}
        yield Task("003", BAIDU, model, BAIDU_ALONE, plans, FIVE[:3], 1.0)
    for n in HOSTS:
        for model, step in ALONE.items():
            s = hosts(n)
            plans = {"ring": "fold(ring)", "halving": "fold(halving)", "blueconnect": "blueconnect(%s)" % s.network, "choice": "choice"}
            yield Task("hosts", s, model, step, plans, FIVE + ("buckets+error=1e-2",), 1.0)


def store():
    return Kept(TABLE, ["set", "network", "layers", "plan", "way"], ["seconds", "computed", "sums", "verdict", "ran"])


def key_of(task, plan, way):
    return task.name, task.system.network, task.layers, plan, way


MANY = 300  # ranks; simulations of at least this size run one at a time


def jobs(build):
    """(heavy, words for the bar, key, a function that returns the columns)"""
    for task in tasks():
        for label in task.plans:
            for way in task.ways if label == "choice" else task.ways[:2]:
                words = "training, %s, %d ranks, %s, %s" % (task.layers, task.system.ranks, label, way)
                yield task.system.ranks > MANY, words, key_of(task, label, way), functools.partial(carry_out, task, label, way, build)
