"""What a site installs is laid out whole or not at all, and nothing of others in or below its directory is touched."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lab.ranks import Outcome, run
from tests.conftest import wait_for

CACHE_TAG = sys.implementation.cache_tag
SETTINGS, LIST = "etc/site.conf", "share/mpiimport/installed"
# The machine's own Python; no runtime is found to be recorded.
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C"}


def call(unpacked: Path, *words: str | Path, umask: str = "022") -> Outcome:
    # Nothing is fetched: there is no network, as on many a site's machines.
    alone = ["unshare", "--net"] if os.geteuid() == 0 else []
    line = [*alone, "sh", "-c", f'umask {umask}; exec "$0" "$@"', str(unpacked / "install.sh"), *map(str, words)]
    return run(line, ENVIRONMENT, 300)


@pytest.fixture(scope="module")
def site_directory(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site") / "opt" / "mpiimport"
    # As an installation that was uninstalled has left it.
    fill(place, {SETTINGS: "x"})
    done = call(unpacked, place, umask="077")
    assert done.status == 0, done.stderr
    return place


@pytest.fixture
def installed(site_directory: Path, tmp_path: Path) -> Path:
    place = tmp_path / "mpiimport"
    subprocess.run(["cp", "-a", site_directory, place], check=True)
    (place / SETTINGS).unlink()
    return place


def contents(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def fill(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)


def test_a_directory_that_is_not_ours_is_refused_and_left_as_it_is(unpacked: Path, tmp_path: Path) -> None:
    place = tmp_path / "local"
    theirs = {"bin/apptainer": "#!/bin/sh", "profiles/theirs": "x", "lib/foo/__pycache__/foo.pyc": "y"}
    fill(place, theirs)
    before = contents(place)
    for words in ([place], ["--uninstall", place]):
        done = call(unpacked, *words)
        assert done.status == 1 and "nothing was changed" in done.stderr, done.stderr
    assert contents(place) == before
    assert [path.name for path in tmp_path.iterdir()] == ["local"]


def test_a_mount_point_is_named_and_left_as_it_is(unpacked: Path, tmp_path: Path) -> None:
    mounted = tmp_path / "volume"
    mounted.mkdir()
    script = f"mount -t tmpfs none {mounted} && {unpacked / 'install.sh'} {mounted}"
    done = run(["unshare", "--mount", "sh", "-c", script], ENVIRONMENT, 300)
    assert done.status not in (0, None)
    assert f"{mounted} cannot be replaced (Device or resource busy)" in done.stderr, done.stderr
    assert list(tmp_path.iterdir()) == [mounted]


def test_a_directory_that_cannot_be_looked_into_is_left_as_it_is(unpacked: Path, tmp_path: Path) -> None:
    place = tmp_path / "closed"
    fill(place, {"theirs": "x"})
    place.chmod(0)
    tmp_path.chmod(0o777)
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    # What pytest made of the path is for root alone.
    script = f'mount --bind "{tmp_path}" /mnt && exec {" ".join(nobody)} /opt/install.sh /mnt/closed'
    outer = f'mount -t tmpfs none /opt && cp -R "{unpacked}"/. /opt && {script}'
    done = run(["unshare", "--mount", "sh", "-c", outer], ENVIRONMENT, 300)
    place.chmod(0o755)
    assert done.status == 1 and "/mnt/closed cannot be looked into" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["closed"]
    assert contents(place) == {"theirs": b"x"}


def test_everybody_may_read_what_was_installed_under_a_closed_umask(site_directory: Path) -> None:
    for path in [site_directory, *site_directory.rglob("*")]:
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode):
            needed = 0o555 if path.is_dir() or mode & 0o100 else 0o444
            assert mode & needed == needed, f"{path}: {mode:o}"
            assert not mode & 0o022, f"{path}: {mode:o}"


def test_nothing_that_was_installed_names_the_place_where_it_was_laid_out(site_directory: Path) -> None:
    beginning = str(site_directory).encode() + b".new"
    found = {name for name, content in contents(site_directory).items() if beginning in content}
    # A module's own file replaces what its bytecode names, and nobody reads how a virtual environment was made.
    assert {name for name in found if not name.endswith((".pyc", "pyvenv.cfg", f"rank_path.{CACHE_TAG}"))} == set()
    hook = site_directory / "share" / "containers" / "oci" / "hooks.d" / "podman" / "mpiimport.json"
    assert f'"{site_directory}/bin/mpiimport-hook"' in hook.read_text()


def test_no_moment_of_an_upgrade_shows_half_an_installation(unpacked: Path, installed: Path) -> None:
    needed = [installed / name for name in ("bin/mpiimport", "lib/mpiimport/start.py", "profiles/mpich.yaml", "mpi4py")]
    missing: set[Path] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            missing.update(path for path in needed if not os.path.lexists(path))

    old = (installed / "bin").stat().st_ino
    (installed / "lib" / "mpiimport" / "withdrawn.py").touch()
    (installed / "etc" / "of_the_site.yaml").write_text("kept")
    watch = threading.Thread(target=look)
    watch.start()
    try:
        done = call(unpacked, installed)
    finally:
        over.set()
        watch.join()
    assert done.status == 0, done.stderr
    assert (installed / "bin").stat().st_ino != old, "nothing was replaced"
    assert missing == set()
    assert not (installed / "lib" / "mpiimport" / "withdrawn.py").exists()
    assert (installed / "etc" / "of_the_site.yaml").read_text() == "kept"
    assert [path.name for path in installed.parent.iterdir()] == ["mpiimport"]
    listed = subprocess.run([installed / "bin" / "mpiimport", "profile", "list"], capture_output=True, text=True)
    assert "mpich" in listed.stdout, listed.stderr


def test_an_upgrade_does_not_begin_where_others_have_added_or_edited_files(unpacked: Path, installed: Path) -> None:
    names = ["profiles/site.yaml", "modulefiles/mpiimport", "profiles/mpich.yaml"]
    fill(installed, dict.fromkeys(names, "x"))
    before = contents(installed)
    done = call(unpacked, installed)
    assert done.status == 1 and done.stderr.splitlines()[1:] == names
    assert "nothing was changed" in done.stderr and contents(installed) == before


def test_root_does_not_upgrade_what_belongs_to_a_user(unpacked: Path, tmp_path: Path) -> None:
    fill(tmp_path, {f"mpiimport/{LIST}": ""})
    os.chown(tmp_path / "mpiimport", 65534, 65534)
    done = call(unpacked, tmp_path / "mpiimport")
    assert done.status == 1 and "mpiimport belongs to nobody; nothing was changed" in done.stderr


def test_what_a_killed_installation_leaves_is_gone_after_the_next(unpacked: Path, installed: Path) -> None:
    theirs = installed.with_name("mpiimport.new.theirs")
    fill(theirs, {"bin/mpiimport": "x"})
    line = [str(unpacked / "install.sh"), str(installed)]
    installing = subprocess.Popen(line, env=ENVIRONMENT, start_new_session=True, stderr=subprocess.DEVNULL)
    wait_for(lambda: [*installed.parent.glob("mpiimport.new.*/lib/mpiimport/start.py")])
    os.killpg(installing.pid, signal.SIGKILL)
    installing.wait()
    assert len([*installed.parent.iterdir()]) == 3
    assert call(unpacked, installed).status == 0
    assert {*installed.parent.iterdir()} == {installed, theirs} and contents(theirs) == {"bin/mpiimport": b"x"}


def test_a_python_that_lacks_a_module_is_named(unpacked: Path, tmp_path: Path) -> None:
    fill(tmp_path, {"ctypes.py": "import _nothing", "python": '#!/bin/sh\nPYTHONPATH=${0%/*} exec python3 "$@"'})
    (tmp_path / "python").chmod(0o755)
    line = ["env", f"PYTHON={tmp_path / 'python'}", str(unpacked / "install.sh"), str(tmp_path / "mpiimport")]
    done = run(line, ENVIRONMENT, 60)
    assert done.status == 1 and "No module named '_nothing'" in done.stderr and "ctypes, venv" in done.stderr
    assert not (tmp_path / "mpiimport").exists()


def test_an_installation_that_fails_leaves_the_old_one_as_it_is(
    unpacked: Path, installed: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    subprocess.run(["cp", "-a", unpacked, damaged], check=True)
    shutil.rmtree(installed / "host")
    before = contents(installed)
    for wheel in (damaged / "wheels").glob("rich-*.whl"):
        wheel.unlink()
    done = call(damaged, installed)
    assert done.status not in (0, None) and "rich" in done.stderr
    assert contents(installed) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged", "mpiimport"]


def test_uninstalling_leaves_what_others_put_there(unpacked: Path, installed: Path) -> None:
    theirs = {"profiles/site.yaml": "x", "bin/tool": "y", "lib/foo.py": "z", "etc/of_the_site.yaml": "w"}
    fill(installed, theirs)
    done = call(unpacked, "--uninstall", installed)
    assert done.status == 0, done.stderr
    assert contents(installed) == {name: text.encode() for name, text in theirs.items()}
    assert str(installed / "bin" / "tool") in done.stderr
    for name in theirs:
        (installed / name).unlink()


def test_uninstalling_follows_no_link_and_no_way_up(unpacked: Path, tmp_path: Path) -> None:
    place, outside = tmp_path / "mpiimport", tmp_path / "outside"
    theirs = dict.fromkeys(("start.py", "mpiimport/start.py", "launch.yaml", "hook.yaml"), "x")
    fill(outside, theirs)
    names = ["bin/mpiimport", "../outside/start.py", f"{outside}/start.py", "modulefiles/start.py", LIST]
    fill(place, {"bin/mpiimport": "", LIST: "\n".join([*names, ""])})
    for name in ("lib", "etc", "host", "modulefiles"):
        (place / name).symlink_to(outside)
    call(unpacked, "--uninstall", place)
    assert contents(outside) == dict.fromkeys(theirs, b"x")
    assert {path.name for path in place.iterdir()} == {"lib", "etc", "modulefiles"}


def test_settings_that_an_uninstalled_one_has_left_are_those_of_the_next(site_directory: Path) -> None:
    assert (site_directory / SETTINGS).read_text() == "x"


def test_an_installation_is_uninstalled_without_a_trace(unpacked: Path, installed: Path) -> None:
    # The tests' directories are no place for what a hook trusts, so the list of released profiles is written by hand.
    (installed / "etc" / "hook.yaml").write_text("released: {}\n")
    done = call(unpacked, "--uninstall", installed)
    assert (done.status, done.stderr) == (0, "")
    assert list(installed.parent.iterdir()) == []
