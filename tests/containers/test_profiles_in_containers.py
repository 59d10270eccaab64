"""What a site's profile says holds in a container that a real runtime starts."""

import json

import pytest

from lab.ranks import Mpi, run
from tests.containers.cells import Cell, Site
from tests.containers.entry_points import plugin

PROFILE = """
schema_version: 1
name: site
description: a test
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
    cell = Cell("shim", "sandbox", identity, "hybrid", "mpich")
    workspace = site.workspace(identity)
    profiles = workspace / "mpiimport" / "profiles"
    profiles.mkdir(parents=True)
    (workspace / "seen").touch()
    (profiles / "site.yaml").write_text(PROFILE.replace("SOURCE", str(workspace)))
    environment = site.environment(cell, mpich) | {
        "XDG_CONFIG_HOME": str(workspace), "LOGNAME": "ann", "SITE_RANK": "0", "OTHER": "1", "LIST": "/caller"
    }  # fmt: skip
    shim, image = site.prefix / "shim" / "apptainer", site.images / "py"
    command = [str(shim), "exec", "--mpiimport=site", str(image), "python3", "-c", SHOW]
    outcome = run(site.as_identity(identity, command), environment, 60, workspace)
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
    refused = run(site.as_identity(identity, command), environment | {"MPIIMPORT_STORE_SIZE": "1GiB"}, 60, workspace)
    assert refused.status == 2 and refused.stdout == ""
    assert (
        f"MPIIMPORT_STORE_SIZE=1GiB is set by the caller, but {profiles / 'site.yaml'} locks service.store_size"
        in refused.stderr
    )


NAMES = "import os, sys; print(*(f'{k}={v}' for k, v in sorted(os.environ.items()) if 'MPIIMPORT' in k))"


@pytest.mark.parametrize("mode", ["force", "1"], ids=["served", "stepped aside"])
@pytest.mark.parametrize("entry_point", ["early start", "through a shell", "report", "run"])
def test_a_rank_sees_the_switch_and_the_options_alone(site: Site, mpich: Mpi, entry_point: str, mode: str) -> None:
    cell = Cell("shim", "sandbox", "root", "hybrid", "mpich")
    workspace = site.workspace("root")
    report = {"MPIIMPORT_REPORT": str(workspace / "report.json")} if entry_point == "report" else {}
    environment = site.environment(cell, mpich, MPIIMPORT=mode, MPIIMPORT_READERS="3", **report)
    python = (
        ["sh", "-c", 'exec python3 -c "$0"', NAMES] if entry_point == "through a shell" else ["python3", "-c", NAMES]
    )
    program = [str(site.images / "py"), *python]
    if entry_point == "run":
        job = [str(site.prefix / "bin" / "mpiimport"), "run", "--profile", "mpich", "--"]
        command = [*job, *mpich.command(2), "apptainer", "exec", *program]
    else:
        command = [*mpich.command(2), str(site.prefix / "shim" / "apptainer"), "exec", "--mpiimport=mpich", *program]
    outcome = run(command, environment, 60, workspace)
    assert outcome.status == 0, outcome.stderr
    options = "".join(f" {name}={value}" for name, value in sorted({"MPIIMPORT_READERS": "3", **report}.items()))
    assert outcome.stdout == 2 * f"MPIIMPORT=0{options}\n"


LISTS = """
schema_version: 1
name: lists
description: a test
environment:
  append: {LIST: /site/$$lib, PATH: '/site/$$bin', MANPATH: /site/man}
"""


@pytest.mark.parametrize("given", [{}, {"APPTAINERENV_APPEND_PATH": "/own/bin"}], ids=["", "the caller's own"])
@pytest.mark.parametrize("entry_point", ["shim", "plugin"])
def test_what_a_profile_appends_follows_what_the_caller_has(
    site: Site, mpich: Mpi, entry_point: str, given: dict[str, str]
) -> None:
    runtime = plugin.runtime(site.prefix) if entry_point == "plugin" else site.prefix / "shim" / "apptainer"
    file = site.workspace("root") / "lists.yaml"
    file.write_text(LISTS)
    cell = Cell(entry_point, "sandbox", "user", "hybrid", "mpich")
    # Whatever has a meaning to a shell.
    odd = "/caller/${a}b}`c`\"d\" 'e' \\$f\\\\ ~*?[g]{h,i}!#;&|<>"
    callers = {"LIST": odd, "MANPATH": "/caller/man", **given}
    command = [str(runtime), "exec", f"--mpiimport={file}", str(site.images / "py"), "env"]
    outcome = run(site.as_identity("user", command), site.environment(cell, mpich, **callers), 60, file.parent)
    variables = dict(line.split("=", 1) for line in outcome.lines() if "=" in line)
    assert variables.get("LIST") == f"{odd}:/site/$lib", outcome.stderr
    assert variables["MANPATH"] == "/caller/man:/site/man"
    own = ["/own/bin"] if given else []
    assert variables["PATH"].split(":")[-1 - len(own) :] == [*own, "/site/$bin"]
