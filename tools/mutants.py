#!/usr/bin/python3
"""mutants.py - changes one line of the sources at a time and checks whether a test notices.

Idea       tools/mutants.tsv lists plausible mistakes (mutants). Each is made in a copy of the tree, the programs of
           its tests are built, and the tests run: one of them must fail. A mutant that survives
           shows that a test is missing, unless the table has a reason why no test can detect it.
Usage      tools/mutants.py [--check] [--sample N] [--seed S] [--only WORD]
           --check only checks that the table still matches the sources.
Table      FILE, OLD, NEW, TESTS, REASON, separated by tabs. OLD occurs once in FILE. TESTS are
           arguments of tests/run, after settings (TEST_RANKS=2; TEST_SHORT=1: in their short form).
           REASON is only for mutants that survive.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = "tools/mutants.tsv"
LEAST = 120  # entries of the table
BUILD_S, TEST_S, SHELL_S = 600, 60, 300


class Mutant:
    def __init__(self, number, fields):
        self.number = number
        self.file, self.old, self.new, tests, self.reason = (fields + [""])[:5]
        words = tests.split()
        self.settings = [w for w in words if re.match(r"[A-Z_]+=", w)]
        self.tests = [w for w in words if w not in self.settings]
        self.form = ["--tier", "check"] if "TEST_SHORT=1" in self.settings else []

    def wrong(self):
        """The error in the entry, or None."""
        if not os.path.isfile(os.path.join(ROOT, self.file)):
            return "no such file"
        with open(os.path.join(ROOT, self.file)) as f:
            times = f.read().count(self.old)
        if times != 1:
            return f"'{self.old}' occurs {times} times, not once"
        if self.old == self.new:
            return "it changes nothing"
        if not self.tests:
            return "it names no test"
        for test in self.tests:
            source = test if test.endswith(".sh") else next(iter(glob.glob(os.path.join(ROOT, f"tests/*/{os.path.basename(test)}.c"))), "")
            if not os.path.isfile(os.path.join(ROOT, source)):
                return f"the test {test} does not exist"
        return None

    def targets(self):
        programs = [t for t in self.tests if not t.endswith(".sh")]
        if any(t.endswith(".sh") for t in self.tests):
            programs.append("all" if self.tests == ["tests/sh/laws.sh"] else "programs")
        if any("/mp_" in t for t in self.tests):
            programs.append("build/tutti")
        return programs


def read_table():
    mutants, errors = [], []
    with open(os.path.join(ROOT, TABLE)) as f:
        for number, line in enumerate(f, 1):
            if line.startswith("#") or not line.strip():
                continue
            fields = line.rstrip("\n").split("\t")
            if len(fields) not in (4, 5):
                errors.append(f"{TABLE}:{number}: {len(fields)} columns, not 4 or 5")
                continue
            mutant = Mutant(number, fields)
            wrong = mutant.wrong()
            if wrong:
                errors.append(f"{TABLE}:{number}: {mutant.file}: {wrong}")
            mutants.append(mutant)
    if len(mutants) < LEAST:
        errors.append(f"{TABLE}: {len(mutants)} entries; at least {LEAST} are wanted")
    return mutants, errors


def run(command, where, seconds):
    """Status and output; the status is None if the command ran too long."""
    p = subprocess.Popen(command, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, errors="replace",
                         start_new_session=True)
    try:
        return p.communicate(timeout=seconds)[0], p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGTERM)  # tests/run ends its programs
        try:
            out = p.communicate(timeout=10)[0]
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            out = p.communicate()[0]
        return out, None
    except BaseException:  # this program is ending, and its child must not survive it
        os.killpg(p.pid, signal.SIGKILL)
        raise


def large(folder, names):
    """Files that are not copied: files that are linked again when a test needs them, and files that no mutant needs."""
    if folder.endswith("build/tests"):
        return [n for n in names if not n.endswith((".o", ".d"))]
    return [n for n in names if folder.endswith("build") and n in ("fuzz", "bench", "mpi_ompi")]


def copy_tree(to):
    """Copy the files that make needs, with their times, so that little is rebuilt."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if name and os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(to, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(to, name))
    if os.path.isdir(os.path.join(ROOT, "build")):
        shutil.copytree(os.path.join(ROOT, "build"), os.path.join(to, "build"), symlinks=True,
                        ignore=large)


def make(tree, targets):
    # no test of the table needs PyTorch's backend, which takes minutes to compile
    return run(["make", "-j2", "--no-print-directory", "CFLAGS=-O1 -g", "TORCH=no"] + targets, tree, BUILD_S)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def killer_of(tree, mutant):
    """The test that fails, with "(it hung)" if it ran too long; None if all pass."""
    for test in mutant.tests:
        seconds = SHELL_S if test.endswith(".sh") else TEST_S
        settings = [f"TEST_SECONDS={seconds}", "TEST_CORES=1"] + mutant.settings
        out, status = run(["env"] + settings + ["tests/run"] + mutant.form + [test], tree, 4 * seconds)
        if status is None or "ran longer than" in out:
            return f"{os.path.basename(test)} (it hung)"
        if status != 0:
            return os.path.basename(test)
    return None


def verdict_of(tree, mutant):
    """'killed by X', 'SURVIVED' or 'does not compile'."""
    out, status = make(tree, mutant.targets())
    if status != 0:
        return "does not compile: " + next((s for s in out.splitlines() if "error" in s), "?")
    killer = killer_of(tree, mutant)
    return f"killed by {killer}" if killer else "SURVIVED"


def check_unchanged(tree, mutants):
    """Check that the tests pass without a mutant; otherwise they would kill every mutant."""
    tried = set()
    for mutant in mutants:
        key = tuple(mutant.settings + mutant.tests)
        failed = None if key in tried else killer_of(tree, mutant)
        tried.add(key)
        if failed:
            sys.exit(f"mutants: {failed} fails in the unchanged tree")


def try_one(tree, mutant):
    path = os.path.join(tree, mutant.file)
    with open(path) as f:
        text = f.read()
    write(path, text.replace(mutant.old, mutant.new))
    try:
        return verdict_of(tree, mutant)
    finally:
        write(path, text)


def try_all(mutants):
    counts = {"killed": 0, "survived": 0, "excused": 0, "errors": 0}
    with tempfile.TemporaryDirectory(prefix="tutti-mutants-") as tree:
        copy_tree(tree)
        targets = sorted({t for m in mutants for t in m.targets()})
        out, status = make(tree, targets)
        if status != 0:
            sys.exit("mutants: the unchanged tree does not build:\n" + out[-2000:])
        check_unchanged(tree, mutants)
        for i, mutant in enumerate(mutants, 1):
            begun = time.monotonic()
            verdict = try_one(tree, mutant)
            if verdict.startswith("killed"):
                counts["killed"] += 1
            elif verdict != "SURVIVED":
                counts["errors"] += 1
            elif mutant.reason:
                counts["excused"] += 1
                verdict += ", as the table says: " + mutant.reason
            else:
                counts["survived"] += 1
            print(f"{i}/{len(mutants)} {mutant.file}: {mutant.old.strip()} -> "
                  f"{mutant.new.strip()}: {verdict} ({time.monotonic() - begun:.1f} s)", flush=True)
    return counts


def main():
    parser = argparse.ArgumentParser(description="mutation tests, from " + TABLE)
    parser.add_argument("--check", action="store_true", help="does the table fit the sources?")
    parser.add_argument("--sample", type=int, help="only so many, at random")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--only", help="only entries with this word")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the copy of the tree is removed
    mutants, errors = read_table()
    for error in errors:
        print(error)
    if args.check:
        return 1 if errors else 0
    if args.only:
        mutants = [m for m in mutants if args.only in "\t".join([m.file, m.old, m.new] + m.tests)]
    mutants = [m for m in mutants if not m.wrong()]
    if args.sample and args.sample < len(mutants):
        seed = args.seed if args.seed is not None else random.randrange(1 << 30)
        print(f"# seed {seed}")
        mutants = random.Random(seed).sample(mutants, args.sample)
    counts = try_all(mutants)
    print(f"{counts['killed']} killed, {counts['survived']} survived, {counts['excused']} survived "
          f"with a reason, {counts['errors']} do not compile; {len(errors)} errors of the table")
    return 1 if counts["survived"] or counts["errors"] or errors else 0


if __name__ == "__main__":
    sys.exit(main())
