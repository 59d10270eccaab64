"""Packages that people use are in an image, compute what they compute plainly, and share no random numbers or keys."""

import ast
import os
from collections.abc import Callable

import pytest

from tests.conftest import but_everyday, interpreter

from .conftest import Warm

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
    "h5py": (
        "import h5py, numpy",
        "h5py.File('x', 'w', driver='core', backing_store=False).create_dataset('a', data=numpy.ones(3))[:].tolist()",
        "float(numpy.random.rand())",
    ),
}


@pytest.mark.parametrize("name", but_everyday(PACKAGES, {"standard library"}))
def test_what_is_a_processs_own_is_its_own(request: pytest.FixtureRequest, name: str) -> None:
    """In process number namespaces, too, where all ranks may have the same number."""
    lists = {"standard library": "warm", "torch": "warm_with_torch"}
    lists |= dict.fromkeys(("dask, networkx and requests", "numba"), "warm_with_corpus")
    warm: Warm = request.getfixturevalue(lists.get(name, "warm_with_packages"))
    expect_own(warm, name)


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
def test_torch_computes_what_it_computes_plainly(warm_with_torch: Warm) -> None:
    """With children, threads, and on as many processors as it may use."""
    script = warm_with_torch.script(TORCH)
    assert "left out" not in warm_with_torch.bake(script)
    plain, started = warm_with_torch.plain(script), warm_with_torch.start_warm(script)
    assert plain.status == 0 and started == plain
    one = str(min(os.sched_getaffinity(0)))
    bound = warm_with_torch.start_fresh("number of processors", script, before=("taskset", "-c", one))
    assert "[(1, 27000000.0), (1, 27000000.0)]" in bound.stdout


@pytest.mark.full
def test_keys_and_random_numbers_with_a_newer_c_library(warm_with: Callable[[str], Warm]) -> None:
    """That of this Python takes random numbers without a system call."""
    expect_own(warm_with(str(interpreter("3.14"))), "standard library")


def expect_own(warm: Warm, name: str) -> None:
    """Expect that what is the same is the same, and that nothing else is, plainly and in three starts."""
    imports, alike, own = PACKAGES[name]
    script = warm.script(f"{imports}\nprint(({alike},))\nprint(({own},))")
    said = warm.bake(script)
    # Libraries that are written in Rust ask for more than can be answered.
    assert name == "cryptography" or "left out for what they need" not in said, said
    before = ("unshare", "--pid", "--fork") if os.geteuid() == 0 else ()
    outcomes = [warm.plain(script), *(warm.start(script, before=before) for _ in range(3))]
    assert all(not outcome.stderr and outcome.status == 0 for outcome in outcomes), outcomes
    lines = [outcome.stdout.splitlines() for outcome in outcomes]
    assert len({line[0] for line in lines}) == 1
    columns = zip(*(ast.literal_eval(line[1]) for line in lines), strict=True)
    assert all(len({*column}) == len(lines) for column in columns), lines
