"""The environment of a site profile, for a rank that no container start has given it to."""

from .. import PREFIX, open, os
from ..options import OptionError


def apply_profile(name: str) -> None:
    """Change ``os.environ`` as the profile ``name`` says, by the resolver that all entry points use.

    Raises OptionError with the resolver's own words where the profile is unknown or malformed.
    """
    resolver = os.path.join(PREFIX, "bin", "mpiimport-plan")
    if not os.access(resolver, os.X_OK):
        raise OptionError(f"-I {name}: profiles need {resolver}, which `make install` lays out")
    reading, writing = os.pipe()
    child = os.posix_spawn(
        resolver,
        [resolver, "environment", "--profile", name],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, writing, 1)],
    )
    os.close(writing)
    with open(reading, "rb") as stream:
        changes = stream.read()
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OptionError(f"-I {name}: the profile cannot be used, as said above")
    for change in changes.split(b"\0")[:-1]:
        variable, equals, value = os.fsdecode(change).partition("=")
        if equals:
            os.environ[variable] = value
        else:
            os.environ.pop(variable, None)
