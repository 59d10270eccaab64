"""The ways into a container, one module for each: how a job is started through it."""

from . import cdi, entrypoint, oci_hook, shim
from .entry_point import EntryPoint

ENTRY_POINTS: dict[str, EntryPoint] = {
    entry_point.name: entry_point
    for entry_point in (
        shim.Shim(),
        shim.Plugin(),
        oci_hook.OciHook(),
        cdi.Cdi(),
        entrypoint.Docker(),
        entrypoint.Podman(),
    )
}
