"""`importlib.metadata` and `pkg_resources` tell what they tell plainly; only root looks at the distributions."""

import pytest

from lab.ranks import Mpi
from lab.syscalls import MARK, on_tree
from tests.conftest import Job
from tests.mpi.sameness import assert_same

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: alpha\n\nLong caf\xe9\n"
TREE = {
    "alpha/__init__.py": "from importlib.metadata import version\n__version__ = version('alpha')\n",
    "alpha-1.0.dist-info/METADATA": METADATA.format(name="alpha", version="1.0"),
    "alpha-1.0.dist-info/RECORD": "alpha/__init__.py,,\nalpha-1.0.dist-info/METADATA,,\n",
    "alpha-1.0.dist-info/entry_points.txt": "[plugins]\nfirst = alpha:__version__\n",
    "beta/__init__.py": "from importlib import metadata\n__version__ = metadata.version('Other.Name-for_beta')\n",
    "other_name_for_beta-2.5.dist-info/METADATA": METADATA.format(name="Other.Name-for_beta", version="2.5"),
    "other_name_for_beta-2.5.dist-info/top_level.txt": "beta\n",
    "gamma/__init__.py": "import importlib.metadata as m\nplugins = [p.load() for p in m.entry_points(group='plugins')]\n",
    "gamma-3.egg-info/PKG-INFO": "Metadata-Version: 1.1\r\nName: gamma\r\nVersion: 3\r\n",
    "gamma-3.egg-info/requires.txt": "alpha>=1\n\n[extra]\nbeta\n",
    "gamma-3.egg-info/SOURCES.txt": "gamma/__init__.py\n",
    "delta-4.egg-info": "Metadata-Version: 1.1\nName: delta\nVersion: 4\n",
    "unrelated-9.dist-info/METADATA": METADATA.format(name="unrelated", version="9"),
    "unrelated-9.dist-info/entry_points.txt": "[console_scripts]\nunrelated = json:dumps\n\n[plugins]\nlast = json:loads\n",
    "empty-0.dist-info/INSTALLER": "test",
}
PROGRAM = """
import importlib, importlib.metadata as metadata, os, sys
import alpha, beta, gamma
place = os.path.dirname(os.path.dirname(alpha.__file__))
seen["versions"] = [alpha.__version__, beta.__version__, metadata.version("gamma"), metadata.version("delta"), metadata.version("numpy")]
seen["plugins"] = [repr(plugin)[:30] for plugin in gamma.plugins if not callable(plugin)] + [len(gamma.plugins)]
seen["metadata"] = [[key, value] for name in ("alpha", "gamma", "unrelated") for key, value in metadata.metadata(name).items()]
seen["requires"] = [metadata.requires("gamma"), metadata.requires("alpha")]
seen["files"] = [str(file) for file in metadata.files("alpha")]
seen["texts"] = [repr(metadata.distribution(name).read_text(file)) for name in ("alpha", "gamma", "empty") for file in ("METADATA", "PKG-INFO", "INSTALLER", "no-such", "top_level.txt")]
seen["distributions"] = sorted(path for path in (str(found._path) for found in metadata.distributions()) if path.startswith(place) and "fresh" not in path)
seen["points"] = sorted(str(point) for point in metadata.entry_points().select(group="plugins"))
seen["packages"] = {key: value for key, value in metadata.packages_distributions().items() if key in ("alpha", "beta", "numpy")}
for name in ("no-such", "alph"):
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError as exc:
        seen[name] = str(exc)
os.makedirs(os.path.join(place, f"fresh{os.getpid()}-5.dist-info"))
with open(os.path.join(place, f"fresh{os.getpid()}-5.dist-info", "METADATA"), "w") as stream:
    stream.write("Name: fresh\\nVersion: 5\\n")
importlib.invalidate_caches()
seen["fresh"] = metadata.version(f"fresh{os.getpid()}")
"""
# What the modules of a job ask at import, and no more.
QUIET = f"""
import os, importlib.metadata, alpha, beta, gamma
os.path.exists("{MARK}end")
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    os.path.exists("{MARK}root")
"""


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_distributions_are_those_of_plain_python(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert_same(job, mpich, PROGRAM, TREE, entry_points=(entry_point,))


def test_no_rank_but_root_looks_at_distributions(job: Job, mpich: Mpi) -> None:
    _, traces = job.traced(mpich, 3, job.script(QUIET), PYTHONPATH=job.files(TREE))
    looks: dict[bool, list[str]] = {False: [], True: []}
    for found in traces:
        calls = on_tree(found.until_mark("end"), [job.directory / "library"])
        looks[found.is_root()] += [call.line for call in calls if "-info" in call.path]
    assert looks[True]
    assert looks[False] == []


RESOURCES = """
import warnings
warnings.simplefilter("ignore")
import pkg_resources, os, sys, kit.part
seen["versions"] = [pkg_resources.get_distribution(name).version for name in ("alpha", "gamma", "other-name-for-beta")]
seen["resources"] = [pkg_resources.resource_string("kit", "data.txt").decode(), pkg_resources.resource_listdir("kit", "") == sorted(os.listdir(kit.__path__[0])) or sorted(pkg_resources.resource_listdir("kit", ""))]
seen["file"] = pkg_resources.resource_filename("kit.part", "data.txt")
seen["points"] = sorted(str(point) for point in pkg_resources.iter_entry_points("plugins"))
seen["keys"] = sorted(key for key in pkg_resources.working_set.by_key)
seen["namespace"] = list(__import__("spread").__path__), __import__("spread.one").one.value, __import__("spread.two").two.value
"""


def test_pkg_resources_finds_what_it_finds(job: Job, mpich: Mpi) -> None:
    library = job.files({**TREE, "kit/__init__.py": "", "kit/part.py": "", "kit/data.txt": "text"})
    for name in "one", "two":
        declared = "__import__('pkg_resources').declare_namespace(__name__)\n"
        library += ":" + job.files({"spread/__init__.py": declared, f"spread/{name}.py": f"value = '{name}'\n"}, name)
    assert_same(job, mpich, RESOURCES, PYTHONPATH=library)
