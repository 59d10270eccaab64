"""`importlib.resources` and `get_data` hand out the files beside the code, as real paths where plain Python has them."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job
from tests.mpi.sameness import assert_same

TREE = {
    "kit/__init__.py": "",
    "kit/table.txt": "one\ntwo\n",
    "kit/data/deep/leaf.bin": "leaf",
    "kit/sub/__init__.py": "",
    "kit/sub/note.txt": "note",
    "portions/part.txt": "of a namespace",
}
PROGRAM = """
import importlib.resources as resources, os, pkgutil, sys, warnings
import kit, kit.sub, numpy
warnings.simplefilter("ignore")
root = resources.files("kit")
seen["root"] = [repr(root), type(root).__name__]
seen["listing"] = sorted(entry.name for entry in root.iterdir() if entry.name != "__pycache__")
seen["text"] = root.joinpath("table.txt").read_text()
seen["deep"] = root.joinpath("data", "deep", "leaf.bin").read_bytes().decode()
seen["missing"] = root.joinpath("no-such").is_file()
with resources.as_file(root / "table.txt") as path:
    seen["as_file"] = [str(path), type(path).__name__, os.path.exists(path)]
with resources.as_file(root / "data") as path:
    seen["as_directory"] = [str(path), os.listdir(path)]
seen["namespace"] = [repr(resources.files("portions")), resources.files("portions").joinpath("part.txt").read_text()]
seen["module"] = resources.files(kit.sub).joinpath("note.txt").read_text()
for name in ("contents", "read_text", "is_resource", "path"):
    function = getattr(resources, name, None)
    if function:
        arguments = ("kit",) if name == "contents" else ("kit", "table.txt")
        value = function(*arguments)
        seen[name] = sorted(value) if name == "contents" else str(value) if name != "path" else str(value.__enter__())
reader = kit.__spec__.loader.get_resource_reader("kit")
seen["reader"] = [type(reader).__name__, str(reader.path), reader.is_resource("table.txt"), sorted(reader.contents())]
seen["get_data"] = [pkgutil.get_data("kit", "table.txt").decode(), kit.__loader__.get_data(kit.__file__).decode()]
seen["extension"] = numpy._core._multiarray_umath.__loader__.get_data(numpy.__file__)[:40].decode()
for bad in ("no-such.txt", "data"):
    try:
        pkgutil.get_data("kit", bad)
    except OSError as exc:
        seen["error " + bad] = str(exc)
try:
    resources.files("no_such_package")
except ImportError as exc:
    seen["error"] = str(exc)
"""


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_resources_are_files_of_the_tree(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert_same(job, mpich, PROGRAM, TREE, entry_points=(entry_point,))
