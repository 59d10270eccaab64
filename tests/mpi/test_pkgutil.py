"""`pkgutil` sees packages as it does plainly: what lies in them, their data, extended paths, names."""

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import assert_same

TREE = {
    "one/shared/__init__.py": "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n",
    "one/shared/first.py": "value = 1\n",
    "two/shared/__init__.py": "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n",
    "two/shared/second.py": "from shared.first import value\n",
    "one/old/__init__.py": "__import__('pkg_resources').declare_namespace(__name__)\n",
    "one/tree/__init__.py": "",
    "one/tree/leaf.py": "class Thing:\n    part = 3\n",
    "one/tree/broken.py": "raise ImportError('on purpose')\n",
    "one/tree/branch/__init__.py": "",
    "one/tree/branch/twig.py": "",
    "one/tree/bare/inside.py": "",
    "one/tree/data.txt": "data",
}
PROGRAM = """
import os, pkgutil, sys, shared, shared.second, tree, numpy.linalg
def shown(infos):
    return [[getattr(i.module_finder, "path", None), i.name, i.ispkg] for i in infos]
seen["iter"] = shown(pkgutil.iter_modules(tree.__path__, "tree."))
seen["shared"] = [list(shared.__path__), shown(pkgutil.iter_modules(shared.__path__))]
failed = []
seen["walk"] = shown(pkgutil.walk_packages(tree.__path__, "tree.", onerror=failed.append))
seen["failed"] = failed
seen["top"] = shown(pkgutil.iter_modules([entry for entry in sys.path if "library" in entry]))
seen["stdlib"] = sorted(i.name for i in pkgutil.iter_modules() if i.name in sys.stdlib_module_names)
seen["numpy"] = shown(pkgutil.iter_modules(numpy.__path__))
seen["finder"] = [finder.path for finder in pkgutil.iter_importers("tree.leaf")]
seen["importer"] = pkgutil.get_importer(tree.__path__[0]).path
seen["data"] = pkgutil.get_data("tree", "data.txt").decode()
seen["resolved"] = [pkgutil.resolve_name(name).__name__ for name in ("tree.leaf:Thing", "tree.branch.twig", "numpy.linalg")]
seen["loader"] = getattr(pkgutil, "find_loader", lambda name: None)("tree") is not None
try:
    import tree.broken
except ImportError as exc:
    seen["broken"] = str(exc)
"""


def test_packages_are_walked_as_they_lie(job: Job, mpich: Mpi) -> None:
    library = job.files(TREE)
    assert_same(job, mpich, PROGRAM, PYTHONPATH=f"{library}/one:{library}/two")
