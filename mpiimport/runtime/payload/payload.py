"""What root read in this run, packed for the store: the index, the code, and the libraries to stream."""

import sys

from .. import os
from ..digest import digest
from ..file_systems import image
from ..importing.metadata import METADATA_MODULES
from ..option_table import ALL
from ..program import Program, working_directory
from ..size import in_words
from ..store.dependencies import DEPENDENCIES, Dependencies
from ..store.index import Index, linker_settings
from ..store.links import LINKS, pack
from ..store.store import library_name
from .breadth import MANY_NODES
from .bytecode import words
from .counted_files import counted
from .distributions import read_distributions
from .environment import unseen_settings
from .learned_manifest import Learned
from .learning import Learning
from .library_needs import Libraries
from .module_code import files_imported_since, hide_modules, read_into, without_warnings
from .mpi_libraries import MpiLibraries
from .own_directories import OwnDirectories, own_places
from .parallel import Readers
from .rehearsal import CUSTOMISED
from .rest import Rest
from .staging import make_fit, stage
from .stamps import dependencies_of
from .static_manifest import Manifest
from .tree import EXTENSION, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..importing.site_answers import Answers
    from ..options import Options
    from .rehearsal import Rehearsal


class Payload:
    """A packed payload.

    ``sizes``: bytes of each file of the store by its name there; ``uncached``: source files without a valid
    pyc, whose pyc root writes when it imports them, as plain Python would; ``learning``: gets at the end what
    was imported; ``complaints``: lines for the user; ``dependencies``: of a cached store.
    """

    def __init__(
        self,
        index: Index,
        contents: dict[str, bytes],
        staged: dict[str, int],
        uncached: frozenset[str],
        learning: Learning,
        complaints: list[str],
        dependencies: Dependencies,
    ) -> None:
        """``contents``: of the files of the store, but for the index and the libraries."""
        self.index = index
        self.uncached = uncached
        self.learning = learning
        self.complaints = complaints
        self.dependencies = dependencies
        self._contents = {"index": index.pack(), **contents}
        self._sources = {library_name(path): path for path in staged}
        self.sizes = {
            **{name: len(content) for name, content in self._contents.items()},
            **{library_name(path): size for path, size in staged.items()},
        }

    def fill(self, name: str, offset: int, buffer: memoryview) -> None:
        """Copy part of one file of the store into ``buffer``.

        Raises OSError, also where a library became shorter since it was looked at.
        """
        if name in self._sources:
            read_into(self._sources[name], offset, buffer)
        else:
            buffer[:] = self._contents[name][offset : offset + len(buffer)]

    def effort(self) -> dict[str, int]:
        """Return what it took to read all this so far: directories listed, files opened, bytes read of them."""
        return {
            "directories_listed": len(self.index.listings),
            "files_opened": counted.opened,
            "bytes_read": counted.bytes_read,
        }


def read_payload(
    program: "Program",
    options: "Options",
    learning: Learning,
    loaded: set[str],
    answers: "Answers",
    nodes: int = MANY_NODES,
    room: "Callable[[], int] | None" = None,
    site: "Rehearsal | None" = None,
    cached: bool = False,
    mpi: MpiLibraries | None = None,
) -> Payload:
    """Read what ``program`` will import: ``loaded`` are the modules that every rank has already.

    ``learning``: of this program; ``nodes``: how many there are; ``room``: tells the bytes that every node has for its
    store; ``site``: entered, where it has still to run; ``cached``: for a store of the cache; ``mpi``: to be in that.
    """
    rest = Rest()
    before = set(sys.modules)
    manifest = resolve(program, options, loaded, learning.known, nodes, site)
    alone = files_imported_since(loaded)
    hide_modules(before)
    learning.reached(manifest)
    _ask_for_sysconfig(manifest, answers)
    first = program.search_entry()
    searched = {place for places in learning.known.searched.values() for place in places}
    beside = {working_directory(), first or working_directory(), *searched}
    own = OwnDirectories(manifest.tree, own_places(manifest.tree, beside), rest)
    mpi = mpi or MpiLibraries()
    payload = _pack(manifest, own, answers, learning, options, nodes == 1, room, cached, alone | mpi.names(), mpi)
    payload.complaints += unseen_settings(program, manifest)
    return payload


def _ask_for_sysconfig(manifest: Manifest, answers: "Answers") -> None:
    """Record the answers for ``sysconfig``, which many import, unless it is not the standard library's."""
    module = manifest.modules.get("sysconfig")
    read = manifest.code.get(module.path) if module and module.path else None
    if read is None or not read.path.startswith(os.path.dirname(os.__file__) + "/"):
        return
    code = read.code()
    if code is not None and "_PYTHON_SYSCONFIGDATA_NAME" not in os.environ:
        answers.record_sysconfig(read.path, code)


def home_of(program: "Program") -> str | None:
    """Return the directory that is searched first for the program; None where there is none."""
    first = program.search_entry()
    return working_directory() if first == "" else first


def entries_for(program: "Program") -> list[str]:
    """Return where modules are searched for."""
    home = home_of(program)
    entries = [*([home] if home is not None else []), *sys.path]
    return [entry for entry in dict.fromkeys(entries) if entry.startswith("/")]


def resolve(
    program: "Program",
    options: "Options",
    loaded: set[str],
    known: Learned,
    nodes: int = MANY_NODES,
    site: "Rehearsal | None" = None,
) -> Manifest:
    """Return the modules that ``program`` will import, read: more of what is uncertain the more nodes wait for it.

    ``nodes``, ``site``: as for ``read_payload``.
    """
    home, entries = home_of(program), entries_for(program)
    tree = Tree(entries, known.searched)
    manifest = Manifest(
        tree,
        loaded,
        Readers(options.readers),
        learned=known,
        leave_alone=options.leave_alone,
        breadth=options.breadth,
        nodes=nodes,
        home=home or "",
    )
    if site is not None:
        tree.mapped, tree.namespaces = site.mapped, site.namespaces
        for line in site.lines:
            # Some call __import__.
            tree.started |= words(line)
    manifest.follow_names(sorted(known.imported))
    if site is not None:
        manifest.follow_names(site.modules)
        for line in site.lines:
            manifest.follow_names(sorted(words(line) & tree.tops()))
            manifest.follow_program(line)
    manifest.follow_names([*CUSTOMISED, *program.modules()])
    code = without_warnings(program.code)
    if code is not None:
        manifest.follow_program(code)
    manifest.complete()
    return manifest


class _Records:
    """The code file of a store in the making."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, data: bytes) -> tuple[int, int]:
        """Append ``data``; return its offset and length."""
        self._parts.append(data)
        self._size += len(data)
        return self._size - len(data), len(data)

    def joined(self) -> bytes:
        return b"".join(self._parts)


def _pack(
    manifest: Manifest,
    own: OwnDirectories,
    answers: "Answers",
    learning: Learning,
    options: "Options",
    one_node: bool,
    room: "Callable[[], int] | None",
    cached: bool,
    alone: set[str],
    mpi: MpiLibraries,
) -> Payload:
    tree = manifest.tree
    records = _Records()
    # Else ranks read each file themselves.
    with_contents = options.serve == ALL
    code_read = {path: read for path, read in manifest.code.items() if with_contents and own.tells(read)}
    table = {path: (*records.add(read.marshalled or b""), read.stamp) for path, read in sorted(code_read.items())}
    libraries = Libraries(tree.path, alone, mpi.paths)
    if with_contents:
        found = [(module.kind, module.path) for module in manifest.modules.values()]
        extensions = [path for kind, path in found if kind == EXTENSION and path]
        stage(libraries, extensions, own, mpi.module, options, one_node, cached)
    metadata = _read_metadata(manifest, own) if with_contents else {}
    index = Index(
        listings={path: names for path, names in tree.listings.items() if names is not None and not own.has(path)},
        writable=own.seen(),
        absent=[path for path in tree.path if tree.listing(path) is None and not os.path.exists(path)],
        code=table,
        libraries={},
        needs=libraries.needs,
        own=libraries.own,
        searched=libraries.searched,
        unnamed=[],
        metadata={
            directory: {
                name: None if content is None else records.add(content) for name, content in sorted(files.items())
            }
            for directory, files in sorted(metadata.items())
        },
        answers=answers.known,
        aliases={},
        expected=set(),
        linker=linker_settings(),
        mpi={},
        dependencies=b"",
        mounts=image()[1],
    )
    contents = {"code": records.joined()}
    complaints = list(learning.complaints)
    if room is not None and libraries.staged:
        imported = {module.path for name, module in manifest.modules.items() if name in learning.known.imported}
        left = room() - len(contents["code"]) - len(index.pack())
        direct = make_fit(libraries, {path for path in imported if path}, left)
        if direct and left > 0:
            complaints.append(
                f"libraries of {in_words(direct)} are loaded from where they lie, for the store has room for no more "
                f"than {in_words(left)} of them (MPIIMPORT_STORE_SIZE, or the memory of the job)"
            )
    index.libraries = libraries.stamps()
    index.aliases = libraries.aliases()
    index.unnamed = libraries.unnamed()
    index.mpi = libraries.of_mpi(mpi.also())
    dependencies = Dependencies()
    if cached:
        index.expected = learning.known.imported
        dependencies = dependencies_of(index, mpi.directories())
        if mpi.paths:
            contents[LINKS] = pack(mpi.beside())
        contents[DEPENDENCIES] = dependencies.pack()
        index.dependencies = digest(contents[DEPENDENCIES])
    uncached = frozenset(path for path, read in code_read.items() if not read.cached)
    return Payload(index, contents, libraries.staged, uncached, learning, complaints, dependencies)


def _read_metadata(manifest: Manifest, own: OwnDirectories) -> dict[str, dict[str, bytes | None]]:
    if METADATA_MODULES.isdisjoint(manifest.modules):
        return {}
    parents = [entry for entry in manifest.tree.path if not own.has(entry)]
    tops = {name for name in manifest.modules if "." not in name}
    return read_distributions(manifest.tree, parents, tops, manifest.metadata_words, manifest.readers)
