"""``mpiimport manifest show --warm``: what the images of a node were made for, and why one does not fit."""

from pathlib import Path

from lab.ranks import Outcome, run
from mpiimport.runtime.store.kept_store import uses

from .conftest import Warm
from .session import Session


class Shown:
    def __init__(self, warm: Warm, prefix: Path, directory: Path) -> None:
        self.session = Session(prefix, warm, directory)
        self._command = [str(prefix / "bin" / "mpiimport"), "manifest", "show", "--warm"]

    def show(self, **changes: str) -> Outcome:
        return run(self._command, self.session.environment(**changes), 60)


def test_what_an_image_was_made_for_and_whether_it_fits(warm: Warm, prefix: Path, tmp_path: Path) -> None:
    shown = Shown(warm, prefix, tmp_path)
    assert shown.show().status == 1
    warm.install()
    module = warm.module("plant", "import os\nVALUE = os.environ.get('PLANTED')")
    script = warm.script("import plant\nprint(plant.VALUE)")
    shown.session.begin(script, PLANTED="a\nb")
    fits = shown.show(PLANTED="a\nb")
    assert (fits.status, fits.stderr) == (0, "")
    first, *rest = fits.stdout.splitlines()
    assert first == f"script {script}: fits here and now"
    assert "  PLANTED=a\\nb" in rest
    assert "  no PYTHONHOME" in rest
    assert "  no other LD_*" in rest
    (image,) = shown.session.images()
    assert uses(str(image.parent)) == 0, "a look is no use"
    reason = shown.show().stdout.splitlines()[0]
    assert reason.endswith("it was made with another value of the variable PLANTED")
    module.write_text("VALUE = 2")
    reason = shown.show(PLANTED="a\nb").stdout.splitlines()[0]
    assert "this has changed since" in reason
    assert "plant.py" in reason
