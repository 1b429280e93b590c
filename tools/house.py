#!/usr/bin/python3
"""house.py - is the source easy to read? Prints what is wanted and what is measured, a line each (`make house`).

Idea       what a newcomer stumbles over can be counted: hard sentences, private words, calls upwards, large
           structs, long paths of one call, code that says the same thing twice.
Usage      tools/house.py [--build build] [--coverage build-cov]; with a word: only lines that contain it.
           --coverage: a build with gcov, for the path of one call; left out without it.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plain

# From the lowest room to the highest: a call goes down, or stays.
ROOMS = "core sched topo kernel algo prove draw cost choose job wire trace engine meet run tune comm fault api bucket doctor".split()
# Words that once named these things here and mean nothing to a stranger.
PRIVATE = """plate whereabouts wish wise parcel landing newcomer roam lend lent withdraw parley treaty council pact ballot
doze knock tally patience fate lateness blame knot colour seat mailbox""".split()
# Public names that keep such a word until the next version of the interface.
PUBLIC = re.compile(r"^(tutti|TUTTI)_|^(site|doze|fate|crowd)$")
MOST = {"suspects": 2.0, "fields": 25, "lines": 31900, "twice": 20}
WINDOW = 8  # lines that are alike are a passage


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def listed(*patterns):
    return [f for f in run("git", "ls-files", *patterns).splitlines() if os.path.isfile(f)]


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def code_of(text):
    """Without comments, strings and characters."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
                  lambda m: "\n" * m[0].count("\n"), text, flags=re.S)


SOURCES = listed("src/*/*.c", "src/*/*.h")
CODE = {path: code_of(read(path)) for path in SOURCES}


def show(name, wanted, measured, holds, details=()):
    print(f"{'ok  ' if holds else 'open'}  {name:58} wanted {wanted:>9}  measured {measured}")
    for line in details:
        print(f"        {line}")


def sentences():
    files = listed("*.c", "*.h", "*.md", "*.py", "*.sh", "*.pml", "*.1", "*.3", "*.mk")
    found, lines = plain.count([f for f in files if f != "tools/plain.py"])
    rate = 1000 * len(found) / lines
    rooms = collections.Counter(f[0].split("/")[0] for f in found)
    show("hard sentences per thousand lines of prose", f"{MOST['suspects']:.0f}", f"{rate:.1f}", rate <= MOST["suspects"],
         [", ".join(f"{room} {n}" for room, n in rooms.most_common())] if found else [])


def words():
    found = collections.Counter()
    for text in CODE.values():
        for name in re.findall(r"[A-Za-z_]\w+", text):
            parts = {p.rstrip("s") for p in name.lower().split("_")} | set(name.lower().split("_"))
            if parts & set(PRIVATE) and not PUBLIC.match(name):
                found[name] += 1
    show("identifiers with a private word", "0", len(found), not found, [" ".join(sorted(found))] if found else [])


def statics():
    where = collections.defaultdict(set)
    for path, text in CODE.items():
        for name in re.findall(r"^static (?!inline)[^;={}()]*?\b(\w+)\([^;{}]*\)\s*\{", text, re.M):
            if not name.startswith("__"):
                where[name].add(path)
    several = {name: paths for name, paths in where.items() if len(paths) > 1}
    show("static functions of one name in several files", "0", len(several), not several, sorted(several))


def symbols(build):
    """Where each symbol is defined, and which symbols each object uses; objects as (room, file)."""
    defined, used = {}, {}
    for path in SOURCES:
        room, file = path.split("/")[1], path.split("/")[-1]
        if not file.endswith(".c"):
            continue
        used[room, file] = set()
        for line in run("nm", f"{build}/{path[:-2]}.o").splitlines():
            parts = line.split()
            if len(parts) == 3 and parts[1] in "TDBRVWC":
                defined[parts[2]] = room
            elif len(parts) == 2 and parts[0] == "U":
                used[room, file].add(parts[1])
    return defined, used


def calls(build):
    defined, used = symbols(build)
    up = sorted(f"{room}/{file} calls {name} of {defined[name]}/" for (room, file), names in used.items() for name in names
                if name in defined and ROOMS.index(defined[name]) > ROOMS.index(room))
    show("calls from a lower room to a higher one", "0", len(up), not up, up)
    made = set(re.findall(r"\btt_\w+(?=\()", CODE["src/wire/wires.h"]))  # what makes a wire has no table yet
    past = sorted({f"{room}/{file}: {name}" for (room, file), names in used.items() for name in names - made
                   if room != "wire" and defined.get(name) == "wire"})
    names = {p.split(": ")[1] for p in past}
    show("calls past the wire's table", "0", f"{len(past)}, of {len(names)} functions", not past, past)


def structs():
    sizes = []
    for path, text in CODE.items():
        if not path.endswith(".h"):
            continue
        for tag, body, name in re.findall(r"struct (\w*) ?\{((?:[^{}]|\{[^{}]*\})*)\}\s*(\w*)\s*;", text):
            fields = sum(part.count(",") + 1 for part in re.sub(r"\{[^{}]*\}|\([^()]*\)|\[[^\]]*\]", "", body).split(";")
                         if part.strip())
            sizes.append((fields, name or tag or "a struct without a name", path))
    over = sorted((s for s in sizes if s[0] > MOST["fields"]), reverse=True)
    show("fields of the largest struct in a header", MOST["fields"], max(sizes)[0], not over,
         [f"{n} fields: {name} of {path}" for n, name, path in over])


def inside():
    """Files that see what a communicator consists of, through whatever headers."""
    at = {path.split("/")[-1]: path for path in SOURCES}
    included = {path: re.findall(r'^#include "([\w.]+)"', read(path), re.M) for path in SOURCES}
    see = {"src/run/comm.h"}
    while True:
        more = {path for path, names in included.items() if path not in see and any(at.get(n) in see for n in names)}
        if not more:
            break
        see |= more
    others = sorted(path[4:] for path in see if path.split("/")[1] not in ("comm", "run", "fault"))
    show("files outside comm, run, fault that see inside a comm", "0", len(others), not others, [" ".join(others)] if others else [])


def paths(build, coverage):
    if not os.path.exists(f"{coverage}/bench/one_call"):
        show("files and rooms of one warm call", "-", "not built with coverage (make house)", False)
        return
    for size, files_wanted, rooms_wanted in (4, 12, 5), (1 << 20, 18, 6):
        for data in run("find", coverage, "-name", "*.gcda").split():
            os.remove(data)
        run("timeout", "60", f"{build}/tutti", "run", "-n", "2", f"{coverage}/bench/one_call", str(size))
        seen = set()
        for data in run("find", f"{coverage}/src", "-name", "*.gcda").split():
            report = json.loads(run("gcov", "--json-format", "--stdout", data))
            for file in report["files"]:
                if file["file"].startswith("src/") and any(line["count"] for line in file["lines"]):
                    seen.add(file["file"])
        rooms = {path.split("/")[1] for path in seen}
        name = "4 bytes" if size == 4 else "1 MiB"
        show(f"files and rooms of one warm allreduce of {name}", f"{files_wanted}, {rooms_wanted}", f"{len(seen)}, {len(rooms)}",
             len(seen) <= files_wanted and len(rooms) <= rooms_wanted, [" ".join(sorted(p[4:] for p in seen))])


def sizes():
    lines = sum(read(path).count("\n") for path in SOURCES)
    show("lines of src/", MOST["lines"], lines, lines <= MOST["lines"])


def twice():
    """Passages of WINDOW lines of code that stand in two places, whatever names they use."""
    places = collections.defaultdict(list)
    for path, text in CODE.items():
        lines = [(n, re.sub(r"\b[a-z_]\w*\b", "x", line.strip())) for n, line in enumerate(text.split("\n"), 1)
                 if len(line.strip()) > 2]
        for i in range(len(lines) - WINDOW):
            window = "\n".join(line for _, line in lines[i:i + WINDOW])
            if len(window) > 25 * WINDOW:
                places[window].append((path, lines[i][0]))
    pairs = set()
    for at in places.values():
        (first, line), (last, again) = at[0], at[-1]
        if first != last or again - line >= WINDOW:
            pairs.add((first, last))
    show("pairs of files with a passage that stands in both", MOST["twice"], len(pairs), len(pairs) <= MOST["twice"],
         [" ".join(p) for p in sorted(pairs)] if len(pairs) > MOST["twice"] else [])


def main():
    parser = argparse.ArgumentParser(description="how easy is the source to read?")
    parser.add_argument("--build", default="build")
    parser.add_argument("--coverage", default="build-cov")
    options = parser.parse_args()
    sentences()
    words()
    statics()
    calls(options.build)
    structs()
    inside()
    paths(options.build, options.coverage)
    sizes()
    twice()


if __name__ == "__main__":
    main()
