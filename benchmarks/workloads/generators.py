"""Generated workloads: pure Python modules, and extension modules over utility libraries. The same at every generation.

The second is of the kind that Pynamic (Lee, Ahn, de Supinski, Gyllenhaal and Miller, "Pynamic: the Python Dynamic
Benchmark", IISWC 2007) showed to matter: not files, but symbols that ld.so looks up through many libraries.
"""

import random
import subprocess
import sysconfig
from pathlib import Path

SEED = 20071
# Each module imports, and each function calls into, some of those that were generated before.
IMPORTS = 3
MODULES_IN_PACKAGE = 25
NEEDED_LIBRARIES = 10
COMPILE = ["gcc", "-O0", "-fPIC", "-shared", "-Wl,-z,lazy", "-Wl,--disable-new-dtags"]
MODULE = '''"""Generated module {number}."""

{imports}

NUMBER = {number}


class Thing{number}:
    """Something to define, as modules do."""

    def __init__(self, value: int = NUMBER) -> None:
        self.value = value

    def doubled(self) -> int:
        return 2 * self.value


{functions}
VALUE = NUMBER + {values}
'''
FUNCTION = '''def function_{position}(first: int, second: int = {position}) -> list[int]:
    """A function with a body to unmarshal."""
    return [first * index + second for index in range({position} + 1)]


'''
EXTENSION = """#define PY_SSIZE_T_CLEAN
#include <Python.h>
{declarations}
static PyObject *total(PyObject *self, PyObject *arguments)
{{
    long sum = 0;
{calls}
    return PyLong_FromLong(sum);
}}
static PyMethodDef methods[] = {{{{"total", total, METH_NOARGS, 0}}, {{0, 0, 0, 0}}}};
static struct PyModuleDef definition = {{PyModuleDef_HEAD_INIT, "{name}", 0, -1, methods}};
PyMODINIT_FUNC PyInit_{name}(void)
{{
    return PyModule_Create(&definition);
}}
"""


def pure_modules(directory: Path, count: int = 1000, functions: int = 20) -> None:
    """Write package ``pure``; ``pure.everything`` imports all ``count`` modules. Each has NUMBER and VALUE, which is
    NUMBER and the NUMBERs of what it imports."""
    choose = random.Random(SEED)
    bodies = "".join(FUNCTION.format(position=position) for position in range(functions))
    names = [f"pure.part_{number // MODULES_IN_PACKAGE:03}.module_{number:04}" for number in range(count)]
    for number, name in enumerate(names):
        chosen = sorted(choose.sample(range(number), min(IMPORTS, number)))
        text = MODULE.format(
            number=number,
            imports="\n".join(f"import {names[other]} as other_{other}" for other in chosen),
            functions=bodies,
            values=" + ".join(f"other_{other}.NUMBER" for other in chosen) or "0",
        )
        file = directory / (name.replace(".", "/") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        (file.parent / "__init__.py").touch()
        file.write_text(text)
    (directory / "pure" / "__init__.py").touch()
    (directory / "pure" / "everything.py").write_text("".join(f"import {name}\n" for name in names))


def linked_modules(directory: Path, count: int = 200, libraries: int = 100, functions: int = 500) -> None:
    """Build package ``linked``; ``linked.everything`` imports all ``count`` extension modules, each with a function
    ``total()``.

    Utility library n has functions that return the square of their position plus what one function of an earlier
    library returns; ``total()`` adds up one call of each of ``functions`` such functions. Utility libraries lie in
    ``linked.libs``, found along ``$ORIGIN`` as those of wheels are. Raises CalledProcessError where gcc fails.
    """
    choose = random.Random(SEED)
    package, needed = directory / "linked", directory / "linked.libs"
    package.mkdir(parents=True)
    needed.mkdir()
    for number in range(libraries):
        _utility_library(needed, number, functions, choose)
    names = [f"module_{number:04}" for number in range(count)]
    for name in names:
        _extension_module(package, needed, name, libraries, functions, choose)
    (package / "__init__.py").touch()
    (package / "everything.py").write_text("".join(f"import linked.{name}\n" for name in names))


def _utility_library(directory: Path, number: int, functions: int, choose: random.Random) -> None:
    earlier = choose.sample(range(number), min(IMPORTS, number))
    lines = []
    for position in range(functions):
        call = "0"
        if earlier:
            other = _function(choose.choice(earlier), position)
            lines.append(f"long {other}(void);")
            call = f"{other}()"
        lines.append(f"long {_function(number, position)}(void) {{ return {position}L * {position}L + {call}; }}")
    library = directory / f"libutility_{number:04}.so"
    _build(library, "\n".join(lines), [f"-Wl,-soname,{library.name}", "-Wl,-rpath,$ORIGIN"], directory, earlier)


def _extension_module(
    package: Path, needed: Path, name: str, libraries: int, functions: int, choose: random.Random
) -> None:
    chosen = choose.sample(range(libraries), min(NEEDED_LIBRARIES, libraries))
    called = [_function(choose.choice(chosen), position) for position in range(functions)]
    text = EXTENSION.format(
        name=name,
        declarations="\n".join(f"long {function}(void);" for function in sorted(set(called))),
        calls="\n".join(f"    sum += {function}();" for function in called),
    )
    options = [f"-I{sysconfig.get_path('include')}", "-Wl,-rpath,$ORIGIN/../linked.libs"]
    _build(package / (name + sysconfig.get_config_var("EXT_SUFFIX")), text, options, needed, chosen)


def _build(output: Path, text: str, options: list[str], libraries: Path, linked: list[int]) -> None:
    link = [f"-L{libraries}", *(f"-lutility_{number:04}" for number in linked)]
    command = [*COMPILE, *options, "-o", str(output), "-x", "c", "-", "-x", "none", *link]
    subprocess.run(command, input=text, text=True, check=True)


def _function(library: int, position: int) -> str:
    return f"utility_{library:04}_function_{position:03}"
