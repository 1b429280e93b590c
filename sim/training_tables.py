# training_tables.py - what the steps of training.py say: tables of docs/sim/tables.md, and docs/bench/papers-training.json and
# training-hosts.json, of which tools/doc_tables.py makes the tables of docs/bench/papers.md.
# SPDX-License-Identifier: BSD-3-Clause
import os

import figure_two as two
import layers
import training
from results import record

STORED = "docs/bench"
SCHEMES = ("Ring", "GLOO", "BLC")
FORMS = {"Ring": "one ring", "GLOO": "two levels", "BLC": "BlueConnect"}
MODELS = {"resnet50": "ResNet-50", "bert-large": "BERT-large", "lstm": "a language model of LSTM layers"}


class Steps:
    """The stored steps, in ms."""

    def __init__(self, kept):
        self.kept = kept

    def ms(self, *key):
        seconds = self.kept.number("seconds", *key)
        return None if seconds is None else 1e3 * seconds

    def over(self, *key):
        """What the sums add to the computation."""
        row, seconds = self.kept.get(*key), self.ms(*key)
        return None if seconds is None else seconds - 1e3 * float(row["computed"])

    def of_gpus(self, gpus, scheme, way, name="002"):
        return self.over(name, two.topo(two.GPUS[gpus]), "resnet50", scheme, way)


def cell(x, form="%.1f"):
    return "" if x is None else form % x


def grid(head, rows):
    line = "| " + " | ".join(head) + " |"
    return [line, "| --- |" + " ---: |" * (len(head) - 1)] + ["| " + " | ".join(r) + " |" for r in rows] + [""]


# ---- docs/sim/tables.md ----

def overhead_table(steps):
    out = ["Paper 002's cluster, ResNet-50 of 100 MB, a step of %.0f ms on one GPU: what the sums add to a step, in ms. At the end:" % two.ALONE,
           "one allreduce of all gradients. Buckets: tutti's, while layers are computed.", ""]  # fmt: skip
    head = ["GPUs"] + ["%s, %s" % (FORMS[s], w) for w in ("at the end", "buckets") for s in SCHEMES]
    rows = [[str(g)] + [cell(steps.of_gpus(g, s, w)) for w in ("one", "buckets") for s in SCHEMES] for g in two.SIMULATED_GPUS]
    rows.append(["192, fp16"] + [cell(steps.of_gpus(192, s, w, "002-fp16")) for w in ("one", "buckets") for s in SCHEMES])
    return out + grid(head, rows)


def iteration_table(steps):
    s, plans = training.BAIDU, ("ring", "halving", "blueconnect", "choice")
    out = ["Paper 003's 5 nodes of 8 GPUs, %.0f ms on one GPU: a step in ms." % (1e3 * training.BAIDU_ALONE), ""]
    rows = [["%s, %s" % (MODELS[m], p)] + [cell(steps.ms("003", s.network, m, p, w), "%.0f") for w in training.FIVE[:3]]
            for m in ("lstm", "bert-large") for p in plans]
    return out + grid(["network, plan", "at the end", "buckets", "buckets of 25 MiB"], rows)


WAYS = (("at the end", "one"), ("buckets", "buckets"), ("25 MiB", "buckets@25"), ("without looks", "buckets+calls"), ("a call each", "tensors"),
        ("error=1e-2", "buckets+error=1e-2"))  # fmt: skip


def hosts_rows(steps, model):
    for n in training.HOSTS:
        s = training.hosts(n)
        for plan in ("ring", "halving", "blueconnect", "choice"):
            yield n, plan, [steps.ms("hosts", s.network, model, plan, way) for _, way in WAYS]


def hosts_table(steps, model):
    out = ["%s (%.0f MB), hosts at 25 Gbit/s in racks, %.0f ms without sums: a step in ms." % (
        MODELS[model], 4e-6 * layers.floats(model), 1e3 * training.ALONE[model]), ""]  # fmt: skip
    rows = [["%d, %s" % (n, plan)] + [cell(x, "%.0f") for x in each] for n, plan, each in hosts_rows(steps, model)]
    return out + grid(["hosts, plan"] + [title for title, _ in WAYS], rows)


def lines(kept):
    steps = Steps(kept)
    out = ["Times of `make sim ONLY=training`; sim/training.py says what is simulated.", ""]
    out += overhead_table(steps) + iteration_table(steps)
    for model in training.ALONE:
        out += hosts_table(steps, model)
    return out


# ---- docs/bench/papers.md ----

COMMAND = "`make sim ONLY=training`"


def row(section, stated, here, numbers=None, holds=None, inputs=False):
    out = {"section": section, "stated": stated, "here": here, "command": COMMAND}
    if numbers:
        out["numbers"] = numbers
    elif not inputs:
        out["holds"] = bool(holds)
    return out


def statements_002(steps):
    end = {s: steps.of_gpus(192, s, "one") for s in SCHEMES}
    early = {s: steps.of_gpus(192, s, "buckets") for s in SCHEMES}
    half = {s: steps.of_gpus(192, s, "one", "002-fp16") for s in SCHEMES}
    if None in end.values():
        return
    total, section = {s: x + two.JITTER for s, x in end.items()}, "002-training"

    def gain(over, alone, a):
        """How many times as many steps BlueConnect makes."""
        return (alone + over[a]) / (alone + over["BLC"])

    for s, ms in (("BLC", two.STATED["BLC"]), ("GLOO", two.STATED["GLOO"])):
        yield row(section, "6 (a): a step on 192 GPUs takes %.1f ms more by %s" % (ms, FORMS[s]),
                  "%.1f ms at the end of a step, and %.1f of jitter" % (end[s], two.JITTER), [[ms, total[s]]])
    four = [steps.of_gpus(4, s, "one") for s in ("GLOO", "BLC")]
    if None not in four:
        yield row(section, "6 (a): on 4 GPUs two levels and BlueConnect take the same time", "%.1f and %.1f ms" % tuple(four), [[1, four[0] / four[1]]])
    grows = {s: [steps.of_gpus(g, s, "one") for g in two.SIMULATED_GPUS if g > 4] for s in SCHEMES}
    if not any(None in x for x in grows.values()):
        best = all(b <= min(r, g) + 0.05 for r, g, b in zip(grows["Ring"], grows["GLOO"], grows["BLC"]))
        yield row(section, "6 (a): with more GPUs BlueConnect adds least", "from 8 to 192 GPUs %.0f to %.0f ms; two levels %.0f to %.0f, the ring %.0f to %.0f" % (
            grows["BLC"][0], grows["BLC"][-1], grows["GLOO"][0], grows["GLOO"][-1], grows["Ring"][0], grows["Ring"][-1]), holds=best)
    waste = 1 - two.ALONE / (two.ALONE + total["Ring"])
    yield row(section, "6 (b): the ring wastes 48 % of 192 GPUs", "%.0f %%, with the latency that its throughput gives (above)" % (100 * waste), [[0.48, waste]])
    yield row(section, "6 (c): BlueConnect makes 11 % more images a second than two levels", "%.0f %% more; %.0f %% follow from the paper's own 58.0 and 31.0 ms" % (
        100 * gain(total, two.ALONE, "GLOO") - 100, 100 * (two.ALONE + 58) / (two.ALONE + 31) - 100), [[1.11, gain(total, two.ALONE, "GLOO")]])
    yield row(section, "6 (c): and 45 % more than the ring", "%.0f %%: an input, because the latency comes from it" % (100 * gain(total, two.ALONE, "Ring") - 100), inputs=True)
    fast, halved = two.ALONE / 4.8, {s: x / 2 for s, x in total.items()}
    yield row(section, "6 (d): a GPU 4.8 times as fast, half of the overhead: 22 % more than two levels",
              "%.0f %% with half of the overhead" % (100 * gain(halved, fast, "GLOO") - 100), [[1.22, gain(halved, fast, "GLOO")]])
    if None not in half.values():
        yield from with_16_bits(section, end, half, gain)
    if None not in early.values():
        yield row(section, "(nothing on overlap)", "with buckets, while layers are computed, the sums add %.1f ms (BlueConnect), %.1f (two levels) and %.1f (ring)" % (
            early["BLC"], early["GLOO"], early["Ring"]), inputs=True)


def with_16_bits(section, end, half, gain):
    fast, real = two.ALONE / 4.8, {s: x + two.JITTER / 2 for s, x in half.items()}
    yield row(section, "6 (d): the overhead halves with 16 bits", "BlueConnect's goes from %.1f to %.1f ms, that of two levels from %.1f to %.1f: bytes halve, latencies do not" % (
        end["BLC"], half["BLC"], end["GLOO"], half["GLOO"]), [[0.5, half["BLC"] / end["BLC"]], [0.5, half["GLOO"] / end["GLOO"]]])
    yield row(section, "(nothing on that)", "so it would be %.0f %% more than two levels, and %.0f %% more than the ring" % (
        100 * gain(real, fast, "GLOO") - 100, 100 * gain(real, fast, "Ring") - 100), inputs=True)


def statements_003(steps):
    def ms(model, way, plan="ring"):
        return steps.ms("003", training.BAIDU.network, model, plan, way)

    section, alone = "003-training", 1e3 * training.BAIDU_ALONE
    one, early = ms("lstm", "one"), ms("lstm", "buckets")
    if None in (one, early):
        return
    yield row(section, "the sums take about 400 ms", "%.0f ms at the end of a step, a ring of 1.2 GB" % (one - alone), [[400, one - alone]])
    yield row(section, "an iteration on 40 GPUs takes 650 to 700 ms", "%.0f ms, a ring in buckets, for our LSTM layers" % early, [[675, early]])
    yield row(section, "overlap hides 70 to 120 ms", "%.0f ms: only the output's gradient, 31 %% of the bytes, is ready before the end" % (
        one - early), [[95, one - early]])
    last, other = ms("bert-large", "one"), ms("bert-large", "buckets")
    if last and other:
        yield row(section, "(depends on the network)", "BERT-large in its place (1.34 GB): %.0f ms at the end, %.0f in buckets, because its layers finish one by one" % (
            last, other), inputs=True)
    best = ms("lstm", "buckets", "choice")
    if best:
        yield row(section, "(other plans)", "tutti's choice: %.0f ms" % best, inputs=True)


def about(what):
    return record.about(what, "make sim ONLY=training")


def write(kept):
    """Stores the data of docs/bench/papers.md, as soon as all simulations have finished."""
    steps = Steps(kept)
    rows = [*statements_002(steps), *statements_003(steps)]
    if rows:
        record.store(os.path.join(STORED, "papers-training.json"),
                     dict(about("steps of training that the papers state, and those of the simulation; as papers.json"), heads={}), rows)
    table = [dict({"hosts": str(n), "network": MODELS[m], "plan": plan}, **{t: None if x is None else round(x, 1) for (t, _), x in zip(WAYS, each)})
             for m in training.ALONE for n, plan, each in hosts_rows(steps, m) if each[0] is not None]
    if table:
        record.store(os.path.join(STORED, "training-hosts.json"),
                     about("a simulated step of training in ms: hosts at 25 Gbit/s, and racks with a quarter of their hosts' bandwidth"), table)
