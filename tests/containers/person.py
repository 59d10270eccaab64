"""A person who starts containers under profiles, in any of the ways that there are, and sees their variables."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from lab.ranks import Mpi, Outcome, run
from tests.conftest import write_profile
from tests.containers.cells import Site
from tests.containers.entry_points import podman
from tests.containers.entry_points.entrypoint import PLAIN, SERVED, make_docker_images
from tests.containers.entry_points.oci_hook import hooks

HEAD = "schema_version: 1\nname: {}\ndescription: a test\n"


def variables(outcome: Outcome, names: Iterable[str]) -> dict[str, str]:
    """Those of the variables ``names`` that a container's ``env`` shows."""
    assert outcome.status == 0, outcome.stderr
    found = dict(line.split("=", 1) for line in outcome.stdout.splitlines() if "=" in line)
    return {name: found[name] for name in names if name in found}


class Person:
    """``directory``: theirs; ``environment``: what they have in every shell."""

    def __init__(self, site: Site, mpi: Mpi, identity: str = "user") -> None:
        self.site, self.identity = site, identity
        self.directory = site.workspace(identity)
        self.profiles = self.directory / "config" / "mpiimport" / "profiles"
        self.profiles.mkdir(parents=True)
        self.environment = site.environment(identity, mpi, XDG_CONFIG_HOME=str(self.directory / "config"))
        self.image = str(site.images / "py")

    def profile(self, name: str, text: str) -> Path:
        """Write a profile, which they can name."""
        return write_profile(self.profiles / f"{name}.yaml", text)

    def program(self, name: str) -> str:
        return str(self.site.prefix / "bin" / name)

    def run(self, *command: str | Path, **changes: str) -> Outcome:
        line = self.site.as_identity(self.identity, [str(word) for word in command])
        return run(line, self.environment | changes, 120, self.directory)

    def start(self, way: str, profiles: object, *words: str, options: Iterable[str] = (), **changes: str) -> Outcome:
        """Start ``words`` in a container under profiles; empty: none is named.

        ``way``: ``shim``, ``plugin``, ``run`` or ``exec`` with Apptainer's; ``docker``: ``mpiimport exec``; ``entry``:
        an image with mpiimport inside. ``options``: the runtime's; of ``run`` a launcher.
        """
        if way in ("docker", "entry"):
            make_docker_images(self.site)
            changes = {"PATH": os.environ["PATH"], "DOCKER_HOST": self.site.docker.host} | changes
        named = ["--profile", str(profiles)] if profiles else []
        flag = f"--mpiimport={profiles}" if profiles else "--mpiimport"
        line = {
            "run": [self.program("mpiimport"), "run", *named, "--", *options, "apptainer", "exec", self.image],
            "exec": [self.program("mpiimport"), "exec", *named, *options, self.image],
            "docker": [self.program("mpiimport"), "exec", *named, "--network=none", *options, PLAIN],
            "entry": ["docker", "run", "--rm", "--network=none", *options, SERVED],
        }.get(way) or [self.site.apptainer(way), "exec", flag, *options, self.image]
        return self.run(*line, *words, **changes)


class Hook:
    """podman with the OCI hook, and profiles of the prefix, which end with it."""

    def __init__(self, site: Site, mpi: Mpi, *names: str) -> None:
        self.site = site
        self.profiles = {name: site.prefix / "profiles" / f"{name}.yaml" for name in names}
        self._environment = podman.environment(site, "root", mpi)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.site.plan("withdraw", *self.profiles)
        for path in self.profiles.values():
            path.unlink(missing_ok=True)

    def write(self, name: str, text: str) -> None:
        write_profile(self.profiles[name], text)

    def release(self, names: str) -> "subprocess.CompletedProcess[str]":
        return self.site.plan("release", names)

    def run(self, *words: str, options: Iterable[str] = ()) -> Outcome:
        """Run ``words`` in a container under all of the profiles."""
        # podman 4 reads the option as a line of CSV.
        annotation = f'"org.mpiimport.profile={",".join(self.profiles)}"'
        line = ["podman", "--hooks-dir", str(hooks(self.site.prefix)), "run", *podman.RUN_OPTIONS]
        line += ["--annotation", annotation, *options, podman.IMAGE, *words]
        return run(line, self._environment, 120, Path("/"))
