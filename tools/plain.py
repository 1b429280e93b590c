#!/usr/bin/python3
"""plain.py - counts sentences that are hard to read, in comments, messages and pages.

    tools/plain.py FILES...        each sentence with its reason, then the number per thousand lines of prose

A sentence is suspect if a relative clause has no noun, if the subject is hidden, or if "for" means because; PATTERNS has
examples. A hit is a hint: read the sentence aloud.
SPDX-License-Identifier: BSD-3-Clause"""
import re
import sys

SUSPECT = [(why, re.compile(pattern)) for why, pattern in [
    ("'who' without a noun: say 'a rank that'",
     r"(?:^|[.;:,(] ?|\b(?:of|for|by|to|from|and|or|as|so) )[Ww]ho (?:has|have|had|is|are|was|were|do|does|did|can|may|must|will|would|[a-z]+s|[a-z]+ed)\b"),
    ("'what' as a subject: name the thing", r"(?:^|[.;] )[Ww]hat (?:[a-z]+ )?(?:is|was|has|had|goes|comes|stands|came)\b"),
    ("'of it is': main clause first", r"\b(?:of|to|for|at|by) (?:which|whom|these|those|it|them),? (?:is|are|has|have|there)\b"),
    ("a translated comparison", r"\bas many times\b|\bso many\b|\bas much(?: more)? as it\b"),
    ("'there is who': name the subject", r"\bthere (?:is|are|was|were) (?:who|none|such|nobody)\b"),
    ("'for' meaning because", r"[,;:] for (?:it|they|there|where|who|what|all|each|one|the others?)\b"),
    ("cannot is one word", r"\bcan not\b"),
    ("'nobody' for a rank or a process", r"\b[Nn]obody\b|\b[Ww]hoever\b"),
    ("'had' for available", r"\b(?:can|could|may|to|not) be had\b"),
    ("a sentence cut in two comments", r"\.\.\. \*/|/\* \.\.\."),
]]


def prose(path, line):
    """The prose in a line."""
    if path.endswith((".md", ".1", ".3")):
        return line
    if path.endswith((".py", ".sh", ".bash", ".mk")):
        comment = re.search(r"(?:^|\s)#(.*)", line)
        return comment[1] if comment else " ".join(re.findall(r'"([^"]{15,})"', line))
    comment = re.search(r"/\*(.*)|//(.*)|^\s*\* ?(.*)", line)
    text = next((part for part in comment.groups() if part), "") if comment else ""
    return text + " " + " ".join(re.findall(r'"([^"]{15,})"', line))


def count(paths):
    """The suspects as (path, line number, reason, text), and the number of lines of prose."""
    suspects, lines = [], 0
    for path in paths:
        with open(path, errors="replace") as file:
            for number, line in enumerate(file, 1):
                text = prose(path, line.rstrip("\n")).strip()
                if " " not in text:
                    continue
                lines += 1
                suspects += [(path, number, why, text) for why, pattern in SUSPECT if pattern.search(text)]
    return suspects, lines


if __name__ == "__main__":
    found, of = count(sys.argv[1:])
    for path, number, why, text in found:
        print(f"{path}:{number}: {text}\n    {why}")
    print(f"{len(found)} of {of} lines of prose, {1000 * len(found) / max(of, 1):.1f} per thousand")
