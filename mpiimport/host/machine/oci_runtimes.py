"""What podman, docker, CRI-O and containerd have to read, and in which file."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mpiimport.runtime import PREFIX

from ..complaint import Complaint
from .settings_files import Setting, Settings

HOOKS = Path(PREFIX, "share", "containers", "oci", "hooks.d")
# Where runtimes look for hooks as long as no file of settings says where. One that is missing is an error if it does.
USUAL_HOOKS = ("/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d")
HOOK_NEXT = f"then release profiles: {PREFIX}/bin/mpiimport-plan release default"
CDI_NEXT = f"then write the devices: {PREFIX}/bin/mpiimport-plan cdi --all --output /etc/cdi/mpiimport.json"
# The names of containerd's plugin, by the version of its file.
CONTAINERD = {2: "io.containerd.grpc.v1.cri", 3: "io.containerd.cri.v1.runtime"}


@dataclass(frozen=True)
class Runtime:
    """``settings``: what its file is to say, by what it says now; ``notes``: what else a person has to know or do."""

    name: str
    file: Callable[[], Path]
    settings: Callable[[Path, Settings], list[Setting]]
    notes: list[str] = field(default_factory=list)
    is_json: bool = False


def _podman_file() -> Path:
    named = os.environ.get("CONTAINERS_CONF")
    if named:
        return Path(named)
    return Path("/etc/containers/containers.conf") if os.geteuid() == 0 else _own_containers_conf()


def _own_containers_conf() -> Path:
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "containers" / "containers.conf"


def _podman(path: Path, _: Settings) -> list[Setting]:
    keys = ("engine", "hooks_dir")
    earlier = ["/usr/share/containers/containers.conf"]
    if os.geteuid():
        # Without root podman looks in none of the usual directories.
        earlier += ["/etc/containers/containers.conf", *map(str, _drop_ins("/etc/containers/containers.conf.d"))]
        usual = _said(earlier, keys) or ()
    else:
        usual = _said(earlier, keys) or tuple(place for place in USUAL_HOOKS if Path(place).is_dir())
    _none_is_stronger(path, _drop_ins(f"{path}.d"), keys)
    return [Setting(keys, str(HOOKS / "podman"), usual)]


def _crio(path: Path, _: Settings) -> list[Setting]:
    keys = ("crio", "runtime", "hooks_dir")
    others = [file for file in _drop_ins("/etc/crio/crio.conf.d") if file != path]
    _none_is_stronger(path, [file for file in others if file > path], keys)
    files = ["/etc/crio/crio.conf", *map(str, others)]
    return [Setting(keys, str(HOOKS / "cri-o"), _said(files, keys) or USUAL_HOOKS)]


def _docker(*_: object) -> list[Setting]:
    return [Setting(("features", "cdi"), value=True)]


def _containerd(path: Path, now: Settings) -> list[Setting]:
    version = now.root.get("version", None if now.root else 2)
    plugin = CONTAINERD.get(version) if isinstance(version, int) else None
    if plugin is None:
        raise Complaint(
            f"{path} has no version 2 or 3, and was left as it is; `containerd config migrate` prints it in a newer one"
        )
    keys = ("plugins", plugin)
    settings = [
        Setting((*keys, "enable_cdi"), value=True),
        *(Setting((*keys, "cdi_spec_dirs"), place, ()) for place in ("/etc/cdi", "/var/run/cdi")),
    ]
    return [*([] if now.root else [Setting(("version",), value=2)]), *settings]


RUNTIMES = {
    runtime.name: runtime
    for runtime in (
        Runtime("podman", _podman_file, _podman, [HOOK_NEXT]),
        Runtime(
            "cri-o",
            lambda: Path("/etc/crio/crio.conf.d/99-mpiimport.conf"),
            _crio,
            ["then restart it: systemctl restart crio", HOOK_NEXT],
        ),
        Runtime(
            "docker",
            lambda: Path("/etc/docker/daemon.json"),
            _docker,
            ["Docker 25 and newer know devices; an older one does not look at this", "then restart it", CDI_NEXT],
            is_json=True,
        ),
        Runtime(
            "containerd",
            lambda: Path("/etc/containerd/config.toml"),
            _containerd,
            ["containerd 1.7 and newer know devices; an older one does not look at this", "then restart it", CDI_NEXT],
        ),
    )
}


def _drop_ins(directory: str) -> list[Path]:
    return sorted(Path(directory).glob("*.conf"))


def _none_is_stronger(path: Path, later: list[Path], keys: tuple[str, ...]) -> None:
    """Raises Complaint where a file that is read later says the same key: then ours would say nothing."""
    for file in later:
        if _said([str(file)], keys) is not None:
            raise Complaint(f"{file} says {'.'.join(keys)}, and is read behind {path}; name it with --config")


def _said(files: list[str], keys: tuple[str, ...]) -> tuple[str, ...] | None:
    """The list that the last of these files gives a key; None where none does."""
    found: tuple[str, ...] | None = None
    for file in map(Path, files):
        if not file.is_file():
            continue
        value: object = Settings(file, file.read_text()).plain()
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        if isinstance(value, list):
            found = tuple(value)
    return found
