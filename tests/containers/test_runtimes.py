"""What the runtime behind the shim is, allows, and sees of it."""

import re
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.containers.cells import IDENTITIES, Cell, Site
from tests.containers.entry_points import plugin


def start(site: Site, mpi: Mpi, identity: str, words: list[str | Path], **environment: str) -> Outcome:
    cell = Cell("any", "sandbox", identity, "contained", "mpich")
    line = site.as_identity(identity, [str(word) for word in words])
    return run(line, site.environment(cell, mpi, **environment), 60, Path("/"))


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_where_the_site_lets_nothing_be_mounted_a_start_is_plain(
    site: Site, mpich: Mpi, identity: str, entry_point: str
) -> None:
    runtime = plugin.runtime(site.prefix) if entry_point == "plugin" else site.prefix / "shim" / "apptainer"
    configuration = site.workspace("root") / "apptainer.conf"
    text = (site.runtime.parent.parent / "etc" / "apptainer" / "apptainer.conf").read_text()
    configuration.write_text(re.sub("(?m)^enable (over|under)lay = .*", r"enable \1lay = no", text))
    line: list[str | Path] = ["--config", configuration, "exec", "--mpiimport", site.images / "py", "echo", "ran"]
    outcome = start(site, mpich, identity, [runtime, *line])
    assert (outcome.status, outcome.lines()) == (0, ["ran"]), outcome.stderr
    (only,) = outcome.ours()
    assert "enable underlay = no" in only


@pytest.mark.parametrize("switch", ["", "0"])
def test_a_container_that_does_not_ask_sees_nothing_of_the_shim(site: Site, mpich: Mpi, switch: str) -> None:
    line: list[str | Path] = ["exec", site.images / "py", "env"]
    seen = [
        sorted(start(site, mpich, "user", [program, *line], MPIIMPORT=switch).lines())
        for program in (site.runtime, site.prefix / "shim" / "apptainer")
    ]
    assert seen[0] == seen[1]
