# prove_fuzz.py - compares the prover with a second checker (judge.py), on many small schedules.
#
#   /usr/bin/python3 models/prove_fuzz.py [--time 60 | --count N] [--seed N] [--build build]
#
# The schedules are tutti's own plans, which are right; those of models/refused, each with a different error;
# changed versions of both; and new schedules.
# Idea       a schedule that the prover accepts must be right with every kind of wire; otherwise the
#            prover has a hole. If it refuses a right schedule, the reason must be one of those in
#            src/prove/SEMANTICS.md, "Where the prover is stricter than it must be". One schedule
#            in --search is also judged by a walk through all of its runs (search.py).
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import collections
import glob
import os
import random
import re
import subprocess
import sys
import time

from judge import WIRES, judge, tell
from made_schedules import plans, small, texts
from schedule_text import Unreadable, read
from search import agrees

BATCH, BUDGET = 200, 3000


def stricter_rules(page="src/prove/SEMANTICS.md"):
    """What the prover says where it is stricter: the first column of the section's table."""
    section = open(page).read().split("## Where the prover is stricter than it must be", 1)[1].split("\n## ")[0]
    rules = re.findall(r"^\| `([^`]+)` \|", section, re.M)
    said = "".join(open(f).read() for f in glob.glob(os.path.join(os.path.dirname(page), "*.c")))
    for rule in rules:
        if rule not in said:
            sys.exit(f"prove_fuzz: {page} has the rule '{rule}', and no message of the prover says so")
    return rules


def ask(build, batch):
    """The prover's verdict on each text."""
    done = subprocess.run([build + "/fuzz/verdicts"], input="".join(t + ".\n" for t in batch), capture_output=True,
                          text=True, timeout=600)
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(batch):
        sys.exit("prove_fuzz: %s/fuzz/verdicts ended with %d after %d of %d verdicts: %s" % (
            build, done.returncode, len(lines), len(batch), done.stderr))
    return lines


class Tally:
    def __init__(self, rules):
        self.rules, self.n, self.failures = rules, 0, []
        self.wires = {w: collections.Counter() for w in WIRES}
        self.pairs, self.stricter, self.walks = collections.Counter(), collections.Counter(), collections.Counter()

    def fail(self, what, text, says, verdicts):
        self.failures.append(what)
        print("\n%s\n%s  the prover: %s" % (what, text, says))
        for wires, verdict in (verdicts or {}).items():
            print("  %s: %s" % (wires, "\n  ".join(tell(verdict))))

    def take(self, text, says, walk):
        """One schedule: judge it, and compare."""
        self.n += 1
        accepted = says == "proven"
        if says.startswith("failed"):
            return self.fail("the prover could not say", text, says, None)
        try:
            s = read(text)
        except Unreadable as e:
            return self.fail("the judge cannot read what was written: %s" % e, text, says, None)
        if says.startswith("unreadable"):
            self.pairs["no schedule"] += 1
            return None
        verdicts = judge(s)
        bad = sorted({v[0] for v in verdicts.values()} - {"right"})
        for w in WIRES:
            self.wires[w][verdicts.get(w, verdicts.get("all"))[0]] += 1
        if walk and "all" not in verdicts:
            self.compare_walks(s, text, says, verdicts)
        if accepted and bad:
            return self.fail("HOLE: the prover accepts a schedule that is %s" % " and ".join(bad), text, says, verdicts)
        self.pairs["both accept" if accepted else "both refuse" if bad else "stricter"] += 1
        if not accepted and not bad:
            self.classify(text, says, verdicts)
        return None

    def classify(self, text, says, verdicts):
        for rule in self.rules:
            if rule in says:
                self.stricter[rule] += 1
                return
        self.fail("STRICTER: for a reason that SEMANTICS.md does not have", text, says, verdicts)

    def compare_walks(self, s, text, says, verdicts):
        for w, verdict in verdicts.items():
            same = agrees(s, w, verdict, BUDGET)
            self.walks["too large" if same is None else "the same"] += 1
            if same is False:
                self.fail("JUDGE: a walk through all runs with %s wires differs" % w, text, says, verdicts)

    def show(self, seed, seconds):
        print("seed %d: %d schedules in %.1f s, %.0f a second" % (seed, self.n, seconds, self.n / seconds))
        for title, counts in [("prover and judge", self.pairs), *self.wires.items(), ("walks", self.walks),
                              ("stricter", self.stricter)]:
            if counts:
                print("  %-17s %s" % (title + ":", ", ".join("%s %d" % c for c in counts.most_common())))


def own_plans(build, tally):
    """tutti's own plans are right; returns their texts."""
    all_ = plans(build + "/tutti")
    for (name, text), says in zip(all_, ask(build, [text for _, text in all_])):
        failures = len(tally.failures)
        tally.take(text, says, False)
        if says != "proven" and len(tally.failures) == failures:
            tally.fail("%s is refused" % name, text, says, None)
    if not all_:
        tally.fail("tutti has no plans", "", "", None)
    return all_


def wrong_ones(build, tally, folder="models/refused"):
    """Schedules that the prover must refuse: the judge finds them wrong with some kind of wire. Returns their texts."""
    all_ = [(name, open(os.path.join(folder, name)).read()) for name in sorted(os.listdir(folder))]
    for (name, text), says in zip(all_, ask(build, [text for _, text in all_])):
        verdicts = judge(read(text))
        if says == "proven" or says.startswith("unreadable"):
            tally.fail("HOLE: %s is not refused" % name, text, says, verdicts)
        elif {v[0] for v in verdicts.values()} == {"right"}:
            tally.fail("JUDGE: %s is right with every kind of wire" % name, text, says, verdicts)
    return all_


def fuzz(args, tally, own, start):
    seen = set()
    for number in range(10 ** 9):
        if args.count and tally.n >= args.count or not args.count and time.monotonic() - start >= args.time:
            return
        chance = random.Random("%d %d" % (args.seed, number))
        batch = []
        for text in texts(own, chance, min(BATCH, args.count or BATCH)):
            if hash(text) not in seen:
                seen.add(hash(text))
                batch.append(text)
        for k, (text, says) in enumerate(zip(batch, ask(args.build, batch))):
            tally.take(text, says, k % args.search == 0)
            if len(tally.failures) >= args.failures:
                return
        if args.progress and number % 50 == 49:
            print("  ... %d schedules, %.0f s" % (tally.n, time.monotonic() - start), flush=True)


def main():
    p = argparse.ArgumentParser(description="compares the prover with a second checker, on many small schedules")
    p.add_argument("--build", default="build")
    p.add_argument("--time", type=float, default=60, help="seconds")
    p.add_argument("--count", type=int, help="number of schedules, regardless of the time")
    p.add_argument("--seed", type=int, default=None)
    p.add_argument("--search", type=int, default=50, help="walk through all runs of one schedule in N")
    p.add_argument("--steps", type=int, default=32, help="change only plans of at most so many steps")
    p.add_argument("--failures", type=int, default=5, help="stop after so many")
    p.add_argument("--progress", action="store_true")
    args = p.parse_args()
    args.seed = random.randrange(2 ** 31) if args.seed is None else args.seed
    tally, start = Tally(stricter_rules()), time.monotonic()
    all_ = own_plans(args.build, tally)
    print("%d plans of tutti's own: %s" % (len(all_), "all right with every kind of wire" if not tally.failures else "NOT all right"))
    wrong = wrong_ones(args.build, tally)
    print("%d wrong ones: %s" % (len(wrong), "all refused" if not tally.failures else "see above"))
    fuzz(args, tally, small(all_ + wrong, args.steps), start)
    tally.show(args.seed, time.monotonic() - start)
    sys.exit(bool(tally.failures))


if __name__ == "__main__":
    main()
