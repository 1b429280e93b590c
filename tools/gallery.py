"""gallery.py - writes a page of the manual with a picture of every composition that tutti may choose on a few machines.

Idea       The machines are those of tests/ranks/mp_composed.c, which runs the same compositions on real ranks. tutti
           lists the plans that it considers on these machines, and draws them.
Used by    tools/site.py, which makes compositions.md and compositions/*.svg in build/site-pages.
SPDX-License-Identifier: BSD-3-Clause"""
import json
import os
import re
import subprocess

TABLE = "tests/ranks/mp_composed.c"
ROW = re.compile(r'^    \{(\d+), "([^"]+)", "([^"]*)"\},$', re.M)
BEGIN = """# Compositions, drawn

A plan may use a different algorithm on each level of a machine ([schedules](schedules.md)). The chooser considers every
composition that could be fastest for some size, including those that let the cores of a node talk to several nodes
simultaneously. This page shows the plans that it proposes on %d small machines, %d in all. `make check` runs each of them
on real ranks (`tests/ranks/mp_composed.c`). In the pictures each column is a rank, time runs from top to bottom, and the
colour of an arrow is that of the level that it crosses.
"""


def machines():
    """[(ranks, levels, model parameters)], from the table of the test."""
    with open(TABLE) as f:
        found = [(int(n), levels, figures) for n, levels, figures in ROW.findall(f.read())]
    if not found:
        raise SystemExit("tools/gallery.py: %s has no table of machines any more" % TABLE)
    return found


def proposed(tutti, ranks, levels, figures):
    command = [tutti, "plan", "price", "all", "-n", str(ranks), "--size", "1KB", "--levels", levels, "--format", "json"]
    text = subprocess.run(command + (["--network", figures] if figures else []), check=True, capture_output=True, text=True).stdout
    plans = {plan["plan"] for plan in json.loads(text)["plans"] if plan["possible"]}
    return sorted(p for p in plans if "stages=" in p or p.startswith("transposed("))


def write(folder, build):
    """Write the page and its pictures. Raises subprocess.CalledProcessError if tutti fails."""
    tutti, parts, count = os.path.join(build, "tutti"), [], 0
    os.makedirs(os.path.join(folder, "compositions"), exist_ok=True)
    for ranks, levels, figures in machines():
        parts.append("\n## %s\n" % levels)
        parts.append("%d ranks, %s.\n" % (ranks, "with `%s`" % figures if figures else "with the built-in parameters of a network"))
        for plan in proposed(tutti, ranks, levels, figures):
            count += 1
            picture = "compositions/%d.svg" % count
            subprocess.run([tutti, "plan", "draw", plan, "-n", str(ranks), "--levels", levels, "-o", os.path.join(folder, picture)],
                           check=True, capture_output=True)
            parts.append('\n`%s`\n\n![%s](%s){ loading=lazy }\n' % (plan, plan, picture))
    with open(os.path.join(folder, "compositions.md"), "w") as f:
        f.write(BEGIN % (len(machines()), count) + "".join(parts))
