# choice.py - measures whether the chosen plan is about the fastest of all possible plans, and whether the
# predictions are accurate. `make bench-choice`.
#
#   choice.py [--build DIR] [--out DIR] [--ranks 2,3,4,7,8] [--hosts 5x1,6x1,7x1] [--launches N]
#             [--modes "built in,tuned,measured"]
#
# Tuned      after `tutti tune`: on this machine, and on hosts that are network namespaces
#            (netns.sh, as root). Measured: the same with TUTTI_MEASURE=1.
# Launches   ranks that share cores settle into one of several patterns, which changes the plans' times by half
#            and their order a little. Therefore several launches are made, and for each size the median of
#            their ratios is taken. The hypervisor migrates virtual CPUs, which changes times by up to a factor
#            of ten. The script keeps the cores awake, because then they migrate less. Rounds count if the
#            distance of the cores is that of the tuning (cli/measured.c). If less than one round in ten
#            counts, the script tunes again and repeats the launch, at most twice.
# Built in   without a profile, as for a user who never tunes.
# Noise      the chosen plan compared with itself in the same launch.
# Stores choice.json and choice.txt. SPDX-License-Identifier: BSD-3-Clause
import argparse
import json
import os
import subprocess
import sys

import hosts
import measure
import record
from measure import Failed, bytes_name, geomean, median

NEAR = 1.3
FEW, TRIES = 0.1, 3


class Bench:
    def __init__(self, build, out, launches=3, quick=False, say=print):
        self.tutti = os.path.abspath(os.path.join(build, "tutti"))
        self.profiles = {}
        self.build, self.out, self.launches, self.quick, self.say = build, os.path.abspath(out), launches, quick, say
        os.makedirs(self.out, exist_ok=True)

    def run(self, command, env, patience):
        with subprocess.Popen(command, env=dict(os.environ, LC_ALL="C", **env), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, start_new_session=True) as p:
            out, err = measure.finish(p, patience)
        if p.returncode == 77:
            raise hosts.Skipped((err.strip() or "netns.sh cannot").splitlines()[-1])
        if p.returncode:
            raise Failed("%s: %s" % (" ".join(command[-6:]), (err.strip() or out.strip() or "failed").splitlines()[-1]))
        return out

    def starter(self, where):
        """The command that starts ranks at `where`: a number of ranks, or hosts such as 7x1."""
        if "x" not in where:
            bind = ["--bind"] if int(where) <= measure.CORES else []
            return [self.tutti, "run", "-n", where] + bind
        n, per = where.split("x")
        return ["setpriv", "--pdeathsig", "KILL", "bash", os.path.join(hosts.HERE, "netns.sh"), "openmpi", n, per, "200mbit"]

    def tune(self, where):
        path = os.path.join(self.out, "choice-%s.profile" % (where if "x" in where else "here"))
        if os.path.exists(path):
            os.unlink(path)
        seconds = ["--seconds", "2"] if self.quick else []
        said = self.run((self.starter(where) if "x" in where else []) + [self.tutti, "tune", "-o", path] + seconds, {"TUTTI_PROFILE": "none"}, 200)
        for line in said.splitlines():
            self.say("# " + line)
        return path

    def once(self, where, env):
        path = os.path.join(self.out, "choice-once.json")
        command = self.starter(where) + [self.tutti, "explain", "--measured", "--format", "json", "-o", path]
        if "x" in where:
            command += ["-f", "16", "-e", "4M", "--repeats", "3"] if not self.quick else ["-e", "64", "-f", "16", "--repeats", "2"]
        else:
            command += ["-f", "16", "-e", "64K", "--repeats", "3"] if self.quick else []
        self.run(command, env, 900)
        with open(path) as f:
            return json.load(f)

    def launch(self, where, mode):
        """Tune if needed, and measure."""
        if mode == "built in":
            return self.once(where, MODES[mode])["rows"]
        profile = where if "x" in where else "here"
        for _ in range(1 if self.quick else TRIES):
            if profile not in self.profiles:
                self.profiles[profile] = self.tune(where)
            said = self.once(where, dict(MODES[mode], TUTTI_PROFILE=self.profiles[profile]))
            if said["rounds_as_tuned"] >= FEW * said["rounds"]:
                break
            self.say("# %s: the cores stand otherwise than when this was tuned (%d of %d rounds)" %
                     (where, said["rounds_as_tuned"], said["rounds"]))
            del self.profiles[profile]
        return said["rows"]

    def where(self, where, mode):
        """{bytes: the result of the launches}"""
        launches = [self.launch(where, mode) for _ in range(1 if self.quick else self.launches)]
        found = {}
        for rows in zip(*launches):
            ratios = [r["chosen_over_best"] for r in rows]
            middle = median(ratios)
            priced = [r["predicted_s"] / r["measured_s"] for r in rows if r["predicted_s"] > 0]
            found[rows[0]["bytes"]] = {
                "ratio": middle, "noise": median([r["noise"] for r in rows]),
                "predicted_over_measured": median(priced) if priced else None,
                "chosen": rows[0]["chosen"], "best": rows[-1]["best"], "us": 1e6 * median([r["measured_s"] for r in rows]),
                "launches": ratios}
        return found


class Awake:
    """Runs a process of lowest priority on every core, because the hypervisor migrates virtual CPUs more often if they sleep
    and wake."""

    def __enter__(self):
        def last():
            os.setsid()
            try:
                with open("/proc/self/autogroup", "w") as f:  # otherwise the scheduler gives this session an equal share
                    f.write("19")
            except OSError:
                pass
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        self.runs = [subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(c), "sh", "-c", "while :; do :; done"],
                                      preexec_fn=last) for c in sorted(os.sched_getaffinity(0))]

    def __exit__(self, *_):
        for p in self.runs:
            p.kill()
            p.wait()


def row(where, size, r):
    off = "%8.2f" % r["predicted_over_measured"] if r["predicted_over_measured"] else "%8s" % "-"
    return "%6s %7s  %-34s %10.1f %s %8.2f %6.2f  %s" % (
        where, bytes_name(size), r["chosen"][:34], r["us"], off, r["ratio"], r["noise"], r["best"])


HEAD = "%6s %7s  %-34s %10s %8s %8s %6s  %s" % ("ranks", "bytes", "chosen", "us", "price", "/ best", "noise", "best")


def sum_up(found):
    """Of {where: {bytes: row}}: the mean, the worst (with the noise subtracted), its location, and the share of accurate
    predictions."""
    every = [(where, size, r) for where, rows in found.items() for size, r in rows.items()]
    if not every:
        return None
    worst = max(every, key=lambda e: e[2]["ratio"] / e[2]["noise"])
    near = [1 / NEAR <= r["predicted_over_measured"] <= NEAR for _, _, r in every if r["predicted_over_measured"]]
    return {"mean": geomean([r["ratio"] for _, _, r in every]),
            "noise": geomean([r["noise"] for _, _, r in every]),
            "worst": worst[2]["ratio"] / worst[2]["noise"],
            "worst_at": "%s, %s" % (worst[0], bytes_name(worst[1])),
            "near": sum(near) / len(near) if near else 0, "points": len(every)}


MODES = {"built in": {"TUTTI_PROFILE": "none"}, "tuned": {}, "measured": {"TUTTI_MEASURE": "1"}}
HEADINGS = {"built in": "with the built-in figures, without tune", "tuned": "after tutti tune", "measured": "with TUTTI_MEASURE=1"}


def carry_out(bench, places, modes=tuple(MODES)):
    """{mode: {where: rows}}, and {where: the reason if it was left out}"""
    found, left = {m: {} for m in modes}, {}
    for mode in modes:
        bench.say("\n%s\n%s" % (HEADINGS[mode], HEAD))
        for where in places:
            if where in left:
                continue
            try:
                with Awake():
                    found[mode][where] = bench.where(where, mode)
            except (Failed, hosts.Skipped) as e:
                left[where] = e
                bench.say("%6s  left out: %s" % (where, e))
                continue
            for size, r in found[mode][where].items():
                bench.say(row(where, size, r))
        s = sum_up(found[mode])
        if s:
            bench.say("chosen over best: %.3f in the mean (noise %.3f), at worst %.2f, without the noise (%s); predicted "
                      "within %.1f of measured: %.0f %% of %d" %
                      (s["mean"], s["noise"], s["worst"], s["worst_at"], NEAR, 100 * s["near"], s["points"]))
    return found, left


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default="build")
    p.add_argument("--out", default=None)
    p.add_argument("--ranks", default="2,3,4,7,8")
    p.add_argument("--hosts", default="5x1,6x1,7x1")
    p.add_argument("--launches", type=int, default=3)
    p.add_argument("--modes", default=",".join(MODES))
    p.add_argument("--quick", action="store_true")
    args = p.parse_args()
    text = []

    def say(line):
        print(line, flush=True)
        text.append(line)

    bench = Bench(args.build, args.out or os.path.join(args.build, "bench"), args.launches, args.quick, say)
    m = record.about("allreduce, float sum, in place; ratio: the chosen plan's time over the best plan's, median of the launches; "
                     "noise: the chosen plan's over its own; us: of the chosen plan")
    say("allreduce of floats, sum, in place; %s, %d cores, %s" % (m["processor"], m["cores"], m["date"]))
    places = [w for w in (args.ranks + "," + args.hosts).split(",") if w]
    found, left = carry_out(bench, places, args.modes.split(","))
    record.store(os.path.join(bench.out, "choice.json"), dict(m, failed={w: str(e) for w, e in left.items()}),
                 [dict(mode=mode, where=where, bytes=size, **r) for mode, places in found.items()
                  for where, rows in places.items() for size, r in rows.items()])
    with open(os.path.join(bench.out, "choice.txt"), "w") as f:
        f.write("\n".join(text) + "\n")
    print("\nstored in %s: choice.json, choice.txt, choice-*.profile" % bench.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
