"""`mpiimport doctor` and `mpiimport profile check` compare what launcher and library speak: PMI or PMIx."""

import pytest

from lab.ranks import Mpi, Outcome
from lab.slurm import Slurm
from tests.conftest import write_profile
from tests.containers.cells import Site


def ask(site: Site, mpi: Mpi, *words: str, **changes: str) -> Outcome:
    """Have `mpiimport` look at the image, whose Python loads ``mpi``."""
    outcome = site.run([site.tool, *words], mpi, seconds=180, directory=site.workspace("root"), **changes)
    return Outcome(outcome.status, " ".join(outcome.stdout.split()), outcome.stderr)


def check(site: Site, slurm: Slurm, mpi: Mpi, prefix: str, *launcher: str) -> Outcome:
    """Check a profile of a machine whose jobs are started by ``prefix``."""
    lines = f"launcher: {{prefix: [{prefix}]}}\n" if prefix else ""
    profile = write_profile(site.workspace("root") / "site.yaml", lines)
    words = [str(site.images / "py"), str(profile), *(["--", *launcher] if launcher else [])]
    return ask(site, mpi, "profile", "check", "--image", *words, **slurm.environment)


@pytest.mark.parametrize(
    ("name", "way", "other", "speaks"),
    [
        ("mpich", "pmi2", "pmix", "PMI-1 and PMI-2"),
        ("openmpi", "pmix", "pmi2", "PMIx 5.0"),
        pytest.param("openmpi", "pmix_v4", "pmi2", "PMIx 5.0", marks=pytest.mark.full),
    ],
)
def test_a_profiles_launcher_speaks_what_the_images_library_does(
    site: Site, slurm: Slurm, mpis: dict[str, Mpi], name: str, way: str, other: str, speaks: str
) -> None:
    fitting = check(site, slurm, mpis[name], f"srun, --mpi={way}")
    assert fitting.status == 0, fitting.stdout
    wrong = check(site, slurm, mpis[name], f"srun, --mpi={other}")
    assert wrong.status == 1
    assert f"site.yaml:4: /usr/bin/srun --mpi={other} speaks " in wrong.stdout
    assert f", and /opt/{name}/lib/" in wrong.stdout
    assert f"speaks {speaks}" in wrong.stdout
    assert f"say --mpi={way.partition('_')[0]}" in wrong.stdout


def test_a_profiles_mpiexec_speaks_what_the_images_library_does(site: Site, slurm: Slurm, mpis: dict[str, Mpi]) -> None:
    launcher = {name: str(mpi.prefix / "bin" / "mpiexec") for name, mpi in mpis.items()}
    for name, mpi in mpis.items():
        assert check(site, slurm, mpi, launcher[name]).status == 0
    wrong = check(site, slurm, mpis["openmpi"], launcher["mpich"])
    assert wrong.status == 1
    assert f"site.yaml:4: {launcher['mpich']} speaks PMI-1 and PMI-2, and /opt/openmpi/lib/" in wrong.stdout
    assert "use a launcher that speaks PMIx 5.0" in wrong.stdout


def test_a_way_that_the_launcher_does_not_have_is_named(site: Site, slurm: Slurm, mpich: Mpi) -> None:
    outcome = check(site, slurm, mpich, "srun, --mpi=pmix_v9")
    assert outcome.status == 1
    assert "srun has no --mpi=pmix_v9; it has " in outcome.stdout and "say --mpi=pmi2" in outcome.stdout


@pytest.mark.parametrize(("name", "way", "remedy"), [("openmpi", "pmi2", "pmix"), ("mpich", "none", "pmi2")])
def test_ranks_that_are_told_by_another_protocol_say_by_which(
    site: Site, slurm: Slurm, mpis: dict[str, Mpi], name: str, way: str, remedy: str
) -> None:
    outcome = check(site, slurm, mpis[name], "", "srun", f"--mpi={way}", "--overcommit", "-n", "2")
    assert outcome.status == 1
    assert f"--mpi={remedy}" in outcome.stdout


def test_doctor_says_which_pmi_fits(site: Site, slurm: Slurm, mpis: dict[str, Mpi]) -> None:
    words = ("doctor", str(site.images / "py"))
    outcome = ask(site, mpis["openmpi"], *words, **slurm.environment)
    assert outcome.status == 0, outcome.stdout
    assert "the library speaks PMIx 5.0.11" in outcome.stdout
    assert "srun --mpi=pmix" in outcome.stdout and "pmix_v4" in outcome.stdout
    path = f"{mpis['openmpi'].prefix / 'bin'}:{site.runtime.parent}:/usr/bin:/bin"
    assert "mpiexec speaks PMIx 5.0.11" in ask(site, mpis["openmpi"], *words, PATH=path).stdout
    path = path.replace("openmpi", "mpich")
    assert "mpiexec speaks PMI-1 and PMI-2" in ask(site, mpis["mpich"], *words, PATH=path).stdout
