"""``mpiimport manifest show --warm``: what each warm image of this node was made for, and whether it fits here."""

import os
import subprocess
from pathlib import Path

from mpiimport.runtime.program import MODULE
from mpiimport.runtime.regular_file import read_regular
from mpiimport.runtime.store.place import IMAGE, Place
from mpiimport.runtime.store.store import PROGRAM
from mpiimport.snapshot.fitting import tables_of, why_not_started
from mpiimport.snapshot.image_format import ABSENT, FREE, Damaged, Tables

NONE = 1


def show_warm(place: Place | None) -> int:
    """Print some lines for each image of a place. Status 1 where there is none."""
    stores = map(Path, place.stores() if place is not None else [])
    images = [store for store in stores if (store / IMAGE).exists()]
    if not images:
        print("no warm images are kept on this node; mpiimport session status says why")
    for store in images:
        print("\n".join(_described(store)))
    return 0 if images else NONE


def _described(store: Path) -> list[str]:
    try:
        program = os.fsdecode(read_regular(str(store / PROGRAM)))
        tables = tables_of(store / IMAGE)
        kind, _, target = program.partition(" ")
        reason = why_not_started(store, ["-m", target] if kind == MODULE else [target])
    except (OSError, Damaged, subprocess.SubprocessError) as exc:
        return [f"{store}: {exc}"]
    fits = f"does not fit a process that is started here and now: {reason}" if reason else "fits here and now"
    lines = [f"{ascii(program)[1:-1]}: {fits}", f"  processors: {tables.processors}"]
    return [
        *lines,
        *(f"  {line}" for line in _variables(tables)),
        f"  files and directories: {tables.count('files'):,}",
    ]


def _variables(tables: Tables) -> list[str]:
    """Return a line for each variable of the key, and each begin of names."""
    lines = []
    for name_at, value_at in tables.rows("variables"):
        name = os.fsdecode(tables.text(name_at))
        if value_at == FREE:
            lines.append(f"any {name}")
        elif value_at != ABSENT:
            lines.append(f"{name}={ascii(os.fsdecode(tables.text(value_at)))[1:-1]}")
        else:
            lines.append(f"no other {name}" if name.endswith("*") else f"no {name}")
    return sorted(lines, key=lambda line: (line.startswith("no "), line))
