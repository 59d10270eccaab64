"""Containers of podman that keep stores on the node, by the OCI hook."""

import pwd
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.oci_hook import hooks

SECONDS = 120
ANNOTATION = "org.mpiimport.profile"
SHOW = """
import {module}
kept = type(getattr({module}.__loader__, "source", None)).__name__ == "Imports"
print("kept" if kept else "plain", getattr({module}, "value", ""), flush=True)
"""


@dataclass(frozen=True)
class Containers:
    """Containers of one user's, started in a batch job of their own, which keeps apart what is kept."""

    site: Site
    mpi: Mpi
    identity: str = "root"
    runtime: str = "runc"
    options: tuple[str, ...] = ()
    job: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def place(self) -> Path:
        uid = pwd.getpwnam(self.site.user).pw_uid if self.identity == "user" else 0
        return Path(f"/dev/shm/mpiimport-cache.{uid}.{self.job}")

    def script(self, module: str) -> str:
        path = self.site.script(self.identity, SHOW.format(module=module), "task.py")
        return str(path)

    def run(self, *command: str, image: str = podman.IMAGE, options: tuple[str, ...] = (), **variables: str) -> Outcome:
        return self.host(*self.line(*command, image=image, options=options, **variables))

    def line(self, *command: str, image: str, options: tuple[str, ...] = (), **variables: str) -> list[str]:
        words = {"MPIIMPORT_CACHE": "auto", **variables}
        engine = ["podman", "--runtime", self.runtime, "--hooks-dir", str(hooks(self.site.prefix)), "run"]
        asked = [*podman.RUN_OPTIONS, "--annotation", f"{ANNOTATION}=default", "--volume=/tmp:/tmp"]
        settings = [f"--env={name}={value}" for name, value in words.items()]
        return [*engine, *asked, *settings, *self.options, *options, image, *command]

    def fill(self, *command: str, image: str = podman.IMAGE, options: tuple[str, ...] = ()) -> Outcome:
        line = self.line(*command, image=image, options=options, MPIIMPORT_FILL="1")
        return self.mpiimport("session", "start", "--", *line)

    def mpiimport(self, *words: str, **variables: str) -> Outcome:
        return self.host(self.site.tool, *words, **variables)

    def host(self, *line: str, **variables: str) -> Outcome:
        environment = podman.environment(self.site, self.identity, self.mpi)
        environment |= {"SLURM_JOB_ID": self.job, **variables}
        command = self.site.as_identity(self.identity, list(line))
        return run(command, {name: value for name, value in environment.items() if value}, SECONDS, Path("/"))


@contextmanager
def containers_of(site: Site, mpi: Mpi, identity: str = "root") -> Iterator[Containers]:
    """Containers whose stores go with this context."""
    made = Containers(site, mpi, identity)
    try:
        yield made
    finally:
        shutil.rmtree(made.place, ignore_errors=True)
