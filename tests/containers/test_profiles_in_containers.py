"""What a site's profile says holds in a container that a real runtime starts."""

import json

import pytest

from lab.ranks import Mpi
from tests.conftest import write_profile
from tests.containers.cells import Site

PROFILE = """
extends: mpich
mounts: [{source: SOURCE, target: /opt/site}]
environment:
  set: {GREETING: 'costs $$5'}
  append: {LIST: /opt/site/lib}
  keep: [LOGNAME, 'SITE_*']
  unset: [APPTAINER_NAME]
mpi: {library: /opt/site/libmpi.so.12, preload: [libmpi.so.12], binding: lazy}
launcher: {variables: {rank: SITE_RANK}}
service: {store_size: 4GiB, breadth: package, leave_alone: [torch, scipy.io]}
container: {options: [--cleanenv]}
lock: [service.store_size]
"""
SHOW = "import json, os; print(json.dumps([dict(os.environ), os.listdir('/opt/site')]))"


@pytest.mark.parametrize("identity", ["root", "user"])
def test_a_profile_holds_in_the_container(site: Site, mpich: Mpi, identity: str) -> None:
    workspace = site.workspace(identity)
    (workspace / "seen").touch()
    profile = write_profile(workspace / "mpiimport/profiles/site.yaml", PROFILE.replace("SOURCE", str(workspace)))
    callers = {
        "XDG_CONFIG_HOME": str(workspace), "LOGNAME": "ann", "SITE_RANK": "0", "OTHER": "1", "LIST": "/caller"
    }  # fmt: skip
    command = [site.apptainer(), "exec", "--mpiimport=site", site.images / "py", "python3", "-c", SHOW]
    outcome = site.run(command, mpich, identity, directory=workspace, **callers)
    assert outcome.status == 0, outcome.stderr
    variables, mounted = json.loads(outcome.stdout)
    expected = {
        "GREETING": "costs $5", "LIST": "/opt/site/lib", "SITE_RANK": "0", "MPI4PY_LIBMPI": "/opt/site/libmpi.so.12",
        "LOGNAME": site.user if identity == "user" else "ann",
        "MPIIMPORT_PRELOAD": "libmpi.so.12", "MPIIMPORT_BINDING": "lazy", "MPIIMPORT_RANK_VARIABLES": "SITE_RANK::",
        "MPIIMPORT_STORE_SIZE": "4GiB", "MPIIMPORT_BREADTH": "package", "MPIIMPORT_LEAVE_ALONE": "torch:scipy.io",
    }  # fmt: skip
    assert {name: variables.get(name) for name in expected} == expected
    assert variables.get("MPIR_CVAR_CH4_CMA_ENABLE") == ("0" if identity == "user" else None)
    assert "OTHER" not in variables and "APPTAINER_NAME" not in variables
    assert "seen" in mounted
    refused = site.run(command, mpich, identity, directory=workspace, MPIIMPORT_STORE_SIZE="1GiB", **callers)
    assert refused.status == 2 and refused.stdout == ""
    assert f"MPIIMPORT_STORE_SIZE=1GiB is set by the caller, but {profile} locks service.store_size" in refused.stderr


NAMES = "import os, sys; print(*(f'{k}={v}' for k, v in sorted(os.environ.items()) if 'MPIIMPORT' in k))"


@pytest.mark.parametrize("mode", ["force", "1"], ids=["served", "stepped aside"])
@pytest.mark.parametrize("entry_point", ["early start", "through a shell", "report", "run"])
def test_a_rank_sees_the_switch_and_the_options_alone(site: Site, mpich: Mpi, entry_point: str, mode: str) -> None:
    workspace = site.workspace("root")
    report = {"MPIIMPORT_REPORT": str(workspace / "report.json")} if entry_point == "report" else {}
    python = (
        ["sh", "-c", 'exec python3 -c "$0"', NAMES] if entry_point == "through a shell" else ["python3", "-c", NAMES]
    )
    program = [str(site.images / "py"), *python]
    if entry_point == "run":
        command = [site.tool, "run", "--profile", "mpich", "--", *mpich.command(2), "apptainer", "exec", *program]
    else:
        command = [*mpich.command(2), site.apptainer(), "exec", "--mpiimport=mpich", *program]
    outcome = site.run(command, mpich, directory=workspace, MPIIMPORT=mode, MPIIMPORT_READERS="3", **report)
    assert outcome.status == 0, outcome.stderr
    options = "".join(f" {name}={value}" for name, value in sorted({"MPIIMPORT_READERS": "3", **report}.items()))
    assert outcome.stdout == 2 * f"MPIIMPORT=0{options}\n"


LISTS = """
environment:
  append: {LIST: /site/$$lib, PATH: '/site/$$bin', MANPATH: /site/man}
"""


@pytest.mark.parametrize("given", [{}, {"APPTAINERENV_APPEND_PATH": "/own/bin"}], ids=["", "the caller's own"])
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
def test_what_a_profile_appends_follows_what_the_caller_has(
    site: Site, mpich: Mpi, entry_point: str, given: dict[str, str]
) -> None:
    file = write_profile(site.workspace("root") / "lists.yaml", LISTS)
    # Whatever has a meaning to a shell.
    odd = "/caller/${a}b}`c`\"d\" 'e' \\$f\\\\ ~*?[g]{h,i}!#;&|<>"
    callers = {"LIST": odd, "MANPATH": "/caller/man", **given}
    command = [site.apptainer(entry_point), "exec", f"--mpiimport={file}", site.images / "py", "env"]
    outcome = site.run(command, mpich, "user", **callers)
    variables = dict(line.split("=", 1) for line in outcome.lines() if "=" in line)
    assert variables.get("LIST") == f"{odd}:/site/$lib", outcome.stderr
    assert variables["MANPATH"] == "/caller/man:/site/man"
    own = ["/own/bin"] if given else []
    assert variables["PATH"].split(":")[-1 - len(own) :] == [*own, "/site/$bin"]
