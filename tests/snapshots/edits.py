"""What users change in the programs of ``edited``, one edit after another."""

from collections.abc import Callable
from dataclasses import dataclass

from .edited import Editor


@dataclass(frozen=True)
class Edit:
    """``head``: it changes what is executed before own code, or in front of that."""

    name: str
    change: Callable[[Editor], object]
    head: bool = False


def _replace(name: str, old: str, new: str) -> Callable[[Editor], object]:
    return lambda editor: editor.replace(name, old, new)


def _back_and_forth(name: str, file: str, old: str, new: str) -> list[Edit]:
    """An edit of a head, and how it is taken back: the head is then as it was."""
    taken_back = Edit(f"{name}, taken back", _replace(file, new, old))
    return [Edit(name, _replace(file, old, new), head=True), taken_back]


def _shadow_json(editor: Editor) -> None:
    editor.write("json.py", "def dumps(values):\n    return 'of our own'\n")


def _shadow_settings(editor: Editor) -> None:
    editor.write("settings/__init__.py", "SIZE = 7\n")


def _shadow_relax(editor: Editor) -> None:
    editor.write(
        "model/relax/__init__.py", "from ..boundary import fixed\n\n\ndef relax(field):\n    return fixed(field)\n"
    )


def _rename_extra(editor: Editor) -> None:
    (editor.place / "extra.py").rename(editor.place / "more.py")
    editor.replace("app.py", "import extra\n", "import more as extra\n")


def _check_out(editor: Editor) -> None:
    """Write all files anew, as they are."""
    for path in [*editor.place.rglob("*.py")]:
        text = path.read_text()
        path.unlink()
        path.write_text(text)


NEW_FUNCTION = "def halved(field):\n    return field / 2\n\n\ndef main():\n"
ASSERTION = "    assert field is None, 'no'\n"
EDITS = [
    Edit("a constant", _replace("app.py", "STEPS = 5", "STEPS = 6")),
    Edit("a function's body", _replace("model/relax.py", "0.5 * (field", "0.25 * (field")),
    Edit("a new function above main", _replace("app.py", "def main():\n", NEW_FUNCTION)),
    Edit("the function is called", _replace("app.py", "smooth(relax(field))", "smooth(halved(relax(field)))")),
    Edit("a method's body", _replace("app.py", "self.field.sum()", "self.field.max()")),
    Edit("an import in a function", _replace("app.py", "    import inspect\n", "    import inspect, statistics\n")),
    Edit("a comment behind the head", _replace("app.py", "STEPS = 6\n", "# How often.\nSTEPS = 6\n")),
    *_back_and_forth("a comment in front", "app.py", '"""Relaxes', '# Ours.\n"""Relaxes'),
    *_back_and_forth(
        "an import at the end of the head", "app.py", "import ndimage\n", "import ndimage\nimport fractions\n"
    ),
    *_back_and_forth("an import removed", "app.py", "import json\nimport sys\n", "import sys\n"),
    *_back_and_forth("a variable before the imports", "app.py", '_THREADS"] = "1"', '_THREADS"] = "2"'),
    *_back_and_forth("a variable that is not set", "app.py", 'os.environ["OMP_NUM_THREADS"] = "1"\n', "OTHER = 1\n"),
    *_back_and_forth(
        "an import in the head of the package", "model/__init__.py", "import numpy", "import sched\nimport numpy"
    ),
    Edit("a constant of another module", _replace("settings.py", "SIZE = 8", "SIZE = 9")),
    Edit("a module added", lambda editor: editor.write("extra.py", "import colorsys\n\nVALUE = 3\n")),
    Edit("the module imported", _replace("app.py", "import SIZE\n", "import SIZE\nimport extra\n")),
    Edit("the module renamed", _rename_extra),
    Edit("a module shadowed by a directory", _shadow_settings),
    Edit("the directory removed", lambda editor: editor.remove("settings")),
    Edit("a module of the package shadowed by a directory", _shadow_relax, head=True),
    Edit("that directory removed", lambda editor: editor.remove("model/relax")),
    Edit("a module of Python shadowed", lambda editor: editor.write("colorsys.py", "VALUE = 4\n")),
    Edit("a module of the head shadowed", _shadow_json, head=True),
    Edit("that module removed", lambda editor: editor.remove("json.py")),
    Edit("an import behind a head", _replace("model/boundary.py", "\n\ndef fixed", "\nimport wave\n\n\ndef fixed")),
    Edit(
        "a list that a function fills",
        _replace("app.py", "(field):\n    return nd", "(field, calls=[]):\n    return nd"),
    ),
    Edit("syntax that is wrong", _replace("app.py", "STEPS = 6\n", "STEPS = (6\n"), head=True),
    Edit("syntax that is right", _replace("app.py", "STEPS = (6\n", "STEPS = 6\n")),
    Edit("an exception", _replace("model/boundary.py", "    field[0] =", f"{ASSERTION}    field[0] =")),
    Edit("no exception", _replace("model/boundary.py", ASSERTION, "")),
    Edit("all files checked out again", _check_out),
    Edit(
        "a line at the end",
        lambda editor: editor.write("app.py", (editor.place / "app.py").read_text() + "\n# The end\n"),
    ),
]
MAIN = "tool/__main__.py"
EDITS_OF_TOOL = [
    Edit("a function's body", _replace(MAIN, "print(VERSION,", "print('version', VERSION,")),
    Edit("another module's", _replace("tool/core.py", "linspace(0, 3, 7)", "linspace(0, 4, 7)")),
    Edit("a new function above main", _replace(MAIN, "def main", "def never():\n    pass\n\n\ndef main")),
    *_back_and_forth("an import at the end of the head", MAIN, "import ndimage\n", "import ndimage\nimport sched\n"),
    *_back_and_forth("an import in front", MAIN, "import sys\nfrom", "import sched\nimport sys\nfrom"),
    Edit("a module added", lambda editor: editor.write("tool/extra.py", "VALUE = 3\n")),
    Edit("the module imported", _replace(MAIN, "import work\n", "import work\nfrom .extra import VALUE as VERSION\n")),
    Edit("all files checked out again", _check_out),
]
