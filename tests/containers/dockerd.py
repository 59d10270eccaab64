"""A docker daemon of the tests' own: private data, no network, ended with the tests."""

import io
import shutil
import subprocess
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import docker


class Dockerd:
    """Runs while the context is entered. ``host`` is what DOCKER_HOST names; members of ``group`` may use it;
    ``configuration`` is read, too."""

    def __init__(self, binary: Path, group: int, configuration: Path | None = None) -> None:
        self._binary = binary
        self._group = group
        self._configuration = configuration

    def __enter__(self) -> "Dockerd":
        self._home = Path(tempfile.mkdtemp(prefix="dockerd-", dir="/tmp"))
        self._home.chmod(0o755)
        self.host = f"unix://{self._home}/socket"
        options = {
            "host": self.host,
            "group": str(self._group),
            "data-root": f"{self._home}/data",
            "exec-root": f"{self._home}/exec",
            "pidfile": f"{self._home}/pid",
            "bridge": "none",
            "iptables": "false",
            "ip6tables": "false",
        }
        if self._configuration:
            options["config-file"] = str(self._configuration)
        self._log = self._home / "log"
        with self._log.open("wb") as log:
            self._daemon = subprocess.Popen(
                # The daemon ends with the tests even where they are killed.
                [
                    "setpriv",
                    "--pdeathsig",
                    "TERM",
                    self._binary,
                    *(f"--{key}={value}" for key, value in options.items()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.client = self._connected()
        return self

    def _connected(self) -> docker.DockerClient:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._daemon.poll() is None:
            with suppress(docker.errors.DockerException):
                return docker.DockerClient(self.host, timeout=120)
            time.sleep(0.1)
        self.__exit__()
        raise AssertionError(f"dockerd did not start:\n{self._text}")

    def __exit__(self, *_: object) -> None:
        self._daemon.terminate()
        try:
            self._daemon.wait(60)
        except subprocess.TimeoutExpired:
            self._daemon.kill()
            self._daemon.wait()
        self._text = self._log.read_text()
        shutil.rmtree(self._home, ignore_errors=True)

    def import_image(self, root: Path, name: str) -> None:
        """Make an image of the sandbox ``root``."""
        packing = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        self.client.api.import_image_from_stream(packing.stdout, repository=name)
        assert packing.wait() == 0

    def build(self, name: str, dockerfile: Path, files: dict[str, Path], **arguments: str) -> None:
        """Build an image from a Dockerfile, its arguments, and ``files``: name in the context -> file or directory."""
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            archive.add(dockerfile, "Dockerfile")
            for inside, path in files.items():
                archive.add(path, inside)
        context.seek(0)
        self.client.images.build(
            fileobj=context, custom_context=True, tag=name, buildargs=arguments, network_mode="none", rm=True
        )
