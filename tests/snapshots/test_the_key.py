"""An image is used where all that its imports depended on is as it was, and nowhere else."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday

from .baked import CONFINED, SECONDS, Baked, shared_library

VARIABLES = ("OMP_NUM_THREADS", "PYTHONUTF8", "LC_ALL", "OPENBLAS_NUM_THREADS", "LD_BIND_NOW")
TEXT = "import json, plant\nprint(plant.VALUE)"


@pytest.fixture
def script(baked: Baked) -> str:
    baked.install()
    baked.module("plant", "import os\nVALUE = os.environ.get('PLANTED', 'none')")
    script = baked.script(TEXT)
    baked.bake(script)
    assert baked.start_restored(script).stdout == "none\n"
    return script


def test_a_variable_that_an_import_has_read(baked: Baked, script: str) -> None:
    assert baked.start_fresh("PLANTED", script, PLANTED="set").stdout == "set\n"
    assert baked.start_restored(script, NOT_READ="set").stdout == "none\n"


def test_a_filter_of_system_calls(baked: Baked, script: str) -> None:
    """Nobody can look at a filter, so none is made behind one either."""
    behind = (baked.python, str(CONFINED))
    assert baked.start_fresh("system calls are filtered", script, before=behind).stdout == "none\n"
    outcome = run([*behind, *baked.bake_command(script)], baked.environment(), SECONDS)
    assert outcome.status == 1 and "system calls are filtered, and it is not known how" in outcome.stderr, outcome


def test_a_kernel_that_does_not_tell_what_a_start_needs_is_named(baked: Baked, tmp_path: Path) -> None:
    library = shared_library("kernel.c", tmp_path)
    outcome = baked.try_to_bake(baked.script("import json"), LD_PRELOAD=str(library))
    assert outcome.status == 1 and "this kernel lacks CONFIG_CHECKPOINT_RESTORE" in outcome.stderr, outcome


@pytest.mark.parametrize("read", ["os.environb[b'PLANTED']", "os.environb.get(b'PLANTED', b'none')"])
def test_a_variable_that_an_import_has_read_as_bytes(baked: Baked, read: str) -> None:
    baked.install()
    baked.module("plant", f"import os\nVALUE = {read}.decode()")
    script = baked.script(TEXT)
    baked.bake(script, PLANTED="set")
    assert baked.start_restored(script, PLANTED="set").stdout == "set\n"
    assert baked.start_fresh("PLANTED", script, PLANTED="another").stdout == "another\n"


@pytest.mark.parametrize("name", but_everyday(VARIABLES, {"OMP_NUM_THREADS", "LC_ALL"}))
def test_variables_that_libraries_and_the_interpreter_read(baked: Baked, script: str, name: str) -> None:
    baked.start_fresh("variable", script, before=(), **{name: "1"})


def test_a_module_that_appears_in_a_directory_of_the_search_path(baked: Baked, script: str) -> None:
    baked.module("sitecustomize", "print('here')")
    assert baked.start_fresh("has changed since", script).stdout == "here\nnone\n"


def test_an_archive_that_begins_with_the_same_text(baked: Baked, script: str) -> None:
    with zipfile.ZipFile(script, "a") as archive:
        archive.writestr("__main__.py", "print('in the archive')")
    assert Path(script).read_bytes().startswith(TEXT.encode())
    assert baked.start_fresh("is an archive", script).stdout == "in the archive\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a device")
def test_a_device_that_an_import_has_not_found(baked: Baked) -> None:
    baked.install()
    device = Path(f"/dev/mpiimport-test-{os.getpid()}")
    baked.module("plant", f"import os\nVALUE = os.path.exists('{device}'), os.path.isdir('/dev/shm')")
    script = baked.script(TEXT)
    baked.bake(script)
    assert baked.start_restored(script).stdout == "(False, True)\n"
    device.touch()
    try:
        assert baked.start_fresh("mpiimport-test", script).stdout == "(True, True)\n"
        assert "plant asks for the machine" in baked.try_to_bake(script).stderr
    finally:
        device.unlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a device")
def test_a_device_that_an_import_only_finds(baked: Baked) -> None:
    """What an import does with a device ends the begin. Which devices a process may use, it says itself."""
    baked.install()
    device = Path(f"/dev/nvidia-mpiimport-test-{os.getpid()}")
    baked.module("plant", f"import os\nVALUE = os.path.exists('{device}')")
    script = baked.script("import json, os, plant\nprint(plant.VALUE, os.environ['CUDA_VISIBLE_DEVICES'])")
    device.touch()
    try:
        baked.bake(script, CUDA_VISIBLE_DEVICES="0")
        assert baked.start_restored(script, CUDA_VISIBLE_DEVICES="1").stdout == "True 1\n"
        device.unlink()
        assert baked.start_fresh(device.name, script, CUDA_VISIBLE_DEVICES="1").stdout == "False 1\n"
        device.touch()
        baked.module("plant", f"VALUE = open('{device}').read()")
        assert "plant asks for the machine" in baked.try_to_bake(script).stderr
    finally:
        device.unlink(missing_ok=True)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_the_number_of_processors(baked: Baked, script: str) -> None:
    baked.start_fresh("number of processors", script, before=("taskset", "-c", "0"))


def test_the_limit_of_the_stack(baked: Baked, script: str) -> None:
    """By it the C library gives threads their stacks."""
    limited = ("bash", "-c", 'ulimit -Ss 4096; exec "$@"', "bash")
    baked.start_fresh("it was made under another limit of the stack", script, before=limited)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights away")
@pytest.mark.parametrize("options", ["--groups=777", "--regid=777 --keep-groups", "--bounding-set=-all"])
def test_what_the_process_may_read(baked: Baked, script: str, options: str) -> None:
    before = ("setpriv", *options.split())
    baked.start_fresh("it was made with other groups or capabilities", script, before=before)


def test_addresses_that_are_not_random(baked: Baked, script: str) -> None:
    baked.start_fresh("ADDR_NO_RANDOMIZE", script, before=("setarch", "-R"))


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_a_tracer(baked: Baked, script: str, tmp_path: Path) -> None:
    baked.start_fresh("tracer", script, before=("strace", "-o", str(tmp_path / "trace")))


def test_only_scripts_start(baked: Baked, script: str) -> None:
    outcome = baked.start_fresh("only a script", "-c", "print(1)")
    assert outcome.stdout == "1\n"


def test_a_script_that_is_not_there_ends_as_plainly(baked: Baked, script: str) -> None:
    outcome, plain = baked.start("missing.py"), baked.plain("missing.py")
    assert outcome.status == plain.status == 2
    assert outcome.stderr.endswith(plain.stderr)


@pytest.mark.parametrize(("options", "why"), [(["-c", "json"], "-c has none"), (["-i", "x.py"], "interactive")])
def test_commands_that_have_no_image(baked: Baked, options: list[str], why: str) -> None:
    bake = [str(Path(baked.starter).parent / "mpiimport"), "bake", "--snapshot", str(baked.image), "--", baked.python]
    outcome = run([*bake, *options], baked.environment(), 60)
    assert outcome.status == 1 and why in outcome.stderr
    assert not baked.image.exists()


@pytest.mark.parametrize(("value", "why"), [("/none:", "an empty entry"), ("lib:/none", "a relative entry: lib")])
def test_entries_of_the_search_path_that_each_process_takes_for_its_own(baked: Baked, value: str, why: str) -> None:
    outcome = baked.try_to_bake(baked.script("import json"), PYTHONPATH=value)
    assert outcome.status == 1 and f"PYTHONPATH has {why}" in outcome.stderr


def test_a_variable_that_the_program_sets_before_an_import(baked: Baked) -> None:
    baked.module("plant", "import os\nVALUE = os.environ.get('PLANTED', 'none')")
    script = baked.script("import os\nos.environ['PLANTED'] = 'by the program'\nimport plant\nprint(plant.VALUE)")
    baked.bake(script)
    assert baked.start_restored(script).stdout == "by the program\n"
    assert baked.start(script, PLANTED="set").stdout == "by the program\n"


def test_directories_beside_the_script_that_are_no_packages_hide_nothing(baked: Baked, script: str) -> None:
    """Built-in modules are found before them, and modules elsewhere are, too; what was not found would be theirs."""
    directory = Path(script).parent
    for name in ("json", "plant", "sys"):
        (directory / name).mkdir()
    assert baked.start_restored(script) == baked.plain(script)
    (directory / "plant" / "__init__.py").write_text("VALUE = 'beside'\n")
    assert baked.start_fresh("has another plant", script).stdout == "beside\n"


def test_a_directory_beside_the_script_is_what_was_looked_for_in_vain(baked: Baked) -> None:
    baked.install()
    baked.module(
        "plant", "try:\n    import missing\n    VALUE = 'there'\nexcept ImportError:\n    VALUE = 'not there'\n"
    )
    script = baked.script(TEXT)
    baked.bake(script)
    assert baked.start_restored(script).stdout == "not there\n"
    (Path(script).parent / "missing").mkdir()
    assert baked.start_fresh("has another missing", script).stdout == "there\n"
