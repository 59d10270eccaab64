"""What the runtime behind the shim is, allows, and sees of it."""

import re

import pytest

from lab.ranks import Mpi
from tests.containers.cells import IDENTITIES, Site


@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
@pytest.mark.parametrize("identity", IDENTITIES)
def test_where_the_site_lets_nothing_be_mounted_a_start_is_plain(
    site: Site, mpich: Mpi, identity: str, entry_point: str
) -> None:
    configuration = site.workspace("root") / "apptainer.conf"
    text = (site.runtime.parent.parent / "etc" / "apptainer" / "apptainer.conf").read_text()
    configuration.write_text(re.sub("(?m)^enable (over|under)lay = .*", r"enable \1lay = no", text))
    line = ["--config", configuration, "exec", "--mpiimport", site.images / "py", "echo", "ran"]
    outcome = site.run([site.apptainer(entry_point), *line], mpich, identity)
    assert (outcome.status, outcome.lines()) == (0, ["ran"]), outcome.stderr
    (only,) = outcome.ours()
    assert "enable underlay = no" in only


@pytest.mark.parametrize("switch", ["", "0"])
def test_a_container_that_does_not_ask_sees_nothing_of_the_shim(site: Site, mpich: Mpi, switch: str) -> None:
    seen = [
        site.run([program, "exec", site.images / "py", "env"], mpich, "user", MPIIMPORT=switch).lines()
        for program in (site.runtime, site.apptainer())
    ]
    assert seen[0] == seen[1]
