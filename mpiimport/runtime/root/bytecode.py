"""The import statements of a code object, read from its bytecode without executing it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

CODE_TYPE = type((lambda: None).__code__)
CO_OPTIMIZED = 0x1

# Opcode numbers change with every minor version and the `opcode` module is not on the rank path,
# so those that matter are learned from the running compiler.


def _instructions(code: "CodeType") -> list[tuple[int, int]]:
    raw = code.co_code
    return list(zip(raw[::2], raw[1::2], strict=True))


def _opcodes(source: str) -> set[int]:
    return set(compile(source, "<calibration>", "exec").co_code[::2])


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


_PLAIN = _opcodes("a = 0; b = None")
(IMPORT_NAME,) = _opcodes("import a") - _PLAIN
(EXTENDED_ARG,) = _opcodes(";".join(f"a{i} = 0" for i in range(300))) - _PLAIN
LOADS = dict([_loading("probe"), _loading("x0.probe"), _loading("x0.probe()"), _loading("probe", in_function=True)])
LOAD_NAME = _loading("probe")[0]
LOAD_CONST, _argument = _before_import()
# Low bits of IMPORT_NAME's argument that are no part of the name: since 3.15 two, for PEP 810.
FLAG_BITS = _argument.bit_length() - 1
JUMP, JUMP_BASE = _branching()


class ImportStatement:
    """One ``import name`` or ``from name import names``; ``level`` counts the leading dots."""

    __slots__ = ("level", "name", "names")

    def __init__(self, name: str, level: int, names: tuple[str, ...]) -> None:
        self.name = name
        self.level = level
        self.names = names


class Body:
    """What some code does when it is executed, as far as imports go.

    ``statements``: its imports; ``names``: of variables and attributes it uses; ``texts``: its string constants;
    ``functions``: those it defines and does not execute.
    """

    __slots__ = ("functions", "names", "statements", "texts")

    def __init__(self) -> None:
        self.statements: list[ImportStatement] = []
        self.names: set[str] = set()
        self.texts: set[str] = set()
        self.functions: list[Function] = []


class Function:
    """A function, and its ``body`` with those of the functions inside it; ``owner`` is the class of a method."""

    __slots__ = ("body", "name", "owner")

    def __init__(self, name: str, owner: str, body: Body) -> None:
        self.name = name
        self.owner = owner
        self.body = body


def read_body(code: "CodeType", is_main: bool = False) -> Body:
    """Read a module's code. Class bodies, comprehensions and lambdas count as executed with it.

    Left out: what stands below ``if TYPE_CHECKING`` and, unless it ``is_main``, ``if __name__ == "__main__"``.
    """
    body = Body()
    _execute(code, "", body, is_main)
    return body


def import_statements(code: "CodeType") -> list[ImportStatement]:
    """Return the imports that executing ``code`` as a module body may perform.

    Left out: what stands below ``if TYPE_CHECKING``, and function bodies, since they run later or never.
    """
    return read_body(code).statements


def _execute(code: "CodeType", owner: str, body: Body, is_main: bool = False) -> None:
    statements, names = _scan(code, is_main)
    body.statements += statements
    body.names |= names
    for constant in code.co_consts:
        if not isinstance(constant, CODE_TYPE):
            body.texts |= _strings(constant)
        elif not constant.co_flags & CO_OPTIMIZED:
            _execute(constant, constant.co_name, body)
        elif constant.co_name.startswith("<"):
            # Generic classes and functions lie in one of their own (PEP 695).
            _execute(constant, owner, body)
        else:
            inside = Body()
            _call(constant, inside)
            body.functions.append(Function(constant.co_name, owner, inside))


def _call(code: "CodeType", body: Body) -> None:
    if IMPORT_NAME in code.co_code[::2]:
        body.statements += _scan(code)[0]
    body.names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CODE_TYPE):
            _call(constant, body)
        else:
            body.texts |= _strings(constant)


def _strings(constant: object) -> set[str]:
    if isinstance(constant, str):
        return {constant}
    if isinstance(constant, (tuple, frozenset)):
        return {string for item in constant for string in _strings(item)}
    return set()


def _scan(code: "CodeType", is_main: bool = False) -> tuple[list[ImportStatement], set[str]]:
    """Return the imports of one code object and the names it loads, less what is left out."""
    statements: list[ImportStatement] = []
    names: set[str] = set()
    raw = code.co_code
    # The instructions before this one that have arguments; caches and the like have none.
    before = [(0, 0), (0, 0), (0, 0)]
    loads = [(0, 0), (0, 0)]
    argument = unreached = 0
    for position in range(0, len(raw), 2):
        opcode = raw[position]
        argument = argument << 8 | raw[position + 1]
        if opcode == EXTENDED_ARG:
            continue
        if position // 2 >= unreached:
            if opcode in LOADS:
                names.add(code.co_names[argument >> LOADS[opcode]])
            elif opcode == IMPORT_NAME:
                statements.append(_statement(code, argument >> FLAG_BITS, loads))
            elif opcode == JUMP and _never(code, before, is_main):
                unreached = argument if JUMP_BASE is None else position // 2 + argument + JUMP_BASE
        loads = [loads[1], (opcode, argument)]
        if argument or opcode in LOADS or opcode == LOAD_CONST:
            before = [*before[1:], (opcode, argument)]
        argument = 0
    return statements, names


def _never(code: "CodeType", before: list[tuple[int, int]], is_main: bool) -> bool:
    """Tell whether what a jump passes over is not executed by an import, from the instructions ahead of the jump."""
    name, constant, last = before
    if _loaded(code, last) == "TYPE_CHECKING":
        return True
    return (
        not is_main
        and _loaded(code, name) == "__name__"
        and constant[0] == LOAD_CONST
        and _constant(code, constant[1]) == "__main__"
    )


def _loaded(code: "CodeType", instruction: tuple[int, int]) -> str:
    opcode, argument = instruction
    return code.co_names[argument >> LOADS[opcode]] if opcode in LOADS else ""


def _statement(code: "CodeType", name: int, loads: list[tuple[int, int]]) -> ImportStatement:
    """Decode the two loads before IMPORT_NAME: the level, then the tuple of names."""
    (level_opcode, level_argument), (names_opcode, names_argument) = loads
    # Since 3.15 None has an opcode of its own; since 3.14 a small integer has, whose argument it is.
    names = _constant(code, names_argument) if names_opcode == LOAD_CONST else None
    level = _constant(code, level_argument) if level_opcode == LOAD_CONST else level_argument
    return ImportStatement(
        code.co_names[name],
        level if isinstance(level, int) else 0,
        names if isinstance(names, tuple) else (),
    )


def _constant(code: "CodeType", index: int) -> object:
    return code.co_consts[index] if index < len(code.co_consts) else None
