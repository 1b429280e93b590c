#!/usr/bin/env python3
"""torch_flags.py - prints the flags to compile and link an extension (c10d/) for the PyTorch of the Python that runs this.

Usage      PYTHON tools/torch_flags.py cflags|libs|name
Idea       PyTorch's wheels contain headers and libraries. The C++ standard is that of PyTorch's own extension builder. The
           names by which pybind11 recognizes types of other modules are those with which PyTorch was built.
Result     one line; status 1 and a reason if this Python has no PyTorch with headers, or if Python's headers are missing.
SPDX-License-Identifier: BSD-3-Clause"""
import inspect
import os
import re
import sys
import sysconfig


def cflags(torch, extension, root):
    theirs = re.findall(r"-std=(c\+\+\d\d)", inspect.getsource(extension))
    flags = ["-std=" + max(theirs + ["c++17"]), "-D_GLIBCXX_USE_CXX11_ABI=%d" % torch._C._GLIBCXX_USE_CXX11_ABI]
    for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI"):
        said = getattr(torch._C, "_PYBIND11_" + name, None)
        if said is not None:
            flags.append('-DPYBIND11_%s=\\"%s\\"' % (name, said))
    include = os.path.join(root, "include")
    return flags + ["-isystem " + x for x in (include, include + "/torch/csrc/api/include", sysconfig.get_paths()["include"])]


def version(said):
    """The version of PyTorch's binary interface: the minor version, or for a nightly build the exact version."""
    return re.sub(r"\W", "_", said) if ".dev" in said else "_".join(said.split(".")[:2])


def main():
    try:
        import torch
        from torch.utils import cpp_extension
    except ImportError as why:
        sys.exit("torch_flags.py: %s has no PyTorch: %s" % (sys.executable, why))
    root = os.path.dirname(torch.__file__)
    for needed in (os.path.join(root, "include/torch/csrc/distributed/c10d/ProcessGroup.hpp"),
                   os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        if not os.path.exists(needed):
            sys.exit("torch_flags.py: there is no %s" % needed)
    library = os.path.join(root, "lib")
    print(" ".join({"cflags": cflags(torch, cpp_extension, root), "libs": ["-L" + library, "-Wl,-rpath," + library],
                    "name": ["_c10d_" + version(torch.__version__) + sysconfig.get_config_var("EXT_SUFFIX")]}[sys.argv[1]]))


if __name__ == "__main__":
    main()
