"""Packages that people use are in an image, compute what they compute plainly, and share no random numbers or keys."""

import ast
import os
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Outcome
from tests.conftest import but_everyday

from .conftest import Baked, reach

# Imports, what is the same in every process, and what is another in each.
PACKAGES = {
    "standard library": (
        "import ssl, secrets, uuid, hashlib, random, sqlite3, tempfile, multiprocessing",
        "hashlib.sha256(b'a').hexdigest()",
        "ssl.RAND_bytes(8), secrets.token_hex(), str(uuid.uuid4()), str(uuid.uuid1()), random.random(), "
        "sqlite3.connect(':memory:').execute('select random()').fetchone()[0], "
        "next(tempfile._get_candidate_names()), bytes(multiprocessing.current_process().authkey)",
    ),
    "cryptography": (
        "from cryptography.fernet import Fernet\nfrom cryptography.hazmat.primitives.asymmetric import ec",
        "ec.SECP256R1().key_size",
        "Fernet.generate_key(), ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value",
    ),
    "pandas": (
        "import numpy, pandas",
        "str(pandas.Series(range(9)).sample(3, random_state=1)), str(pandas.to_datetime(['01/02/03', '2026-01-01'], "
        "format='mixed')), pandas.DataFrame({'a': [1, 2], 'b': [1, 1]}).groupby('b').sum().to_json()",
        "tuple(pandas.Series(range(10**9, 10**9 + 99999)).sample(5)), float(numpy.random.rand())",
    ),
    "scikit-learn": (
        "import numpy\nfrom sklearn.ensemble import RandomForestRegressor\n"
        "from sklearn.linear_model import LinearRegression",
        "LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]).coef_.tolist()",
        "int(RandomForestRegressor(n_estimators=1).fit(numpy.arange(99.0).reshape(-1, 1), numpy.arange(99.0))"
        ".estimators_[0].random_state), float(numpy.random.default_rng().random())",
    ),
    "sympy": (
        "import sympy",
        "str(sympy.integrate(sympy.sin(sympy.Symbol('x')) * sympy.Symbol('x'))), str(sympy.solve('x**2 - 2'))",
        "sympy.Dummy('x').dummy_index, sympy.core.random.rng.random()",
    ),
    "scipy": (
        "import numpy, scipy.stats, scipy.optimize, scipy.spatial",
        "float(scipy.stats.norm.cdf(0.3)), float(scipy.optimize.brentq(lambda x: x * x - 2, 0, 2))",
        "float(scipy.stats.norm.rvs()), float(scipy.stats.uniform().rvs())",
    ),
    "torch": (
        "import torch, torch.multiprocessing\nfrom torch.utils.data import DataLoader",
        "torch.get_num_threads(), torch.cuda.is_available(), torch.cuda._is_in_bad_fork(), torch.linalg.norm(torch.ones"
        "(99, 99) @ torch.ones(99, 99)).item(), str(torch.autograd.functional.jacobian(torch.sin, torch.ones(2)))",
        "torch.rand(1, dtype=torch.float64).item(), torch.initial_seed(), torch.Generator().seed(), "
        "tuple(next(iter(DataLoader(range(10**6), batch_size=5, shuffle=True))).tolist())",
    ),
    "dask, networkx and requests": (
        "import dask, dask.bag, networkx, requests",
        "dask.bag.from_sequence(range(9)).sum().compute(scheduler='synchronous'), networkx.path_graph(3).size(), "
        "requests.Request('GET', 'http://h/').prepare().url, requests.utils.default_user_agent()",
        "requests.models.encode_multipart_formdata({'a': 'b'})[1]",
    ),
    "numba": (
        "import numba, numpy",
        "numba.njit(lambda n: n * (n + 1) // 2)(9), numba.get_num_threads(), "
        "numba.njit(lambda a: a.sum())(numpy.arange(9.0)), numba.threading_layer.__name__",
        "numba.njit(lambda: numpy.random.random())()",
    ),
    "pyarrow and numexpr": (
        "import io, numexpr, numpy, pyarrow, pyarrow.parquet, pandas",
        "[(pool.backend_name, [pyarrow.allocate_buffer(n, memory_pool=pool) for n in range(0, 10**6, 999)] and "
        "pool.bytes_allocated()) for pool in (pyarrow.default_memory_pool(), pyarrow.jemalloc_memory_pool(), "
        "pyarrow.mimalloc_memory_pool(), pyarrow.system_memory_pool())], "
        "[pyarrow.parquet.write_table(pyarrow.table({'x': range(10**5)}), stream) or "
        "int(pyarrow.parquet.read_table(stream)['x'].to_pandas().sum()) for stream in (io.BytesIO(), io.BytesIO())], "
        "pyarrow.cpu_count(), [numexpr.set_num_threads(n) and float(numexpr.evaluate('2 * a + 3', "
        "{'a': numpy.arange(1e6)}).sum()) for n in (2, 1, 2)]",
        "float(numpy.random.rand())",
    ),
    "pydantic": (
        "import uuid\nfrom pydantic import BaseModel, TypeAdapter, create_model",
        "create_model('A', x=(int, 1), y=(dict[str, float], {}))(x='2', y={b: 1 for b in 'abc'}).model_dump_json(), "
        "TypeAdapter(set[int]).validate_python(['1', 2]), "
        "sorted(create_model('A', x=(int, ...)).model_json_schema())",
        "str(uuid.uuid4())",
    ),
    "xarray, dask, zarr and netCDF4": (
        "import numpy, dask.array, dask.dataframe, netCDF4, xarray, zarr",
        "float(xarray.Dataset({'v': ('x', numpy.arange(4.0))}).chunk(x=2).v.sum().compute(scheduler='threads')), "
        "zarr.create_array(store=zarr.storage.MemoryStore(), data=numpy.arange(10**5), chunks=(999,), compressors="
        "zarr.codecs.BloscCodec())[:].sum().item(), dask.dataframe.io.csv.AUTO_BLOCKSIZE, "
        "netCDF4.Dataset('m', 'w', memory=99).createDimension('x', 3).size",
        "xarray.backends.locks.HDF5_LOCK.token, dask.dataframe.io.sql._extra_deps.key",
    ),
    "jax": (
        "import jax, jax.numpy as jnp, numpy",
        "jax.jit(lambda x: jnp.sum(x ** 2))(jnp.arange(3.0)).item(), jax.grad(lambda x: jnp.sin(x) ** 2)(1.0).item(), "
        "jax.random.normal(jax.random.key(0), (2,)).tolist(), jax.device_count(), str(jax.tree.map(abs, {'a': (-1,)}))",
        "float(numpy.random.rand())",
    ),
    "rich and click": (
        "import click, numpy, rich, rich.console, rich.style, rich.table, rich.markdown, tqdm.auto, io",
        "rich.console.Console(file=io.StringIO()).render_str('[bold]a[/]').plain, rich._IMPORT_CWD",
        "next(rich.style._id_generator)",
    ),
    "h5py": (
        "import h5py, numpy",
        "h5py.File('x', 'w', driver='core', backing_store=False).create_dataset('a', data=numpy.ones(3))[:].tolist()",
        "float(numpy.random.rand())",
    ),
}


OF_CORPUS = (
    *("dask, networkx and requests", "numba", "pyarrow and numexpr", "pydantic", "xarray, dask, zarr and netCDF4"),
    *("jax", "rich and click"),
)


@pytest.mark.parametrize("name", but_everyday(PACKAGES, {"standard library"}))
def test_what_is_a_processs_own_is_its_own(request: pytest.FixtureRequest, name: str) -> None:
    """In process number namespaces, too, where all ranks may have the same number."""
    lists = {"standard library": "baked", "torch": "baked_with_torch"}
    lists |= dict.fromkeys(OF_CORPUS, "baked_with_corpus")
    baked: Baked = request.getfixturevalue(lists.get(name, "baked_with_packages"))
    expect_own(baked, name)


DRAW = """
import pyarrow
import ctypes, sys
library = pyarrow.__path__[0] + "/libarrow.so"
base = min(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if library in line)
draw = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(base + int(sys.argv[1], 16))
place = ctypes.create_string_buffer(16)
assert draw(place, 16) == 1
print(place.raw.hex())
frame = sys._getframe()
while frame is not None and "start" not in frame.f_locals:
    frame = frame.f_back
print(*(frame.f_locals["start"].numbers if frame else ()))
"""


@pytest.mark.full
def test_a_library_of_openssl_that_has_a_seed_takes_another_one(baked_with_corpus: Baked) -> None:
    """Where the number of the process is another one. Where it is the maker's, there would be the same numbers."""
    if os.geteuid():
        pytest.skip("a process with a given number needs a namespace of its own")
    baked = baked_with_corpus
    (library,) = Path(baked.python).parent.parent.glob("lib/*/site-packages/pyarrow/libarrow.so.*")
    symbols = subprocess.run(["nm", library], capture_output=True, text=True, check=True, timeout=60).stdout
    (address,) = (line.split()[0] for line in symbols.splitlines() if line.endswith(" RAND_bytes"))
    script = baked.script(DRAW)

    def draw(number: int) -> Outcome:
        shell = f'echo {number - 1} >/proc/sys/kernel/ns_last_pid; "$@"; :'
        apart = ("unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", shell, "sh")
        return baked.start(script, address, before=apart, MPIIMPORT_VERBOSE="1")

    baked.bake(script)
    first, numbers = baked.start_restored(script, address).stdout.splitlines()
    own = [draw(99), draw(99), draw(999)]
    assert not any("is not used" in outcome.stderr for outcome in own)
    assert len({first, *(outcome.stdout.partition("\n")[0] for outcome in own)}) == len(own) + 1
    assert all("as the maker had" in draw(int(number)).stderr for number in numbers.split())
    baked.bake(script, "--without", "another_number")
    numbers = baked.start_restored(script, address).stdout.splitlines()[1]
    same = [draw(int(number)).stdout for number in numbers.split()[:1] for _ in range(2)]
    assert same[0] == same[1]


TORCH = """
import torch, torch.multiprocessing
from torch.utils.data import DataLoader, TensorDataset

def product(answers):
    answers.put((torch.get_num_threads(), (torch.ones(300, 300) @ torch.ones(300, 300)).sum().item()))

if __name__ == "__main__":
    for way in ("fork", "spawn"):
        context = torch.multiprocessing.get_context(way)
        answers = context.SimpleQueue()
        processes = [context.Process(target=product, args=(answers,)) for _ in range(2)]
        for process in processes:
            process.start()
        print([answers.get() for _ in processes])
        for process in processes:
            process.join()
            print(process.exitcode)
    torch.manual_seed(3)
    loader = DataLoader(TensorDataset(torch.arange(32.0)), batch_size=4, shuffle=True, num_workers=2)
    print([batch[0].tolist() for batch in loader])
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.rand(4, 3, 16, 16)).pow(2).mean()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model")
    print(loss.item(), sorted(torch.load("model")), torch.ones(5).share_memory_().is_shared())
    print(torch.linalg.svd(torch.rand(50, 50))[1].sum().item(), torch.fft.fft(torch.rand(64)).abs().sum().item())
    try:
        torch.ones(2).cuda()
    except Exception as exc:
        print(type(exc).__name__)
    print(torch.__config__.parallel_info())
"""


@pytest.mark.full
def test_torch_computes_what_it_computes_plainly(baked_with_torch: Baked) -> None:
    """With children, threads, and on as many processors as it may use."""
    script = baked_with_torch.script(TORCH)
    assert "it prints" in reach(baked_with_torch.bake(script))
    plain, started = baked_with_torch.plain(script), baked_with_torch.start_restored(script)
    assert plain.status == 0 and started == plain
    one = str(min(os.sched_getaffinity(0)))
    bound = baked_with_torch.start_fresh("number of processors", script, before=("taskset", "-c", one))
    assert "[(1, 27000000.0), (1, 27000000.0)]" in bound.stdout


def expect_own(baked: Baked, name: str) -> None:
    """Expect that what is the same is the same, and that nothing else is, plainly and in three starts."""
    imports, alike, own = PACKAGES[name]
    script = baked.script(f"{imports}\nprint(({alike},))\nprint(({own},))")
    said = baked.bake(script)
    last = imports.count("\n") + 2
    assert f"ends before line {last}, " in said, said
    before = ("unshare", "--pid", "--fork") if os.geteuid() == 0 else ()
    outcomes = [baked.plain(script), *(baked.start(script, before=before) for _ in range(3))]
    assert all(not outcome.stderr and outcome.status == 0 for outcome in outcomes), outcomes
    lines = [outcome.stdout.splitlines() for outcome in outcomes]
    assert len({line[0] for line in lines}) == 1
    columns = zip(*(ast.literal_eval(line[1]) for line in lines), strict=True)
    assert all(len({*column}) == len(lines) for column in columns), lines
