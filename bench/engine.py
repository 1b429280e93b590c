# engine.py - the generic engine, the engine that runs, and the hand-written floor, side
# by side at two ranks; `make bench-engine`.
#
#   engine.py [--build DIR] [--rounds N] [--last BYTES] [--loop] [--tries N]
#
# SPDX-License-Identifier: BSD-3-Clause
import argparse

from measure import MI, SIZES, TRIES, Lab, Rounds, bytes_name

NAMES = ["generic", "tutti", "generic --alloc", "tutti --alloc", "two-shot floor"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--last", type=int, default=64 * MI)
    p.add_argument("--loop", action="store_true")
    p.add_argument("--tries", type=int, default=TRIES, help="of a disturbed run")
    args = p.parse_args()
    lab = Lab(args.build, cycle=not args.loop, tries=args.tries)
    jobs = {n: (4, args.last) for n in NAMES}
    jobs["exchange floor"] = (4, 4)
    r = Rounds(lab, 2, jobs, args.rounds)
    print("\n2 ranks, float sum in place, %s, microseconds; floor: two threads add straight out of and"
          "\ninto each other's vectors (4 B: one line each way, %.3f)" %
          ("loop" if args.loop else "cycle", r.time("exchange floor", 4) or 0))
    print("%8s %26s %26s %10s %19s" % ("", "malloc", "tutti_mem_alloc", "", "over the floor"))
    print("%8s %9s %9s %6s %9s %9s %6s %10s %9s %9s" % ("bytes", "generic", "lowered", "ratio", "generic",
                                                       "lowered", "ratio", "floor", "malloc", "alloc"))
    for b in [b for b in SIZES if b <= args.last]:
        t = [r.time(n, b) for n in NAMES]
        over = [r.ratio([n], "two-shot floor", b) for n in ("tutti", "tutti --alloc")]
        ratio = [r.ratio([g], n, b) for g, n in (("generic", "tutti"), ("generic --alloc", "tutti --alloc"))]
        if None in t:
            continue
        print("%8s %9.2f %9.2f %6.2f %9.2f %9.2f %6.2f %10.2f %9.2f %9.2f" %
              (bytes_name(b), t[0], t[1], ratio[0], t[2], t[3], ratio[1], t[4], over[0], over[1]))
    for n, why in r.why.items():
        print("no figures of %s: %s" % (n, why))


if __name__ == "__main__":
    main()
