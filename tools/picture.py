# picture.py - draws pictures with gnuplot for scripts, in the style of the command's pictures (cli/style.gp).
#
#   picture.py FILE WIDTHxHEIGHT SCRIPT [NAME=VALUE...]     the names are the script's variables
#
# FILE ends in .svg or .png; -dark.svg and -dark.png are drawn for a dark page. Other SVGs adapt
# to the page that shows them. Each library has a fixed color: `line` has the names.
# SPDX-License-Identifier: BSD-3-Clause
import html
import os
import re
import shutil
import subprocess
import sys

CLI = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli")

# The linetype of each name in style.gp, the same in all pictures: ten colors; 11 to 20 are the same colors, dashed.
LINES = {
    "tutti": 1, "ring": 2, "generalized": 3, "doubling": 4, "rabenseifner": 5, "two-level": 6, "halving": 7,
    "blueconnect": 8, "tree": 9,
    "tutti --alloc": 11, "Open MPI": 2, "MPICH": 4, "gloo": 10, "nothing": 13, "in Python": 7,
    "two-shot floor": 3, "exchange floor": 7,
}  # fmt: skip


class Failed(Exception):
    """The picture could not be drawn; the text has the reason."""


def ready():
    return shutil.which("gnuplot") is not None


def line(name):
    return "lt %d" % LINES[name]


def text(name):
    with open(os.path.join(CLI, name)) as f:
        return f.read()


def fresh():
    """Commands for the start of a panel, which reset the settings of the previous panel."""
    return "reset\n" + text("style.gp")


def quoted(words):
    """A string for gnuplot; \\n in it begins a new line."""
    return '"%s"' % words.replace('"', "'")


def finish(path, title, dark):
    """Remove gnuplot's names, which browsers show as tooltips. Insert style.css before the first definition of a picture for
    light pages, so that a dark page shows a dark picture."""
    with open(path) as f:
        picture = f.read()
    named = "<title>%s</title>\n" % html.escape(title, quote=False) if title else ""
    picture = re.sub(r"<title>Gnuplot</title>\n(<desc>Produced by.*?</desc>\n)?", lambda _: named, picture)
    picture = re.sub(r"<title>gnuplot_plot.*?</title>", "", picture).replace("gnuplot_", "")
    if not dark:
        picture = picture.replace("<defs>", "<style>\n%s</style>\n<defs>" % text("style.css"), 1)
    with open(path, "w") as f:
        f.write(picture)


def draw(path, script, width=900, height=520, title=""):
    """Draw a picture. The sizes are the pixels of an SVG; a PNG is a third larger. The title describes an SVG to readers that do
    not see it; by default it is the title in the script, if there is only one."""
    if not path.endswith((".svg", ".png")) or "'" in path or "\n" in path:
        raise Failed("'%s' does not end in .svg or .png" % path)
    svg, dark = path.endswith(".svg"), path[:-4].endswith("-dark")
    terminal = "svg size %d,%d" % (width, height) if svg else "pngcairo size %d,%d" % (width * 4 // 3, height * 4 // 3)
    head = "set terminal %s font 'sans,12' background '%s'\nset output '%s'\ndark = %d\n" % (
        terminal, "#14181d" if dark else "#ffffff", path, dark)  # fmt: skip
    try:
        done = subprocess.run(["gnuplot"], input=head + fresh() + script + "\n", text=True, timeout=60, capture_output=True)
    except (OSError, subprocess.SubprocessError) as e:
        raise Failed("no picture %s: %s" % (path, e)) from e
    if done.returncode or (done.stderr.strip() and "adjusting to" not in done.stderr):
        raise Failed("gnuplot could not draw %s: %s" % (path, done.stderr.strip()))
    if svg:
        titles = re.findall(r"set title '([^']+)'", script)
        finish(path, title or (titles[0] if len(titles) == 1 else ""), dark)
    return done.stdout


def key(entries, x, y, columns):
    """Commands for a key with the entries [(how, title)], in rows below position x, y of the page."""
    return [
        "set key at screen %g, screen %g center top horizontal maxcols %d maxrows %d width 1"
        % (x, y, columns, -(-len(entries) // columns))
    ] + [
        "plot [0:1] [0:1] " + ", ".join("NaN with %s title %s" % (how, quoted(title)) for how, title in entries)
    ]


def page(path, title, panels, columns, width=460, height=400, entries=(), note="", above=0):
    """Draw a page of panels in rows of `columns`, below a title and a key of `entries` (see `key`), and above a note. A panel
    is a list of commands, and the last command plots. A panel with a separate key is a function of its number and of the
    position of its head in the page; its head is `above` pixels higher than that of other panels."""
    rows = -(-len(panels) // columns)
    longest = max((len(title) for _, title in entries), default=0)
    across = max(1, min(len(entries), width * columns // (8 * longest + 90)))
    head = 44 + 20 * -(-len(entries) // across)
    wide, tall = width * columns, head + height * rows + (24 if note else 4)
    out = ["set multiplot"]
    for i, panel in enumerate(panels):
        x, top = width * (i % columns), head + height * (i // columns)
        out += [fresh(), "unset key"] if entries else [fresh()]
        out += [
            "set lmargin at screen %g" % ((x + 92) / wide),
            "set rmargin at screen %g" % ((x + width - 22) / wide),
            "set tmargin at screen %g" % (1 - (top + 32 + above) / tall),
            "set bmargin at screen %g" % (1 - (top + height - 72) / tall),
        ]
        out += panel(i, (x + (width + 70) / 2) / wide, lambda down, top=top: 1 - (top + down) / tall) if callable(panel) else panel
    out += [fresh(), "unset border", "unset tics", "unset grid", "set margins 0, 0, 0, 0"]
    out.append("set label %s at screen 0.5, screen %g center font 'sans,15' tc rgb INK noenhanced" % (quoted(title), 1 - 18 / tall))
    if note:
        out.append("set label %s at screen 0.5, screen %g center font 'sans,10.5' tc rgb INK noenhanced" % (quoted(note), 14 / tall))
    out += key(entries, 0.5, 1 - 34 / tall, across) if entries else ["unset key", "plot [0:1] [0:1] NaN notitle"]
    draw(path, "\n".join(out) + "\nunset multiplot", wide, tall, title)


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: picture.py FILE WIDTHxHEIGHT SCRIPT [NAME=VALUE...]")
    width, height = (int(n) for n in sys.argv[2].split("x"))
    with open(sys.argv[3]) as f:
        script = f.read()
    given = []
    for word in sys.argv[4:]:
        name, _, value = word.partition("=")
        given.append("%s = '%s'" % (name, value.replace("'", "''")))
    try:
        print(draw(sys.argv[1], "\n".join(given + [script]), width, height), end="")
    except Failed as e:
        sys.exit("picture.py: %s" % e)


if __name__ == "__main__":
    main()
