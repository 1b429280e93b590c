# peers.py - tutti beside Open MPI, MPICH, gloo and the floors; `make bench-peers`.
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
import shutil
import subprocess
import sys

import measure
from measure import CORES, KI, MI, SIZES, Lab, Rounds, bytes_name, geomean

PEERS = ["Open MPI", "MPICH", "gloo"]
COLOURS = {"tutti": "#1f5fa8", "tutti --alloc": "#3fa7d6", "Open MPI": "#e07b00", "MPICH": "#b03060",
           "gloo": "#777777", "two-shot floor": "#2e8b57", "exchange floor": "#2e8b57"}


def jobs(ranks, last):
    """Who runs at which sizes. MPICH spins: with more ranks than cores a call takes
    milliseconds, so three sizes tell it all. gloo's sockets are slow in large ones."""
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


def curves(rounds, kind):
    """(title, colour, [(x, y)]) of each line of a picture."""
    for n in rounds.times:
        if kind == "time":
            points = [(b, rounds.time(n, b)) for b in SIZES]
        elif n in PEERS:
            points = [(b, rounds.ratio([n], "tutti", b)) for b in SIZES]
        else:
            continue
        points = [(x, y) for x, y in points if y]
        if points:
            yield n, COLOURS[n], points


def draw(all_rounds, kind, note, path):
    columns = min(3, len(all_rounds))
    rows = -(-len(all_rounds) // columns)
    s = ["set terminal svg size %d,%d background '#ffffff' font 'sans,12'" % (480 * columns, 400 * rows + 40),
         "set output '%s'" % path, "set multiplot layout %d,%d title '%s'" % (rows, columns, note),
         "set logscale xy", "set grid lc rgb '#dddddd'", "set key left top reverse Left samplen 2", "set format x '%.0b %B'",
         "set xtics 4,64", "set xlabel 'bytes'",
         "set ylabel '%s'" % ("microseconds" if kind == "time" else "time over that of tutti")]
    for r in all_rounds:
        lines = list(curves(r, kind))
        if not lines:
            continue
        for i, (_, _, points) in enumerate(lines):
            s += ["$d%d << EOD" % i] + ["%d %g" % p for p in points] + ["EOD"]
        s.append("set title '%d ranks on %d cores'" % (r.ranks, CORES))
        plots = ["$d%d with linespoints pt 7 ps 0.5 lw 2 lc rgb '%s' title '%s'" % (i, c, n)
                 for i, (n, c, _) in enumerate(lines)]
        if kind == "ratio":
            plots.append("1 lc rgb '#000000' dt 2 title 'as fast'")
        s.append("plot " + ", ".join(plots))
    done = subprocess.run(["gnuplot"], input="\n".join(s) + "\nunset multiplot\n", text=True, timeout=60,
                          capture_output=True)
    if done.returncode:
        print("peers.py: gnuplot could not draw %s: %s" % (path, done.stderr.strip()), file=sys.stderr)


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
        result = as_json(args, all_rounds)  # what there is so far, should it be stopped
        with open(os.path.join(out, "peers.json"), "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    m = result["machine"]
    note = "allreduce of floats, %s, %s, %d cores, %s" % (result["measure"], m["processor"], m["cores"], m["date"])
    if shutil.which("gnuplot"):
        for kind in ("time", "ratio"):
            draw(all_rounds, kind, note, os.path.join(out, "peers-%s.svg" % kind))
    print("\n%s\nstored in %s: peers.json, peers-time.svg, peers-ratio.svg" % (note, out))


if __name__ == "__main__":
    main()
