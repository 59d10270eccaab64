"""The ways into a container, one module for each: how a job is started through it."""

from . import cdi, oci_hook, shim
from .door import Door

DOORS: dict[str, Door] = {door.name: door for door in (shim.Shim(), oci_hook.OciHook(), cdi.Cdi())}
"""What the table of container tests asks of every door."""
