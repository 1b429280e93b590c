#!/usr/bin/env python3
"""orders.py - compares memory orders in src/ with the models in models/; prints each violation.

Why        If a release store becomes relaxed, the code still works on x86, but not on ARM. Models therefore
           refer to the code that they represent, and both change together. Tags mark the code, because
           line numbers would become stale.
In src/    `/* model: arena:told */` (or `arena:told, doze:flag`) at the access. If no model is
           needed, a reason may replace the tag: `/* order: a count, nothing is
           read behind it */`. Either comment is one line. It covers the statement that contains it;
           on a separate line, it covers the next statement. `/* each NAME, NAME: model: grow:words */`
           (or `order: ...`) covers all accesses of the file to these words.
In models/ `/* tag told: src/wire/shm/shm_memory.c store seq_cst */` on the line of the statement, or on
           the line before. Operations: load, store, add, swap (also compare and exchange), fence,
           or any. Without weak.h a model preserves all orders, and represents seq_cst only.
Checked    Each tag has a counterpart in the model or the source, in the file that the model names, with the
           same operation and order. The order in the model is not stronger than in the source. An
           access that is stronger than relaxed has a tag or a reason.
SPDX-License-Identifier: BSD-3-Clause"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
ACCESS = re.compile(r"\b(?:atomic_(load|store|exchange|compare_exchange_strong|compare_exchange_weak|"
                    r"fetch_[a-z]+?|thread_fence|signal_fence)(_explicit)?|__(?:atomic|sync)_\w+) ?\(")
COMMENT = re.compile(r"/\* (?:each ([\w, ]+): )?(model|order): (.+?) \*/")
TAG = re.compile(r"/\* tag ([\w-]+): ((?:src/[\w/.]+,? )+)(load|store|add|swap|fence|any) (\w+) \*/")
KINDS = {"LD": ("load", "relaxed"), "LDA": ("load", "acquire"), "LDS": ("load", "seq_cst"),
         "ST": ("store", "relaxed"), "STR": ("store", "release"), "STS": ("store", "seq_cst"),
         "ADD": ("add", "seq_cst"), "ADDX": ("add", "relaxed"), "SWAP": ("swap", "seq_cst"), "CLAIM": ("swap", "seq_cst"),
         "fence": ("fence", "seq_cst")}
KIND = re.compile(r"\b(%s)\b" % "|".join(KINDS))
STRENGTH = {"relaxed": 0, "acquire": 1, "release": 1, "acq_rel": 2, "seq_cst": 3}
offences = []


def operation(name):
    if name.startswith("fetch"):
        return "add"
    if name.endswith("fence"):
        return "fence"
    return name if name in ("load", "store") else "swap"


def accesses(path, text):
    """(line, operation, order, arguments) of each atomic access."""
    for a in ACCESS.finditer(text):
        line = text.count("\n", 0, a.start()) + 1
        end, depth = a.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        args = text[a.end():end]
        if not a[1]:
            offences.append(f"{path}:{line}: {a[0].strip('( ')} is not of <stdatomic.h>")
            continue
        orders = re.findall(r"memory_order_(\w+)", args)
        explicit = a[2] or "fence" in a[1]
        yield line, operation(a[1]), orders[0] if explicit and orders else "seq_cst", args


def statement(lines, i):
    """The indices of the lines of the statement that contains line i, or of the next statement."""
    code = lambda k: re.sub(r"/\*.*?\*/|//.*", "", lines[k]).strip()
    ends = lambda k: not code(k) or code(k)[-1] in ";{}" or code(k)[0] == "#"
    first = i
    if not code(i):
        while first < len(lines) - 1 and not code(first):
            first += 1
    else:
        while first and not ends(first - 1):
            first -= 1
    last = first
    while last < len(lines) - 1 and not ends(last):
        last += 1
    return range(first + 1, last + 2)


def models():
    """The tags of the models: label -> [(files, operation, order)]."""
    tags = {}
    for path in sorted((ROOT / "models").glob("*.pml")):
        text = path.read_text()
        lines = text.split("\n")
        for i, line in enumerate(lines):
            if "/* tag " in line and not TAG.search(line):
                offences.append(f"{path}:{i + 1}: no tag that can be read")
            for name, files, op, order in TAG.findall(line):
                tags.setdefault(f"{path.stem}:{name}", []).append((files.replace(",", "").split(), op, order))
                k = i
                while lines[k].strip().startswith("/*") and lines[k].strip().endswith("*/"):
                    k += 1
                kind = KIND.search(re.sub(r"/\*.*?\*/", "", lines[k]))
                if '#include "weak.h"' not in text:
                    if order != "seq_cst":
                        offences.append(f"{path}:{i + 1}: {name} is {order}, and the model keeps all orders")
                elif not kind:
                    offences.append(f"{path}:{i + 1}: no operation of weak.h on the line of tag {name}")
                elif op not in (KINDS[kind[1]][0], "any") or \
                        STRENGTH[KINDS[kind[1]][1]] > STRENGTH.get(order, -1) or \
                        (STRENGTH[KINDS[kind[1]][1]] == 0) != (order == "relaxed"):
                    offences.append(f"{path}:{i + 1}: tag {name} says {op} {order}, the model does {kind[1]}")
    return tags


def check_file(path, tags, met):
    text = path.read_text()
    name = str(path.relative_to(ROOT))
    lines = text.split("\n")
    found = list(accesses(path, text))
    covered = set()
    for i, line in enumerate(lines):
        for each, what, rest in COMMENT.findall(line):
            words = re.split(r"[, ]+", each) if each else []
            span = statement(lines, i)
            mine = [n for n, a in enumerate(found) if (
                any(re.search(rf"\b{w}\b", a[3]) for w in words) if words else a[0] in span)]
            if not mine:
                offences.append(f"{path}:{i + 1}: no atomic access for `{what}: {rest}`")
            if what == "order":
                covered |= set(mine)
                continue
            for label in re.split(r", *", rest):
                specs = [s for s in tags.get(label, []) if name in s[0]]
                met.add((label, name))
                if not specs:
                    offences.append(f"{path}:{i + 1}: no model has tag {label} for {name}")
                fit = {n for n in mine if any(op in (found[n][1], "any") and order == found[n][2]
                                              for _, op, order in specs)}
                covered |= fit
                if specs and (not fit or (words and len(fit) < len(mine))):
                    is_ = sorted({f"{found[n][1]} {found[n][2]}" for n in mine})
                    says = sorted({f"{op} {order}" for _, op, order in specs})
                    offences.append(f"{path}:{i + 1}: {' and '.join(is_)}, tag {label} says {', '.join(says)}")
    for n, (line, op, order, _) in enumerate(found):
        if order != "relaxed" and n not in covered:
            offences.append(f"{path}:{line}: {op} {order} has no tag of a model and no reason")


def main():
    tags, met = models(), set()
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        check_file(path, tags, met)
    for label, specs in tags.items():
        for files, _, _ in specs:
            offences.extend(f"models: nothing in {f} has tag {label}" for f in files if (label, f) not in met)
    sys.exit("\n".join(dict.fromkeys(offences)) or 0)


main()
