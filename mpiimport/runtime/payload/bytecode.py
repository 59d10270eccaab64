"""The import statements of a code object, read from its bytecode without executing it."""

from ..machinery import CODE_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

CO_OPTIMIZED = 0x1


def _opcodes(source: str) -> set[int]:
    return set(compile(source, "<calibration>", "exec").co_code[::2])


def _instructions(code: "CodeType") -> list[tuple[int, int]]:
    raw = code.co_code
    return list(zip(raw[::2], raw[1::2], strict=True))


# Opcode numbers change with every minor version and the `opcode` module is not on the rank path,
# so those that matter are learned from the running compiler.
_PLAIN = _opcodes("a = 0; b = None")
(IMPORT_NAME,) = _opcodes("import a") - _PLAIN
(EXTENDED_ARG,) = _opcodes(";".join(f"a{i} = 0" for i in range(300))) - _PLAIN


def _before_import() -> tuple[int, int]:
    """Return the opcode that loads the names of ``from a import b``, and the argument of IMPORT_NAME for name 1."""
    code = compile("b; from a import b", "<calibration>", "exec").co_code
    position = code[::2].index(IMPORT_NAME) * 2
    return code[position - 2], code[position + 1]


def _loading(expression: str, in_function: bool = False) -> tuple[int, int]:
    """Return the opcode that loads the name ``probe`` in ``expression``, and how far its argument is shifted."""
    source = ";".join(f"x{i}" for i in range(57)) + f";{expression}"
    code = compile(f"def f(): {source}" if in_function else source, "<calibration>", "exec")
    if in_function:
        (code,) = [constant for constant in code.co_consts if isinstance(constant, CODE_TYPE)]
    index = code.co_names.index("probe")
    ((opcode, argument),) = [found for found in _instructions(code) if found[1] in (index, 2 * index, 2 * index + 1)]
    return opcode, 0 if argument == index else 1


def _branching() -> tuple[int, int | None]:
    """Return the opcode of a jump past an ``if``, and where its argument counts from: None for the code's start.

    The distance is that between the jump itself and argument 0.
    """
    code = compile("if a:\n b\nc", "<calibration>", "exec")
    instructions = _instructions(code)
    loads = [i for i, (opcode, _) in enumerate(instructions) if opcode == LOAD_NAME]
    jumps = [i for i in range(loads[0] + 1, loads[1]) if instructions[i][1]]
    opcode, argument = instructions[jumps[-1]]
    return opcode, None if argument == loads[2] else loads[2] - argument - jumps[-1]


def _comparing() -> tuple[int, int]:
    """Return the instruction that compares what was loaded with the constant loaded last."""
    code = compile("if a == 'b':\n c", "<calibration>", "exec")
    instructions = _instructions(code)
    loads = [i for i, (opcode, _) in enumerate(instructions) if opcode == LOAD_CONST]
    return instructions[loads[0] + 1]


LOADS = dict([_loading("probe"), _loading("x0.probe"), _loading("probe", in_function=True)])
LOAD_NAME = _loading("probe")[0]
JUMP, JUMP_BASE = _branching()
LOAD_CONST, _flags = _before_import()
COMPARE = _comparing()
# Low bits of IMPORT_NAME's argument that are no part of the name: since 3.15 two, for PEP 810.
FLAG_BITS = _flags.bit_length() - 1


class ImportStatement:
    """One ``import name`` or ``from name import names``; ``level`` counts the leading dots."""

    __slots__ = ("level", "name", "names")

    def __init__(self, name: str, level: int, names: tuple[str, ...]) -> None:
        self.name = name
        self.level = level
        self.names = names

    def absolute_name(self, package: str) -> str:
        """Return the module that is imported where this stands in ``package``; empty where that fails."""
        if not self.level:
            return self.name
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - self.level + 1])
        return f"{base}.{self.name}" if base and self.name else base


def import_statements(code: "CodeType", is_program: bool = False) -> list[ImportStatement]:
    """Return the imports that executing ``code`` as a module body may perform.

    Class bodies belong to it. Function bodies do not, since they run later or never. What stands below
    ``if TYPE_CHECKING`` is excluded and, unless the module is the program, what stands below
    ``if __name__ == "__main__"``.
    """
    found = _statements_of(code, is_program)
    for constant in code.co_consts:
        if isinstance(constant, CODE_TYPE) and _runs_at_import(constant):
            found += import_statements(constant, is_program)
    return found


def later_statements(code: "CodeType") -> list[ImportStatement]:
    """Return the imports in functions of a module body ``code``, ``import_statements`` apart."""
    found = []
    for constant in code.co_consts:
        if isinstance(constant, CODE_TYPE):
            found += later_statements(constant) if _runs_at_import(constant) else _all_statements(constant)
    return found


def attribute_statements(code: "CodeType") -> list[ImportStatement]:
    """Return the imports in the ``__getattr__`` of a module body ``code`` (PEP 562)."""
    functions = (constant for constant in code.co_consts if isinstance(constant, CODE_TYPE))
    return [
        statement
        for function in functions
        if function.co_name == "__getattr__"
        for statement in _all_statements(function)
    ]


def _all_statements(code: "CodeType") -> list[ImportStatement]:
    found = _statements_of(code)
    for constant in code.co_consts:
        if isinstance(constant, CODE_TYPE):
            found += _all_statements(constant)
    return found


def _runs_at_import(code: "CodeType") -> bool:
    """Tell class bodies, those of generic classes (PEP 695) included, from functions."""
    return not code.co_flags & CO_OPTIMIZED or code.co_name.startswith("<generic parameters of")


def words(code: "CodeType") -> set[str]:
    """Return the names and the string constants of a code object, those of nested functions included."""
    found: set[str] = set()
    waiting: list[CodeType] = [code]
    # The list grows while it is gone through.
    for code in waiting:
        found.update(code.co_names)
        _add_constants(code.co_consts, found, waiting)
    return found


def _add_constants(constants: "Iterable[object]", found: set[str], nested: "list[CodeType]") -> None:
    for constant in constants:
        kind = type(constant)
        if kind is str:
            found.add(constant)  # type: ignore[arg-type]
        elif kind is CODE_TYPE:
            nested.append(constant)  # type: ignore[arg-type]
        elif kind is tuple or kind is frozenset:
            _add_constants(constant, found, nested)  # type: ignore[arg-type]


def _statements_of(code: "CodeType", is_program: bool = True) -> list[ImportStatement]:
    found: list[ImportStatement] = []
    # Most functions import nothing; these are the quickest ways to see that.
    if not code.co_names:
        return found
    raw = code.co_code
    if IMPORT_NAME not in raw:
        return found
    opcodes, arguments = raw[::2], raw[1::2]
    position = opcodes.find(IMPORT_NAME)
    left_out = _left_out(code, opcodes, arguments, is_program) if position >= 0 else []
    while position >= 0:
        if not any(position in block for block in left_out):
            found.append(_statement(code, opcodes, arguments, position))
        position = opcodes.find(IMPORT_NAME, position + 1)
    return found


def _left_out(code: "CodeType", opcodes: bytes, arguments: bytes, is_program: bool) -> list[range]:
    """Return where the instructions are below an ``if`` that holds for type checkers, or for the program, only."""
    unmet = {"TYPE_CHECKING"} if is_program else {"TYPE_CHECKING", "__main__"}
    found: list[range] = []
    if unmet.isdisjoint((*code.co_names, *code.co_consts)):
        return found
    condition = ""
    argument = 0
    for position, (opcode, low) in enumerate(zip(opcodes, arguments, strict=True)):
        argument = argument << 8 | low
        if opcode == EXTENDED_ARG:
            continue
        if opcode == JUMP and condition in unmet:
            end = argument if JUMP_BASE is None else position + argument + JUMP_BASE
            found.append(range(position, end))
        if opcode in LOADS:
            condition = code.co_names[argument >> LOADS[opcode]]
        elif opcode == LOAD_CONST and condition == "__name__" and code.co_consts[argument] == "__main__":
            condition = "__main__"
        elif argument and (opcode, argument) != COMPARE:
            condition = ""
        argument = 0
    return found


def _statement(code: "CodeType", opcodes: bytes, arguments: bytes, position: int) -> ImportStatement:
    """Decode the IMPORT_NAME at ``position`` and the two loads before it: the level, then the tuple of names."""
    name, names_position = _argument_of(opcodes, arguments, position)
    names_argument, level_position = _argument_of(opcodes, arguments, names_position)
    level_argument, _ = _argument_of(opcodes, arguments, level_position)
    # Since 3.15 None has an opcode of its own; since 3.14 a small integer has, whose argument it is.
    names = _constant(code, names_argument) if opcodes[names_position] == LOAD_CONST else None
    level = _constant(code, level_argument) if opcodes[level_position] == LOAD_CONST else level_argument
    return ImportStatement(
        code.co_names[name >> FLAG_BITS],
        level if isinstance(level, int) else 0,
        names if isinstance(names, tuple) else (),
    )


def _argument_of(opcodes: bytes, arguments: bytes, position: int) -> tuple[int, int]:
    """Return the argument of the instruction at ``position``, and where the instruction before it is."""
    argument, shift = arguments[position], 8
    position -= 1
    while position >= 0 and opcodes[position] == EXTENDED_ARG:
        argument |= arguments[position] << shift
        shift += 8
        position -= 1
    return argument, position


def _constant(code: "CodeType", index: int) -> object:
    return code.co_consts[index] if index < len(code.co_consts) else None
