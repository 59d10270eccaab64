"""``mpiimport snapshot show --key``: what a start must have to start from a snapshot."""

from .prepared import Prepared


def test_what_a_snapshot_was_made_for(prepared: Prepared) -> None:
    baked = prepared.baked
    assert prepared.snapshot("show", "--key", "app.py").status == 1
    baked.install()
    baked.module("plant", "import os\nVALUE = os.environ.get('PLANTED')")
    prepared.prepare(baked.script("import plant\nprint(plant.VALUE)"), PLANTED="a\nb")
    shown = prepared.snapshot("show", "--key", "app.py")
    assert (shown.status, shown.stderr) == (0, "")
    assert {"    PLANTED=a\\nb", "    no PYTHONHOME", "    no other LD_*"} <= {*shown.stdout.splitlines()}
    (image,) = prepared.images
    assert f"  {image.parent.name}/image: for " in shown.stdout
    image.write_bytes(b"damage" + image.read_bytes()[6:])
    damaged = prepared.snapshot("show", "--key", "app.py")
    assert damaged.status == 1 and f"{image} is damaged or cannot be read" in damaged.stderr, damaged
