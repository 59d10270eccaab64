"""mpiimport for Spack, from the tarball that `make tarball` writes or a release brings; no network is used."""

from pathlib import Path

from spack.package import *


class Mpiimport(Package):
    """Start-up accelerator for Python under MPI and in containers."""

    homepage = "https://mpiimport.org"
    url = f"file://{Path.cwd()}/mpiimport-0.1.0-linux-x86_64.tar.gz"
    # Spack looks for the tarball where it is called, and does not fetch it.
    manual_download = True

    license("BSD-3-Clause")

    version("0.1.0")

    depends_on("python@3.10:3.14", type=("build", "run"))

    conflicts("platform=darwin", msg="mpiimport serves Linux")

    def install(self, spec, prefix):
        # Spack keeps files of its own in its prefix, and mpiimport wants a directory for itself.
        installer = Executable("./install.sh")
        installer.add_default_env("PYTHON", spec["python"].command.path)
        installer(prefix.mpiimport)

    def setup_run_environment(self, env):
        env.prepend_path("PATH", self.prefix.mpiimport.bin)
        env.prepend_path("PATH", self.prefix.mpiimport.shim)
