"""A program for each package of the corpus: what a user of it imports, and a few calls into what it loads late."""

PROGRAMS = {
    "aiohttp": """
import asyncio, aiohttp
from aiohttp import web
async def main():
    app = web.Application()
    async with aiohttp.ClientSession() as session:
        return session.closed, app.router
asyncio.run(main())
""",
    "ase": """
from ase import Atoms
from ase.build import bulk, molecule
from ase.calculators.emt import EMT
from ase.optimize import BFGS
atoms = molecule("H2O")
atoms.calc = EMT()
atoms.get_potential_energy()
BFGS(atoms, logfile=None).run(steps=2)
bulk("Cu").write("-", format="xyz")
""",
    "astropy": """
from astropy import units
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.table import Table
from astropy.time import Time
SkyCoord(10 * units.deg, 20 * units.deg).galactic
Time("2020-01-01").mjd
Table({"a": [1, 2]}).pformat()
fits.PrimaryHDU([[1.0]]).header["NAXIS"]
""",
    "attrs": """
import attr, attrs
@attrs.define
class Point:
    x: int = attrs.field(validator=attrs.validators.instance_of(int))
attrs.asdict(attr.evolve(Point(1), x=2))
""",
    "bokeh": """
from bokeh.plotting import figure
from bokeh.embed import file_html
from bokeh.resources import INLINE
plot = figure()
plot.line([1, 2], [3, 4])
file_html(plot, INLINE)
""",
    "bottleneck": """
import bottleneck, numpy
bottleneck.nanmean(numpy.arange(5.0))
bottleneck.move_mean(numpy.arange(5.0), 2)
""",
    "certifi": "import certifi; open(certifi.where()).read(100); certifi.contents()",
    "cffi": """
import glob, numpy, threadpoolctl
from cffi import FFI
ffi = FFI()
ffi.cdef("double cos(double); void scipy_openblas_set_num_threads64_(int);")
ffi.dlopen(None)
ffi.new("int[3]")
(blas,) = glob.glob(numpy.__path__[0] + ".libs/libscipy_openblas*")
ffi.dlopen(blas).scipy_openblas_set_num_threads64_(1)
assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == [1]
""",
    "click": """
import click
from click.testing import CliRunner
@click.command()
@click.option("--count", default=1)
def hello(count):
    click.echo(click.style("hello", fg="green") * count)
assert CliRunner().invoke(hello, ["--count", "2"]).exit_code == 0
""",
    "cloudpickle": """
import cloudpickle
assert cloudpickle.loads(cloudpickle.dumps(lambda x: x + 1))(1) == 2
""",
    "cryptography": """
from cryptography import x509
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
Fernet(Fernet.generate_key()).encrypt(b"text")
key = ec.generate_private_key(ec.SECP256R1())
key.sign(b"text", ec.ECDSA(hashes.SHA256()))
key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
""",
    "cython": """
import cython
from Cython.Build import cythonize
from Cython.Compiler import Options
@cython.cfunc
def square(x: cython.double) -> cython.double:
    return x * x
square(2.0)
""",
    "dask": """
import dask, dask.array, dask.dataframe
from dask import delayed
array = dask.array.ones((10, 10), chunks=5)
assert array.sum().compute(scheduler="synchronous") == 100
delayed(sum)([1, 2]).compute(scheduler="threads")
""",
    "distributed": """
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, serialize
import numpy
assert (deserialize(*serialize(numpy.arange(3))) == numpy.arange(3)).all()
""",
    "emcee": """
import emcee, numpy
sampler = emcee.EnsembleSampler(4, 1, lambda x: -0.5 * float(x[0] ** 2))
sampler.run_mcmc(numpy.random.randn(4, 1), 3)
""",
    "fsspec": """
import fsspec
with fsspec.open("memory://file", "w") as stream:
    stream.write("text")
fsspec.filesystem("file").exists("/")
fsspec.open("simplecache::memory://file")
""",
    "gmpy2": "import gmpy2; gmpy2.mpz(2) ** 200; gmpy2.sqrt(gmpy2.mpfr(2))",
    "h5netcdf": """
import h5netcdf, io
with h5netcdf.File(io.BytesIO(), "w") as file:
    file.dimensions = {"x": 3}
    file.create_variable("v", ("x",), float)[:] = 1.0
""",
    "h5py": """
import h5py, io, numpy
with h5py.File(io.BytesIO(), "w") as file:
    file.create_dataset("x", data=numpy.arange(10), compression="gzip")
    assert file["x"][3] == 3
""",
    "httpx": """
import httpx
with httpx.Client() as client:
    client.build_request("GET", "http://localhost/?a=1")
""",
    "hypothesis": """
from hypothesis import given, settings, strategies
import hypothesis.extra.numpy
@settings(max_examples=3, database=None, derandomize=True)
@given(strategies.integers(), strategies.text())
def check(number, text):
    assert number == number
check()
""",
    "imageio": """
import imageio.v3, numpy
data = imageio.v3.imwrite("<bytes>", numpy.zeros((4, 4), "uint8"), extension=".png")
assert imageio.v3.imread(data).shape == (4, 4)
""",
    "ipyparallel": "import ipyparallel; from ipyparallel import Client, Cluster, bind_kernel, depend",
    "ipython": """
from IPython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import HTML, display
display(HTML("text"))
""",
    "jax": """
import jax, jax.numpy as jnp
assert jax.jit(lambda x: jnp.sum(x ** 2))(jnp.arange(3.0)) == 5
jax.grad(lambda x: jnp.sin(x) ** 2)(1.0)
jax.random.normal(jax.random.key(0), (2,))
""",
    "jinja2": """
import jinja2
assert jinja2.Environment(autoescape=True).from_string("{{ a|upper }}").render(a="x") == "X"
""",
    "joblib": """
import joblib
assert joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(abs)(i) for i in (-1, 2)) == [1, 2]
joblib.hash([1, 2])
""",
    "jupyter_client": """
from jupyter_client import BlockingKernelClient, KernelManager
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.session import Session
Session(key=b"key").msg("kind", {})
""",
    "lmfit": """
import lmfit, numpy
x = numpy.linspace(-1, 1, 20)
lmfit.models.GaussianModel().fit(numpy.exp(-x * x), x=x, amplitude=1, center=0, sigma=1).fit_report()
""",
    "lxml": """
from lxml import etree, html, objectify
tree = etree.fromstring("<a><b>1</b></a>")
assert tree.xpath("//b/text()") == ["1"] and objectify.fromstring("<a><b>1</b></a>").b == 1
html.fromstring("<p>text</p>").text_content()
""",
    "matplotlib": """
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt, io
figure, axes = plt.subplots()
axes.plot([1, 2], [3, 4], label="a $x^2$")
axes.legend()
figure.savefig(io.BytesIO(), format="png")
figure.savefig(io.BytesIO(), format="pdf")
""",
    "mpi4py": """
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor
import mpi4py.util.dtlib, mpi4py.util.pkl5, numpy
assert MPI.COMM_WORLD.allreduce(1) == MPI.COMM_WORLD.size
""",
    "mpmath": "import mpmath; mpmath.mp.dps = 30; mpmath.quad(mpmath.sin, [0, mpmath.pi]); mpmath.zeta(3)",
    "msgpack": "import msgpack; assert msgpack.unpackb(msgpack.packb({'a': [1, 2.5]})) == {'a': [1, 2.5]}",
    "nbformat": """
import nbformat
from nbformat import v4
notebook = v4.new_notebook(cells=[v4.new_code_cell("1 + 1", id="a")])
nbformat.validate(notebook)
nbformat.writes(notebook)
""",
    "netCDF4": """
import netCDF4
with netCDF4.Dataset("memory", "w", memory=1024) as data:
    data.createDimension("x", 3)
    data.createVariable("v", "f8", ("x",))[:] = [1, 2, 3]
""",
    "networkx": """
import networkx
graph = networkx.karate_club_graph()
networkx.pagerank(graph)
networkx.shortest_path(graph, 0, 33)
networkx.to_numpy_array(graph)
""",
    "numba": """
import numba, numpy
@numba.njit
def total(values):
    result = 0.0
    for value in values:
        result += value
    return result
assert total(numpy.arange(4.0)) == 6
@numba.vectorize(["float64(float64)"])
def double(x):
    return 2 * x
double(numpy.arange(3.0))
import ctypes, glob, threadpoolctl
from llvmlite import binding
(blas,) = glob.glob(numpy.__path__[0] + ".libs/libscipy_openblas*")
binding.load_library_permanently(blas)
place = binding.address_of_symbol("scipy_openblas_set_num_threads64_")
ctypes.CFUNCTYPE(None, ctypes.c_int)(place)(1)
pools = [pool for pool in threadpoolctl.threadpool_info() if "64_" in pool["filepath"]]
assert [pool["num_threads"] for pool in pools] == [1]
""",
    "numexpr": "import numexpr, numpy; a = numpy.arange(10.0); assert numexpr.evaluate('2*a + 1')[1] == 3",
    "numpy": """
import numpy
from numpy.polynomial import Polynomial
numpy.linalg.svd(numpy.fft.fft(numpy.random.default_rng(0).normal(size=(4, 4))))
numpy.ma.masked_array([1, 2], [0, 1]).mean()
numpy.testing.assert_allclose(Polynomial.fit([1, 2, 3], [1, 2, 3], 1)(2), 2)
""",
    "opencv": """
import cv2, numpy
image = numpy.zeros((8, 8, 3), "uint8")
cv2.GaussianBlur(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), (3, 3), 0)
cv2.imencode(".png", image)
""",
    "orjson": "import orjson, numpy; orjson.dumps({'a': numpy.arange(3)}, option=orjson.OPT_SERIALIZE_NUMPY)",
    "pandas": """
import pandas, numpy, io
frame = pandas.DataFrame({"a": [1, 2, 2], "b": pandas.date_range("2020", periods=3)})
frame.groupby("a").size()
frame.merge(frame, on="a").to_csv(io.StringIO())
pandas.read_csv(io.StringIO("x,y\\n1,2\\n"))
frame.to_json(), frame.describe(), str(frame)
pandas.Series(["a", "b"]).str.upper()
frame.b.dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")
""",
    "paramiko": "import paramiko; paramiko.SSHClient().load_host_keys('/dev/null'); paramiko.RSAKey.generate(1024)",
    "parsl": """
import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor, ThreadPoolExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import LocalProvider, SlurmProvider
@parsl.python_app
def double(x):
    return 2 * x
Config(executors=[ThreadPoolExecutor(max_threads=1)])
""",
    "pillow": """
from PIL import Image, ImageDraw, ImageFilter, ImageFont
import io
image = Image.new("RGB", (8, 8))
ImageDraw.Draw(image).text((0, 0), "a", font=ImageFont.load_default())
stream = io.BytesIO()
image.filter(ImageFilter.BLUR).save(stream, "PNG")
Image.open(stream).load()
""",
    "pint": "import pint; units = pint.UnitRegistry(); (3 * units.meter).to('inch'); f'{units.second:~P}'",
    "plotly": """
import plotly.graph_objects as go, plotly.express
figure = go.Figure(go.Scatter(x=[1, 2], y=[3, 4]))
figure.update_layout(title="a")
figure.to_json()
plotly.express.bar(x=["a"], y=[1]).to_html()
""",
    "polars": """
import polars
frame = polars.DataFrame({"a": [1, 2, 2], "b": ["x", "y", "z"]})
frame.lazy().group_by("a").agg(polars.col("b").count()).collect()
frame.to_dicts()
""",
    "psutil": "import psutil; psutil.Process().memory_info(); psutil.cpu_count(); psutil.virtual_memory()",
    "pyarrow": """
import pyarrow, pyarrow.compute, pyarrow.dataset, pyarrow.parquet, io
table = pyarrow.table({"a": [1, 2, 3]})
pyarrow.parquet.write_table(table, stream := io.BytesIO())
stream.seek(0)
assert pyarrow.parquet.read_table(stream).num_rows == 3
pyarrow.compute.sum(table["a"])
""",
    "pybind11": "import pybind11; pybind11.get_include(); from pybind11.setup_helpers import Pybind11Extension",
    "pydantic": """
from pydantic import BaseModel, Field, field_validator
class Point(BaseModel):
    x: int = Field(gt=0)
    name: str | None = None
    @field_validator("name")
    @classmethod
    def known(cls, value):
        return value
Point.model_validate_json('{"x": 1}').model_dump()
Point.model_json_schema()
""",
    "pymatgen": """
from pymatgen.core import Lattice, Structure
structure = Structure(Lattice.cubic(4.2), ["Cs", "Cl"], [[0, 0, 0], [0.5, 0.5, 0.5]])
structure.composition.reduced_formula
from pymatgen.symmetry.analyzer import SpacegroupAnalyzer
SpacegroupAnalyzer(structure).get_space_group_symbol()
""",
    "pyproj": """
import pyproj
pyproj.Transformer.from_crs("EPSG:4326", "EPSG:3857").transform(50, 10)
pyproj.Geod(ellps="WGS84").inv(0, 0, 1, 1)
""",
    "pytest": """
import os, pytest
# One file for all ranks, there before any of them looks for it.
os.makedirs("suite", exist_ok=True)
with open(f"suite/{os.getpid()}", "w") as stream:
    stream.write("import pytest\\n\\ndef test_it(tmp_path):\\n    assert pytest.approx(1) == 1\\n")
os.replace(stream.name, "suite/test_it.py")
assert pytest.main(["-q", "-p", "no:cacheprovider", "--basetemp", f"temporary-{os.getpid()}", "suite/test_it.py"]) == 0
""",
    "pytz": "import pytz, datetime; pytz.timezone('Europe/Berlin').localize(datetime.datetime(2020, 1, 1)).utcoffset()",
    "pyyaml": "import yaml; yaml.safe_dump(yaml.safe_load('a: [1, 2]')); yaml.load('b: 1', yaml.CSafeLoader)",
    "rasterio": """
import numpy, rasterio
from rasterio.io import MemoryFile
from rasterio.transform import from_origin
from rasterio.warp import transform
shape = {"width": 4, "height": 4, "count": 1, "dtype": "float32"}
with MemoryFile() as memory:
    with memory.open(driver="GTiff", crs="EPSG:32633", transform=from_origin(9, 9, 1, 1), **shape) as image:
        image.write(numpy.ones((1, 4, 4), "float32"))
    with memory.open() as image:
        assert image.read().sum() == 16 and image.crs.to_epsg() == 32633
transform("EPSG:4326", "EPSG:32633", [15], [50])
""",
    "regex": "import regex; regex.findall(r'\\\\p{Lu}', 'aBC')",
    "requests": """
import requests
session = requests.Session()
session.prepare_request(requests.Request("GET", "http://localhost/", params={"a": 1}))
session.close()
""",
    "rich": """
import io
from rich.console import Console
from rich.markdown import Markdown
from rich.progress import track
from rich.table import Table
from rich.traceback import install
table = Table(title="a")
table.add_column("b")
table.add_row("[bold]c")
console = Console(file=io.StringIO())
console.print(table)
console.print(Markdown("# title"))
""",
    "scikit-image": """
import numpy, skimage
from skimage import color, filters, io, measure, transform
image = numpy.random.default_rng(0).random((16, 16))
skimage.feature.canny(filters.gaussian(image))
skimage.segmentation.slic(image, 2, channel_axis=None)
measure.label(image > 0.5)
transform.resize(image, (8, 8))
""",
    "scikit-learn": """
import numpy
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
x, y = make_classification(60, random_state=0)
cross_val_score(make_pipeline(StandardScaler(), RandomForestClassifier(5)), x, y, cv=2)
KMeans(2, n_init=1).fit(x)
LinearRegression().fit(x, y)
""",
    "scipy": """
import scipy
from scipy import integrate, interpolate, ndimage, optimize, signal, sparse, special, stats
import scipy.io, scipy.spatial, scipy.sparse.linalg, scipy.cluster.hierarchy
optimize.minimize(lambda x: x @ x, [1.0, 2.0])
interpolate.CubicSpline([1, 2, 3], [1, 4, 9])(2.5)
stats.norm.pdf(0)
scipy.linalg.expm([[0.0, 1.0], [0.0, 0.0]])
integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0])
sparse.linalg.spsolve(sparse.eye(3, format="csc"), [1.0, 2.0, 3.0])
""",
    "seaborn": """
import matplotlib
matplotlib.use("agg")
import seaborn, pandas
frame = pandas.DataFrame({"x": [1, 2, 3], "y": [1, 4, 9], "kind": ["a", "b", "a"]})
seaborn.set_theme()
seaborn.scatterplot(frame, x="x", y="y", hue="kind")
""",
    "setuptools": """
import warnings
warnings.simplefilter("ignore")
import setuptools, pkg_resources
pkg_resources.get_distribution("numpy").version
list(pkg_resources.iter_entry_points("console_scripts"))
setuptools.Distribution({"name": "a", "packages": []}).get_command_class("build_py")
""",
    "shapely": """
import shapely
from shapely.geometry import Point, Polygon
from shapely.ops import unary_union
unary_union([Point(0, 0).buffer(1), Polygon([(0, 0), (1, 0), (1, 1)])]).area
shapely.to_wkt(shapely.points([1, 2]))
""",
    "sqlalchemy": """
from sqlalchemy import Column, Integer, String, create_engine, select
from sqlalchemy.orm import DeclarativeBase, Session
class Base(DeclarativeBase):
    pass
class Row(Base):
    __tablename__ = "rows"
    number = Column(Integer, primary_key=True)
    name = Column(String)
engine = create_engine("sqlite://")
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add(Row(number=1, name="a"))
    session.commit()
    assert session.scalars(select(Row)).one().name == "a"
""",
    "statsmodels": """
import numpy, statsmodels.api as sm, statsmodels.formula.api as smf, pandas
frame = pandas.DataFrame({"x": numpy.arange(20.0), "y": numpy.arange(20.0) ** 1.1})
smf.ols("y ~ x", frame).fit().summary()
sm.tsa.ARIMA(frame.y, order=(1, 0, 0))
""",
    "sympy": """
import sympy
x = sympy.symbols("x")
sympy.integrate(sympy.sin(x) * x, x)
sympy.solve(x ** 2 - 2, x)
sympy.lambdify(x, sympy.sqrt(x))(2)
sympy.latex(sympy.Matrix([[x, 1]]))
""",
    "tables": """
import os, tables, numpy
with tables.open_file("memory.h5", "w", driver="H5FD_CORE", driver_core_backing_store=0) as file:
    file.create_array("/", "a", numpy.arange(3))
    file.create_carray("/", "b", obj=numpy.zeros((4, 4)), filters=tables.Filters(complevel=1))
""",
    "toolz": "import toolz, toolz.curried; toolz.pipe([1, 2], toolz.curried.map(str), list); toolz.groupby(len, ['a'])",
    "tqdm": """
import io
from tqdm import tqdm
from tqdm.auto import trange
for _ in tqdm(range(3), file=io.StringIO()):
    pass
for _ in trange(3, file=io.StringIO(), disable=True):
    pass
""",
    "typer": """
import typer
from typer.testing import CliRunner
app = typer.Typer()
@app.command()
def hello(name: str = "a"):
    typer.echo(name)
assert CliRunner().invoke(app, ["--name", "b"]).output == "b\\n"
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
""",
    "uncertainties": """
from uncertainties import ufloat, umath, unumpy
umath.sin(ufloat(1, 0.1)) + 2
unumpy.uarray([1, 2], [0.1, 0.2]).sum()
""",
    "websockets": """
import asyncio, websockets
from websockets.asyncio.server import serve
async def main():
    async with serve(lambda socket: socket.wait_closed(), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with websockets.connect(f"ws://127.0.0.1:{port}", proxy=None) as client:
            await client.ping()
asyncio.run(main())
""",
    "xarray": """
import xarray, numpy, io
data = xarray.Dataset({"v": ("x", numpy.arange(4.0))}, coords={"x": [0, 1, 2, 3]})
data.groupby("x").mean()
data.to_netcdf(f"written-{__import__('os').getpid()}.nc")
data.interp(x=1.5)
str(data)
""",
    "zarr": """
import zarr, numpy
array = zarr.create_array(store=zarr.storage.MemoryStore(), data=numpy.arange(10), chunks=(5,))
assert array[3] == 3
zarr.group(store=zarr.storage.MemoryStore()).create_array("a", shape=(2,), dtype="i4")
""",
    "zstandard": """
import zstandard
assert zstandard.ZstdDecompressor().decompress(zstandard.ZstdCompressor().compress(b"text")) == b"text"
""",
}
# One for each mechanism by which packages load themselves; these few are part of `make test`.
REPRESENTATIVE = (
    "astropy",  # files beside the code, lazily loaded configuration and units
    "cryptography",  # an extension in Rust that imports
    "h5py",  # Cython modules with bundled libraries
    "jax",  # large libraries, plugins by entry points
    "lxml",  # one large extension module
    "matplotlib",  # back ends by name, data files
    "mpi4py",  # the module that the service itself uses
    "numba",  # libraries by ctypes, imports by computed names
    "pandas",  # Cython modules that import Python ones
    "pyarrow",  # libraries that find their own place
    "pydantic",  # module __getattr__
    "setuptools",  # vendored packages, meta-path finders, pkg_resources
)
# These are there, too, for what takes long of each package.
SMALL = ("attrs", "bottleneck")


def packages_for(package: str) -> str:
    """Return the list of packages that a program is run with: `make test` installs the representative ones alone."""
    return "representative" if package in (*REPRESENTATIVE, *SMALL) else "corpus"
