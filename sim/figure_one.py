# figure_one.py - paper 001's Figure 1 and Figures 7 to 12: the price of the plans as lines, SimGrid's
# times as points, measurements in this machine's memory in a separate panel.
#
# Source     Kolmakov and Zhang, A Generalization of the Allreduce Operation.
# SPDX-License-Identifier: BSD-3-Clause
from figure_model import (
    curve,
    log2_up,
    proposed_plan,
    sizes,
    steps_removed,
    tau_best,
    tau_fewest_steps,
    tau_optimal_bytes,
    tau_proposed,
)
from figure_plot import DASHED, DOUBLING, HALVING, INK, PROPOSED, RABENSEIFNER, RING, TUTTI, Panel
from figure_source import FEW, HERE, KI, MI, MIDDLE, OPEN_MPI_RING, P, RANKS, SMALL, measured, simulated

NOTE = "lines: tutti plan price with the paper's Table 2; points: SimGrid SMPI; text: statements of the paper"
BYTES = "vector"
RATIO_RANKS = [(9, 2), (23, 3), (37, 1), (127, 8), (255, 5)]


def us(points):
    return [(x, 1e6 * t) for x, t in points]


# ---- Figure 1 ----


def figure_1(prices, table, few):
    xs = sizes(64, 64 * MI, 1 if few else 4)
    left = Panel(
        "best of ring, recursive halving and doubling, over the proposed",
        BYTES,
        "times as fast",
        log="x",
        xrange="64:67108864",
        yrange="0.9:2.15",
    )
    for ranks, colour in RATIO_RANKS[1:4:2] if few else RATIO_RANKS:
        points = curve(lambda m: prices.best(ranks, m) / prices.proposed(ranks, m), xs)
        left.line("%d ranks" % ranks, points, colour)
        left.line(
            "equations" if ranks == P else "",
            [(m, tau_best(ranks, m) / tau_proposed(ranks, m)) for m in sizes(64, 64 * MI, 8)],
            INK,
            1.2,
        )
    sim = simulated(table)
    mine = dict(sim.proposed(P))
    left.points("%d, simulated" % P, [(x, t / mine[x]) for x, t in sim.best(P) if x in mine], 8)
    left.label(
        "paper: the gain is biggest in between,\\nnegligible for very large vectors; two\\n"
        "kinks a curve: doubling to halving,\\nand halving to ring",
        "graph 0.02",
        "graph 0.95",
    )
    right = Panel(
        HERE.replace("%d", "5 to 7"), BYTES, "times as fast", log="x", xrange="64:16777216", yrange="0.4:2.15"
    )
    here = measured(table)
    for ranks, colour in ((5, 2), (6, 3), (7, 1)):
        mine = dict(here.proposed(ranks))
        right.joined("%d ranks" % ranks, [(x, t / mine[x]) for x, t in here.best(ranks) if x in mine], colour)
    if right.data:
        right.line("as fast", [(64, 1), (16777216, 1)], INK, 1.2)
    return "Paper 001, Figure 1: gain of the proposed algorithm", NOTE, [left, right]


# ---- Figures 7, 8 and 9: against the size ----


def against_size(prices, table, title, xs, unit, few, y="time", **more):
    """Both panels; `unit` converts [(bytes, seconds)] to the drawn values."""
    span = "%d:%d" % (xs[0], xs[-1])
    left = Panel("%d ranks on the paper's cluster" % P, BYTES, y, xrange=span, **more)
    low, high = [x for x in xs if x < OPEN_MPI_RING], [x for x in xs if x >= OPEN_MPI_RING]
    if low:
        low, high = low + [OPEN_MPI_RING - 4], [OPEN_MPI_RING] + high
    left.line("doubling (Open MPI < 10 KB)", unit(curve(lambda m: prices.plan("doubling", P, m), low)), DOUBLING)
    left.line("ring (Open MPI, 10 KB and more)", unit(curve(lambda m: prices.plan("fold(ring)", P, m), high)), RING)
    left.line("recursive halving", unit(curve(lambda m: prices.plan("rabenseifner", P, m), xs)), RABENSEIFNER)
    left.line(
        "proposed, steps by equation 37",
        unit(curve(lambda m: prices.plan(proposed_plan(P, steps_removed(P, m)), P, m), xs)),
        PROPOSED,
    )
    left.line("proposed, best number of steps", unit(curve(lambda m: prices.proposed(P, m), xs)), PROPOSED + DASHED)
    if not few:
        left.line(
            "tutti's choice for floats", unit(curve(lambda m: prices.choice(P, m)[0], xs)), TUTTI + DASHED
        )
    right = Panel(HERE % FEW, BYTES, y, xrange=span, **more)
    for panel, source, ranks, add in (
        (left, simulated(table), P, left.points),
        (right, measured(table), FEW, right.joined),
    ):

        def inside(points):
            return unit([p for p in points if xs[0] <= p[0] <= xs[-1]])

        whole = inside(source.open_mpi(ranks))
        names = ["doubling, below 10 KB", "ring, 10 KB and more", "recursive halving", "proposed, best number of steps", "tutti's choice"]
        if panel is left:
            names = [""] * 5
        add(names[0], [p for p in whole if p[0] < OPEN_MPI_RING], DOUBLING)
        add(names[1], [p for p in whole if p[0] >= OPEN_MPI_RING], RING)
        add(names[2], inside(source.size(ranks, "halving")), RABENSEIFNER)
        add(names[3], inside(source.proposed(ranks, steps_removed if panel is left else None)), PROPOSED)
        add(names[4], inside(source.size(ranks, "tutti")), TUTTI)
    return title, NOTE, [left, right]


def figure_7(prices, table, few):
    title, note, panels = against_size(
        prices,
        table,
        "Paper 001, Figure 7: small vectors",
        sizes(64, 32 * KI, 1 if few else 4),
        us,
        few,
        yrange="150:12000",
    )
    panels[0].upright(OPEN_MPI_RING)
    panels[0].label("paper: Open MPI slows down at\\n10 KB, where it uses a ring", 9e3, 4600, "right")
    panels[1].yrange = ""
    panels[1].upright(OPEN_MPI_RING)
    return title, note, panels


def figure_9(prices, table, few):
    title, note, panels = against_size(
        prices,
        table,
        "Paper 001, Figure 9: medium vectors",
        sizes(16 * KI, 1 * MI, 1 if few else 4),
        us,
        few,
    )
    gap = 1e3 * (prices.plan("rabenseifner", P, MI) - prices.plan("fold(halving)", P, MI))
    panels[0].label(
        "paper: the gap to recursive halving grows\\nwith the size (at 1 MiB it is %.1f ms)" % gap,
        "graph 0.97",
        "graph 0.10",
        "right",
    )
    panels[1].yrange = ""
    return title, note, panels


def figure_8(prices, table, few):
    def per_mib(points):
        return [(x, 1e3 * t * MI / x) for x, t in points]

    title, note, panels = against_size(
        prices,
        table,
        "Paper 001, Figure 8: big vectors, time per MiB",
        sizes(1 * MI, 64 * MI, 1 if few else 4),
        per_mib,
        few,
        y="ms per MiB",
        log="x",
        yrange="15:45",
    )
    panels[0].label(
        "paper: the ring wins in the end, by its caches,\\nwhich neither model nor simulation has",
        "graph 0.97",
        "graph 0.10",
        "right",
    )
    panels[1].yrange = "0:*"
    panels[1].xrange = "1048576:16777216"
    return title, note, panels


# ---- Figure 10 ----


def crossing():
    """The size, in bytes, where the version with the fewest bytes (25) becomes as fast as the version with the fewest steps (44)."""
    low, high = 64.0, 1e6
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (
            (middle, high) if tau_optimal_bytes(P, middle) > tau_fewest_steps(P, middle) else (low, middle)
        )
    return low


def figure_10(prices, table, few):
    xs = sizes(256, 64 * KI, 1 if few else 6)
    left = Panel(
        "%d ranks on the paper's cluster" % P, BYTES, "time", xrange="256:65536", yrange="130:9000"
    )
    left.line("fewest bytes, 14 steps", us(curve(lambda m: prices.plan("fold(halving)", P, m), xs)), HALVING)
    left.line("fewest steps, 7", us(curve(lambda m: prices.plan("generalized(latency)", P, m), xs)), PROPOSED + DASHED)
    left.line("best number of steps", us(curve(lambda m: prices.proposed(P, m), xs)), PROPOSED, 3)
    m = crossing()
    gain = tau_optimal_bytes(P, m) / tau_proposed(P, m)
    left.star(
        "paper: at the crossing (%.0f B) the steps\\nin between gain most: %.2f times as fast" % (m, gain),
        m,
        1e6 * tau_optimal_bytes(P, m),
        "right",
        "-1,3",
    )
    for removed in range(log2_up(P) + 1):
        span = [x for x in sizes(256, 64 * KI, 16) if steps_removed(P, x) == removed]
        if span:
            left.label(
                "%d" % (2 * log2_up(P) - removed),
                min((span[0] * span[-1]) ** 0.5, 56 * KI),
                "graph 0.04",
                "center",
                colour="lt %d" % PROPOSED,
            )
    left.label("best number of steps, by equation 37:", "graph 0.03", "graph 0.085", colour="lt %d" % PROPOSED)
    right = Panel(HERE % FEW, BYTES, "time", xrange="256:65536")
    for source, ranks, add, names in (
        (simulated(table), P, left.points, [""] * 3),
        (
            measured(table),
            FEW,
            right.joined,
            ["fewest bytes, 6 steps", "fewest steps, 3", "best number of steps"],
        ),
    ):

        def inside(points):
            return us([p for p in points if 256 <= p[0] <= 64 * KI])

        add(names[0], inside(source.size(ranks, "tutti:fold(halving)")), HALVING)
        add(names[1], inside(source.size(ranks, "tutti:generalized(latency)", "int32")), PROPOSED + DASHED, 6)
        add(names[2], inside(source.proposed(ranks)), PROPOSED, size=0.45)
    return "Paper 001, Figure 10: versions of the proposed algorithm", NOTE, [left, right]


# ---- Figures 11 and 12: against the number of ranks ----


def against_ranks(prices, table, title, size, few, top):
    ranks = RANKS[::3] if few else list(range(2, 134))
    left = Panel(
        "%d bytes, the paper's cluster" % size,
        "ranks",
        "time (us)",
        log="",
        xrange="0:134",
        yrange="0:%d" % top,
        units=False,
        xtics="(2, 8, 16, 32, 64, 96, 127)",
    )
    left.line(
        "recursive doubling (Open MPI)", us(curve(lambda p: prices.plan("doubling", p, size), ranks)), DOUBLING
    )
    left.line("recursive halving", us(curve(lambda p: prices.plan("rabenseifner", p, size), ranks)), RABENSEIFNER)
    left.line(
        "proposed, fewest steps",
        us(curve(lambda p: prices.plan(proposed_plan(p, log2_up(p)), p, size), ranks)),
        PROPOSED + DASHED,
    )
    if size != SMALL:
        left.line(
            "proposed, steps by equation 37",
            us(curve(lambda p: prices.plan(proposed_plan(p, steps_removed(p, size)), p, size), ranks)),
            PROPOSED,
        )
    if not few:
        left.line(
            "tutti's choice for floats", us(curve(lambda p: prices.choice(p, size)[0], ranks)), TUTTI + DASHED
        )
    right = Panel(
        HERE.replace("%d", "2 to 8"),
        "ranks",
        "time (us)",
        log="",
        xrange="1.5:8.5",
        yrange="0:*",
        units=False,
        xtics="1",
    )
    named = ["recursive doubling", "recursive halving", "proposed, fewest steps", "tutti's choice"]
    sim = simulated(table)
    for source, add, names in ((sim, left.points, [""] * 4), (measured(table), right.joined, named)):
        add(names[0], us(source.ranks("doubling", size)), DOUBLING)
        add(names[1], us(source.ranks("halving", size)), RABENSEIFNER)
        add(names[2], us(source.ranks("tutti:generalized(latency)", size, "int32")), PROPOSED + DASHED, 6)
        add(names[3], us(source.ranks("tutti", size)), TUTTI)
    if size != SMALL:
        left.points("", us([(p, sim.estimated(p, size)) for p in RANKS if sim.estimated(p, size)]), PROPOSED)
    for p in (4, 8, 16, 32, 64, 128):
        left.upright(p)
    return title, NOTE, [left, right]


def figure_11(prices, table, few):
    title, note, panels = against_ranks(
        prices, table, "Paper 001, Figure 11: 425 bytes against the ranks", SMALL, few, 700
    )
    panels[0].label(
        "paper: the proposed steps up at each power of two,\\nand wins far above it; doubling grows smoothly",
        133,
        80,
        "right",
    )
    return title, note, panels


def figure_12(prices, table, few):
    title, note, panels = against_ranks(
        prices, table, "Paper 001, Figure 12: 9 KB against the ranks", MIDDLE, few, 1200
    )
    panels[0].label("paper: with many ranks it wins at powers of two, too", 133, 80, "right")
    return title, note, panels


FIGURES = {
    "001-figure-1": figure_1,
    "001-figure-7": figure_7,
    "001-figure-8": figure_8,
    "001-figure-9": figure_9,
    "001-figure-10": figure_10,
    "001-figure-11": figure_11,
    "001-figure-12": figure_12,
}
