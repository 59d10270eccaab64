"""The ways into a container, one module for each: how a job is started through it."""

from . import cdi, entrypoint, oci_hook, plugin, shim
from .door import Door

DOORS: dict[str, Door] = {
    door.name: door
    for door in (
        shim.Shim(),
        plugin.Plugin(),
        oci_hook.OciHook(),
        cdi.Cdi(),
        entrypoint.Docker(),
        entrypoint.Podman(),
    )
}
