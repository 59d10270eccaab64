"""A start from a snapshot can be reported, and its gain is in the report; asking for that changes nothing else."""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from lab.ranks import Mpi, run
from mpiimport.host.report.file import SCHEMA

from .prepared import Prepared

OURS = "[name for name in sys.modules if name.startswith('mpiimport')]"
TEXT = f"import heavy, sys\nprint({OURS}, [path for path in sys.path_importer_cache if 'lib/mpiimport' in path])"
HEAVY = "import decimal, statistics\nfor number in range(3_000_000): pass\n"


def test_the_report_of_a_start_has_its_gain(prepared: Prepared, tmp_path: Path) -> None:
    prepared.baked.module("heavy", HEAVY)
    script = prepared.baked.script(TEXT + "\nimport wave\nif len(sys.argv) > 1: 1 / 0")
    spared = re.search(r"each start is spared (\d+\.\d) s on a core", prepared.prepare(script))
    assert spared and float(spared[1]) > 0.0
    path = tmp_path / "report.json"
    for words in ([script], [script, "fail"]):
        plain = prepared.start_restored(*words)
        asked = prepared.start_restored(*words, MPIIMPORT_REPORT=str(path))
        assert (asked.status, asked.stdout, asked.stderr) == (plain.status, plain.stdout, plain.stderr)
        report = json.loads(path.read_text())
        jsonschema.validate(report, json.loads(SCHEMA.read_text()))
        assert report["scope"] == "root" and report["program"] == "script app.py"
        assert report["snapshot"]["modules"] > 20 and report["snapshot"]["imports"] > 0.01
        assert list(report["phases"]) == ["restore", "load", "imports", "main"]
        assert report["start"] < report["total"]["wall"]["max"]
        imported = report["modules_imported"]
        assert report["snapshot"]["modules"] <= imported["provided"] <= imported["all"]
        assert asked.stdout == "[] []\n"


@pytest.mark.parametrize("way", ["flag", "variable"])
def test_one_line_says_that_rank_0_has_started_from_a_snapshot(prepared: Prepared, mpich: Mpi, way: str) -> None:
    variables = {**mpich.environment, "MPI4PY_LIBMPI": str(mpich.library)}
    script = prepared.baked.script("import json, statistics\nprint('done')")
    prepared.prepare(script, *mpich.command(1), **variables)
    words = [prepared.entry_point, *["-v"] * (way == "flag"), script]
    asked = prepared.environment(**variables, **({"MPIIMPORT_VERBOSE": "1"} if way == "variable" else {}))
    outcome = run([*mpich.command(2), *words], asked, 60)
    assert (outcome.status, outcome.stdout) == (0, "done\ndone\n"), outcome
    (line,) = outcome.stderr.splitlines()
    assert re.fullmatch(r"mpiimport: rank 0 of 2: from a snapshot(; imports took \d\.\d s)?; (\d+) of \2 modules", line)
