#!/usr/bin/python3
"""version.py - sets the version of the tree in all files that contain it.

Usage      tools/version.py 0.2.0      (make version NEW=0.2.0); CONTRIBUTING.md, "A release", has the other steps
Idea       make and the recipes read the version from include/tutti.h. In other files the version is replaced by a pattern. The
           pattern must match, so that a change of a file's form is an error. The unreleased changes of CHANGELOG.md become
           those of the new version, with today's date (or SOURCE_DATE_EPOCH). tests/package/recipes.sh compares the files.
SPDX-License-Identifier: BSD-3-Clause"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = r"\d+\.\d+\.\d+"


def edit(path, *pairs):
    """Replace each pattern in a file. Every pattern must match; otherwise the file is not changed."""
    with open(path) as f:
        text = f.read()
    for pattern, new in pairs:
        text, count = re.subn(pattern, new, text, flags=re.M)
        if not count:
            raise SystemExit("version: %s has nothing like %s" % (path, pattern))
    with open(path, "w") as f:
        f.write(text)


def main():
    if len(sys.argv) != 2 or not re.fullmatch(NUMBER, sys.argv[1]):
        raise SystemExit("usage: tools/version.py MAJOR.MINOR.PATCH")
    new = sys.argv[1]
    os.chdir(ROOT)
    with open("include/tutti.h") as f:
        old = ".".join(re.findall(r"#define TUTTI_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", f.read()))
    if [int(n) for n in new.split(".")] <= [int(n) for n in old.split(".")]:
        raise SystemExit("version: %s does not come after %s" % (new, old))
    now = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    with open("CHANGELOG.md") as f:
        if not re.search(r"^## \[Unreleased\]\n\n###", f.read(), re.M):
            raise SystemExit("version: CHANGELOG.md has nothing under [Unreleased]")
    edit("CHANGELOG.md", (r"^## \[Unreleased\]\n", "## [Unreleased]\n\n## [%s] - %s\n" % (new, time.strftime("%Y-%m-%d", now))))
    for name, number in zip(("MAJOR", "MINOR", "PATCH"), new.split(".")):
        edit("include/tutti.h", (r"(#define TUTTI_VERSION_%s) \d+" % name, r"\g<1> " + number))
    edit("python/tutti/_lib.py", (r'^VERSION = ".*"', 'VERSION = "%s"' % new))
    edit("CITATION.cff", (r"^version: .*", "version: " + new), (r"^(version: .*)(\ndate-released: .*)?",
                                                               r"\1\ndate-released: " + time.strftime("%Y-%m-%d", now)))
    edit("docs/install.md", (r"\btutti-%s\b" % NUMBER, "tutti-" + new))
    for path in ("fuzz/dict/wisdom.dict", "tests/unit/test_wisdom.c", "docs/wisdom.md", "docs/dropin.md", "docs/tutorials/faster.md",
                 "docs/man/tutti.1", "docs/man/tutti.3"):
        edit(path, (r"(\btutti(?:\\t)? ?)%s\b" % re.escape(old), r"\g<1>" + new))
    edit("tests/unit/test_wisdom.c", (r"this is %s\b" % re.escape(old), "this is " + new))
    # A program that is linked with the new version may call functions that the old version does not have.
    edit("debian/libtutti0.symbols", (r"(\(symver\)\S+) %s" % NUMBER, r"\1 " + new))
    with open("debian/changelog") as f:
        entries = f.read()
    who = re.search(r"^ -- (.*>)  ", entries, re.M).group(1)
    with open("debian/changelog", "w") as f:
        f.write("tutti (%s-0tutti1) unstable; urgency=medium\n\n  * New version: CHANGELOG.md says what is new.\n\n -- %s  %s\n\n%s"
                % (new, who, time.strftime("%a, %d %b %Y %H:%M:%S +0000", now), entries))
    # Wisdom of another version is refused at its first line; the fuzzer's inputs must pass this check.
    corpus = "fuzz/corpus/wisdom.tar"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["tar", "-xf", corpus, "-C", folder], check=True)
        for path in glob.glob(folder + "/*"):
            with open(path, "rb") as f:
                text = f.read()
            with open(path, "wb") as f:
                f.write(text.replace(old.encode(), new.encode()))
        subprocess.run(["fuzz/pack.sh", folder, corpus], check=True)
    print("version: %s became %s" % (old, new))


if __name__ == "__main__":
    main()
