"""``mpiimport prepare --for-all-users``: other users start from the snapshot, and see what they see plainly."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lab.ranks import Outcome, run
from tests.conftest import settle

from .baked import SECONDS, Baked
from .prepared import Prepared

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users")
USER, MAKER = 54321, 4712
TEXT = """
import os
import decimal, json

def main():
    import site, sys
    restored = os.readlink("/proc/self/exe").endswith("mpiimport-restore")
    print(os.environ["HOME"], site.USER_BASE, site.USER_SITE, os.getuid(), os.environ.get("TOKEN"), sys.path)
    print(restored, file=sys.stderr)

main()
"""
# Without Pythons of root's.
PATH = "/usr/bin:/bin"
SECRET = "that-nobody-else-may-read"


def become(user: int, groups: str = "") -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={user}", f"--groups={groups or user}"]


class Site:
    """A library that root has filled, and users of the machine's Python that find it."""

    def __init__(self, prefix: Path, directory: Path) -> None:
        self.prepared = Prepared(prefix, Baked(prefix, directory, "/usr/bin/python3"))
        self.prepared.baked.install()
        self.library = self.prepared.library
        self.own = directory / "own"
        self.home = directory / "home"
        for path in (self.own, self.home):
            path.mkdir(mode=0o700)
            os.chown(path, USER, USER)
        self.library.mkdir()
        os.chown(self.library, MAKER, MAKER)

    def prepare(self, script: str, hide: Callable[[], object] = str, **environment: str) -> Outcome:
        """Prepare a program for all users, once ``hide`` has made something private."""
        entry_point = self.prepared.entry_point
        for path in (Path(script).parent, self.prepared.baked.modules):
            path.chmod(0o755)
            for each in (path, *path.iterdir()):
                os.chown(each, MAKER, MAKER)
        hide()
        settle(Path(script), *self.prepared.baked.modules.iterdir())
        command = [self.prepared.mpiimport, "prepare", "--for-all-users", "--", entry_point, script]
        given = {"PATH": PATH, "TOKEN": SECRET, "HOME": "/", **environment}
        made = self.prepared.run([*become(MAKER), *command], **given)
        for path in (self.library, *self.library.rglob("*")):
            os.chown(path, 0, 0)
        return made

    def run(self, command: list[str], groups: str = str(USER), **environment: str) -> Outcome:
        """Run a command as a user that has a library of its own."""
        found = {"MPIIMPORT_SITE_SNAPSHOTS": str(self.library), "MPIIMPORT_SNAPSHOTS": str(self.own)}
        variables = self.prepared.environment(**{"PATH": PATH, "HOME": str(self.home), **found, **environment})
        return run([*become(USER, groups), *command], variables, SECONDS, Path("/"))

    def start(self, script: str, groups: str = str(USER), **environment: str) -> Outcome:
        return self.run([self.prepared.entry_point, script], groups, **environment)


def kind(outcome: Outcome) -> str:
    """Whether a program started restored or fresh."""
    assert outcome.status == 0, outcome
    (restored,) = {"True", "False"}.intersection(outcome.stderr.splitlines())
    return {"True": "restored", "False": "fresh"}[restored]


@contextmanager
def site_of(prefix: Path) -> Iterator[Site]:
    """A site in a directory that all users reach: each session of pytest closes that of its own again."""
    with TemporaryDirectory(prefix="mpiimport-test-", dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        yield Site(prefix, Path(place))


@pytest.fixture
def site(prefix: Path) -> Iterator[Site]:
    with site_of(prefix) as made:
        yield made


@pytest.fixture(scope="module")
def once(prefix: Path) -> Iterator[tuple[Site, str]]:
    """A site with the snapshot of a program."""
    with site_of(prefix) as site:
        script = site.prepared.baked.script(TEXT)
        made = site.prepare(script)
        assert made.status == 0, made
        yield site, script


@pytest.fixture
def filled(once: tuple[Site, str]) -> Iterator[tuple[Site, str]]:
    """The same, made good again after a test."""
    site, _ = once
    yield once
    for left in (site.home / ".local", *site.own.iterdir()):
        shutil.rmtree(left, ignore_errors=True)
    for path in (site.library, *site.library.rglob("*")):
        os.chown(path, 0, 0)
    site.library.chmod(0o755)


def test_another_user_starts_from_it_and_sees_its_own_home(filled: tuple[Site, str]) -> None:
    site, script = filled
    plain = site.start(script, MPIIMPORT="0")
    for groups in (str(USER), f"{USER},100,4711"):
        started = site.start(script, groups)
        assert (kind(started), kind(plain)) == ("restored", "fresh")
        assert started.stdout == plain.stdout and started.ours() == []
    assert str(site.home) in plain.stdout and SECRET not in plain.stdout


def test_nothing_of_the_makers_environment_is_in_it(filled: tuple[Site, str]) -> None:
    site, _ = filled
    files = [path for path in site.library.rglob("*") if path.is_file()]
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o644"}
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]


def test_a_user_with_packages_of_its_own_starts_plainly(filled: tuple[Site, str]) -> None:
    site, script = filled
    assert kind(site.start(script)) == "restored"
    packages = Path(site.start(script).stdout.split()[2])
    packages.mkdir(parents=True)
    started = site.start(script, MPIIMPORT_VERBOSE="1")
    assert kind(started) == "fresh" and f"this one has packages in {packages}" in started.stderr
    quiet = site.start(script)
    assert (kind(quiet), quiet.ours()) == ("fresh", [])


def test_what_a_user_has_prepared_comes_first(filled: tuple[Site, str]) -> None:
    site, script = filled
    assert site.run([site.prepared.mpiimport, "prepare", "--", site.prepared.entry_point, script]).status == 0
    (image,) = site.own.glob("*/*/image")
    (of_site,) = site.library.glob("*/*/image")
    for each in (image, of_site):
        os.utime(each, ns=(0, each.stat().st_mtime_ns))
    started = site.start(script)
    assert kind(started) == "restored"
    assert (image.stat().st_atime > 1, of_site.stat().st_atime > 1) == (True, False)


@pytest.mark.parametrize("whose", ["the library", "the snapshot", "open to a group"])
def test_what_another_user_may_have_written_is_not_taken(filled: tuple[Site, str], whose: str) -> None:
    site, script = filled
    (image,) = site.library.glob("*/*/image")
    if whose == "open to a group":
        site.library.chmod(0o775)
        os.chown(site.library, 0, 100)
    else:
        os.chown(site.library if whose == "the library" else image, 4711, 4711)
    started = site.start(script, MPIIMPORT_VERBOSE="1")
    assert kind(started) == "fresh"
    assert "others may write to" in started.stderr or "it belongs to another user" in started.stderr


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        ("import os\nHOME = os.path.expanduser('~')", "the variable HOME"),
        ("import os\nHOME = os.environ.copy()", "the variable HOME"),
        ("import ctypes\nctypes.CDLL(None).getenv(b'HOME')", "the home directory"),
        ("import os\nMAY = os.access('/usr', os.W_OK)", "whether this user may write to a file"),
        ("import os\nUSER = os.getuid()", "who runs it"),
        ("import os\ntry: os.open(__file__, os.O_NOATIME)\nexcept OSError: pass", "whether this user owns a file"),
        ("import os\ntry: os.open('/etc/shadow', os.O_RDONLY)\nexcept OSError: pass", "not allowed"),
    ],
)
def test_an_import_that_goes_by_the_user_ends_it(site: Site, looks: str, why: str) -> None:
    site.prepared.baked.module("looking", looks)
    script = site.prepared.baked.script("import json\nimport looking\n" + TEXT)
    made = site.prepare(script)
    assert made.status == 0 and "it ends before line 2" in made.stdout and why in made.stdout, made
    started = site.start(script)
    assert kind(started) == "restored" and started.stdout == site.start(script, MPIIMPORT="0").stdout


def private(module: Path) -> str:
    module.chmod(0o640)
    return str(module)


def uneven(module: Path) -> str:
    module.chmod(0o744)
    return str(module)


def hidden(module: Path) -> str:
    module.parent.chmod(0o710)
    return str(module.parent)


def test_a_program_that_not_all_users_may_read_is_in_none(site: Site) -> None:
    script = site.prepared.baked.script(TEXT)
    os.chown(script, MAKER, MAKER)
    made = site.prepare(script, lambda: Path(script).chmod(0o600))
    assert made.status and f"not all may read {script}" in made.stderr, made


def test_root_starts_from_none(filled: tuple[Site, str]) -> None:
    site, script = filled
    started = site.prepared.run(
        [site.prepared.entry_point, script],
        PATH=PATH,
        MPIIMPORT_SITE_SNAPSHOTS=str(site.library),
        MPIIMPORT_VERBOSE="1",
    )
    assert kind(started) == "fresh" and "it is for ordinary users" in started.stderr


def test_in_a_user_namespace_no_strangers_library_is_taken(filled: tuple[Site, str]) -> None:
    """There the files of root and of strangers look alike."""
    site, script = filled
    for owner in (0, MAKER):
        for path in (site.library, *site.library.rglob("*")):
            os.chown(path, owner, owner)
        command = ["unshare", "--user", "--map-current-user", site.prepared.entry_point, script]
        assert kind(site.run(command)) == "fresh"


@pytest.mark.parametrize("hide", [private, uneven, hidden])
def test_what_not_all_users_may_read_is_in_none(site: Site, hide: Callable[[Path], str]) -> None:
    module = site.prepared.baked.module("planted", "VALUE = 1")
    made = site.prepare(site.prepared.baked.script("import planted\n" + TEXT), lambda: hide(module))
    assert made.status and f"not all may read {hide(module)}" in made.stderr, made


def test_a_library_is_private_or_for_all(site: Site) -> None:
    script = site.prepared.baked.script(TEXT)
    site.library.chmod(0o700)
    made = site.prepare(script)
    assert made.status and f"chmod 755 {site.library}" in made.stderr
    site.library.chmod(0o755)
    made = site.prepared.try_to_prepare(site.prepared.entry_point, script)
    assert made.status and "--for-all-users" in made.stderr
    made = site.prepared.run(
        [site.prepared.mpiimport, "prepare", "--for-all-users", "--", site.prepared.entry_point, script], PATH=PATH
    )
    assert made.status and "prepare it as an ordinary user" in made.stderr
    made = site.prepare(script, MPIIMPORT_SNAPSHOTS="")
    assert made.status and "MPIIMPORT_SNAPSHOTS has to name a directory" in made.stderr
    assert not list(site.library.iterdir())
