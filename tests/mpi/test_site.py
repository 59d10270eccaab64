"""`site` leaves every rank as it leaves plain Python: path files, customisation, user site, venvs, flags."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi
from lab.syscalls import MARK, Call, Trace, trace
from tests.conftest import Job, install_in
from tests.mpi.sameness import Setting, differences, launch, reporting

STATE = """
import builtins, os, site, sys
seen["sys.path"] = sys.path
seen["argv"] = [sys.argv, sys.orig_argv[-1]]
seen["flags"] = repr(sys.flags)
seen["warnings"] = [sys.warnoptions, {key: value for key, value in sys._xoptions.items()}]
seen["prefixes"] = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix, sys.executable]
seen["user"] = [site.ENABLE_USER_SITE, site.USER_BASE, site.USER_SITE, site.PREFIXES]
seen["builtins"] = sorted(dir(builtins))
seen["finders"] = [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
seen["environment"] = {key: value for key, value in os.environ.items() if key.startswith("FROM_")}
seen["encoding"] = [sys.stdout.encoding, sys.getfilesystemencoding(), sys.stderr.errors]
seen["customised"] = [getattr(sys.modules.get(name), "__file__", None) for name in ("sitecustomize", "usercustomize")]
seen["namespace"] = [list(sys.modules[name].__path__) if name in sys.modules else None for name in ("legacy",)]
seen["imported"] = []
for name in ("by_path_file", "in_user_site", "in_user_path_file", "on_pythonpath", "legacy.part", "numpy", "late"):
    try:
        __import__(name)
        seen["imported"].append([name, sys.modules[name].__file__])
    except ImportError as exc:
        seen["imported"].append([name, str(exc)])
seen["docstring"] = site.__doc__ is None
seen["assertions"] = __debug__
seen["mode"] = [sys.dont_write_bytecode, sys.flags.dev_mode, sys.flags.utf8_mode]
"""
TRACE = "trace = open(os.path.join({place!r}, '{what}-%d' % os.getpid()), 'a'); trace.write('once\\n'); trace.close()"
LEGACY_NAMESPACE = (
    "import sys, types, os;p = os.path.join(sys._getframe(1).f_locals['sitedir'], *('legacy',));"
    "m = sys.modules.setdefault('legacy', types.ModuleType('legacy'));"
    "mp = m.__dict__.setdefault('__path__', []);(p not in mp) and mp.append(p)"
)
FLAGS = {
    "none": (),
    "isolated": ("-I",),
    "no environment, no user site": ("-E", "-s"),
    "safe path, optimised, no pycs": ("-P", "-O", "-B"),
    "development": ("-OO", "-Xdev", "-W", "error::ImportWarning", "-Xutf8"),
    "no site": ("-S",),
    "warnings are errors": ("-Werror", "-bb"),
    "bytecode elsewhere": ("-X", "pycache_prefix=pycs", "--check-hash-based-pycs", "always", "-q"),
    "nothing frozen": ("-X", "frozen_modules=off", "-b", "-u", "-R"),
}


class Installation:
    """A virtual environment with all that ``site`` looks for, and a user base beside it."""

    def __init__(self, home: Path, *options: str, python: str = sys.executable) -> None:
        subprocess.run([python, "-m", "venv", "--without-pip", *options, home / "venv"], check=True)
        self.interpreter = str(home / "venv" / "bin" / "python")
        (self.packages,) = (home / "venv" / "lib").glob("python*/site-packages")
        self.traces = home / "traces"
        self.variables = {"PYTHONUSERBASE": str(home / "user"), "PYTHONPATH": f"{home / 'path'}:{home / 'none'}"}
        user = home / "user" / "lib" / self.packages.parent.name / "site-packages"
        self.write(self.packages / "extra" / "by_path_file.py", "")
        self.write(home / "absolute" / "late.py", "")
        lines = ["# a comment", "", "extra", "no-such-directory", str(home / "absolute"), "extra", "../site-packages"]
        self.write(self.packages / "a_paths.pth", *lines)
        trace = [TRACE.format(place=str(self.traces), what=what) for what in ("pth", "site", "user")]
        self.write(
            self.packages / "b_lines.pth",
            f"import os; {trace[0]}",
            "import sys; sys.path.append('/from/a/line'); os.environ['FROM_PTH'] = str(os.path.exists('/dev/null'))",
        )
        self.write(self.packages / "c_broken.pth", "import no_such_module_anywhere", "extra/ignored")
        self.write(self.packages / "d_legacy-nspkg.pth", LEGACY_NAMESPACE)
        self.write(self.packages / "legacy" / "part.py", "")
        # PEP 829, Python 3.15 and newer.
        self.write(self.packages / "e_entry.start", "# a comment", "by_start_file:begin", "no_such_module:begin")
        self.write(
            self.packages / "extra" / "by_start_file.py",
            "import os, sys",
            "def begin(): sys.path.append('/from/a/start/file'); os.environ['FROM_START'] = 'x'",
        )
        self.write(
            self.packages / "sitecustomize.py",
            f"import os, sys; {trace[1]}; sys.path.insert(0, '/customised'); os.environ['FROM_SITE'] = 'x'",
        )
        self.write(user / "usercustomize.py", f"import os; {trace[2]}; raise ValueError('on purpose')")
        self.write(user / "in_user_site.py", "")
        self.write(user / "user.pth", "below", "import os; os.environ['FROM_USER_PTH'] = 'x'")
        self.write(user / "below" / "in_user_path_file.py", "")
        self.write(home / "path" / "on_pythonpath.py", "")
        self.traces.mkdir()

    def traced(self) -> list[tuple[str, str]]:
        """What was executed, and how often, by one process each. Forgets it."""
        found = sorted((file.name.partition("-")[0], file.read_text()) for file in self.traces.iterdir())
        for file in self.traces.iterdir():
            file.unlink()
        return found

    @staticmethod
    def write(path: Path, *lines: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines))


@pytest.fixture(scope="module")
def separate(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("separate"))


@pytest.fixture(scope="module")
def layered(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("layered"), "--system-site-packages")


@pytest.mark.parametrize("flags", FLAGS)
def test_flags_mean_what_they_mean_plainly(job: Job, mpich: Mpi, layered: Installation, flags: str) -> None:
    script = job.script(reporting(job, STATE))
    setting = Setting(layered.interpreter, FLAGS[flags])
    # The container entry's word for a -S that is the program's own.
    start = {"_MPIIMPORT_START": "early-nosite"} if "-S" in setting.flags else {}
    assert differences(job, mpich, script, entry_points=("early",), setting=setting, **layered.variables, **start) == {}


def test_start_up_code_runs_once_in_each_rank(job: Job, mpich: Mpi, layered: Installation, entry_point: str) -> None:
    script = job.script(reporting(job, STATE))
    layered.traced()
    setting = Setting(layered.interpreter)
    launch(job, mpich, "plain", script, setting=setting, **layered.variables)
    plain = layered.traced()
    assert [what for what, _ in plain] == ["pth", "site", "user"]
    assert differences(job, mpich, script, entry_points=(entry_point,), setting=setting, **layered.variables) == {}
    assert layered.traced() == sorted(plain + 2 * plain)


def test_a_separate_environment_sees_neither_system_nor_user(job: Job, mpich: Mpi, separate: Installation) -> None:
    script = job.script(reporting(job, STATE))
    setting = Setting(separate.interpreter)
    _, (seen,) = launch(job, mpich, "plain", script, setting=setting, **separate.variables)
    assert seen["user"][0] is False and ["numpy", "No module named 'numpy'"] in seen["imported"]
    assert differences(job, mpich, script, entry_points=("early",), setting=setting, **separate.variables) == {}


def test_the_interpreters_home_can_be_named(job: Job, mpich: Mpi) -> None:
    script = job.script(reporting(job, STATE))
    setting = Setting(str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"))
    assert differences(job, mpich, script, setting=setting, PYTHONHOME=sys.base_prefix, PYTHONNOUSERSITE="1") == {}


def test_every_python_finds_its_site(job: Job, mpich: Mpi, tmp_path: Path, python: Path) -> None:
    environment = Installation(tmp_path, "--system-site-packages", python=str(python))
    script = job.script(reporting(job, STATE))
    setting = Setting(environment.interpreter)
    assert differences(job, mpich, script, entry_points=("early",), setting=setting, **environment.variables) == {}


def test_entries_relative_to_where_the_job_starts(job: Job, mpich: Mpi, entry_point: str) -> None:
    job.script("", "below/on_pythonpath.py")
    job.script("", "other/elsewhere.py")
    job.script("", "late.py")
    leaving = "os.chdir('other')\nfor name in 'elsewhere', 'late':\n    try:\n        seen[name] = __import__(name).__file__\n    except ImportError as exc:\n        seen[name] = str(exc)\n"
    text = reporting(job, STATE + leaving)
    for words in (["-c", text], [job.script(text)]):
        assert differences(job, mpich, *words, entry_points=(entry_point,), PYTHONPATH="below::none:./below") == {}


def test_import_times_are_told(job: Job, mpich: Mpi) -> None:
    outcome = launch(job, mpich, "early", "-c", "import json", setting=Setting(flags=("-Ximporttime",)))[0]
    assert outcome.status == 0
    assert outcome.stderr.count("|   json\n") + outcome.stderr.count("| json\n") == 2, outcome.stderr


def test_customisation_that_ends_python_ends_the_job(job: Job, mpich: Mpi) -> None:
    job.script("raise SystemExit(3)", "path/sitecustomize.py")
    outcomes = [
        launch(job, mpich, entry_point, "-c", "print('reached')", PYTHONPATH=str(job.directory / "path"))[0]
        for entry_point in ("plain", "early")
    ]
    for outcome in outcomes:
        assert (outcome.status, outcome.stdout) == (1, "")
        assert "Fatal Python error: init_import_site: Failed to import the site module" in outcome.stderr
        assert "SystemExit: 3" in outcome.stderr


def test_only_root_reads_what_site_reads(job: Job, mpich: Mpi, layered: Installation) -> None:
    script = job.script(f"import os; os.path.exists('{MARK}end')")
    command = [*mpich.command(3), layered.interpreter, *job.python("early")[1:], str(script)]
    variables = job.environment(mpich, **layered.variables, **job.switches("early"))
    outcome, traces = trace(command, variables, job.directory)
    assert outcome.status == 0, outcome.stderr
    readers = [any(call.path.endswith(("pyvenv.cfg", ".pth")) for call in site_calls(found)) for found in traces]
    assert sorted(readers) == [False, False, True]


def site_calls(found: Trace) -> list[Call]:
    """The path calls but those of the interpreter itself, which reads ``pyvenv.cfg`` before any Python code."""
    start = next(position for position, call in enumerate(found.calls) if call.path.endswith("/start.py"))
    return found.calls[start:]


COLLECTIVE = (
    "from mpi4py import MPI; {name} = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.rank + 1); MPI.COMM_WORLD.Barrier()"
)
TOGETHER = """
import collective_at_start, sitecustomize, usercustomize, sys
from mpi4py import MPI
seen["sums"] = [collective_at_start.line, sitecustomize.site, usercustomize.user]
import decimal
print(MPI.COMM_WORLD.rank, *seen["sums"], type(decimal.__loader__).__name__, "mpi4py.MPI" in sys.modules)
"""


def test_every_rank_runs_customisation_at_the_same_time(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    """So that a collective works there: no rank runs user code while others wait for it."""
    environment = Installation(tmp_path, "--system-site-packages")
    (packages,) = (entry for entry in sys.path if entry.startswith(sys.prefix) and entry.endswith("site-packages"))
    environment.write(environment.packages / "a_a.pth", packages, "import collective_at_start")
    environment.write(environment.packages / "collective_at_start.py", COLLECTIVE.format(name="line"))
    environment.write(environment.packages / "sitecustomize.py", COLLECTIVE.format(name="site"))
    (user,) = (tmp_path / "user" / "lib").glob("python*/site-packages")
    environment.write(user / "usercustomize.py", COLLECTIVE.format(name="user"))
    script = job.script(reporting(job, TOGETHER))
    setting = Setting(environment.interpreter, seconds=60)
    outcome, _ = launch(job, mpich, "early", script, setting=setting, **environment.variables)
    assert outcome.printed() == [f"{rank} 3 3 3 StoreSourceLoader True" for rank in range(2)]


ADDED = """
import os, sys
from mpi4py import MPI
import added_by_line, added_by_customisation, below_added
os.path.exists("{mark}end")
print(*(type(module.__loader__).__name__ for module in (added_by_line, added_by_customisation, below_added)))
"""


def test_what_customisation_adds_to_the_path_is_expected(job: Job, mpich: Mpi, tmp_path: Path) -> None:
    environment = Installation(tmp_path, "--system-site-packages")
    (packages,) = (entry for entry in sys.path if entry.startswith(sys.prefix) and entry.endswith("site-packages"))
    line, added = tmp_path / "by_line", tmp_path / "added"
    environment.write(environment.packages / "f_line.pth", packages, f"import sys; sys.path.append({str(line)!r})")
    environment.write(environment.packages / "sitecustomize.py", f"import site; site.addsitedir({str(added)!r})")
    environment.write(line / "added_by_line.py", "")
    environment.write(added / "added_by_customisation.py", "")
    environment.write(added / "more.pth", "below")
    environment.write(added / "below" / "below_added.py", "")
    for directory in (line, added, added / "below"):
        install_in(directory)
    command = [*mpich.command(2), environment.interpreter, *job.python("early")[1:]]
    variables = job.environment(mpich, **environment.variables, **job.switches("early"))
    script = job.script(ADDED.format(mark=MARK))
    outcome, traces = trace([*command, str(script)], variables, job.directory)
    assert (outcome.status, outcome.lines()) == (0, ["StoreSourceLoader " * 2 + "StoreSourceLoader"] * 2), (
        outcome.stderr
    )
    readers = [any(call.path.startswith((str(line), str(added))) for call in found.calls) for found in traces]
    assert sorted(readers) == [False, True]


NOBODY_ELSE = """
import builtins, os, posixpath, site, sys, threading
kept = posixpath.isfile, posixpath.realpath
here = os.path.realpath(os.curdir)
odd, stop = [], []
def watch(*_):
    if (os.path.isfile, os.path.realpath) != kept:
        odd.append("replaced")
def hammer():
    while not stop:
        watch()
        if not os.path.isfile(__file__) or os.path.realpath(os.curdir) != here:
            odd.append("wrong")
sys.setswitchinterval(1e-6)
thread = threading.Thread(target=hammer)
thread.start()
sys.setprofile(watch)
for _ in range(5):
    sys.modules.pop("sysconfig", None)
    import sysconfig
    sysconfig.get_config_vars()
sys.setprofile(None)
stop.append(True)
thread.join()
seen["odd"] = odd
seen["of sysconfig"] = [sysconfig.os is os, sysconfig.__builtins__ is builtins.__dict__, sysconfig.get_path.__builtins__ is builtins.__dict__]
seen["of site"] = [site.os is os, site.io is sys.modules["io"], "open" in vars(site)]
seen["told"] = [sysconfig.get_config_var("srcdir"), sysconfig.get_paths(), sysconfig.is_python_build()]
"""


def test_only_sysconfig_sees_what_it_is_answered(job: Job, mpich: Mpi) -> None:
    script = job.script(reporting(job, NOBODY_ELSE))
    assert differences(job, mpich, script, entry_points=("early", "module")) == {}
