"""The tutorial on profiles does what it says, command by command."""

import os
import re
import textwrap
from pathlib import Path

import pytest

from lab.ranks import clean_environment, run
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "my-first-profile.md").read_text()
BLOCKS = [textwrap.dedent(block) for block in re.findall(r"(?:^    .*\n)+", PAGE, re.MULTILINE)]
PROGRAMS = ("mpiimport ", "mpiimport-plan ", "cat ", "sed ", "install ")
# What the reader has: a launcher, nodes and an image.
LEFT_OUT = ("mpirun ",)
# A view of the machine whose /etc and prefix may be written to; nobody else sees it.
PRIVATE = """
layers=$(mktemp -d) && mount -t tmpfs tmpfs "$layers" &&
for place in /etc "$1"; do
    new=$layers$place && mkdir -p "$new/upper" "$new/work" &&
    mount -t overlay -o "lowerdir=$place,upperdir=$new/upper,workdir=$new/work" overlay "$place" || exit
done
umount -l "$layers" && rmdir "$layers" && exec bash -xc "$2"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="what root does in the tutorial needs root")
def test_the_tutorial_says_what_happens(prefix: Path, tmp_path: Path) -> None:
    known = [block for block in BLOCKS if block.startswith((*PROGRAMS, *LEFT_OUT))]
    commands = "\n".join(block for block in known if block.startswith(PROGRAMS))
    said = [block.strip() for block in BLOCKS if block not in known]
    assert len(known) >= 9 and len(said) == 3
    environment = clean_environment(HOME=str(tmp_path), PATH=f"{prefix}/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    environment.pop("XDG_CONFIG_HOME", None)
    outcome = run(["unshare", "-m", "sh", "-c", PRIVATE, "sh", str(prefix), commands], environment, 120, tmp_path)
    assert outcome.status == 0, outcome.stderr
    printed = outcome.stdout + outcome.stderr
    assert [text for text in said if text not in printed] == []
    # The mistake that is made on purpose is the only complaint.
    complaints = re.findall(r"^mpiimport.*: .*$", outcome.stderr, re.MULTILINE)
    assert len(complaints) == 1 and said[0] in complaints[0]
    assert "site" in outcome.stdout.splitlines()
