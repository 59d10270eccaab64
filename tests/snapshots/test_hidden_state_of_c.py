"""What only C code of a module keeps of its process: seen by what it asks for: it ends the begin, or is in the key."""

import os
import shutil
from pathlib import Path

import pytest

from lab.ranks import run
from tests.conftest import but_everyday
from tests.texts import parameters, read

from .baked import PROGRAMS, Baked, compiled, reach, shared_library

pytestmark = pytest.mark.usefixtures("installed")

# What a module of C does when it is imported.
OF_C = read(PROGRAMS / "hidden_state_of_c.txt")


def planted(text: str, baked: Baked) -> str:
    """Compile a module that executes ``text`` when it is imported; return a script that prints what it has kept."""
    compiled("plant.c", baked, f"-DACT={text}")
    return baked.script("import plant\nprint(plant.value())")


@pytest.mark.parametrize("name", parameters(OF_C))
def test_state_that_only_c_keeps(baked: Baked, name: str) -> None:
    planted(OF_C[name].text.strip(), baked)
    said = baked.bake(baked.script("import json\nimport plant\nprint(plant.value())"))
    assert "it ends before line 2, `import plant`: " in reach(said), said


def test_memory_that_is_wiped_in_a_fork_is_wiped_in_a_start(baked: Baked, tmp_path: Path) -> None:
    """Random numbers of the C library lie there, since glibc 2.41: it sees by the zeros that it is another process."""
    library = shared_library("wiped.c", tmp_path)
    script = baked.script(
        "import ctypes, os\nkept = ctypes.c_char_p.in_dll(ctypes.CDLL(None), 'kept')\nprint(kept.value, flush=True)\n"
        "ctypes.memmove(kept, b'mine', 4)\npid = os.fork()\nprint(kept.value, flush=True)\n"
        "os.wait() if pid else os._exit(0)\nprint(kept.value)"
    )
    baked.bake(script, LD_PRELOAD=str(library))
    started = baked.start_restored(script, LD_PRELOAD=str(library))
    assert sorted(started.stdout.splitlines()) == ["b''", "b''", "b'mine'", "b'mine'"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("kept = getpid()", "a process number"),
        ('write(2, "on", 2)', "output"),
        ('setenv("SITE", "here", 1)', "changes of variables"),
        ("kept = 1", ""),
    ],
)
def test_what_a_preloaded_library_asks_for_before_python_begins(
    baked: Baked, tmp_path: Path, text: str, why: str
) -> None:
    library = shared_library("preloaded.c", tmp_path, f"-DACT={text}")
    script = baked.script("import json\nprint(1)")
    outcome = baked.try_to_bake(script, LD_PRELOAD=str(library))
    if why:
        assert outcome.status == 1 and f"({library}) asks for {why}" in outcome.stderr
    else:
        assert outcome.status == 0
        assert baked.start_restored(script, LD_PRELOAD=str(library)).stdout == "1\n"


# What is the kernel's, or is as it was: plain and from an image the same. `kept` is what plant.value() gives.
STAYS = {
    "exit handler": ("atexit(at_end)", "print(1, flush=True)"),
    "signal handler": ("signal(SIGUSR1, handled)", "import os; os.kill(os.getpid(), 10)"),
    "locale": ('setlocale(LC_ALL, "C.UTF-8")', "import locale; print(locale.setlocale(locale.LC_ALL))"),
    "number of processors": ("kept = sysconf(_SC_NPROCESSORS_ONLN)", "print(plant.value())"),
    "zeros": ("static char zeros[9999]; kept = (long)zeros[99]", "print(plant.value())"),
}


@pytest.mark.parametrize("name", but_everyday(STAYS, {"exit handler"}))
def test_what_c_keeps_that_is_no_processs_own(baked: Baked, name: str) -> None:
    text, shown = STAYS[name]
    planted(text, baked)
    script = baked.script(f"import plant\n{shown}")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)


@pytest.mark.parametrize("name", ["ends in a fork", "stays"])
def test_a_thread_may_be_in_an_image_if_its_library_ends_it_in_a_fork(baked: Baked, name: str) -> None:
    """As that of OpenBLAS does: it is made anew when it is used."""
    handler = "; pthread_atfork(end, 0, 0)" if name == "ends in a fork" else ""
    planted(f"pthread_create(&thread, 0, sleeping, 0){handler}", baked)
    script = baked.script("import os\nimport plant\nprint(len(os.listdir('/proc/self/task')))")
    assert ("`import plant`: plant asks for a thread" in reach(baked.bake(script))) == (name == "stays")
    assert baked.start_restored(script).stdout == ("2\n" if name == "stays" else "1\n")


def test_a_descriptor_that_c_opens_ends_the_begin(baked: Baked) -> None:
    planted('kept = open("/etc/hostname", 0)', baked)
    said = reach(baked.bake(baked.script("import json\nimport plant")))
    assert "`import plant`: " in said and "a file was left open: /etc/hostname" in said


@pytest.mark.full
@pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler")
def test_the_processors_random_bits_by_the_library_of_cplusplus(baked: Baked) -> None:
    compiled("random_device.cc", baked)
    said = baked.bake(baked.script("import json\nimport plant"))
    assert "`import plant`: plant asks for entropy" in reach(said), said


SEEDS = "(void)!getrandom(&kept, sizeof kept, 0)"


def test_a_library_that_seeds_itself_anew_in_a_fork_ends_the_begin(baked: Baked) -> None:
    """The image is of a forked process, and starts are no forks: the seed of the making would be that of all ranks."""
    compiled("plant.c", baked, f"-DANEW={SEEDS}", "-DACT=pthread_atfork(0, 0, anew)")
    script = baked.script(
        "import os\nimport plant\nprint(plant.value(), flush=True)\nif os.fork():\n    os.wait()\n"
        "else:\n    print(plant.value() != 0, flush=True)\n    os._exit(0)"
    )
    assert "`import plant`: plant asks for calls in a fork" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == baked.plain(script).stdout == "0\nTrue\n"


def test_a_variable_that_c_reads_is_in_the_key(baked: Baked) -> None:
    script = planted('kept = getenv("ONLY_C_ASKS") != 0', baked)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "0\n"
    assert baked.start_fresh("ONLY_C_ASKS", script, ONLY_C_ASKS="").stdout == "1\n"


@pytest.mark.parametrize("name", ["beside", "sub/beside"])
def test_what_is_not_in_the_current_directory_must_not_be_there(baked: Baked, tmp_path: Path, name: str) -> None:
    """As ld.so looks for libraries there, by an empty entry of a search path."""
    script = planted(f'int f = open("{name}", 0); kept = f >= 0; if (kept) close(f)', baked)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "0\n"
    found = tmp_path / "work" / name
    found.parent.mkdir(exist_ok=True)
    found.touch()
    assert baked.start_fresh(f"imports would find {name.split('/')[0]}", script).stdout == "1\n"


def test_which_processors_are_of_one_core_is_in_the_key(baked: Baked, tmp_path: Path) -> None:
    if os.geteuid() or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is one processor, or nobody who can show another")
    script = planted("visit(); sched_setaffinity(0, sizeof mask, &mask)", baked)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "0\n"
    siblings = tmp_path / "siblings"
    siblings.write_text("0-1\n")
    show = f'for file in /sys/devices/system/cpu/cpu*/topology/{{}}; do mount --bind {siblings} $file; done; exec "$@"'
    for name in ("thread_siblings_list", "core_siblings_list"):
        shell = ("unshare", "-m", "sh", "-c", show.format(name), "sh")
        shown = baked.start(script, before=shell).stderr
        alike = Path("/sys/devices/system/cpu/cpu0/topology", name).read_text() == siblings.read_text()
        assert shown == "" if alike else "it was made for processors of other cores" in shown


def test_a_processor_is_as_good_as_another(baked: Baked) -> None:
    """A rank that is bound to one starts from the image of a rank that was bound to another one."""
    script = planted("visit(); sched_setaffinity(0, sizeof mask, &mask); kept = CPU_COUNT(&mask)", baked)
    processors = sorted(os.sched_getaffinity(0))
    command = ["taskset", "-c", str(processors[0]), *baked.bake_command(script)]
    assert run(command, baked.environment(), 120).status == 0
    outcome = baked.start(script, before=("taskset", "-c", str(processors[-1])))
    assert (outcome.stdout, outcome.stderr) == ("1\n", "")


def test_a_device_that_has_come_since_is_seen(baked: Baked, tmp_path: Path) -> None:
    """Where a library of a device's driver was not there, the driver must not be there."""
    if os.geteuid() or Path("/dev/nvidiactl").exists():
        pytest.skip("it takes root to show a device that is not there")
    script = planted('kept = dlopen("libcuda.so.1", 2) != 0', baked)
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script).stdout == "0\n"
    devices = tmp_path / "dev"
    devices.mkdir()
    (devices / "nvidiactl").touch()
    shell = ("unshare", "-m", "sh", "-c", f'mount --bind {devices} /dev; exec "$@"', "sh")
    assert baked.start_fresh("imports would find /dev/nvidiactl", script, before=shell).stdout == "0\n"
