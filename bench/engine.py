# engine.py - the generic engine, the engine that tutti chooses, and the hand-written lower bound, alternately in the same
# processes on two ranks; `make bench-engine`.
#
#   engine.py [--build DIR] [--rounds N] [--last BYTES] [--loop]
#
# SPDX-License-Identifier: BSD-3-Clause
import argparse

from measure import MI, bytes_name
from turns import STATES, Turns

PAIRS = [("generic", "tutti"), ("generic-alloc", "alloc")]
SIDES = [side for pair in PAIRS for side in pair] + ["exchange", "two-shot"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--last", type=int, default=64 * MI)
    p.add_argument("--loop", action="store_true")
    args = p.parse_args()
    points = Turns(args.build, args.rounds, cycle=not args.loop).sizes("openmpi", 2, SIDES, 4, args.last)
    for state in STATES:
        seen = {b: p for b, p in points.items() if p.time("tutti", state)}
        if not seen:
            continue
        print("\n2 ranks, %s cores, float sum in place, %s, microseconds; floor: each rank adds straight out of and"
              "\ninto the other's vector (4 B: one line each way, %.3f)" %
              (state, "loop" if args.loop else "cycle", (4 in seen and seen[4].time("exchange", state)) or 0))
        print("%8s %26s %26s %10s %19s" % ("", "malloc", "tutti_mem_alloc", "", "over the floor"))
        print("%8s %9s %9s %6s %9s %9s %6s %10s %9s %9s" % ("bytes", "generic", "tutti", "ratio", "generic",
                                                           "tutti", "ratio", "floor", "malloc", "alloc"))
        for b, point in seen.items():
            pairs = [x for g, t in PAIRS for x in (point.time(g, state), point.time(t, state), point.ratio(g, t, state))]
            over = [point.ratio(t, "two-shot", state) for _, t in PAIRS]
            print(("%8s" + 2 * " %9.2f %9.2f %6.2f" + " %10.2f %9.2f %9.2f") %
                  (bytes_name(b), *pairs, point.time("two-shot", state), *over))


if __name__ == "__main__":
    main()
