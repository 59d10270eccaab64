"""An image is used where all that its imports depended on is as it was, and nowhere else."""

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday

from .conftest import CONFINED, SECONDS, Warm

VARIABLES = ("OMP_NUM_THREADS", "PYTHONUTF8", "LC_ALL", "OPENBLAS_NUM_THREADS", "LD_BIND_NOW")
TEXT = "import json, plant\nprint(plant.VALUE)"


@pytest.fixture
def script(warm: Warm) -> str:
    warm.install()
    warm.module("plant", "import os\nVALUE = os.environ.get('PLANTED', 'none')")
    script = warm.script(TEXT)
    warm.bake(script)
    assert warm.start_warm(script).stdout == "none\n"
    return script


def test_a_variable_that_an_import_has_read(warm: Warm, script: str) -> None:
    assert warm.start_fresh("PLANTED", script, PLANTED="set").stdout == "set\n"
    assert warm.start_warm(script, NOT_READ="set").stdout == "none\n"


def test_a_filter_of_system_calls(warm: Warm, script: str) -> None:
    """Nobody can look at a filter, so none is made behind one either."""
    behind = (warm.python, str(CONFINED))
    assert warm.start_fresh("system calls are filtered", script, before=behind).stdout == "none\n"
    outcome = run([*behind, *warm.bake_command(script)], warm.environment(), SECONDS)
    assert outcome.status == 1 and "system calls are filtered, and it is not known how" in outcome.stderr, outcome


@pytest.mark.parametrize("read", ["os.environb[b'PLANTED']", "os.environb.get(b'PLANTED', b'none')"])
def test_a_variable_that_an_import_has_read_as_bytes(warm: Warm, read: str) -> None:
    warm.install()
    warm.module("plant", f"import os\nVALUE = {read}.decode()")
    script = warm.script(TEXT)
    warm.bake(script, PLANTED="set")
    assert warm.start_warm(script, PLANTED="set").stdout == "set\n"
    assert warm.start_fresh("PLANTED", script, PLANTED="another").stdout == "another\n"


@pytest.mark.parametrize("name", but_everyday(VARIABLES, {"OMP_NUM_THREADS", "LC_ALL"}))
def test_variables_that_libraries_and_the_interpreter_read(warm: Warm, script: str, name: str) -> None:
    warm.start_fresh("variable", script, before=(), **{name: "1"})


def test_a_module_that_was_changed_in_place(warm: Warm, script: str) -> None:
    with (warm.modules / "plant.py").open("a") as stream:
        stream.write("\nVALUE = 'changed'")
    assert warm.start_fresh("plant.py", script).stdout == "changed\n"


def test_a_module_that_appears_in_a_directory_of_the_search_path(warm: Warm, script: str) -> None:
    warm.module("sitecustomize", "print('here')")
    assert warm.start_fresh("has changed since", script).stdout == "here\nnone\n"


def test_a_module_beside_the_script_that_hides_one_of_the_image(warm: Warm, script: str) -> None:
    warm.script("VALUE = 'beside'", "plant.py")
    assert warm.start_fresh("has another plant", script).stdout == "beside\n"


def test_an_archive_that_begins_with_the_same_text(warm: Warm, script: str) -> None:
    with zipfile.ZipFile(script, "a") as archive:
        archive.writestr("__main__.py", "print('in the archive')")
    assert Path(script).read_bytes().startswith(TEXT.encode())
    assert warm.start_fresh("is an archive", script).stdout == "in the archive\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a device")
def test_a_device_that_an_import_has_not_found(warm: Warm) -> None:
    warm.install()
    device = Path(f"/dev/mpiimport-test-{os.getpid()}")
    warm.module("plant", f"import os\nVALUE = os.path.exists('{device}'), os.path.isdir('/dev/shm')")
    script = warm.script(TEXT)
    warm.bake(script)
    assert warm.start_warm(script).stdout == "(False, True)\n"
    device.touch()
    try:
        assert warm.start_fresh("mpiimport-test", script).stdout == "(True, True)\n"
        assert "plant asks for the machine" in warm.try_to_bake(script).stderr
    finally:
        device.unlink()


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one processor")
def test_the_number_of_processors(warm: Warm, script: str) -> None:
    warm.start_fresh("number of processors", script, before=("taskset", "-c", "0"))


def test_the_limit_of_the_stack(warm: Warm, script: str) -> None:
    """By it the C library gives threads their stacks."""
    limited = ("bash", "-c", 'ulimit -Ss 4096; exec "$@"', "bash")
    warm.start_fresh("it was made under another limit of the stack", script, before=limited)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give rights away")
@pytest.mark.parametrize("options", ["--groups=777", "--regid=777 --keep-groups", "--bounding-set=-all"])
def test_what_the_process_may_read(warm: Warm, script: str, options: str) -> None:
    before = ("setpriv", *options.split())
    warm.start_fresh("it was made with other groups or capabilities", script, before=before)


def test_addresses_that_are_not_random(warm: Warm, script: str) -> None:
    warm.start_fresh("ADDR_NO_RANDOMIZE", script, before=("setarch", "-R"))


@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_a_tracer(warm: Warm, script: str, tmp_path: Path) -> None:
    warm.start_fresh("tracer", script, before=("strace", "-o", str(tmp_path / "trace")))


def test_only_scripts_start(warm: Warm, script: str) -> None:
    outcome = warm.start_fresh("only a script", "-c", "print(1)")
    assert outcome.stdout == "1\n"


def test_a_script_that_is_not_there_ends_as_plainly(warm: Warm, script: str) -> None:
    outcome, plain = warm.start("missing.py"), warm.plain("missing.py")
    assert outcome.status == plain.status == 2
    assert outcome.stderr.endswith(plain.stderr)


@pytest.mark.parametrize(("options", "why"), [(["-c", "json"], "-c has none"), (["-i", "x.py"], "interactive")])
def test_commands_that_have_no_image(warm: Warm, options: list[str], why: str) -> None:
    bake = [str(Path(warm.starter).parent / "mpiimport"), "bake", "--snapshot", str(warm.image), "--", warm.python]
    outcome = run([*bake, *options], warm.environment(), 60)
    assert outcome.status == 1 and why in outcome.stderr
    assert not warm.image.exists()


@pytest.mark.parametrize(("value", "why"), [("/none:", "an empty entry"), ("lib:/none", "a relative entry: lib")])
def test_entries_of_the_search_path_that_each_process_takes_for_its_own(warm: Warm, value: str, why: str) -> None:
    outcome = warm.try_to_bake(warm.script("import json"), PYTHONPATH=value)
    assert outcome.status == 1 and f"PYTHONPATH has {why}" in outcome.stderr


def test_a_variable_that_the_program_sets_before_an_import(warm: Warm) -> None:
    warm.module("plant", "import os\nVALUE = os.environ.get('PLANTED', 'none')")
    script = warm.script("import os\nos.environ['PLANTED'] = 'by the program'\nimport plant\nprint(plant.VALUE)")
    warm.bake(script)
    assert warm.start_warm(script).stdout == "by the program\n"
    assert warm.start(script, PLANTED="set").stdout == "by the program\n"


def test_directories_beside_the_script_that_are_no_packages_hide_nothing(warm: Warm, script: str) -> None:
    """Built-in modules are found before them, and modules elsewhere are, too; what was not found would be theirs."""
    directory = Path(script).parent
    for name in ("json", "plant", "sys"):
        (directory / name).mkdir()
    assert warm.start_warm(script) == warm.plain(script)
    (directory / "plant" / "__init__.py").write_text("VALUE = 'beside'\n")
    assert warm.start_fresh("has another plant", script).stdout == "beside\n"


def test_a_directory_beside_the_script_is_what_was_looked_for_in_vain(warm: Warm) -> None:
    warm.install()
    warm.module(
        "plant", "try:\n    import missing\n    VALUE = 'there'\nexcept ImportError:\n    VALUE = 'not there'\n"
    )
    script = warm.script(TEXT)
    warm.bake(script)
    assert warm.start_warm(script).stdout == "not there\n"
    (Path(script).parent / "missing").mkdir()
    assert warm.start_fresh("has another missing", script).stdout == "there\n"
