"""Daemons have a network of their own, and nothing of it is left when they end."""

from pathlib import Path

import pytest

from lab.daemons import Daemons
from lab.processes import in_namespace
from lab.ranks import clean_environment, run

HERE = Path("/proc/self/ns/net")


def network_of(process: int) -> Path:
    return Path(f"/proc/{process}/ns/net").readlink()


def test_what_a_daemon_has_started_ends_with_it(lab: None, tmp_path: Path) -> None:
    with Daemons(tmp_path, tmp_path) as daemons:
        daemon = daemons.start("daemon", ["sh", "-c", "setsid sleep 600 & touch begun; exec sleep 600"], {})
        daemons.wait((tmp_path / "begun").exists, "daemon")
        network = network_of(daemon)
        assert network != HERE.readlink()
        where = run([*daemons.inside, "readlink", str(HERE)], clean_environment())
        assert where.stdout.strip() == str(network)
        # The network's own, the daemon, and what it has started.
        assert len(list(in_namespace("net", network))) == 3
    assert list(in_namespace("net", network)) == []


def test_words_before_a_daemon_are_before_all(lab: None, tmp_path: Path) -> None:
    with Daemons(tmp_path, tmp_path, ["env", "MARK=here"]) as daemons:
        daemons.start("daemon", ["sh", "-c", "echo $MARK > said; exec sleep 600"], {})
        daemons.wait(lambda: (tmp_path / "said").exists() and (tmp_path / "said").read_text() == "here\n", "daemon")


def test_a_daemon_that_does_not_come_up_is_said_to(lab: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lab.daemons.SECONDS", 1)
    with Daemons(tmp_path, tmp_path) as daemons:
        daemons.start("daemon", ["sh", "-c", "echo no room >&2; exec sleep 600"], {})
        with pytest.raises(TimeoutError, match="daemon does not come up: no room"):
            daemons.wait(lambda: False, "daemon")
