"""What programs do at module level before a snapshot may end, and what they see of it behind that.

They stand in ``begins.txt``, as blocks do, but in two parts. The first stands in front of PREAMBLE, by which a program
asks for its rank: all of it may be in a snapshot. ``--- behind`` stands among the blocks. ``--- PATH, edited`` is
written between preparing and starting. Paths are relative to the script's directory.
"""

from dataclasses import dataclass, field
from pathlib import Path

from tests.random_programs.blocks import Block
from tests.texts import Text, read

EDITED = ", edited"


@dataclass(frozen=True)
class Begin(Block):
    begin: str = ""
    edits: dict[str, str] = field(default_factory=dict)


def _begin(name: str, text: Text) -> Begin:
    edits = {path.removesuffix(EDITED): body for path, body in text.further.items() if path.endswith(EDITED)}
    files: dict[str, str | bytes] = {path: body for path, body in text.further.items() if not path.endswith(EDITED)}
    behind = str(files.pop("behind"))
    return Begin(f"begin: {name}", behind, files, mpi="mpi" in text.traits, begin=text.text, edits=edits)


BEGINS = [_begin(name, text) for name, text in read(Path(__file__).with_name("begins.txt")).items()]
