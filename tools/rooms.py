#!/usr/bin/python3
"""rooms.py - prints the dependencies between the rooms (folders) of src/ as the graph that is shown in CONTRIBUTING.md.

Idea       An arrow goes from a room to each room whose headers it includes. Arrows that other arrows imply are left
           out.
Usage      tools/rooms.py [--check CONTRIBUTING.md]    --check: exit status 1 if the page has a different graph
           tools/rooms.py --draw FILE.svg              a picture: the area of a room is its number of lines
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


def arrows():
    direct = {room: includes(room) for room in ROOMS}
    return [(room, other) for room in ROOMS for other in sorted(direct[room])
            if not any(other in below(direct, third) for third in direct[room] - {other})]


def graph():
    return "\n".join(["```mermaid", "graph TD", *(f"  {room} --> {other}" for room, other in arrows()), "```"])


STYLE = """<style>
text { font: 13px sans-serif; text-anchor: middle; fill: #222 } .lines { font-size: 11px; fill: #555 }
rect { fill: #e8eef7; stroke: #4a6fa5 } path { stroke: #999; fill: none; marker-end: url(#end) }
@media (prefers-color-scheme: dark) { text { fill: #eee } .lines { fill: #bbb } rect { fill: #24344d } path { stroke: #888 } }
</style><defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"
style="fill:#999;stroke:none;marker-end:none"/></marker></defs>"""


def lines_of(room):
    return sum(len(open(path).readlines()) for path in FILES[room] if path.endswith((".c", ".h", ".def")))


def draw(path):
    """Rooms in rows: each one below all rooms that include its headers."""
    edges = arrows()
    row = {room: 0 for room in ROOMS}
    for _ in ROOMS:
        for upper, lower in edges:
            row[lower] = max(row[lower], row[upper] + 1)
    place = {}
    for y in range(max(row.values()) + 1):
        # a room is near the mean of those above it
        here = sorted((room for room in ROOMS if row[room] == y), key=lambda room: sum(
            place[upper][0] for upper, lower in edges if lower == room) / max(1, sum(lower == room for _, lower in edges)))
        sides = [max(82, 0.9 * lines_of(room) ** 0.5 + 40) for room in here]
        x = (980 - sum(sides) - 24 * (len(here) - 1)) / 2
        for room, side in zip(here, sides):
            place[room] = x + side / 2, 60 + 105 * y, side
            x += side + 24
    parts = [f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 980 {110 + 105 * max(row.values())}'>", STYLE]
    for upper, lower in edges:
        (x, y, _), (u, v, _) = place[upper], place[lower]
        parts.append(f"<path d='M{x:.0f} {y + 24} C{x:.0f} {y + 62} {u:.0f} {v - 62} {u:.0f} {v - 26}'/>")
    for room, (x, y, side) in place.items():
        parts.append(f"<rect x='{x - side / 2:.0f}' y='{y - 24}' width='{side:.0f}' height='48' rx='4'/><text x='{x:.0f}' y='{y - 3}'>{room}</text>"
                     f"<text class='lines' x='{x:.0f}' y='{y + 14}'>{lines_of(room)}</text>")
    with open(path, "w") as file:
        file.write("\n".join(parts + ["</svg>"]) + "\n")


if __name__ == "__main__":
    picture = graph()
    if sys.argv[1:2] == ["--draw"]:
        draw(sys.argv[2])
    elif sys.argv[1:2] == ["--check"]:
        with open(sys.argv[2]) as page:
            if picture not in page.read():
                sys.exit(f"{sys.argv[2]} shows an old picture of the rooms; put in what tools/rooms.py prints")
    else:
        print(picture)
