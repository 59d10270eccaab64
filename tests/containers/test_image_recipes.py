"""Every definition file and Dockerfile in containers/ makes an image that does what its comment says."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from lab.ranks import Mpi, run
from tests.conftest import ROOT, provision, wait_for
from tests.containers.cells import Site
from tests.containers.entry_points.entrypoint import COPIED, make_docker_images

RECIPES = ROOT / "containers"
PROGRAM = "import numpy\nfrom mpi4py import MPI\nprint('done', MPI.COMM_WORLD.rank, type(numpy.__loader__).__name__)"
SERVED = [f"done {rank} StoreSourceLoader" for rank in range(2)]
MEAN = "2 ranks, 200 steps: mean temperature 10.339974"
SECTIONS = {"arguments", "files", "post", "environment", "runscript", "startscript", "test", "labels", "help"}
SCRIPTS = {"post", "environment", "runscript", "startscript", "test"}


class Builder:
    """Builds definition files as root and runs their images as the ordinary user."""

    def __init__(self, site: Site, mpich: Mpi) -> None:
        self.site = site
        self.directory = site.workspace("user")
        (self.directory / "app.py").write_text(PROGRAM)
        self.environments = {identity: site.environment(identity, mpich) for identity in ("root", "user")}
        for environment in self.environments.values():
            del environment["MPI4PY_LIBMPI"]

    def build(self, recipe: str, **arguments: str | Path) -> Path:
        image = self.directory / recipe.removesuffix(".def")
        words = [word for name, value in arguments.items() for word in ("--build-arg", f"{name}={value}")]
        line = [str(self.site.runtime), "build", "--sandbox", *words, str(image), str(RECIPES / recipe)]
        built = run(line, self.environments["root"], 300, RECIPES)
        assert built.status == 0, built.stderr
        return image

    def run(self, *words: str | Path, **environment: str) -> list[str]:
        line = self.site.as_identity("user", [str(self.site.runtime), *map(str, words)])
        report = self.directory / "report.json"
        settings = {"MPIIMPORT": "force", "MPIIMPORT_REPORT": str(report), **environment}
        outcome = run(line, self.environments["user"] | settings, 120, self.directory)
        return outcome.printed()

    def ranks_served(self) -> int:
        ranks: int = json.loads((self.directory / "report.json").read_text())["ranks"]
        return ranks


@pytest.fixture(scope="module")
def builder(site: Site, mpich: Mpi) -> Builder:
    return Builder(site, mpich)


@pytest.fixture(scope="module")
def served(builder: Builder) -> Path:
    """The numpy-scipy image with mpiimport inside."""
    return builder.build("entrypoint.def", base=provision("definition.sh"), prefix=builder.site.prefix)


def test_the_image_with_mpiimport_inside_serves_what_it_runs(builder: Builder, served: Path) -> None:
    assert builder.run("run", served, "mpiexec", "-n", "2", "python3", "app.py") == SERVED
    assert builder.run("run", served, "mpiexec", "-n", "2", "python3", "app.py", MPIIMPORT="0") == [
        line.replace("StoreSource", "SourceFile") for line in SERVED
    ]


def test_an_instance_serves_what_it_starts(builder: Builder, served: Path) -> None:
    written, name = builder.directory / "written", "mpiimport-recipe"
    command = f"mpiexec -n 2 python3 app.py > {written}.new && mv {written}.new {written}"
    builder.run("instance", "start", served, name, "sh", "-c", command)
    try:
        wait_for(written.exists, 120)
        assert sorted(written.read_text().splitlines()) == SERVED
    finally:
        builder.run("instance", "stop", name)


def test_each_rank_may_run_the_image_with_mpiimport_inside(builder: Builder, served: Path, mpich: Mpi) -> None:
    line = [*mpich.command(2), str(builder.site.runtime), "run", str(served), "python3", "app.py"]
    settings = builder.environments["user"] | {"MPIIMPORT": "force"}
    outcome = run(builder.site.as_identity("user", line), settings, 120, builder.directory)
    assert (outcome.status, outcome.lines()) == (0, SERVED), outcome.stderr


def test_the_application_with_its_own_mpi_runs_on_one_node(builder: Builder, served: Path) -> None:
    image = builder.build("single-node-mpi.def", base=served)
    assert builder.run("run", image, "2") == [MEAN]
    assert builder.ranks_served() == 2


@pytest.mark.full
def test_the_dockerfiles_make_the_same_images(site: Site, tmp_path: Path) -> None:
    make_docker_images(site)
    docker = site.docker
    docker.import_image(site.images / "base", "base")
    # No package index: the base brings the wheels.
    offline = tmp_path / "Dockerfile"
    offline.write_text("FROM base\nCOPY wheels /wheels\nENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels\n")
    docker.build("offline", offline, {"wheels": site.images.parent / "wheels"})
    docker.build("numpy-scipy", RECIPES / "Dockerfile", {}, BASE="offline")
    docker.build(
        "served", RECIPES / "entrypoint.Dockerfile", {name: site.prefix / name for name in COPIED}, BASE="numpy-scipy"
    )
    docker.build("heat", RECIPES / "single-node-mpi.Dockerfile", {"heat.py": RECIPES / "heat.py"}, BASE="served")
    options = {"network_mode": "none", "remove": True, "tmpfs": {"/dev/shm": "exec,size=1g"}}
    settings = {"MPIIMPORT": "force", "MPIIMPORT_REPORT": "/dev/stdout"}
    command = ["mpiexec", "-n", "2", "python3", "/opt/heat/heat.py"]
    lines = docker.client.containers.run("heat", command, environment=settings, **options).decode()
    assert MEAN in lines.splitlines()
    assert '"ranks": 2' in lines


@pytest.mark.parametrize("recipe", sorted(RECIPES.glob("*.def")), ids=lambda path: path.name)
def test_definition_files_are_well_formed(recipe: Path) -> None:
    header, *rest = re.split(r"^%(\w+)[ \t]*\n", recipe.read_text(), flags=re.MULTILINE)
    keys = [line.split(":")[0] for line in header.splitlines() if line and not line.startswith("#")]
    assert keys == ["Bootstrap", "From"]
    sections = dict(zip(rest[::2], rest[1::2], strict=True))
    assert sections.keys() <= SECTIONS
    arguments = {line.split("=")[0].strip() for line in sections.get("arguments", "").splitlines() if line.strip()}
    assert set(re.findall(r"\{\{ *(\w+) *\}\}", recipe.read_text())) == arguments
    for name in SCRIPTS & sections.keys():
        script = re.sub(r"\{\{ *(\w+) *\}\}", r"\1", sections[name])
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
