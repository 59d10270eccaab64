"""Makes a program from a seed: some blocks, an ending, and a way to start them."""

import ast
import compileall
import os
import random
import re
import sys
import warnings
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.random_programs.begins import BEGINS
from tests.random_programs.begun import begun, chosen_begins, replaced
from tests.random_programs.blocks import BESIDE, BLOCKS, LIBRARY, PREAMBLE, Block

STARTS = (
    "script",
    "script",
    "script",
    "relative",
    "code",
    "module",
    "package",
    "stdin",
    "directory",
    "zip",
    "link",
    "mpi4py",
)
FLAGS = (
    (),
    (),
    (),
    ("-O",),
    ("-B",),
    ("-u",),
    ("-X", "utf8"),
    ("-W", "always"),
    ("-W", "error::SyntaxWarning"),
    ("-X", "dev"),
    ("-q", "-b"),
)
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {},
    {},
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "ascii:backslashreplace"},
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    {"PYTHONDONTWRITEBYTECODE": "1"},
    {"PYTHONUNBUFFERED": "1"},
    {"PYTHONWARNINGS": "default"},
    {"PYTHONHASHSEED": "0"},
    {"PYTHONFAULTHANDLER": "1"},
    {"PYTHONNOUSERSITE": "1"},
)
# For programs that start from a snapshot: those of which one can be made, and FLAGS as variables say them.
SCRIPTS = ("script", "relative", "link")
VARIABLES = {
    "-O": {"PYTHONOPTIMIZE": "1"},
    "-B": {"PYTHONDONTWRITEBYTECODE": "1"},
    "-u": {"PYTHONUNBUFFERED": "1"},
    "-X utf8": {"PYTHONUTF8": "1"},
    "-X dev": {"PYTHONDEVMODE": "1"},
    "-W always": {"PYTHONWARNINGS": "always"},
    "-W error::SyntaxWarning": {"PYTHONWARNINGS": "error::SyntaxWarning"},
}
# Modules of LIBRARY that are as any others.
ORDINARY = ("lone", "ltwo", "lthree", "lpack.one", "lpack.two", "lpack.inner.deep", "lspace.one")
# What a shell does with the rank's standard files; the first is the usual one.
REDIRECTIONS = (
    '< /dev/null > "$OUT" 2> "$ERR"',
    '<&- > "$OUT" 2> "$ERR"',
    '< /dev/null > "$OUT" 2>&-',
    '< /dev/null >&- 2> "$ERR"',
)
ARGUMENTS = ((), (), ("one", "-v", "--two=3"), ("\udcff", "\u00e9"), ("", " "))


# When a program's files were written: well before it runs.
WRITTEN = 1_700_000_000


@dataclass
class Program:
    """A program: its ``blocks`` by name, the ``files`` of its directory, and how it is started there.

    ``edits``: files that are written when all is prepared.
    """

    blocks: list[str]
    files: dict[str, str | bytes] = field(default_factory=dict)
    start: str = "script"
    place: str = ""
    flags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    redirection: str = REDIRECTIONS[0]
    compiled: bool = False
    edits: dict[str, str] = field(default_factory=dict)

    @property
    def uses_mpi(self) -> bool:
        return any("mpi4py" in str(content) for content in self.files.values())

    @property
    def leaves_mpi(self) -> bool:
        """It starts MPI itself, and may leave it to nobody to finalise."""
        return "MPI set up by hand" in self.blocks

    def write(self, directory: Path) -> None:
        for name, content in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            os.utime(path, (WRITTEN, WRITTEN))
        if self.compiled:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for optimize in (0, 1):
                    compileall.compile_dir(directory, quiet=2, optimize=optimize)
        if self.start == "zip":
            with zipfile.ZipFile(directory / "program.zip", "w") as archive:
                archive.writestr(zipfile.ZipInfo("__main__.py"), (directory / "zipped.py").read_bytes())
        if self.start == "link":
            (directory / "other").mkdir()
            (directory / "other" / "link.py").symlink_to("../app.py")

    def edit(self, directory: Path) -> None:
        for name, content in self.edits.items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(content)


def program(seed: int, only: tuple[str, ...] = (), image: bool = False) -> Program:
    """The program of a seed, or one of the blocks ``only``.

    ``image``: a script that begins with what a snapshot may hold: what it imports, and some of BEGINS.
    """
    rng = random.Random(seed)
    start = "script" if only else rng.choice(STARTS)
    if image and start not in SCRIPTS:
        start = "script"
    uses_mpi = start == "mpi4py" or rng.random() < 0.6
    usable = [
        b
        for b in BLOCKS
        if not b.alone and (not b.mpi or uses_mpi) and (not b.apart or not uses_mpi) and (not b.place or start != "zip")
    ]
    if only:
        chosen = [b for name in only for b in BLOCKS if b.name == name]
        begins = [b for name in only for b in BEGINS if b.name == name]
        assert len(chosen) + len(begins) == len(only), f"no such block among {only}"
    else:
        chosen = rng.sample([b for b in usable if not b.ending], rng.randint(6, 10))
        if uses_mpi and not any(b.mpi for b in chosen):
            chosen.insert(rng.randrange(len(chosen)), rng.choice([b for b in usable if b.mpi and not b.ending]))
        if rng.random() < 0.6:
            chosen.append(rng.choice([b for b in usable if b.ending]))
        begins = chosen_begins(seed, uses_mpi) if image else []
    if start == "mpi4py" and chosen[-1].uncaught:
        # mpi4py then ends the job at once, and how far the others have come is chance.
        chosen.pop()
    made = Program([b.name for b in (*begins, *chosen)], {**LIBRARY}, start)
    parts = [_placed(rng, made, number, b, moved=not only) for number, b in enumerate(chosen)]
    imports = _imports(seed, PREAMBLE + "".join(parts), uses_mpi) if image else ""
    text, files, edits = begun(seed, begins, imports, parts, ends=bool(chosen) and chosen[-1].ending)
    if image and uses_mpi:
        # Another child executes the script again, and its MPI as this rank: plainly MPICH hangs, and Open MPI crashes.
        text = re.sub(r"""get_context\((["'])(spawn|forkserver)\1\)""", "get_context('fork')", text)
    _start(made, text)
    made.files.update({os.path.join(made.place, name): content for name, content in files.items()})  # noqa: PTH118
    made.edits.update({os.path.join(made.place, name): content for name, content in edits.items()})  # noqa: PTH118
    # From an image ranks are not as long behind each other, and see more or less of what the others compile.
    made.compiled = rng.random() < 0.5 or image or any(b.compiled for b in chosen)
    if not only:
        made.flags = rng.choice(FLAGS)
        made.environment = {**rng.choice(ENVIRONMENTS)}
        made.words += rng.choice(ARGUMENTS)
        if rng.random() < 0.1:
            made.redirection = rng.choice(REDIRECTIONS)
        if start == "stdin":
            made.redirection = re.sub(r"^< ?\S+", "< app.py", made.redirection)
    if image:
        made.environment.update(VARIABLES.get(" ".join(made.flags), {}))
        made.flags = ()
    return made


def _imports(seed: int, text: str, uses_mpi: bool) -> str:
    """The imports of a program's text, less those that are there to fail or to be seen, for its begin."""
    rng = random.Random(f"imports of {seed}")
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except SyntaxError:
        nodes = []
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    known = sys.stdlib_module_names | {"numpy"}
    chosen = sorted(name for name in names if name.partition(".")[0] in known) or ["json"]
    chosen += rng.sample(ORDINARY, rng.choice((0, 0, 2, 5)))
    if uses_mpi and rng.random() < 0.3:
        chosen.append("mpi4py.MPI")
    rng.shuffle(chosen)
    return "".join(f"import {name}\n" for name in chosen)


def _placed(rng: random.Random, made: Program, number: int, chosen: Block, moved: bool) -> str:
    """The text of a block in the program: all of it, or an import of the module that it is put into."""
    text = replaced(rng, chosen.text, number)
    kind = rng.random()
    if moved and not chosen.main and not chosen.ending and kind < 0.25:
        made.files[f"lib/lmodule{number}.py"] = PREAMBLE + text
        return f"import lmodule{number}\n"
    if moved and not chosen.mpi and not chosen.ending and not chosen.apart and kind > 0.85:
        made.files[f"lib/lonly{number}.py"] = PREAMBLE + text
        return f"if rank == {rng.randrange(2)}: import lonly{number}\n"
    return f"# {chosen.name}\n{text}"


def _start(made: Program, text: str) -> None:
    """Lay the program's text out for the way it is started."""
    file, place, words = {
        "script": ("app.py", "", ("{HERE}/app.py",)),
        "relative": ("inner/app.py", "inner", ("inner/app.py",)),
        "code": ("", "", ("-c", text)),
        "module": ("app.py", "", ("-m", "app")),
        "package": ("pack/__main__.py", "", ("-m", "pack")),
        "stdin": ("app.py", "", ("-",)),
        "directory": ("folder/__main__.py", "folder", ("folder",)),
        "zip": ("zipped.py", "lib", ("{HERE}/program.zip",)),
        "link": ("app.py", "", ("other/link.py",)),
        "mpi4py": ("app.py", "", ("-m", "mpi4py", "app.py")),
    }[made.start]
    if file:
        made.files[file] = text
    if made.start == "package":
        made.files["pack/__init__.py"] = ""
    made.place, made.words = place, words
    made.files.update({os.path.join(place, name): content for name, content in BESIDE.items()})  # noqa: PTH118
