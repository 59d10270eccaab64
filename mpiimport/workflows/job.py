"""What a workflow starts again and again: a Python program, served, in an image or in the host's own Python tree."""

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

from mpiimport.host import planner
from mpiimport.host.complaint import Complaint
from mpiimport.runtime import PACKAGE_DIRECTORY, PREFIX

MPIIMPORT = Path(PREFIX, "bin", "mpiimport")
START = Path(PACKAGE_DIRECTORY, "start.py")
PYTHON = re.compile(r"python(3(\.[0-9]+t?)?)?")
WITH_A_VALUE = "-W", "-X", "--check-hash-based-pycs"
# Images that a runtime fetches.
REFERENCES = "docker://", "library://", "oras://", "shub://", "https://"


@dataclass(frozen=True)
class Job:
    """One kind of job; each task appends arguments of its own.

    ``program``: the command that each rank runs, its first word the Python; ``image``: an image of Apptainer or
    SingularityCE, empty for the host's own tree; ``ranks_per_node``: 0 leaves it to the launcher; ``threads``: what
    OMP_NUM_THREADS is to say, 0 for nothing; ``profile``: a name or a path, empty for the site's default; ``launcher``:
    the words in front of ``-n RANKS``; ``launcher_inside``: these are the image's own, and the job is one container;
    ``options``: of the container runtime, in front of the image; ``cache``: whether a task leaves what it imports on
    its node, in memory, for those that come later.
    """

    name: str
    program: tuple[str, ...]
    image: str = ""
    ranks: int = 1
    ranks_per_node: int = 0
    threads: int = 0
    profile: str = ""
    launcher: tuple[str, ...] = ("mpiexec",)
    launcher_inside: bool = False
    options: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cache: bool = False

    @property
    def nodes(self) -> int:
        return self.ranks // self.ranks_per_node if self.ranks_per_node else 1

    @property
    def is_launched_outside(self) -> bool:
        """Tell whether somebody outside the image starts a process for each rank."""
        return self.ranks > 1 and not self.launcher_inside

    def check(self) -> "Job":
        """Return this job, its image by an absolute path, if it can be started from here. Raises Complaint."""
        for name in ("program", "launcher", "options"):
            if isinstance(getattr(self, name), str):
                raise Complaint(f"job {self.name} has a text as {name}; give a tuple of words, such as ('mpiexec',)")
        if self.options and not self.image:
            raise Complaint(
                f"job {self.name} has options of a container runtime, but no image; name one, or remove them"
            )
        if not self.program:
            raise Complaint(f"job {self.name} has no program; name one, such as: program: [python, app.py]")
        if self.ranks < 1:
            raise Complaint(f"job {self.name} has ranks: {self.ranks}; give 1 or more")
        if self.ranks_per_node and self.ranks % self.ranks_per_node:
            raise Complaint(
                f"job {self.name} has {self.ranks} ranks, which {self.ranks_per_node} ranks per node do not divide; "
                f"give ranks: {self.ranks - self.ranks % self.ranks_per_node or self.ranks_per_node}"
            )
        if self.launcher_inside and not self.image:
            raise Complaint(f"job {self.name} has launcher_inside, but no image; name the image that has the launcher")
        is_file = self.image != "" and not self.image.startswith(REFERENCES)
        if is_file and not Path(self.image).exists():
            raise Complaint(
                f"job {self.name} has the image {self.image}, which does not exist; build or fetch it first"
            )
        if self.profile:
            planner.values(self.profile)
        # Managers start tasks in directories of their own.
        return replace(self, image=str(Path(self.image).absolute())) if is_file else self

    def check_launcher(self) -> "Job":
        """Return this job, if its launcher can be found here. Raises Complaint."""
        if self.is_launched_outside and shutil.which(self.launcher[0]) is None:
            raise Complaint(
                f"job {self.name} has the launcher {self.launcher[0]}, which is not on PATH; load the module that "
                "brings it, or name another: launcher: [srun]"
            )
        return self

    def rank_words(self, *arguments: str) -> list[str]:
        """Return what a manager that starts the ranks by itself starts for each: the whole job, if nobody has to."""
        program = [*self._launched_inside(), *self.program, *arguments]
        if self.image:
            return [str(MPIIMPORT), "exec", *self._profile_words(), *self.options, self.image, *program]
        return started_early(program, self.profile_name) or [*self._run(), *program]

    def words(self, *arguments: str) -> list[str]:
        """Return what starts the job from one shell."""
        if not self.is_launched_outside:
            return self.rank_words(*arguments)
        launcher = [*self.launcher, "-n", str(self.ranks)]
        program = [*self.program, *arguments]
        if self.image:
            return [*self._run(), *launcher, "apptainer", "exec", *self.options, self.image, *program]
        early = started_early(program, self.profile_name)
        return [*launcher, *early] if early else [*self._run(), *launcher, *program]

    def line(self, *arguments: str) -> str:
        """Return what starts the job as a line for a shell, its environment included."""
        return assigned(self.variables(), shlex.join(self.words(*arguments)))

    def rank_line(self, *arguments: str) -> str:
        """Return what starts a rank as a line for a shell, its environment included."""
        return assigned(self.variables(), shlex.join(self.rank_words(*arguments)))

    def variables(self) -> dict[str, str]:
        """Return the environment that the job adds to what it inherits."""
        threads = {"OMP_NUM_THREADS": str(self.threads)} if self.threads else {}
        cache = {"MPIIMPORT_CACHE": "auto"} if self.cache else {}
        return {**threads, **cache, **self.environment}

    @property
    def profile_name(self) -> str:
        """The profile as every entry point takes it, a file by its absolute path; empty for the site's default."""
        return planner.named(self.profile) if self.profile else ""

    def _profile_words(self) -> list[str]:
        return ["--profile", self.profile_name] if self.profile else []

    def _run(self) -> list[str]:
        return [str(MPIIMPORT), "run", *self._profile_words(), "--"]

    def _launched_inside(self) -> list[str]:
        return [*self.launcher, "-n", str(self.ranks)] if self.launcher_inside else []


def started_early(words: list[str], profile: str = "") -> list[str]:
    """Return a command of the host's own Python, served by the early start; empty where that is not possible.

    Options of Python stay where they are (its manual, "Command line"). A -S of the program's own has no other place.
    """
    if not PYTHON.fullmatch(PurePath(words[0]).name):
        return []
    end = 1
    while end < len(words) and words[end].startswith("-") and words[end][:2] not in ("-", "-c", "-m"):
        if words[end][1:2] != "-" and "S" in words[end][1:]:
            return []
        end += 2 if words[end] in WITH_A_VALUE else 1
    return [*words[:end], "-S", str(START), *(["-I", profile] if profile else []), *words[end:]]


def assigned(variables: Mapping[str, str], line: str) -> str:
    """Return a shell's line with variables assigned for it alone."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return " ".join(["env", *assignments, line]) if assignments else line
