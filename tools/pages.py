#!/usr/bin/python3
"""pages.py - writes the pages that are made from the command's help and the header: docs/reference/, docs/man/tutti.1,
tutti-*.1, tutti_*.3; and profiles/.

Usage      tools/pages.py [--build build] [--check | --pictures]      (make pages, make pictures)
           --check: changes nothing; exit status 1 and a line for each page that differs.
           --pictures: draws the pictures of docs/ that `tutti plan draw` makes.
Idea       `tutti help`, `tutti help COMMAND` and `tutti help variables` are the source, so the pages always agree with the
           command; for the parameters of a profile it is the table in src/cost/profile.c, with the values that `tutti info
           --profile` prints. In docs/reference/ the text above the line <!-- made by make pages --> is written by hand.
SPDX-License-Identifier: BSD-3-Clause"""
import argparse
import os
import re
import subprocess
import sys

import api_page

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = "<!-- made by make pages -->\n"
PICTURES = {  # file in docs/: arguments of tutti plan draw
    "fold.svg": ["fold(halving)", "-n", "5"],
    "fold-7.svg": ["fold(halving)", "-n", "7"],
    "two-shot.svg": ["two-shot", "-n", "4"],
    "helpers.svg": ["aggregate(rack:2 node:2 core:2)", "-n", "11"],
    "blueconnect.svg": ["blueconnect(node:3 core:4)", "-n", "12"],
    "levels.svg": ["blueconnect(rack:2 node:2 core:3,stages=doubling/doubling/fold(halving))", "-n", "12"],
}


MACHINES = {"slingshot": 10240, "infiniband": 10240, "leaf-spine": 9600}  # numbers of nodes of the machines in profiles/


def linked(text, folder):
    """Turn names of pages into links; `folder` is the folder of the page relative to docs/."""
    def link(m):
        path = os.path.relpath(m.group(1), os.path.join("docs", folder))
        return "[%s](%s)" % (os.path.basename(m.group(1))[:-3], path)
    return re.sub(r"((?:docs/|\b(?=CONTRIBUTING))[A-Za-z/-]+\.md)", link, text)


def variables(say):
    """The reference of the variables, with a heading for each group and each variable."""
    lines, group, text = [], "", say(["help", "variables"])
    for block in text.split("\n\n")[1:]:
        if not block.startswith(" "):
            title, *warning = block.strip().split("\n")
            lines += ["## " + title, ""] + [line for text in warning for line in (text, "")]
            continue
        first, *rest = block.split("\n")
        name = first.strip().split("=")[0]
        meaning = linked(" ".join(x.strip() for x in rest).strip(), "reference")
        meaning = re.sub(r"(?<![\w`'/])('[^' ]+(?: [^' ]+:[^' ]+)*'|TUTTI_[A-Z_]+|/etc/tutti/profile|~/[./\w]+)", r"`\1`", meaning)
        about, meaning = re.match(r"(Type: .*?\. Default: .*?\. Scope: .*?\.) (.*)", meaning, re.S).groups()
        lines += ["### " + name, "", "`%s`" % first.strip(), "", about, "", meaning, ""]
    return "\n".join(lines)


def commands(say):
    """The help of each command as the command prints it."""
    lines = []
    for name, _ in list_of_commands(say):
        lines += ["## tutti " + name, "", "```text", say(["help", name]).rstrip(), "```", ""]
        if name == "plan":
            lines += ["### tutti plan price", "", "```text", say(["plan", "price", "--help"]).rstrip(), "```", ""]
    lines += ["## tutti help model", "", "```text", say(["help", "model"]).rstrip(), "```", ""]
    return "\n".join(lines)


def list_of_commands(say):
    rows = re.findall(r"^  ([a-z]+) +(.*)$", say(["help"]), re.M)
    return [(name, summary) for name, summary in rows if name != "help"]


def parameters(say):
    """The parameters of a profile by group: unit, built-in value and meaning."""
    with open(os.path.join(ROOT, "src/cost/profile.c")) as f:
        source = re.sub(r'"\s*\n\s*"', "", f.read())
    rows = re.findall(r'^ +\{"([a-z0-9.]+)", ([A-Z_]+), (?:offsetof|AT)\(.*?\),\s*"(.*?)"\},', source, re.M)
    rows += [("shm.LEVEL." + name, kind, text) for name, kind, text in
             re.findall(r'"shm\." name "\.([a-z]+)", ([A-Z_]+), AT\(.*?\),[ \\\n]*"(.*?)"', source)]
    values = dict(re.findall(r"^([a-z0-9.]+) += (\S+)", say(["info", "--profile"]), re.M))
    units = {"SECONDS": "s", "PER_BYTE": "s/B", "BYTES": "B"}
    groups = {"Networks, of all levels or of one": [], "Networks as a whole": [], "Shared memory": [], "Compression": [], "GPUs": []}
    titles, first_of_all = list(groups), [name for name, _, _ in rows].index("gamma")
    for i, (name, kind, text) in enumerate(rows):
        title = titles[{"shm": 2, "code": 3, "device": 4}.get(name.split(".")[0], int(i >= first_of_all))]
        groups[title].append("| `%s` | %s | %s | %s |" % (name, units.get(kind, ""), values.get(name, "-"), linked(text, "reference")))
    head = ["| parameter | unit | built in | meaning |", "|---|---|---:|---|"]
    return "\n\n".join("## %s\n\n%s" % (title, "\n".join(head + of)) for title, of in groups.items())


# ---- man pages ----


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + x if x[:1] in ".'" else x for x in text.split("\n"))


def man_block(block):
    """One paragraph of a help text: options, an example, or prose."""
    lines = block.split("\n")
    if re.match(r" +-", lines[0]):
        out = []
        for line in lines:
            option = re.match(r" +(-\S(?:.*?\S)?)(?:   *(\S.*))?$", line) if re.match(r" {2,6}-", line) else None
            if option:
                out += [".TP", "\\fB%s\\fR" % roff(option.group(1))] + ([roff(option.group(2))] if option.group(2) else [])
            else:
                out.append(roff(line.strip()))
        return out
    if lines[0].startswith("  "):
        return [".PP", ".EX", roff(block), ".EE"]
    status = re.match(r"Exit status: *(.*)", block, re.S)
    if status:
        return [".SH EXIT STATUS", roff(status.group(1))]
    return [".PP", roff(block)]


def man(say, name, summary, version):
    text = say(["help", name]).rstrip()
    usage, *blocks = re.split(r"\n\n+", text)
    synopsis = [re.sub(r"^(usage:)? *", "", x) for x in usage.split("\n")]
    out = ['.\\" tutti-%s.1 - made of `tutti help %s` by make pages. SPDX-License-Identifier: BSD-3-Clause' % (name, name),
           '.TH TUTTI\\-%s 1 "" "tutti %s" "User commands"' % (name.upper(), version),
           ".SH NAME", "tutti\\-%s \\- %s" % (name, roff(summary)), ".SH SYNOPSIS", ".nf"]
    out += [roff(x) for x in synopsis] + [".fi", ".SH DESCRIPTION"]
    for block in blocks:
        out += man_block(block)
    return "\n".join(out + [".SH SEE ALSO", ".BR tutti (1),", ".BR tutti (3)"]) + "\n"


def main_man(say, version):
    """The man page of the command itself: the list of `tutti help`."""
    title, _, listed = say(["help"]).partition("\n")
    out = ['.\\" tutti.1 - made of `tutti help` by make pages. SPDX-License-Identifier: BSD-3-Clause',
           '.TH TUTTI 1 "" "tutti %s" "User commands"' % version, ".SH NAME", "tutti \\- " + roff(title.partition(" - ")[2]),
           ".SH SYNOPSIS", ".B tutti", ".I COMMAND", "[options]", ".SH DESCRIPTION"]
    for name, summary in re.findall(r"^  ([a-z-]+) +(\S.*(?:\n {8,}\S.*)*)", listed, re.M):
        text = roff(re.sub(r"\s+", " ", summary))
        out += [".TP", ".B " + roff("tutti " + name)] + [text + ("." if name in ("help", "--version") else "; see")]
        out += [] if name in ("help", "--version") else [".BR tutti\\-%s (1)." % name]
    return "\n".join(out + [".SH SEE ALSO", ".BR tutti (3)"]) + "\n"


def profiles(say):
    """Yields path and text of each profile of a machine."""
    for machine, nodes in MACHINES.items():
        words = ["info", "--network", machine, "-n", str(nodes)]
        yield "profiles/%s.profile" % machine, "# %s.profile - made of `tutti %s` by make pages; docs/scale.md says how to use it. " \
            "SPDX-License-Identifier: BSD-3-Clause\n%s" % (machine, " ".join(words), say(words))


def pages(say):
    """Yields path and text of each page."""
    yield from profiles(say)
    version = say(["--version"]).split()[1]
    for path, made in (("docs/reference/variables.md", variables), ("docs/reference/commands.md", commands), ("docs/reference/profile.md", parameters),
                       ("docs/reference/c-api.md", lambda _: api_page.page(ROOT))):
        with open(os.path.join(ROOT, path)) as f:
            above = f.read().split(MARK)[0]
        yield path, above + MARK + "\n" + made(say).rstrip() + "\n"
    yield "docs/man/tutti.1", main_man(say, version)
    for name, summary in list_of_commands(say):
        yield "docs/man/tutti-%s.1" % name, man(say, name, summary, version)
    for name, text in api_page.manuals(ROOT, roff, version):
        yield "docs/man/%s.3" % name, text


def main():
    parser = argparse.ArgumentParser(description="writes the pages that say what the command says")
    parser.add_argument("--build", default="build")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--pictures", action="store_true")
    args = parser.parse_args()
    tutti = os.path.join(ROOT, args.build, "tutti")

    def say(words):
        return subprocess.run([tutti] + words, stdout=subprocess.PIPE, check=True, text=True, env=dict(os.environ, TUTTI_PROFILE="none")).stdout
    if args.pictures:
        for name, words in PICTURES.items():
            say(["plan", "draw"] + words + ["-o", os.path.join(ROOT, "docs", name)])
        return 0
    differ = 0
    made = dict(pages(say))
    manuals = os.path.join(ROOT, "docs/man")
    for name in sorted(os.listdir(manuals)):
        if "docs/man/" + name in made or name == "tutti.3":  # that one is written by hand
            continue
        differ = 1
        if args.check:
            print("docs/man/%s describes nothing that exists; `make pages` removes it" % name)
        else:
            os.remove(os.path.join(manuals, name))
    for path, text in made.items():
        path = os.path.join(ROOT, path)
        old = open(path).read() if os.path.exists(path) else None
        if old == text:
            continue
        differ = 1
        if args.check:
            print("%s is not what the command says; `make pages` writes it" % os.path.relpath(path, ROOT))
        else:
            with open(path, "w") as f:
                f.write(text)
    return differ if args.check else 0


if __name__ == "__main__":
    sys.exit(main())
