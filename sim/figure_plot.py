# figure_plot.py - a picture: panels side by side, lines, points and what a paper states, as
# SVG drawn by gnuplot.
# SPDX-License-Identifier: BSD-3-Clause
import subprocess

# One colour per algorithm, in all figures.
BLUE, ORANGE, GREEN, RED, VIOLET, GREY, BLACK = (
    "#1f5fa8",
    "#e07b00",
    "#2e8b57",
    "#c0275a",
    "#7b52ab",
    "#8a8f98",
    "#222222",
)

BYTE_TICS = ", ".join(
    "'%s' %d" % (t, n)
    for t, n in [("64", 64), ("256", 256)]
    + [
        ("%d %s" % (k, u), k * n)
        for u, n in (("KiB", 1 << 10), ("MiB", 1 << 20))
        for k in (1, 4, 16, 64, 256)
        if k * n <= 1 << 26
    ]
)
TIME_TICS = ", ".join("%g" % (k * 10**e) for e in range(-3, 4) for k in (1, 2, 3, 5))


class Panel:
    """One pair of axes. Lines are models, points are simulated or measured, marks are the
    paper's words."""

    def __init__(
        self, title, x, y, log="xy", xrange="", yrange="", key="left top", xtics=None, bytes_axis=True
    ):
        self.title, self.x, self.y, self.log, self.key = title, x, y, log, key
        self.xrange, self.yrange, self.xtics, self.bytes_axis = xrange, yrange, xtics, bytes_axis
        self.data, self.plots, self.marks = [], [], []

    def add(self, title, points, how):
        points = [p for p in points if p[1] is not None]
        if points:
            self.data.append(points)
            self.plots.append((how, title))

    def line(self, title, points, colour, width=2.5, dash=1):
        self.add(title, points, "lines lw %g dt %d lc rgb '%s'" % (width, dash, colour))

    def points(self, title, points, colour, shape=7, size=0.8):
        self.add(title, points, "points pt %d ps %g lw 1.6 lc rgb '%s'" % (shape, size, colour))

    def joined(self, title, points, colour, shape=7, size=0.6):
        self.add(title, points, "linespoints pt %d ps %g lw 1.8 lc rgb '%s'" % (shape, size, colour))

    def upright(self, x):
        self.marks.append(
            "set arrow from first %g, graph 0 to first %g, graph 1 nohead lw 1.4 dt 2 lc rgb '%s' back"
            % (x, x, BLACK)
        )

    def label(self, text, x, y, align="left", turn=0, colour=BLACK):
        """At x, y of the axes; a value that starts with 'graph' is a part of the panel."""

        def at(v):
            return v if isinstance(v, str) else "first %g" % v

        self.marks.append(
            "set label \"%s\" at %s, %s %s %s tc rgb '%s' font 'sans,10.5' noenhanced front"
            % (text.replace('"', "'"), at(x), at(y), align, "rotate by %d" % turn if turn else "", colour)
        )

    def star(self, text, x, y, align="left", shift="1,0"):
        """What a paper states, where it belongs."""
        self.marks.append(
            "set label \"%s\" at first %g, first %g %s offset %s point pt 3 ps 1.3 lw 1.8 lc rgb '%s' "
            "tc rgb '%s' font 'sans,10.5' noenhanced front" % (text, x, y, align, shift, BLACK, BLACK)
        )

    def room(self):
        """A range that leaves room for the names above the lines, on a logarithmic axis."""
        ys = [y for points in self.data for _, y in points] or [1, 10]
        return "%g:%g" % (0.8 * min(ys), max(ys) * (max(ys) / min(ys)) ** 0.3)

    def script(self, number):
        s = [
            "reset",
            "set grid lc rgb '#dddddd' lw 0.7",
            "set border lc rgb '#555555'",
            "set tics textcolor rgb '#222222'",
            "set title \"%s\" font 'sans,13' offset 0,-0.4 noenhanced" % self.title,
            "set xlabel '%s' offset 0,0.3" % self.x,
            "set ylabel '%s' offset 1,0" % self.y,
            "set key %s reverse Left samplen 1.8 spacing 1.05 font 'sans,11' noenhanced opaque" % self.key,
        ]
        if self.log:
            s.append("set logscale %s" % self.log)
        if self.bytes_axis:
            s += ["set logscale x 2", "set xtics (%s)" % BYTE_TICS]
        if "y" in self.log:
            s.append("set ytics (%s)" % TIME_TICS)
        if self.xtics:
            s.append("set xtics %s" % self.xtics)
        if self.xrange:
            low, high = (float(x) for x in self.xrange.split(":"))
            s.append("set xrange [%.9g:%.9g]" % (low, high * (1.005 if self.bytes_axis else 1)))
        span = self.yrange or ("y" in self.log and self.room())
        if span:
            s.append("set yrange [%s]" % span)
        s += self.marks
        for i, points in enumerate(self.data):
            s += ["$d%d_%d << EOD" % (number, i)] + ["%.9g %.9g" % tuple(p) for p in points] + ["EOD"]
        s.append(
            "plot "
            + ", ".join(
                "$d%d_%d with %s %s" % (number, i, how, 'title "%s"' % title if title else "notitle")
                for i, (how, title) in enumerate(self.plots)
            )
        )
        return s


def draw(path, title, note, panels, width=600, height=500):
    """The panels that show something side by side, under one title, over one note."""
    panels = [p for p in panels if p.data]
    n = len(panels)
    tall = height + 60
    s = [
        "set terminal svg size %d,%d dynamic background '#ffffff' font 'sans,12'" % (width * n, tall),
        "set output '%s'" % path,
        "set multiplot title \"%s\" font 'sans,15' offset 0,0.3" % title,
    ]
    under = (
        "set label 1 \"%s\" at screen 0.5, screen %g center font 'sans,10.5' tc rgb '#444444' noenhanced"
        % (note, 13 / tall)
    )
    for i, p in enumerate(panels):
        lines = p.script(i)
        edge = [
            "set lmargin at screen %g" % (i / n + 70 / (width * n)),
            "set rmargin at screen %g" % ((i + 1) / n - 24 / (width * n)),
            "set bmargin at screen %g" % (72 / tall),
            "set tmargin at screen %g" % (1 - 62 / tall),
        ]
        s += lines[:1] + edge + ([under] if i == 0 else []) + lines[1:]
    done = subprocess.run(
        ["gnuplot"], input="\n".join(s) + "\nunset multiplot\n", text=True, timeout=60, capture_output=True
    )
    if done.returncode or done.stderr.strip():
        raise SystemExit("figures: gnuplot could not draw %s: %s" % (path, done.stderr.strip()))
