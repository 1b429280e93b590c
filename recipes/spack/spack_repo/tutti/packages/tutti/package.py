# package.py - tutti for Spack 1.0 and newer. SPDX-License-Identifier: BSD-3-Clause
#   make recipes && spack repo add build/recipes/spack/spack_repo/tutti && spack install tutti
from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Tutti(MakefilePackage):
    """Allreduce and its family: schedules that are proven, priced, drawn and run, in shared memory, over an MPI or
    over UCX."""

    homepage = "@HOMEPAGE@"
    url = "@DOWNLOADS@/tutti-@VERSION@.tar.gz"

    license("BSD-3-Clause")

    version("@VERSION@", sha256="@SHA256@")

    variant("mpi", default=True, description="Communicators of an MPI's, and the drop-in for its programs")
    variant("ucx", default=True, description="Ranks on several hosts without an MPI")
    variant("pmix", default=False, description="Ranks that a launcher with PMIx has started")
    variant("python", default=True, description="The Python package")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("ucx", when="+ucx")
    depends_on("pmix", when="+pmix")
    depends_on("pkgconfig", when="+pmix", type="build")
    depends_on("python@3.9:", when="+python", type=("build", "run"))
    extends("python", when="+python")

    @property
    def family(self):
        """tutti's name of the MPI, or None: Open MPI has its own, and the others that it knows have MPICH's interface."""
        if not self.spec.satisfies("+mpi"):
            return None
        return "ompi" if self.spec["mpi"].name == "openmpi" else "mpich"

    def options(self):
        said = ["DEPS=no", "TORCH=no", f"PREFIX={self.prefix}", f"CC={spack_cc}"]
        for name in ("ompi", "mpich"):
            said.append(f"{name.upper()}={'yes' if name == self.family else 'no'}")
        if self.family:
            said.append(f"MPICC_{self.family}={self.spec['mpi'].mpicc}")
        for name in ("ucx", "pmix"):
            said.append(f"{name.upper()}={'yes' if self.spec.satisfies('+' + name) else 'no'}")
        if self.spec.satisfies("+ucx"):
            said.append(f"UCX_HEADER={self.spec['ucx'].prefix.include}/ucp/api/ucp.h")
        said.append(f"PYDIR={python_platlib if self.spec.satisfies('+python') else ''}")
        return said

    def build(self, spec, prefix):
        make("all", *self.options())

    def install(self, spec, prefix):
        make("install", *self.options())

    def check(self):
        make("build/tests/test_schedule", *self.options())
        Executable("tests/run")("build/tests/test_schedule")
