# peers.py - tutti compared with Open MPI, MPICH, gloo and the floors; `make bench-peers`.
#
#   peers.py [--build DIR] [--out DIR] [--ranks 2,3,4,7,8,16] [--rounds N] [--last BYTES]
#            [--loop] [--budget S] [--repeats N] [--tries N]
#
# Float sum, in place, 4 B to 64 MiB; medians over the rounds, and ratios. Prints a
# table per number of ranks and stores peers.json, peers-time.svg and peers-ratio.svg.
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import sys

import measure
from measure import CORES, KI, MI, SIZES, Lab, Rounds, bytes_name, geomean

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402

PEERS = ["Open MPI", "MPICH", "gloo"]


def jobs(ranks, last):
    """The sizes of each program. MPICH spins: with more ranks than cores a call takes milliseconds, so three sizes
    are enough. gloo's sockets are slow at large sizes."""
    all_sizes = (4, last)
    j = {"tutti": all_sizes, "tutti --alloc": all_sizes, "Open MPI": all_sizes}
    if ranks <= CORES:
        j["MPICH"] = all_sizes
    else:
        j["MPICH"] = [(b, b) for b in (4, KI, 64 * KI) if b <= last]
    j["gloo"] = (4, last if ranks <= CORES else min(last, 4 * MI))
    j["exchange floor"] = (4, 4)
    if ranks == 2:
        j["two-shot floor"] = all_sizes
    return j


def sizes_of(rounds):
    return [b for b in SIZES if any(rounds.time(n, b) for n in rounds.times)]


def show(rounds):
    names = [n for n in rounds.times]
    peers = [n for n in PEERS if n in names]
    print("\n%d ranks, microseconds%s" % (rounds.ranks, "" if rounds.ranks <= CORES else
                                          "; more ranks than cores: MPICH spins, so three sizes; gloo to 4 MiB"))
    print("%8s" % "bytes" + "".join("%16s" % n for n in names) +
          "".join("%14s" % (n + " / t") for n in peers) + "".join("%14s" % (n + " / a") for n in peers))
    for b in sizes_of(rounds):
        row = "%8s" % bytes_name(b)
        for n in names:
            t = rounds.time(n, b)
            row += "%16s" % ("-" if t is None else "%.2f" % t)
        for mine in ("tutti", "tutti --alloc"):
            for n in peers:
                r = rounds.ratio([n], mine, b)
                row += "%14s" % ("-" if r is None else "%.2f" % r)
        print(row)
    for n in peers:
        r = [x for x in (rounds.ratio([n], "tutti", b) for b in sizes_of(rounds)) if x]
        if r:
            print("  %s / tutti: %.2f in the geometric mean, %.2f to %.2f" % (n, geomean(r), min(r), max(r)))
    for n, why in rounds.why.items():
        print("  no figures of %s: %s" % (n, why))
    marked, runs = rounds.disturbed()
    if marked:
        print("  %d of %d runs were disturbed above 2 %% each time, and kept" % (marked, runs))
    sys.stdout.flush()


def as_json(args, all_rounds):
    result = {"machine": measure.machine(), "measure": "loop" if args.loop else "cycle",
              "what": "allreduce, float sum, in place; microseconds, median over the rounds of the "
                      "median over the repeats of the slowest rank's mean; ratios are peer / tutti, "
                      "median over the rounds", "ranks": {}}
    for r in all_rounds:
        entry = {"rounds": len(next(iter(r.times.values()))), "disturbed_runs": r.disturbed()[0],
                 "runs": r.disturbed()[1], "failed": r.why, "us": {}, "ratio": {}, "ratio_alloc": {}}
        for n in r.times:
            entry["us"][n] = {b: r.time(n, b) for b in SIZES if r.time(n, b) is not None}
            if n in PEERS:
                for key, mine in (("ratio", "tutti"), ("ratio_alloc", "tutti --alloc")):
                    entry[key][n] = {b: round(r.ratio([n], mine, b), 3) for b in SIZES
                                     if r.ratio([n], mine, b)}
        result["ranks"][r.ranks] = entry
    return result


def curves(entry, kind):
    """(name, [(bytes, microseconds or ratio)]) of each line of a picture; `entry` is of as_json."""
    for name, of in entry["us" if kind == "time" else "ratio"].items():
        points = sorted((int(b), y) for b, y in of.items() if y)
        if points:
            yield name, points


def draw(result, kind, note, path):
    panels, names = [], []
    for ranks, entry in result["ranks"].items():
        lines = list(curves(entry, kind))
        if not lines:
            continue
        s = []
        for i, (name, points) in enumerate(lines):
            names += [name] if name not in names else []
            s += ["$d%s_%d << EOD" % (ranks, i)] + ["%d %g" % p for p in points] + ["EOD"]
        s += ["set title '%s ranks on %d cores'" % (ranks, result["machine"]["cores"]), "set logscale xy", "@BYTES", "set xlabel 'vector'"]
        s += ["@TIMES", "set ylabel 'time'"] if kind == "time" else [
            "set ylabel 'time over that of tutti'",
            "set yrange [%g:*]" % min([0.6] + [0.8 * y for _, points in lines for _, y in points])]
        plots = ["1 with lines lc rgb GREY lw 1.5"] if kind == "ratio" else []
        plots += ["$d%s_%d %s ps 0.5" % (ranks, i, picture.line(name)) for i, (name, _) in enumerate(lines)]
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
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--last", type=int, default=64 * MI)
    p.add_argument("--loop", action="store_true")
    p.add_argument("--budget", type=float, default=0.02)
    p.add_argument("--repeats", type=int, default=5)
    p.add_argument("--tries", type=int, default=measure.TRIES, help="of a disturbed run")
    return p.parse_args()


def main():
    args = options()
    out = args.out or os.path.join(args.build, "bench")
    os.makedirs(out, exist_ok=True)
    lab = Lab(args.build, args.budget, args.repeats, cycle=not args.loop, tries=args.tries)
    all_rounds = []
    for ranks in (int(x) for x in args.ranks.split(",")):
        all_rounds.append(Rounds(lab, ranks, jobs(ranks, args.last), args.rounds))
        show(all_rounds[-1])
        result = as_json(args, all_rounds)  # partial results, in case it is stopped
        with open(os.path.join(out, "peers.json"), "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    m = result["machine"]
    note = "allreduce of floats, %s, %s, %d cores, %s" % (result["measure"], m["processor"], m["cores"], m["date"])
    try:
        for kind in ("time", "ratio"):
            draw(result, kind, note, os.path.join(out, "peers-%s.svg" % kind))
    except picture.Failed as e:
        print("peers.py: %s" % e, file=sys.stderr)
    print("\n%s\nstored in %s: peers.json, peers-time.svg, peers-ratio.svg" % (note, out))


if __name__ == "__main__":
    main()
