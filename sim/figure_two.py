# figure_two.py - paper 002's Figures 5 and 6: BlueConnect compared with one ring and two levels, on the
# networks that the paper names.
#
# The paper gives no latency. It is derived once, from the ring on 192 GPUs, and used for all plans.
# The times of the other two plans on 192 GPUs are therefore predictions (docs/papers.md).
#
# Source     Cho, Finkler, Kung, Hunter, BlueConnect, SysML 2019, equations 6, 7, 9.
# SPDX-License-Identifier: BSD-3-Clause
from figure_model import curve, t_blueconnect, t_one_level, t_ring, t_two_level
from figure_plot import BLUECONNECT, DASHED, GREY, INK, RING, TWO_LEVEL, Panel

PCIE = 16e9  # gen3, 16 lanes: nominal; the paper gives none
NVLINK = 32e9  # "around 32GB/s per lane"
ETHERNET = 1.25e9  # 10 Gbit/s
INFINIBAND = 12.5e9  # 100 Gbit/s, a port for each node
RACK = 16 * INFINIBAND  # a rack's link, "to ideally match the total uplink bandwidth"
GRADIENT = 100e6  # Resnet-50's, bytes
ALONE = 163.0  # ms an iteration takes on one GPU
JITTER = 7.5  # ms, "5-10 msec"
STATED = {"BLC": 31.0, "GLOO": 58.0}  # ms of overhead on 192 GPUs
RING_THROUGHPUT = 1.45 * (ALONE + STATED["BLC"]) - ALONE  # ms, from "45 % higher throughput than Ring"
RING_WASTE = ALONE * 0.48 / 0.52  # ms, from "wastes 48 % of GPU computing power"
GPUS = {
    4: [4],
    8: [4, 2],
    16: [4, 4],
    32: [4, 8],
    48: [4, 12],
    64: [4, 16],
    96: [4, 12, 2],
    128: [4, 16, 2],
    192: [4, 16, 3],
}
WIDTHS = [NVLINK, INFINIBAND, RACK]
NAMES = ["core", "node", "rack"]
# What the ring's overhead on 192 GPUs leaves for 382 messages.
LATENCY = (1e-3 * (RING_THROUGHPUT - JITTER) - 2 * t_ring(192, GRADIENT, 0, INFINIBAND)) / (2 * 191)
NOTE = (
    "dotted: the paper's equations; lines: tutti plan price; points: simulated; stars: values of the paper"
)
COLOURS = {"Ring": RING, "GLOO": TWO_LEVEL, "BLC": BLUECONNECT}


def net(sizes, widths, latency):
    return ",".join(
        ["alpha=%.9g,gamma=0" % latency]
        + ["%s.beta=%.9g" % (NAMES[i], 1 / widths[i]) for i in range(len(sizes))]
    )


def topo(sizes):
    return " ".join("%s:%d" % (NAMES[i], sizes[i]) for i in reversed(range(len(sizes))))


def whole_floats(size):
    return 4 * round(size / 4)


def plans(sizes):
    """tutti's names of the three schemes."""
    leaders = 1
    for s in sizes[1:]:
        leaders *= s
    kinds = "/".join("ring" if s & (s - 1) else "halving" for s in reversed(sizes))
    blue = "blueconnect(%s,seq=%s)" % (topo(sizes), kinds) if len(sizes) > 1 else "fold(halving)"
    two = "two-level(%s,scatter%s)" % (topo(sizes), "" if leaders & (leaders - 1) else ",halving")
    return {"Ring": "fold(ring)", "GLOO": two if leaders > 1 else blue, "BLC": blue}


def equations(sizes, size, widths, latency):
    one = {
        "Ring": t_one_level,
        "GLOO": t_two_level if len(sizes) > 1 else t_blueconnect,
        "BLC": t_blueconnect,
    }
    return {n: f(sizes, size, latency, widths[: len(sizes)]) for n, f in one.items()}


SIMULATED_GPUS = (4, 8, 16, 32, 64, 96, 192)
SIMULATED_FLOATS = (50, 100, 200)  # millions


def jobs():
    """The simulated runs: (name in the table, levels, widths, ranks, plan, sizes). A message has the
    same latency for any target, so the whole latency is on the ranks' own links."""
    for name, widths in (("002 pcie", [PCIE, ETHERNET]), ("002 nvlink", [NVLINK, INFINIBAND])):
        sizes = [4000000 * x for x in SIMULATED_FLOATS]
        for plan in (plans([4, 2])["Ring"] + "@1", plans([4, 2])["BLC"] + "@1", plans([4, 2])["BLC"]):
            yield name, topo([4, 2]), widths, 8, "tutti:" + plan, sizes
    for g in SIMULATED_GPUS:
        for plan in sorted(set(plans(GPUS[g]).values())):
            yield "002 nvlink", topo(GPUS[g]), WIDTHS, g, "tutti:" + plan + "@1", [whole_floats(GRADIENT)]


def simulated(table, name, ranks, plan):
    """[(bytes, seconds)]; sums of vectors that are not real are not checked."""
    return table.by_size(name, "sync", ranks, "tutti:" + plan)


def figure_5(prices, table, few):
    panels = []
    for name, system, widths, top in (
        ("(a) 2 nodes x 4 GPUs, PCIe and 10 Gbit/s Ethernet", "002 pcie", [PCIE, ETHERNET], 1300),
        ("(b) 2 nodes x 4 GPUs, NVLink and 100 Gbit/s InfiniBand", "002 nvlink", [NVLINK, INFINIBAND], 130),
    ):
        p = Panel(
            name,
            "floats (millions)",
            "time (ms)",
            log="",
            xrange="0:205",
            yrange="0:%d" % top,
            units=False,
        )
        xs = [1, 100, 200] if few else [1] + list(range(10, 201, 10))
        where, figures = topo([4, 2]), net([4, 2], widths, LATENCY)
        titles = {"Ring": "one ring (NCCL 2)", "BLC": "BlueConnect"}
        for scheme, title in titles.items():
            p.line(
                title,
                [
                    (x, 1e3 * t)
                    for x, t in curve(
                        lambda x: prices.plan(plans([4, 2])[scheme], 8, 4e6 * x, figures, where), xs
                    )
                ],
                COLOURS[scheme],
            )
        p.line(
            "BlueConnect, overlapping",
            [
                (x, 1e3 * t)
                for x, t in curve(
                    lambda x: prices.sliced(plans([4, 2])["BLC"], 8, 4e6 * x, figures + ",ports=2", where), xs
                )
            ],
            BLUECONNECT + DASHED,
        )
        for plan, colour, shape in (
            (plans([4, 2])["Ring"] + "@1", COLOURS["Ring"], 7),
            (plans([4, 2])["BLC"] + "@1", COLOURS["BLC"], 7),
            (plans([4, 2])["BLC"], BLUECONNECT + DASHED, 6),
        ):
            points = [(s / 4e6, 1e3 * t) for s, t in simulated(table, system, 8, plan)]
            p.points("simulated" if shape == 6 else "", points, colour, shape)
        for scheme in titles:
            p.line(
                "by the equations" if scheme == "BLC" else "",
                [(x, 1e3 * equations([4, 2], 4e6 * x, widths, LATENCY)[scheme]) for x in (1, 200)],
                INK,
                1.2,
            )
        ring = 1e3 * equations([4, 2], 8e8, widths, LATENCY)["Ring"]
        p.line("paper: 1.6 times as fast", [(0, 0), (200, ring / 1.6)], GREY, 2.5)
        panels.append(p)
    return "Paper 002, Figure 5: all-reduce on two systems", NOTE, panels


def figure_6(prices, table, few):
    chosen = {g: s for g, s in GPUS.items() if not few or g in (4, 32, 192)}
    size = whole_floats(GRADIENT)
    left = Panel(
        "(a) communication overhead of Resnet-50, 100 MB, with %.1f ms of jitter" % JITTER,
        "GPUs",
        "overhead (ms)",
        log="",
        xrange="0:246",
        yrange="0:170",
        units=False,
        xtics="(4, 16, 32, 48, 64, 96, 128, 192)",
    )
    right = Panel(
        "(b) scaling that follows from it",
        "GPUs",
        "times as fast as one GPU",
        log="",
        xrange="0:246",
        yrange="0:200",
        units=False,
        xtics="(32, 64, 96, 128, 160, 192)",
    )
    right.line("ideal", [(0, 0), (192, 192)], GREY, 1.2)
    took = {}
    for g, sizes in chosen.items():
        took[g] = {
            n: prices.plan(plan, g, size, net(sizes, WIDTHS, LATENCY), topo(sizes))
            for n, plan in plans(sizes).items()
        }
    for scheme, title in (("Ring", "one ring"), ("GLOO", "two levels (GLOO)"), ("BLC", "BlueConnect")):
        for panel, what in (
            (left, lambda g, t: 1e3 * t + JITTER),
            (right, lambda g, t: g * ALONE / (ALONE + 1e3 * t + JITTER)),
        ):
            panel.line(title, [(g, what(g, took[g][scheme])) for g in chosen], COLOURS[scheme])
            panel.line(
                "by the equations" if scheme == "BLC" else "",
                [(g, what(g, equations(s, size, WIDTHS, LATENCY)[scheme])) for g, s in GPUS.items()],
                INK,
                1.2,
            )
    for scheme in COLOURS:
        ran = {g: dict(simulated(table, "002 nvlink", g, plans(GPUS[g])[scheme] + "@1")) for g in SIMULATED_GPUS}
        points = [(g, 1e3 * t[size] + JITTER) for g, t in ran.items() if size in t]
        left.points("simulated" if scheme == "BLC" else "", points, COLOURS[scheme])
    left.star("paper: 31.0", 192, STATED["BLC"])
    left.star("paper: 58.0", 192, STATED["GLOO"])
    left.star(
        "paper: %.0f, by its\\nthroughput; from\\nhere the latency" % RING_THROUGHPUT, 192, RING_THROUGHPUT
    )
    left.star("paper: %.0f, by\\nits scaling" % RING_WASTE, 192, RING_WASTE)
    for ms, text in (
        (STATED["BLC"], "%.0f"),
        (STATED["GLOO"], "%.0f"),
        (RING_THROUGHPUT, "%.0f"),
        (RING_WASTE, "%.0f (52 %%)"),
    ):
        at = 192 * ALONE / (ALONE + ms)
        right.star("paper: " + text % at, 192, at)
    return "Paper 002, Figure 6: cost of synchronization on up to 192 GPUs", NOTE, [left, right]


FIGURES = {"002-figure-5": figure_5, "002-figure-6": figure_6}
