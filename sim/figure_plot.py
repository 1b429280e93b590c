# figure_plot.py - a picture: panels side by side, with lines, points and a paper's statements, as
# SVG drawn by gnuplot.
# SPDX-License-Identifier: BSD-3-Clause
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import picture  # noqa: E402
from picture import LINES  # noqa: E402

# The meaning of a linetype; its dashed form is DASHED higher.
TUTTI, RING, PROPOSED, DOUBLING, RABENSEIFNER, TWO_LEVEL, HALVING, BLUECONNECT = (
    LINES[n]
    for n in ("tutti", "ring", "generalized", "doubling", "rabenseifner", "two-level", "halving", "blueconnect")
)
DASHED = 10
INK, GREY = "INK", "GREY"


class Panel:
    """One pair of axes. Lines are models, points are simulated or measured, marks are the
    paper's statements."""

    def __init__(self, title, x, y, log="xy", xrange="", yrange="", xtics=None, units=True):
        """With units x is bytes and, if it is logarithmic, y microseconds."""
        self.title, self.x, self.y, self.log, self.units = title, x, y, log, units
        self.xrange, self.yrange, self.xtics = xrange, yrange, xtics
        self.data, self.plots, self.marks = [], [], []

    def add(self, title, points, how):
        points = [p for p in points if p[1] is not None]
        if points:
            self.data.append(points)
            self.plots.append((how, title))

    def line(self, title, points, what, width=2.5):
        """Adds a line. what: a linetype, or GREY, or INK, which is dotted."""
        look = "lc rgb %s" % what + (" dt 3" if what == INK else "") if isinstance(what, str) else "lt %d" % what
        self.add(title, points, "lines %s lw %g" % (look, width))

    def points(self, title, points, what, shape=7, size=0.8):
        self.add(title, points, "points lt %d pt %d ps %g" % (what, shape, size))

    def joined(self, title, points, what, shape=7, size=0.6):
        self.add(title, points, "linespoints lt %d pt %d ps %g lw 1.8" % (what, shape, size))

    def upright(self, x):
        self.marks.append(
            "set arrow from first %g, graph 0 to first %g, graph 1 nohead lw 1 dt 3 lc rgb GREY back" % (x, x)
        )

    def label(self, text, x, y, align="left", colour="rgb INK"):
        """At x, y of the axes; a value that starts with 'graph' is a part of the panel."""

        def at(v):
            return v if isinstance(v, str) else "first %g" % v

        self.marks.append(
            "set label %s at %s, %s %s tc %s font 'sans,10.5' noenhanced front"
            % (picture.quoted(text), at(x), at(y), align, colour)
        )

    def star(self, text, x, y, align="left", shift="1,0"):
        """A statement of the paper, at its place."""
        self.marks.append(
            "set label %s at first %g, first %g %s offset %s point pt 3 ps 1.3 lw 1.8 lc rgb INK "
            "tc rgb INK font 'sans,10.5' noenhanced front" % (picture.quoted(text), x, y, align, shift)
        )

    def key(self):
        """The key, above the lines: as few rows as its words allow."""
        words = [title for _, title in self.plots if title]
        columns = 3 if max(map(len, words), default=0) < 19 and len(words) > 4 else 2
        return columns, -(-len(words) // columns)

    def script(self, number, x, y):
        """x, y(pixels): of the page, the middle and this far below the top."""
        columns, rows = self.key()
        s = [
            "set label %s at screen %g, screen %g center font 'sans,13' tc rgb INK noenhanced"
            % (picture.quoted(self.title), x, y(14)),
            "set key at screen %g, screen %g center top horizontal maxcols %d maxrows %d font 'sans,10.5' samplen 1.3"
            % (x, y(26), columns, rows),
            "set xlabel '%s'" % self.x,
            "set ylabel '%s'" % self.y,
        ]
        if self.log:
            s.append("set logscale %s" % self.log)
        if self.units:
            few = self.xrange and float(self.xrange.split(":")[1]) / float(self.xrange.split(":")[0]) < 2000
            s += ["set logscale x 2", "@BYTES_NEAR" if few else "@BYTES"]
            if "y" in self.log:
                s.append("@TIMES_NEAR")
        if self.xtics:
            s.append("set xtics %s" % self.xtics)
        if self.xrange:
            low, high = (float(x) for x in self.xrange.split(":"))
            s.append("set xrange [%.9g:%.9g]" % (low, high * (1.005 if self.units else 1)))
        ys = [y for points in self.data for _, y in points]
        if self.yrange or "y" in self.log:
            s.append("set yrange [%s]" % (self.yrange or "%g:%g" % (0.8 * min(ys), 1.25 * max(ys))))
        s += self.marks
        for i, points in enumerate(self.data):
            s += ["$d%d_%d << EOD" % (number, i)] + ["%.9g %.9g" % tuple(p) for p in points] + ["EOD"]
        s.append(
            "plot "
            + ", ".join(
                "$d%d_%d with %s %s" % (number, i, how, "title %s" % picture.quoted(title) if title else "notitle")
                for i, (how, title) in enumerate(self.plots)
            )
        )
        return s


def draw(path, title, note, panels, width=640, height=500):
    """The non-empty panels side by side, under one title, over one note."""
    panels = [p for p in panels if p.data]
    rows = max(p.key()[1] for p in panels)
    picture.page(path, title, [p.script for p in panels], len(panels), width, height + 19 * rows, note=note, above=19 * rows + 2)
