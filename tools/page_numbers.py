#!/usr/bin/python3
"""page_numbers.py - lists the numbers with units in README.md and docs/, so that two pages that contradict each other are seen.

Usage      tools/page_numbers.py          groups of sentences that share rare words and have different numbers of one unit
           tools/page_numbers.py --list   a line for each number: unit, number, page and line, sentence; pipe it through sort
Idea       Two statements of one fact share words that few other sentences have: the names of variables and functions, or nouns.
           The weight of a word is the logarithm of the inverse of its frequency. Two sentences belong together if the shared
           words have nearly half of the weight of the shorter one. A row of a table counts as a sentence. Code is left out.
Limits     The script cannot tell whether two numbers are of one fact. Read the groups.
SPDX-License-Identifier: BSD-3-Clause"""
import collections
import glob
import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = ("docs/reference/", "docs/bench/measured", "docs/bench/tables", "docs/bench/papers", "docs/sim/")
UNITS = {"ns": "time", "us": "time", "ms": "time", "s": "time", "second": "time", "minute": "time", "hour": "time", "B": "bytes", "byte": "bytes",
         "KiB": "bytes", "MiB": "bytes", "GiB": "bytes", "KB": "bytes", "MB": "bytes", "GB": "bytes", "kB": "bytes", "bit": "bits",
         "GB/s": "rate", "MB/s": "rate", "Gbit/s": "rate", "Mbit/s": "rate", "%": "share", "time": "ratio", "x": "ratio", "rank": "ranks",
         "host": "hosts", "core": "cores", "slot": "slots", "call": "calls", "message": "messages", "step": "steps", "word": "words",
         "test": "tests", "collective": "collectives", "operation": "operations", "character": "characters", "level": "levels",
         "process": "processes", "thread": "threads", "round": "rounds", "bucket": "buckets", "entry": "entries", "device": "devices"}
NUMBER = re.compile(r"(?<![\w.\[#/-])(\d[\d,]*(?:\.\d+)?)[ -]?(%%|(?:%s)(?:e?s)?\b)" % "|".join(sorted((u for u in UNITS if u != "%"), key=len, reverse=True)))
WORDS = {"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "half": "0.5", "a": "1"}
WORTH, LEAST = 0.45, 8  # of the weight of the shorter sentence; the least weight
NEAR = 6  # lines: sentences and rows of one passage are not compared


def pages():
    found = ["README.md"] + sorted(glob.glob("docs/*.md") + glob.glob("docs/tutorials/*.md") + glob.glob("docs/bench/README.md"))
    return [p for p in found if not p.startswith(GENERATED)]


def sentences(page):
    """(line, sentence) of the prose and the rows of tables."""
    with open(page) as f:
        lines = f.read().split("\n")
    code, text, start = False, "", 0
    for n, line in enumerate(lines + [""], 1):
        plain = not code and not line.startswith(("```", "|", "    ", "<!--")) and line.strip()
        if text and (not plain or re.match(r" *([-*#]|\d+\.) ", line)):
            for part in re.split(r"(?<=[.:;?]) +(?=[A-Z`*\[])", text):
                yield start, part
            text = ""
        if line.startswith("```"):
            code = not code
        elif line.startswith("|"):
            yield n, line
        elif plain:
            start = start if text else n
            text += " " + line.strip()


def numbers(sentence):
    """(kind, number with unit) of each number in the sentence."""
    for word, digit in WORDS.items():
        sentence = re.sub(r"\b%s (?=(?:times|ranks|hosts|seconds?|minutes?|hours?)\b)" % word, digit + " ", sentence)
    for number, unit in NUMBER.findall(sentence):
        one = unit if unit in UNITS else unit[:-1] if unit[:-1] in UNITS else unit[:-2]
        if one in UNITS:
            yield UNITS[one], "%s %s" % (number.replace(",", ""), unit)


def words(sentence):
    sentence = re.sub(r"\]\([^)]*\)", " ", sentence)
    return {w.lower().rstrip("s") for w in re.findall(r"[A-Za-z_][A-Za-z_]{3,}", sentence)}


def main():
    os.chdir(ROOT)
    every = [(page, n, s) for page in pages() for n, s in sentences(page)]
    seen = collections.Counter(w for _, _, s in every for w in words(s))
    stated = [(page, n, s, dict.fromkeys(numbers(s)), words(s)) for page, n, s in every if any(numbers(s))]
    if sys.argv[1:] == ["--list"]:
        for page, n, s, found, _ in stated:
            for kind, number in found:
                print("%s\t%s\t%s:%d\t%s" % (kind, number, page, n, s.strip()))
        return
    weight = {w: math.log(len(every) / c) for w, c in seen.items()}
    total = [sum(weight[w] for w in x[4]) or 1 for x in stated]
    shown = set()
    for i, (page, n, s, found, of) in enumerate(stated):
        group = []
        for k, (other, m, t, others, to) in enumerate(stated):
            shared = sum(weight[w] for w in of & to)
            kinds = {kind for kind, _ in found} & {kind for kind, _ in others}
            differ = any({x for x in found if x[0] == kind} != {x for x in others if x[0] == kind} for kind in kinds)
            if k > i and not (other == page and abs(m - n) < NEAR) and kinds and differ and shared >= max(LEAST, WORTH * min(total[i], total[k])):
                group.append((other, m, t.strip()))
        group = [x for x in group if (page, n) + x[:2] not in shown]
        if group:
            print("%s:%d: %s" % (page, n, s.strip()))
            for other, m, t in group:
                shown.add((page, n, other, m))
                print("    %s:%d: %s" % (other, m, t))
            print()


if __name__ == "__main__":
    main()
