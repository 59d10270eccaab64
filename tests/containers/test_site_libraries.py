"""A snapshot for all users: in a library beside the image, and in one that the site's profile names."""

import os
import shutil
from pathlib import Path

import pytest

from lab.ranks import Mpi, Outcome, run
from tests.conftest import settle
from tests.containers.cells import Site
from tests.containers.prepared import APART, SECONDS, TEXT, Prepared

# A user of every machine, who has prepared nothing, and whose home others may not write to.
OTHER, HOME = "daemon", "/usr/sbin"
PROFILE = """
schema_version: 1
name: ours
description: a test
extends: default
service: {{site_snapshots: [{library}]}}
"""


def start_as_other(prepared: Prepared, line: list[str], **variables: str) -> Outcome:
    environment = prepared.site.environment("user", prepared.mpi)
    command = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--init-groups", *line]
    return run(command, {**environment, **APART, "HOME": HOME, **variables}, SECONDS, Path("/"))


@pytest.mark.parametrize("where", ["beside the image", "in a profile"])
def test_another_user_starts_from_what_a_user_has_prepared_for_all(site: Site, mpich: Mpi, where: str) -> None:
    place = site.workspace("user")
    image, script, profile = place / "img.sif", place / "task.py", place / "ours.yaml"
    image.symlink_to(site.image("sif")[1])
    script.write_text(TEXT)
    library = place / ("img.sif.mpiimport" if where == "beside the image" else "snapshots")
    library.mkdir()
    library.chmod(0o755)
    shutil.chown(library, site.user)
    profile.write_text(PROFILE.format(library=library))
    flag = "--mpiimport" if where == "beside the image" else f"--mpiimport={profile}"
    prepared = Prepared(site, mpich, "user", image, script)
    line = prepared.line(flag=flag, options=("--bind", str(script)))
    ranks = [*mpich.command(2), *line]
    settle(script)
    command = [str(site.prefix / "bin" / "mpiimport"), "prepare", "--for-all-users", "--", *mpich.command(1), *line]
    made = prepared.run(command, MPIIMPORT_SNAPSHOTS=str(library))
    assert made.status == 0, made
    # What belongs to a user that is not root, or lies in its directory, others do not take.
    assert prepared.kinds(start_as_other(prepared, ranks)) == ["fresh", "fresh"]
    for path in (place, library, *library.rglob("*")):
        os.chown(path, 0, 0)
    started = start_as_other(prepared, ranks)
    assert (prepared.kinds(started), started.ours()) == (["restored", "restored"], [])
    unwanted = start_as_other(prepared, ranks, MPIIMPORT_SNAPSHOT="0")
    assert prepared.kinds(unwanted) == ["fresh", "fresh"]
