#!/usr/bin/python3
"""check_wheel.py - checks that a wheel is compatible with the systems in its name. Prints a line for each fault; exit status 1
if there is one.

Usage      tools/check_wheel.py FILE.whl
Idea       auditwheel's rules for manylinux_2_N, checked with objdump: every library and program needs only libraries of glibc
           and gcc, in versions up to N, and of the wheel; it has no path of this machine, and no executable stack. In addition, RECORD must have
           the size and the hash of every file.
Source     PEP 600, PEP 427; auditwheel's manylinux-policy.json.
SPDX-License-Identifier: BSD-3-Clause"""
import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ALLOWED = re.compile(r"(lib(c|m|dl|rt|pthread|util|nsl|resolv|anl|gcc_s|stdc\+\+|atomic)|ld-linux[-\w]*)\.so\.\d+$")
# The newest versions of libraries other than glibc in manylinux_2_28.
OTHERS = {"GCC": (8, 0), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11)}


def number(text):
    return tuple(int(part) for part in text.split("."))


def faults_of_file(name, path, glibc, own):
    """The faults of an ELF file."""
    text = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True).stdout
    for library in re.findall(r"^ +NEEDED +(\S+)", text, re.M):
        if library not in own and not ALLOWED.match(library):
            yield f"{name} needs {library}"
    for place in re.findall(r"^ +(?:RPATH|RUNPATH) +(\S+)", text, re.M):
        if not place.startswith("$ORIGIN"):
            yield f"{name} looks for libraries in {place}"
    for family, version in re.findall(r"^ +0x\w+ 0x\w+ \d+ (\w+?)_([\d.]+)$", text, re.M):
        most = glibc if family == "GLIBC" else OTHERS.get(family)
        if most and number(version) > most:
            yield f"{name} needs {family}_{version}"
    stack = re.search(r"^ +STACK .*\n.*flags (\S+)", text, re.M)
    if not stack or "x" in stack.group(1):
        yield f"{name} asks for an executable stack"


def faults_of_record(wheel):
    """The differences between RECORD and the files of the wheel."""
    record = next(name for name in wheel.namelist() if name.endswith(".dist-info/RECORD"))
    said = {}
    for line in wheel.read(record).decode().splitlines():
        name, digest, size = line.rsplit(",", 2)
        said[name] = (digest, size)
    for name in wheel.namelist():
        data = wheel.read(name)
        digest = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        if name not in said:
            yield f"RECORD lacks {name}"
        elif name != record and said[name] != (digest, str(len(data))):
            yield f"RECORD has another hash or size of {name}"


def faults(file):
    tag = re.search(r"-manylinux_(\d+)_(\d+)_\w+\.whl$", str(file))
    if not tag:
        return [f"{file} promises no glibc: its name has no manylinux_2_N"]
    glibc = (int(tag.group(1)), int(tag.group(2)))
    with zipfile.ZipFile(file) as wheel, tempfile.TemporaryDirectory() as folder:
        found = list(faults_of_record(wheel))
        own = {Path(name).name for name in wheel.namelist()}
        for name in wheel.namelist():
            if wheel.read(name)[:4] == b"\x7fELF":
                found += faults_of_file(name, wheel.extract(name, Path(folder)), glibc, own)
    return found


if __name__ == "__main__":
    all_faults = faults(sys.argv[1])
    print("\n".join(all_faults) or f"{sys.argv[1]}: good")
    sys.exit(bool(all_faults))
