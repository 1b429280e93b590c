"""setup.py - for pip: makes the library, and puts it, and those for MPIs and networks that are built,
beside the package; and PyTorch's backend, if it is built for this Python. What is in between lies in build/python.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import pathlib
import shutil
import subprocess
import sysconfig

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "build"
VERSION = next(line.split('"')[1] for line in (HERE / "python/tutti/_lib.py").read_text().splitlines()
               if line.startswith("VERSION = "))
MAJOR = VERSION.split(".", maxsplit=1)[0]


class WithLibrary(build_py):
    """The package, and the libraries."""

    def run(self):
        super().run()
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"}
        library = BUILD / f"libtutti.so.{MAJOR}"
        if shutil.which("make") and shutil.which("gcc"):
            subprocess.run(["make", "-s", f"-j{os.cpu_count()}", "all"], cwd=HERE, env=environment, check=True)
        elif not library.exists():
            raise SystemExit(f"tutti: there is no {library}, and neither make nor gcc to build it")
        to = pathlib.Path(self.build_lib) / "tutti"
        for name in ("tutti", "tutti_mpi_ompi", "tutti_mpi_mpich", "tutti_ucx", "tutti_pmix"):
            file = BUILD / f"lib{name}.so.{MAJOR}"
            if file.exists():
                shutil.copyfile(file, to / file.name)
        backend = BUILD / "c10d" / f"_c10d{sysconfig.get_config_var('EXT_SUFFIX')}"
        if backend.exists():
            shutil.copyfile(backend, to / "torch" / backend.name)


class ForThisMachine(bdist_wheel):
    """A wheel for any Python 3, on this kind of machine."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


(BUILD / "python").mkdir(parents=True, exist_ok=True)
setup(
    version=VERSION,
    cmdclass={"build_py": WithLibrary, "bdist_wheel": ForThisMachine},
    options={"build": {"build_base": "build/python"}, "egg_info": {"egg_base": "build/python"}},
)
