"""Packages of snapshot_packages.txt are in a snapshot, and compute there what they compute plainly."""

from pathlib import Path

import pytest

from tests.conftest import but_everyday
from tests.snapshots.baked import Baked
from tests.snapshots.prepared import Prepared

# What is imported, and what is computed.
PACKAGES = {
    "threadpoolctl": ("import threadpoolctl", "threadpoolctl.threadpool_info()"),
    "pycparser": ("import pycparser", "type(pycparser.CParser().parse('int x;').ext[0]).__name__"),
    "python-dateutil": ("import dateutil.parser", "dateutil.parser.parse('3 May 2026 10:00')"),
    "cloudpickle": ("import cloudpickle", "cloudpickle.loads(cloudpickle.dumps(lambda x: x + 1))(1)"),
    "psutil": ("import psutil", "psutil.Process().is_running()"),
    "cffi": ("import cffi", "list(cffi.FFI().new('int[3]', [1, 2, 3]))"),
    "mpmath": ("import mpmath", "mpmath.quad(mpmath.sin, [0, mpmath.pi])"),
    "numpy": ("import numpy", "numpy.linalg.solve([[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0]).tolist()"),
    "cryptography": (
        "from cryptography.fernet import Fernet",
        "Fernet(key := Fernet.generate_key()).decrypt(Fernet(key).encrypt(b'text'))",
    ),
    "joblib": ("import joblib", "joblib.hash([1, 2]), joblib.Parallel(1)([joblib.delayed(abs)(-1)])"),
    "narwhals": ("import narwhals", "narwhals.Schema({'a': narwhals.Int64()})"),
    "h5py": (
        "import h5py",
        "h5py.File('x', 'w', driver='core', backing_store=False).create_dataset('a', data=[1, 2])[:].tolist()",
    ),
    "scipy": ("import scipy.optimize", "scipy.optimize.brentq(lambda x: x * x - 2, 0, 2)"),
    "sympy": ("import sympy", "sympy.solve('x**2 - 2')"),
    "pandas": ("import pandas", "pandas.DataFrame({'a': [1, 2], 'b': [1, 1]}).groupby('b').sum().to_json()"),
    "scikit-learn": (
        "from sklearn.linear_model import LinearRegression",
        "LinearRegression().fit([[1.0], [2.0]], [1.0, 2.0]).coef_.tolist()",
    ),
}
EVERYDAY = {"cffi", "numpy"}
RESTORED = "import os; print(os.readlink('/proc/self/exe').endswith('mpiimport-restore'))"


@pytest.mark.parametrize("name", but_everyday(PACKAGES, EVERYDAY))
def test_a_package_computes_from_a_snapshot_what_it_computes_plainly(prefix: Path, tmp_path: Path, name: str) -> None:
    imports, computed = PACKAGES[name]
    prepared = Prepared(prefix, Baked(prefix, tmp_path))
    prepared.baked.install()
    script = prepared.baked.script(f"{imports}\nprint({computed})\n{RESTORED}\n")
    plain, plainly, _ = prepared.baked.plain(script).stdout.rsplit("\n", 2)
    said = prepared.prepare(script)
    print(name, said, sep="\n")
    assert "ends before line 2" in said
    outcome = prepared.start(script)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (0, f"{plain}\nTrue\n", "") and plainly == "False"
