"""A program has the name and the arguments that the runtime alone would give it, however it is started."""

from dataclasses import dataclass, field

import pytest

from lab.ranks import Mpi, run
from tests.conftest import but_everyday, wait_for, write_profile
from tests.containers.cells import Site

TOOL = '#!/bin/sh\necho "name: $0"\nfor word; do echo "word: $word"; done\n'
PYTHON = "#!/usr/bin/python3\nimport sys\nprint(sys.argv, sys.orig_argv, sys.executable)\n"
# Started by a launcher, it is served.
RANK = PYTHON + "import numpy\nprint(sys.argv[0], numpy.__name__)\n"
ODD = (" ", "'", '"', "$HOME", "\\", "\n", "é", "*", "=", "-x", "`id`", "${x", "$(id)", "!", "~")
NAME = ["/bin/sh", "-c", "echo $0 $@"]
ONE_RANK = {"PMI_RANK": "0", "PMI_SIZE": "1", "MPI_LOCALNRANKS": "1"}
PER_NODE = "container: {per_node: true}"
UNSETS = "environment: {unset: [NO_SUCH]}"
SECONDS = 60


@dataclass(frozen=True)
class Form:
    """One command line behind the runtime's name. IMAGE stands for the image, HERE for the directory of the tools."""

    command: list[str]
    options: list[str] = field(default_factory=list)
    action: str = "exec"
    front: list[str] = field(default_factory=lambda: ["IMAGE"])
    variables: dict[str, str] = field(default_factory=dict)
    directory: str = "."
    ranks: int = 0
    profile: str = ""


def prepared(script: str, *options: str, of: str = "once") -> list[str]:
    """The options that put a script of the tools into the image."""
    return [*options, "--bind", f"HERE/{of}/{script}:/.singularity.d/{script}"]


NAMES = {f"{odd!a} in the name": Form([f"./{odd}tool.sh"]) for odd in ODD}
COMMANDS = {
    "here": Form(["./tool.sh"]),
    "arguments": Form(["./tool.sh", "a", "b c", "", "--mpiimport", "--", "-x", "$HOME"]),
    "below": Form(["sub/tool.sh"]),
    "two dots": Form(["./sub/../tool.sh"]),
    "two slashes": Form([".//tool.sh"]),
    "above": Form(["../tool.sh"], directory="sub"),
    "absolute": Form(["HERE/tool.sh"]),
    "absolute, two dots": Form(["HERE/sub/../tool.sh"]),
    "absolute, two slashes": Form(["HERE//tool.sh"]),
    "a link": Form(["./link.sh"]),
    "in a linked directory": Form(["linked/tool.sh"]),
    "from a linked directory": Form(["./tool.sh"], directory="linked"),
    "a link to a shell": Form(["./shell", "-c", "echo $0 $@", "name", "a"]),
    "a shell's command": Form(NAME),
    "a shell's command with a name": Form([*NAME, "name", "a"]),
    "a shell by its name": Form(["sh", *NAME[1:]]),
    "a shell with another name": Form(["bash", "-c", "exec -a other sh -c 'echo $0'"]),
    "by env": Form(["env", "./tool.sh"]),
    "by timeout": Form(["timeout", "9", "./tool.sh", "a"]),
    "without an interpreter": Form(["./bare", "a"]),
    "python": Form(["./tool.py"]),
    "python with arguments": Form(["./tool.py", "a", ""]),
    "a script of python": Form(["python3", "tool.py"]),
    "a script of python here": Form(["python3", "./tool.py", "a"]),
    "a script of python by a path": Form(["/usr/bin/python3", "sub/../tool.py"]),
    "a module of python": Form(["python3", "-m", "tool", "a"]),
    "a command of python": Form(["python3", "-c", "import sys; print(sys.argv, sys.orig_argv)", "a"]),
    "options of python": Form(["python3", "-u", "-B", "tool.py", "a"]),
    "a link to python": Form(["./python3", "tool.py"]),
    "not there": Form(["./none"]),
    "not on PATH": Form(["none"]),
    "no program": Form(["./data"]),
    "a directory": Form(["./sub"]),
    "no name": Form([""]),
    "hyphens behind the image": Form(["--", "./tool.sh"]),
    "hyphens in front of the image": Form(["./tool.sh"], front=["--", "IMAGE"]),
}
PATHS = {
    f"PATH is {path!a}": Form([command], variables={"APPTAINERENV_PREPEND_PATH": path})
    for path in ("HERE/sub", "HERE/sub/", "HERE/./sub", ".", "sub", "")
    for command in (("tool.sh", "bare") if path == "HERE/sub" else ("tool.sh",))
}
HIDDEN = ["--bind", "HERE", "--pwd", "HERE"]
OPTIONS = {
    "--pwd": Form(["./tool.sh"], ["--pwd", "HERE/sub"]),
    "--pwd of a link": Form(["./tool.sh"], ["--pwd", "HERE/linked"]),
    "--cleanenv": Form(["./tool.sh"], ["--cleanenv"]),
    "--cleanenv, on PATH": Form(["sh", *NAME[1:]], ["--cleanenv"]),
    "--no-eval": Form(["./sub/../tool.sh"], ["--no-eval"]),
    "--compat": Form(["./tool.sh"], ["--compat", *HIDDEN]),
    "--containall": Form(["./tool.sh"], ["--containall", *HIDDEN]),
    "--pid": Form(["./tool.sh"], ["--pid"]),
    "--pid --no-init": Form(["./tool.sh"], ["--pid", "--no-init"]),
    "--userns": Form(["./tool.sh"], ["--userns"]),
    "--env": Form(["./tool.sh"], ["--env", "A=b"]),
    "--env of PATH": Form(["tool.sh"], ["--env", "PATH=HERE/sub:/usr/bin:/bin"]),
    "--env of PWD": Form(["./tool.sh"], ["--env", "PWD=HERE/sub"]),
    "no interpreter, --cleanenv": Form(["./bare"], ["--cleanenv"]),
    "a script of python, --cleanenv": Form(["python3", "tool.py"], ["--cleanenv"]),
}
RANKS = {
    "a rank": Form(["./tool.sh"], variables=ONE_RANK),
    "a rank of python": Form(["./tool.py"], variables=ONE_RANK),
    "a rank's script of python": Form(["python3", "tool.py"], variables=ONE_RANK),
    "a rank with a report": Form(["./tool.py"], variables={**ONE_RANK, "MPIIMPORT_REPORT": "HERE/report.json"}),
    "a rank, --pid": Form(["./tool.sh"], ["--pid"], variables=ONE_RANK),
    "switched off": Form(["./tool.py"], variables={"MPIIMPORT": "0"}),
    "bypassed": Form(["./tool.sh"], ["--writable"]),
    "a profile that unsets something": Form(["./tool.sh"], profile=UNSETS),
    "a task with a library": Form(["python3", "tool.py"], variables={"MPIIMPORT_SNAPSHOTS": "HERE"}),
    "ranks": Form(["./rank.py"], ranks=2),
    "ranks' script of python": Form(["python3", "./rank.py"], ranks=2),
    "ranks by env": Form(["env", "./rank.py"], ranks=2),
    "ranks in one container": Form(["./rank.py"], ranks=2, profile=PER_NODE),
}
ACTIONS = {
    "run": Form(["./tool.sh", "a"], prepared("runscript"), "run"),
    "run, --cleanenv": Form(["./tool.sh", "a"], prepared("runscript", "--cleanenv"), "run"),
    "test": Form(["./tool.sh", "a"], prepared("test"), "test"),
    "shell": Form(["./tool.sh", "a"], action="shell"),
    "instance start": Form(["./tool.sh", "a"], prepared("startscript", of="instance"), "instance start"),
    "instance run": Form(["./tool.sh", "a"], prepared("runscript", of="instance"), "instance run"),
}
FORMS = {**NAMES, **COMMANDS, **PATHS, **OPTIONS, **RANKS, **ACTIONS}

SELDOM = {*list(NAMES)[3:], *list(PATHS)[3:], "ranks by env", "ranks' script of python", "instance run"}
WAYS = ("plugin", "mpiimport exec", "mpiimport run")
EVERYDAY = {"here", "a script of python", "--cleanenv", "run"}


class Person:
    """Somebody with tools in a directory, who starts them in each way."""

    def __init__(self, site: Site, mpi: Mpi) -> None:
        self._site = site
        self._mpi = mpi
        self._plain: dict[str, tuple[int | None, list[str]]] = {}
        self._here = site.workspace("root")
        self._output = self._here / "output"
        self._environment = site.environment("root", mpi)
        self._make_tools()

    def _make_tools(self) -> None:
        for directory in ("sub", "once", "instance"):
            (self._here / directory).mkdir()
        scripts = dict.fromkeys(("tool.sh", "sub/tool.sh", *(f"{odd}tool.sh" for odd in ODD)), TOOL)
        scripts |= dict.fromkeys(("bare", "sub/bare"), TOOL.partition("\n")[2])
        scripts |= {"tool.py": PYTHON, "rank.py": RANK}
        scripts |= dict.fromkeys(("once/runscript", "once/test"), TOOL + 'exec "$@"\n')
        part = self._here / "part"
        started = TOOL.replace("\n", f"\nexec >{part}\n", 1) + f'"$@"\nmv {part} {self._output}\n'
        scripts |= dict.fromkeys(("instance/runscript", "instance/startscript"), started)
        for name, text in scripts.items():
            (self._here / name).write_text(text)
            (self._here / name).chmod(0o755)
        for link, target in {
            "linked": "sub",
            "link.sh": "tool.sh",
            "shell": "/bin/sh",
            "python3": "/usr/bin/python3",
        }.items():
            (self._here / link).symlink_to(target)
        (self._here / "data").write_text("data\n")

    def plainly(self, name: str) -> tuple[int | None, list[str]]:
        """The status and what the tools have printed, by the runtime alone."""
        if name not in self._plain:
            self._plain[name] = self._started([str(self._site.runtime)], [], FORMS[name], MPIIMPORT="0")
        return self._plain[name]

    def by(self, way: str, name: str) -> tuple[int | None, list[str]]:
        form = FORMS[name]
        named = ["--profile", self._profile(form.profile)] if form.profile else []
        if way == "mpiimport exec":
            return self._started([self._site.tool, "exec", *named], [], form, action=[])
        if way == "mpiimport run":
            return self._started([self._site.apptainer()], [], form, front=[self._site.tool, "run", *named, "--"])
        flag = f"--mpiimport={named[1]}" if named else "--mpiimport"
        return self._started([self._site.apptainer(way)], [flag], form)

    def _profile(self, text: str) -> str:
        return str(write_profile(self._here / "profile.yaml", f"extends: mpich\n{text}\n"))

    def _started(
        self,
        program: list[str],
        flag: list[str],
        form: Form,
        front: list[str] | None = None,
        action: list[str] | None = None,
        **variables: str,
    ) -> tuple[int | None, list[str]]:
        launcher = self._mpi.command(form.ranks) if form.ranks else []
        words = form.action.split() if action is None else action
        isolated = "instance" in form.action
        name = [self._here.name] if isolated else []
        line = [*program, *words, *flag, *form.options, *form.front, *name, *form.command]
        forced = {"MPIIMPORT": "force"} if form.ranks else {}
        environment = {**self._environment, **forced, **form.variables, **variables}
        given = {name: self._placed(value) for name, value in environment.items()}
        directory = self._here / form.directory
        outcome = run(
            [*(front or []), *launcher, *map(self._placed, line)], {**given, "PWD": str(directory)}, SECONDS, directory
        )
        said = self._from_instance(given) if isolated else outcome.lines()
        return outcome.status, said

    def _placed(self, word: str) -> str:
        return word.replace("HERE", str(self._here)).replace("IMAGE", str(self._site.images / "py"))

    def _from_instance(self, environment: dict[str, str]) -> list[str]:
        try:
            wait_for(self._output.exists, SECONDS)
            return self._output.read_text().splitlines()
        finally:
            run([str(self._site.runtime), "instance", "stop", self._here.name], environment, SECONDS)
            self._output.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def person(site: Site, mpich: Mpi) -> Person:
    return Person(site, mpich)


@pytest.mark.parametrize("name", but_everyday(FORMS, FORMS.keys() - SELDOM))
def test_a_program_is_called_as_the_runtime_calls_it(person: Person, name: str) -> None:
    assert person.by("shim", name) == person.plainly(name)


@pytest.mark.parametrize("name", but_everyday(FORMS, EVERYDAY))
@pytest.mark.parametrize("way", WAYS)
def test_all_ways_call_it_so(person: Person, way: str, name: str) -> None:
    if way == "mpiimport exec" and FORMS[name].action != "exec":
        return
    assert person.by(way, name) == person.plainly(name)


def test_what_starts_says_something(person: Person) -> None:
    silent = {name for name in COMMANDS if not person.plainly(name)[1]}
    assert silent == {"not there", "not on PATH", "no program", "a directory", "no name", "hyphens behind the image"}
