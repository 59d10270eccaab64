"""Editable installs of the build backends in use: path files, and finders that the packages bring themselves."""

import subprocess
import sys
from pathlib import Path

import pytest

from lab.ranks import Mpi, clean_environment
from tests.conftest import Job, settle
from tests.mpi.sameness import Setting, differences, launch, reporting

BACKENDS = (
    *("setuptools==80.9.0", "hatchling==1.33.0", "editables==0.6", "meson-python==0.22.1", "meson==1.12.1"),
    *("ninja==1.13.2", "scikit-build-core==1.1.2", "cmake==4.4.4", "packaging==26.3", "pathspec==1.1.1"),
    *("pluggy==1.7.0", "pyproject-metadata==0.12.1", "trove-classifiers==2026.9.21.13", "tomlkit==0.15.2"),
)
EXTENSION = """
#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "native", 0, -1, methods};
PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }
"""


def pyproject(name: str, requires: str, backend: str, more: str = "") -> str:
    return f"""
[build-system]
requires = ["{requires}"]
build-backend = "{backend}"
[project]
name = "{name.replace("_", "-")}-project"
version = "1.5"
[project.entry-points.tests]
{name} = "{name}:value"
{more}
"""


SETUPTOOLS = "setuptools", "setuptools.build_meta"
HATCHLING = "hatchling", "hatchling.build"
PROJECTS = {
    "by_path": {
        "pyproject.toml": pyproject("by_path", *SETUPTOOLS),
        "src/by_path/__init__.py": "from .inner import value\n",
        "src/by_path/inner.py": "value = 0\n",
        "src/by_path/data.txt": "data",
    },
    "by_finder": {
        "pyproject.toml": pyproject(
            *("by_finder", *SETUPTOOLS),
            '[tool.setuptools]\npackages = ["by_finder", "spread.part"]\n'
            '[tool.setuptools.package-dir]\nby_finder = "lib/one"\n"spread.part" = "lib/two"\n',
        ),
        "lib/one/__init__.py": "from .inner import value\n",
        "lib/one/inner.py": "value = 0\n",
        "lib/one/data.txt": "data",
        "lib/two/__init__.py": "value = 'a namespace'\n",
    },
    "hatch_path": {
        "pyproject.toml": pyproject("hatch_path", *HATCHLING, '[tool.hatch.build.targets.wheel]\npackages = ["src/hatch_path"]'),
        "src/hatch_path/__init__.py": "from .inner import value\n",
        "src/hatch_path/inner.py": "value = 0\n",
        "src/hatch_path/data.txt": "data",
    },
    "hatch_exact": {
        "pyproject.toml": pyproject(
            "hatch_exact", *HATCHLING, '[tool.hatch.build]\ndev-mode-exact = true\n[tool.hatch.build.targets.wheel]\npackages = ["src/hatch_exact"]'
        ),
        "src/hatch_exact/__init__.py": "from .inner import value\n",
        "src/hatch_exact/inner.py": "value = 0\n",
        "src/hatch_exact/data.txt": "data",
    },
    "by_meson": {
        "pyproject.toml": pyproject("by_meson", "meson-python", "mesonpy"),
        "meson.build": "project('by-meson', 'c', version: '1.5')\npy = import('python').find_installation(pure: false)\n"
        "py.install_sources('by_meson/__init__.py', 'by_meson/inner.py', 'by_meson/data.txt', subdir: 'by_meson')\n"
        "py.extension_module('native', 'native.c', subdir: 'by_meson', install: true)\n",
        "native.c": EXTENSION,
        "by_meson/__init__.py": "from .inner import value\nfrom .native import answer\nassert answer() == 42\n",
        "by_meson/inner.py": "value = 0\n",
        "by_meson/data.txt": "data",
    },
    "by_scikit": {
        "pyproject.toml": pyproject(
            *("by_scikit", "scikit-build-core", "scikit_build_core.build"), '[tool.scikit-build]\nwheel.packages = ["src/by_scikit"]'
        ),
        "CMakeLists.txt": "cmake_minimum_required(VERSION 3.20)\nproject(by_scikit LANGUAGES C)\n"
        "find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)\n"
        "Python_add_library(native MODULE native.c WITH_SOABI)\ninstall(TARGETS native DESTINATION by_scikit)\n",
        "native.c": EXTENSION,
        "src/by_scikit/__init__.py": "from .inner import value\nfrom .native import answer\nassert answer() == 42\n",
        "src/by_scikit/inner.py": "value = 0\n",
        "src/by_scikit/data.txt": "data",
    },
}  # fmt: skip
PROGRAM = f"""
import importlib, importlib.metadata, importlib.resources, pkgutil, sys
for name in {sorted(PROJECTS)!r}:
    module = importlib.import_module(name)
    inner = sys.modules[name + ".inner"]
    seen[name] = [module.value, module.__file__, inner.__file__, list(module.__path__), module.__spec__.origin, inner.__spec__.cached]
    seen[name + " data"] = [importlib.resources.files(module).joinpath("data.txt").read_text()]
    seen[name + " loaders"] = [type(found.__loader__).__name__.replace("StoreSourceLoader", "SourceFileLoader").replace("StoreExtension", "ExtensionFile") for found in (module, inner)]
    seen[name + " version"] = importlib.metadata.version(name.replace("_", "-") + "-project")
    seen[name + " modules"] = sorted(info.name for info in pkgutil.iter_modules(module.__path__))
    if hasattr(module, "answer"):
        seen[name + " native"] = [sys.modules[name + ".native"].__file__, module.answer()]
import spread.part
seen["namespace"] = [spread.part.value, list(spread.__path__)]
seen["points"] = sorted((point.name, point.load()) for point in importlib.metadata.entry_points(group="tests"))
seen["sys.path"] = sys.path
seen["finders"] = [getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path]
seen["hooks"] = [getattr(hook, "__qualname__", "") for hook in sys.path_hooks if not hasattr(hook, "__self__") or hook.__self__.__class__.__module__[:9] != "mpiimport"]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an environment, `venv`, in which every project is installed from where its source lies."""
    home = tmp_path_factory.mktemp("editable")
    python = home / "venv" / "bin" / "python"
    environment = clean_environment(PATH=f"{python.parent}:/usr/local/bin:/usr/bin:/bin")
    quietly: list[str | Path] = [python, "-m", "pip", "install", "-q", "--no-deps"]
    subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
    subprocess.run([*quietly, *BACKENDS], check=True, env=environment)
    for name, files in PROJECTS.items():
        for path, text in files.items():
            file = home / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        subprocess.run([*quietly, "--no-build-isolation", "-e", home / name], check=True, env=environment)
    return home


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_editable_installs_are_imported_from_their_sources(
    job: Job, mpich: Mpi, installed: Path, entry_point: str
) -> None:
    script = job.script(reporting(job, PROGRAM))
    python = installed / "venv" / "bin" / "python"
    for value in range(2):
        for name, files in PROJECTS.items():
            (inner,) = (path for path in files if path.endswith("inner.py"))
            (installed / name / inner).write_text(f"value = {value}\n" + "#" * value)
        setting = Setting(str(python), seconds=300)
        # meson-python builds what changed at import, with the ninja it finds.
        path = f"{python.parent}:/usr/local/bin:/usr/bin:/bin"
        assert differences(job, mpich, script, entry_points=(entry_point,), setting=setting, PATH=path) == {}
        _, (seen,) = launch(job, mpich, "plain", script, setting=setting, PATH=path)
        assert [seen[name][0] for name in PROJECTS] == [value] * len(PROJECTS)


# Rank 0 writes what all import behind it. The others are built when they are imported.
WRITTEN = """
import importlib, os, sys, time
done = sys.argv[1]
def unused():
    import by_path.inner, by_finder.inner, hatch_path.inner, hatch_exact.inner
if os.environ["PMI_RANK"] == "0":
    for path in sys.argv[2:]:
        with open(path, "w") as stream:
            stream.write("value = 'written meanwhile'\\n")
    os.mkdir(done)
while not os.path.exists(done):
    time.sleep(0.01)
print([importlib.import_module(name).value for name in ("by_path", "by_finder", "hatch_path", "hatch_exact")])
"""


@pytest.mark.full
@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_what_a_rank_writes_into_one_is_imported_as_plainly(
    job: Job, mpich: Mpi, installed: Path, entry_point: str
) -> None:
    names = ["by_path", "by_finder", "hatch_path", "hatch_exact"]
    inner = [str(installed / name / path) for name in names for path in PROJECTS[name] if path.endswith("inner.py")]
    for path in inner:
        Path(path).write_text("value = 'before'\n")
    settle(*map(Path, inner), *(Path(path).parent for path in inner))
    editable = Job(job.prefix, job.directory, installed / "venv" / "bin" / "python")
    outcome = editable.run(
        mpich,
        2,
        job.script(WRITTEN),
        job.directory / "done",
        *inner,
        entry_point=entry_point,
        seconds=300,
        PYTHONDONTWRITEBYTECODE="1",
    )
    assert outcome.lines() == [str(["written meanwhile"] * len(names))] * 2, outcome.stderr
