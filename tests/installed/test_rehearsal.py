"""What is expected of ``site`` without running user code is what it then does, in every Python, and it asks no more."""

import json
import subprocess
from pathlib import Path

from lab.ranks import clean_environment
from tests.conftest import ROOT

FILES = {
    "a.pth": "extra\nno-such-directory\nextra\n# no line\n\n{other}\n",
    "b.pth": "import os; os.environ['RAN'] = 'b'\nimport sys; sys.path.append({added!r})\n"
    "import broken syntax\nlater\n",
    "c.pth": "import __editable___kit_finder; __editable___kit_finder.install()\n",
    "d.pth": "import os; enabled = os.environ.get('X') == '1'; enabled and __import__('_distutils_hack').add_shim()\n",
    "e.start": "by_start_file:begin\n",
    "__editable___kit_finder.py": "import sys\nMAPPING: dict[str, str] = {{'kit': '/somewhere/lib/one'}}\n"
    "NAMESPACES: dict[str, list[str]] = {{'space': ['/somewhere/lib']}}\ndef install(): pass\n",
    "extra/by_start_file.py": "import os\ndef begin(): os.environ['RAN'] = 'start'\n",
    "sitecustomize.py": "import os, site\nos.environ['RAN'] = 'sitecustomize'\nsite.addsitedir({added!r})\n",
    "extra/usercustomize.py": "import os; os.environ['RAN'] = 'usercustomize'",
}
EARLY = f"""
import builtins, json, os, sys
import site
sys.path.insert(0, {str(ROOT)!r})
from mpiimport.runtime.importing.site_answers import Answers
from mpiimport.runtime.payload.rehearsal import Rehearsal
del sys.path[0]
def modules():
    # Codecs stay, since Python imports none twice.
    return {{name for name in sys.modules if not name.startswith("encodings.")}}
kept = sys.path[:], sys.prefix, modules(), dict(vars(builtins)), dict(vars(site)), dict(vars(sys))
answers = Answers()
with Rehearsal(answers, True) as rehearsal:
    expected = sys.path[:], sys.prefix
assert kept == (sys.path, sys.prefix, modules(), vars(builtins), vars(site), vars(sys))
assert "RAN" not in os.environ
asked = set(answers.known)
answers.run_site()
with open(site.__file__, encoding="utf-8") as stream:
    assert ("utf-8-sig" in stream.read()) == ("encodings.utf_8_sig" in sys.modules)
lines = sorted(name for line in rehearsal.lines for name in line.co_names if name.startswith("__editable"))
print(json.dumps([expected, (sys.path, sys.prefix), rehearsal.mapped, rehearsal.namespaces, lines, rehearsal.modules,
    sorted(set(answers.known) - asked), os.environ["RAN"], sys.version_info[:2]]))
"""


def test_what_is_expected_comes_to_pass(tmp_path: Path, python: Path) -> None:
    home = tmp_path / "environment"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").symlink_to(python)
    (home / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = true\n")
    version = subprocess.run(
        [python, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], check=True, stdout=subprocess.PIPE
    )
    packages = home / "lib" / version.stdout.decode().strip() / "site-packages"
    other, added = tmp_path / "other", tmp_path / "added"
    for name, text in FILES.items():
        file = packages / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(other=str(other), added=str(added)))
    for directory in other, added, packages / "later":
        directory.mkdir()
    (added / "more.pth").write_text("below\n")
    (added / "below").mkdir()
    variables = clean_environment(PYTHONUSERBASE=str(tmp_path / "user"))
    words: list[str | Path] = [home / "bin" / "python", "-S", "-W", "error", "-c", EARLY]
    outcome = subprocess.run(words, check=True, env=variables, stdout=subprocess.PIPE)
    (path, prefix), now, mapped, namespaces, lines, modules, more, ran, release = json.loads(outcome.stdout)
    # The line that is no Python ends its file, of which the rehearsal does not know; since 3.15 it ends no file.
    assert [{entry for entry in path if not entry.endswith("/later")}, prefix] == [
        {entry for entry in now[0] if not entry.endswith("/later")},
        now[1],
    ]
    assert mapped == {"kit": "/somewhere/lib/one"} and namespaces == {"space": ["/somewhere/lib"]}
    assert set(lines) == {"__editable___kit_finder"}
    assert modules == (["by_start_file"] if release >= [3, 15] else [])
    assert more == []
    assert ran == "usercustomize"
