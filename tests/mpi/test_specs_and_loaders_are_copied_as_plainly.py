"""Specs, loaders and finders of served modules are data, as importlib's are: copied, pickled, sent to other ranks."""

import pytest

from lab.ranks import Mpi
from tests.conftest import Job

PROGRAM = """
import colorsys, copy, importlib.metadata, importlib.util, json.decoder, pickle, _json, _ctypes, sys
from mpi4py import MPI
kinds = {"StoreSourceLoader": "SourceFileLoader", "StoreExtensionLoader": "ExtensionFileLoader"}
def kind(loader):
    return kinds.get(type(loader).__name__, type(loader).__name__)
for module in json.decoder, colorsys, importlib.metadata, _json, _ctypes, sys.modules["mpi4py"]:
    spec, loader = module.__spec__, module.__loader__
    print(sorted(vars(loader)), hash(loader) == hash((copy.copy(loader))))
    for copied in copy.copy(spec), copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)), MPI.COMM_WORLD.bcast(spec):
        print(copied.name, copied.origin, copied == spec, copied.loader == loader, loader == copied.loader)
        assert copied.cached == spec.cached
        again = importlib.util.module_from_spec(copied)
        assert (again.__name__, again.__file__) == (module.__name__, module.__file__)
    for copied in copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader, 2)):
        print(kind(copied), vars(copied) == vars(loader), copied.get_code(module.__name__) is not None)
finder = sys.path_importer_cache[json.__path__[0]]
print(sorted(vars(pickle.loads(pickle.dumps(finder)))), copy.deepcopy(finder).find_spec("json.decoder").origin)
for name in "json", "colorsys.part", "":
    try:
        print(colorsys.__loader__.get_code(name))
    except ImportError as exc:
        print(exc, exc.name, exc.path)
print(colorsys.__loader__.get_code(None).co_filename)
"""


@pytest.mark.parametrize("entry_point", ["early", "sitecustomize"])
def test_specs_and_loaders_are_copied_pickled_and_sent_as_plainly(job: Job, mpich: Mpi, entry_point: str) -> None:
    assert job.same(mpich, 2, job.script(PROGRAM), entry_points=[entry_point])


EQUAL = """
import json, _ctypes
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from importlib.util import spec_from_file_location
for module, loader in (json.decoder, SourceFileLoader), (_ctypes, ExtensionFileLoader):
    spec = module.__spec__
    plain = spec_from_file_location(spec.name, spec.origin, loader=loader(spec.name, spec.origin))
    print(spec == plain, plain == spec, hash(spec.loader) == hash(plain.loader), spec.loader == loader("other", spec.origin))
"""


def test_a_spec_equals_the_ordinary_one(job: Job, mpich: Mpi) -> None:
    assert job.run(mpich, 2, job.script(EQUAL)).lines() == ["True True True False"] * 4
