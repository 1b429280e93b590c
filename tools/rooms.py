#!/usr/bin/python3
"""rooms.py - prints the dependencies between the rooms (folders) of src/ as the graph that is shown in CONTRIBUTING.md.

Idea       An arrow goes from a room to each room whose headers it includes. Arrows that other arrows imply are left
           out.
Usage      tools/rooms.py [--check CONTRIBUTING.md]    --check: exit status 1 if the page has a different graph
SPDX-License-Identifier: BSD-3-Clause"""
import os
import re
import sys

ROOMS = sorted(d for d in os.listdir("src") if os.path.isdir(f"src/{d}"))
FILES = {room: [f"{folder}/{file}" for folder, _, names in os.walk(f"src/{room}") for file in names] for room in ROOMS}
HOME = {os.path.basename(path): room for room, paths in FILES.items() for path in paths if path.endswith(".h")}


def includes(room):
    """The other rooms whose headers this room includes."""
    found = set()
    for path in FILES[room]:
        if path.endswith((".c", ".h")):
            with open(path) as text:
                found |= {HOME[name] for name in re.findall(r'#include "([\w/.]+)"', text.read()) if name in HOME}
    return found - {room}


def below(direct, room):
    """All rooms that this room depends on, directly or indirectly."""
    reached = set()
    for other in direct[room]:
        reached |= {other} | below(direct, other)
    return reached


def graph():
    direct = {room: includes(room) for room in ROOMS}
    lines = ["```mermaid", "graph TD"]
    for room in ROOMS:
        for other in sorted(direct[room]):
            if not any(other in below(direct, third) for third in direct[room] - {other}):
                lines.append(f"  {room} --> {other}")
    return "\n".join(lines + ["```"])


if __name__ == "__main__":
    picture = graph()
    if sys.argv[1:2] == ["--check"]:
        with open(sys.argv[2]) as page:
            if picture not in page.read():
                sys.exit(f"{sys.argv[2]} shows an old picture of the rooms; put in what tools/rooms.py prints")
    else:
        print(picture)
