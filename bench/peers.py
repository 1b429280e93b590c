# peers.py - tutti compared with Open MPI, MPICH, gloo and lower bounds on one machine; `make bench-peers`.
#
#   peers.py [--build DIR] [--out DIR] [--ranks 2,3,4,7,8,16] [--rounds N] [--last BYTES] [--loop] [--launches N]
#
# Float sum, in place, 4 B to 64 MiB. The libraries of a process alternate in time slices of milliseconds (turns.py); ratios
# are medians over the rounds. If each rank has a core, rounds on near and on far cores are reported separately, and
# launches are repeated until both occurred, at most LAUNCHES times. Prints a table per number of ranks and stores
# peers.json, peers-time.svg and peers-ratio.svg.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import sys

import record
from measure import CORES, MI, Failed, bytes_name
from turns import STATES, TITLES, Turns, mean, mpich_sizes

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402

# The name of each side in tables and pictures.
NAMES = {"tutti": "tutti", "alloc": "tutti --alloc", "own": None, "gloo": "gloo", "exchange": "exchange floor",
         "two-shot": "two-shot floor", "stream": "streaming probe"}
PEERS = ["Open MPI", "MPICH", "gloo"]


def sides_of(ranks):
    sides = ["own", "tutti", "alloc", "exchange"] + (["two-shot", "stream"] if ranks == 2 else [])
    return sides


def rows_of(ranks, mpi, component, point):
    """A row per state: medians, and for each side its time divided by tutti's."""
    for state in STATES:
        count = len(point.rounds(state))
        us = {s: point.time(s, state) for s in point.us}
        if not us.get("own"):
            continue
        yield {"ranks": ranks, "mpi": TITLES[mpi], "component": component, "bytes": point.bytes, "state": state,
               "rounds": count, "us": {s: round(t, 4) for s, t in us.items() if t},
               "over": {mine: {s: round(r, 3) for s, r in ((s, point.ratio(s, mine, state)) for s in us) if r}
                        for mine in ("tutti", "alloc") if mine in us},
               "plan": point.plan}


class Peers:
    def __init__(self, turns, ranks, last, launches):
        self.turns, self.ranks, self.last, self.launches, self.why = turns, ranks, last, launches, {}

    def gather(self, name, launch):
        """{bytes: [component, Point]}. Repeats the launch until each size was measured on near and on far cores, at most
        LAUNCHES times."""
        found = {}
        for k in range(self.launches):
            try:
                for b, (component, point) in launch().items():
                    if b in found:
                        found[b][1].add(point)
                    else:
                        found[b] = [component, point]
            except Failed as e:
                self.why[name] = str(e)
                break
            if all(len(p.rounds(s)) >= self.turns.count // 2 for _, p in found.values() for s in STATES):
                break
        return found

    def rows(self):
        turns, sides = self.turns, sides_of(self.ranks)
        best, why = turns.best_component(self.ranks, 4, self.last)
        self.why.update({"Open MPI " + c: w for c, w in why.items()})
        for b, (component, p) in self.gather(
                "Open MPI", lambda: turns.open_mpi(self.ranks, sides, 4, self.last, best)).items():
            yield from rows_of(self.ranks, "openmpi", component, p)
        for first, last in mpich_sizes(self.ranks, self.last):
            found = self.gather("MPICH", lambda: {b: (None, p) for b, p in turns.sizes(
                "mpich", self.ranks, ["own", "tutti", "alloc"], first, last).items()})
            for _, p in found.values():
                yield from rows_of(self.ranks, "mpich", None, p)
        found = self.gather("gloo", lambda: {b: (None, p) for b, p in turns.sizes(
            "openmpi", self.ranks, ["own", "tutti", "alloc", "gloo"], 4, min(self.last, MI), rounds=5).items()})
        for _, p in found.values():
            for r in rows_of(self.ranks, "openmpi", p.plan.get("gloo"), p):
                yield dict(r, mpi="gloo")


def time_of(rows, ranks, name, size, state):
    """The time of a library in us, for a picture or table. None if it is unknown, below 0, or noise."""
    r, side = stored(rows, ranks, name, size, state)
    us = r["us"][side] if r else 0
    return us if us > 0 and not is_noise(r, side) else None


def is_noise(r, side):
    """Is the result noise? The time of a cycle without the call is subtracted. A call that leaves its result in the cache may
    save about the time that it takes, so the difference is near 0. Then the median of the ratios is not the ratio of the
    medians."""
    us, over = r["us"], r["over"].get("tutti", {}).get(side)
    if not over or us["tutti"] <= 0:
        return False
    off = over * us["tutti"] / us[side]
    return not 0.5 <= off <= 2


def stored(rows, ranks, name, size, state):
    """The row, and the name of the side in it; (None, "") if unknown."""
    for r in rows:
        if (r["ranks"], r["bytes"], r["state"]) != (ranks, size, state):
            continue
        if name in PEERS and r["mpi"] == name:
            side = "gloo" if name == "gloo" else "own"
            return (r, side) if side in r["us"] else (None, "")
        if r["mpi"] == "Open MPI":
            for side, title in NAMES.items():
                if title == name and side in r["us"]:
                    return r, side
    return None, ""


def ratio_of(rows, ranks, name, size, state, mine="tutti"):
    """The time of the peer divided by that of tutti."""
    for r in rows:
        if (r["ranks"], r["bytes"], r["state"], r["mpi"]) == (ranks, size, state, name):
            return r["over"].get(mine, {}).get("gloo" if name == "gloo" else "own")
    return None


def show(rows, ranks, why):
    for state in STATES:
        sizes = sorted({r["bytes"] for r in rows if r["ranks"] == ranks and r["state"] == state})
        if not sizes:
            continue
        columns = [n for n in ["tutti", "tutti --alloc"] + PEERS + ["exchange floor", "two-shot floor", "streaming probe"]
                   if any(time_of(rows, ranks, n, b, state) for b in sizes)]
        print("\n%d ranks, %s cores, microseconds; and the peer's time over tutti's" % (ranks, state))
        print("%8s" % "bytes" + "".join("%16s" % n for n in columns) + "".join("%14s" % (n + " / t") for n in PEERS))
        for b in sizes:
            cells = [time_of(rows, ranks, n, b, state) for n in columns]
            ratios = [ratio_of(rows, ranks, n, b, state) for n in PEERS]
            print("%8s" % bytes_name(b) + "".join("%16s" % ("-" if t is None else "%.2f" % t) for t in cells) +
                  "".join("%14s" % ("-" if r is None else "%.2f" % r) for r in ratios))
        for n in PEERS:
            r = [x for x in (ratio_of(rows, ranks, n, b, state) for b in sizes) if x]
            if r:
                print("  %s / tutti: %.2f in the geometric mean, %.2f to %.2f" % (n, mean(r), min(r), max(r)))
    for name, reason in why.items():
        print("  no figures of %s: %s" % (name, reason))
    sys.stdout.flush()


def panels_of(rows, kind):
    """(ranks, state, [(name, [(bytes, value)])]) of each panel of a picture."""
    shown = ["tutti", "tutti --alloc"] + PEERS + ["exchange floor", "two-shot floor"] if kind == "time" else PEERS
    value = time_of if kind == "time" else ratio_of
    for ranks in sorted({r["ranks"] for r in rows}):
        for state in STATES:
            sizes = sorted({r["bytes"] for r in rows if r["ranks"] == ranks and r["state"] == state})
            curves = [(n, [(b, v) for b, v in ((b, value(rows, ranks, n, b, state)) for b in sizes) if v]) for n in shown]
            curves = [(n, points) for n, points in curves if points]
            if curves:
                yield ranks, state, curves


def draw(stored, kind, note, path):
    panels, names = [], []
    for ranks, state, curves in panels_of(stored["rows"], kind):
        s = []
        for i, (name, points) in enumerate(curves):
            names += [name] if name not in names else []
            s += ["$d%d%s_%d << EOD" % (ranks, state, i)] + ["%d %g" % p for p in points] + ["EOD"]
        s += ["set title '%d ranks, %s cores'" % (ranks, state), "set logscale xy", "@BYTES", "set xlabel 'vector'"]
        s += ["@TIMES", "set ylabel 'time'"] if kind == "time" else [
            "set ylabel 'time over that of tutti'",
            "set yrange [%g:*]" % min([0.6] + [0.8 * y for _, points in curves for _, y in points])]
        plots = ["1 with lines lc rgb GREY lw 1.5 notitle"] if kind == "ratio" else []
        plots += ["$d%d%s_%d %s ps 0.5 title %s" % (ranks, state, i, picture.line(name), picture.quoted(name))
                  for i, (name, _) in enumerate(curves)]
        panels.append(s + ["plot " + ", ".join(plots)])
    entries = [("linespoints " + picture.line(n), n) for n in names]
    entries += [("lines lc rgb GREY lw 1.5", "as fast as tutti")] if kind == "ratio" else []
    if panels:
        picture.page(path, note, panels, min(2, len(panels)), entries=entries)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--ranks", default="2,3,4,7,8,16")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--launches", type=int, default=3)
    p.add_argument("--last", type=int, default=64 * MI)
    p.add_argument("--loop", action="store_true")
    p.add_argument("--budget", type=float, default=0.004, help="seconds of a turn")
    return p.parse_args()


def main():
    args = options()
    out = args.out or os.path.join(args.build, "bench")
    os.makedirs(out, exist_ok=True)
    turns = Turns(args.build, args.rounds, args.budget, not args.loop, say=lambda text: print("# " + text, flush=True))
    about = record.about("allreduce, float sum, in place, %s; us: medians over the rounds, of the slowest rank; "
                         "over: how many times as long as that side of tutti each takes, round by round"
                         % ("loop" if args.loop else "cycle"))
    rows, path = [], os.path.join(out, "peers.json")
    for ranks in (int(x) for x in args.ranks.split(",")):
        peers = Peers(turns, ranks, args.last if ranks <= CORES else min(args.last, 16 * MI), args.launches if ranks <= CORES else 1)
        rows += peers.rows()
        about.setdefault("failed", {}).update({"%d ranks, %s" % (ranks, n): w for n, w in peers.why.items()})
        show(rows, ranks, peers.why)
        record.store(path, about, rows)  # after each number of ranks, in case the script is interrupted
    note = "allreduce of floats, %s, %d cores, %s" % (about["processor"], about["cores"], about["date"])
    try:
        for kind in ("time", "ratio"):
            draw({"rows": rows}, kind, note, os.path.join(out, "peers-%s.svg" % kind))
    except picture.Failed as e:
        print("peers.py: %s" % e, file=sys.stderr)
    print("\n%s\nstored in %s: peers.json, peers-time.svg, peers-ratio.svg" % (note, out))
    return 1 if about["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
