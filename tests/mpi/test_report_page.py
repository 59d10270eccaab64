"""`mpiimport report --html`: one page that a browser shows without network, with the figures of the report."""

import json
import re
import subprocess
import zlib
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from lab.ranks import Mpi, clean_environment, run
from mpiimport.host.report.file import read_reports
from mpiimport.host.report.page import page
from mpiimport.runtime.clock import PHASES
from tests.conftest import Job, environment_with, provision
from tests.unit.reports import facts, keep, row

MANY = 4096
# As many parts of a page as any browser shows at once.
PARTS = 6000
EVIL = "</script><script>console.error('evil')</script><!--<script>&amp;'\"\u2028"
Browse = Callable[..., str]


@pytest.fixture(scope="session")
def chromium() -> Path:
    return provision("chromium.sh")


@pytest.fixture
def browse(chromium: Path, tmp_path: Path) -> Browse:
    """Opens a page in Chromium and returns the document as it is then; no line on the console is allowed."""

    def opened(file: Path, *options: str) -> str:
        profile = tmp_path / "profile"
        # Root may not use the sandbox of Chromium.
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", *options]
        words = [*map(str, command), f"--user-data-dir={profile}", "--dump-dom", f"file://{file}"]
        outcome = run(words, clean_environment(HOME=str(tmp_path)), 120, tmp_path)
        assert outcome.status == 0, outcome.stderr
        console = [line for line in outcome.stderr.splitlines() if "CONSOLE" in line]
        assert console == []
        return outcome.stdout

    return opened


def written(directory: Path, *files: Path) -> Path:
    path = directory / "page.html"
    path.write_text(page(read_reports(list(files))))
    return path


def texts(document: str, tag: str, kind: str = "") -> list[str]:
    """What elements of one kind say, in their order."""
    found = re.findall(rf'<{tag}[^>]*?{f"""class="{kind}[^>]*""" if kind else ""}>(.*?)</{tag}>', document, re.DOTALL)
    return [unescape(re.sub(r"<[^>]*>", "", text)) for text in found]


def many(path: Path) -> Path:
    """A report of many ranks, one of which holds the others up, and of which another is slow to import."""
    usual = {**dict.fromkeys(PHASES, 0.25), "handshake": 2.0, "main": 1.0}
    rows = [row(**usual) for _ in range(MANY)]
    rows[2711] = row(**{**usual, "mpi_init": 2.0, "handshake": 0.25})
    rows[777] = row(**{**usual, "imports": 5.25})
    count = 2000
    imports = {
        "name": [f"package{number // 40}.module{number}" for number in range(count)],
        "depth": [number % 40 // 4 for number in range(count)],
        "began": [number / 1000 for number in range(count)],
        "own": [0.5 / (1 + number % 40) for number in range(count)],
        "wall": [1 / (1 + number % 40) for number in range(count)],
    }
    return keep(path, **facts(rows), imports=imports)


def test_the_page_of_a_real_run_shows_what_the_tables_say(job: Job, mpich: Mpi, prefix: Path, browse: Browse) -> None:
    report = job.directory / "run.json"
    script = job.script("import decimal, statistics, json")
    outcome = job.run(mpich, 3, script, MPIIMPORT_REPORT=str(report))
    assert outcome.status == 0, outcome.stderr
    command = [str(prefix / "bin" / "mpiimport"), "report", str(report), "--html", "page.html"]
    shown = run(command, clean_environment(COLUMNS="200"), 60, job.directory)
    assert shown.status == 0, shown.stderr
    assert shown.stdout.splitlines()[-1] == "page.html"
    document = browse(job.directory / "page.html")
    assert texts(document, "h1") == ["mpiimport: run"]
    assert "script app.py on 3 ranks; figures of all ranks" in document
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown.stdout.splitlines() if line[:1] == "│"]
    cells = texts(document, "td")
    for name in ("total", "mpi_init", "root, files opened", "decimal", "handshake"):
        at = [place for place, cell in enumerate(cells) if cell == name]
        for wanted in [found for found in rows if found[0] == name]:
            assert wanted in [cells[place : place + len(wanted)] for place in at]
    assert texts(document, "span", "name") == ["0", "1", "2"]
    imports = json.loads(report.read_text())["imports"]
    outermost = [wall for wall, depth in zip(imports["wall"], imports["depth"], strict=True) if not depth]
    (top,) = [text for text in texts(document, "button") if text.startswith("all imports ")]
    assert float(top.split()[-1]) == pytest.approx(sum(outermost), abs=0.006)
    assert 'aria-label="statistics"' in document


def test_tuna_reads_the_imports_of_a_real_run(job: Job, mpich: Mpi, prefix: Path) -> None:
    job.run(mpich, 2, "--report", "run.json", job.script("import decimal, statistics"))
    command = [str(prefix / "bin" / "mpiimport"), "report", "run.json", "--importtime"]
    shown = run(command, clean_environment(), 60, job.directory)
    (job.directory / "imports.txt").write_text(shown.stdout)
    text = (
        "import json, sys; from tuna._import_profile import read_import_profile as read; "
        "print(json.dumps(read(sys.argv[1])))"
    )
    read = subprocess.run(
        [environment_with("tuna"), "-c", text, job.directory / "imports.txt"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stderr == ""
    imports = json.loads((job.directory / "run.json").read_text())["imports"]
    (found,) = [node for node in nodes(json.loads(read.stdout)) if node["text"] == ["statistics"]]
    place = imports["name"].index("statistics")
    assert sum(node.get("value", 0) for node in nodes(found)) == pytest.approx(imports["wall"][place], abs=1e-4)


def nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(below for child in node.get("children", ()) for below in nodes(child))]


def test_many_ranks_are_shown_in_bands_that_a_click_opens(tmp_path: Path, browse: Browse) -> None:
    file = written(tmp_path, many(tmp_path / "r.json"))
    assert file.stat().st_size < 400_000
    document = browse(file)
    assert document.count("<") < 2 * PARTS
    names = texts(document, "span", "name")
    assert len(names) == 64 and names[0].startswith("0-")
    assert re.search(r"\b5\d\d of 4,096 ranks, 8 in each band", document)
    cells = texts(document, "td")
    assert cells[cells.index("handshake") + 1] == "rank 2711" and cells[cells.index("end") + 1] == "rank 777"
    assert "all wait for rank 2711 to start: its mpi_init took 1.75 s longer" in document
    clicked = tmp_path / "clicked.html"
    (band,) = [at for at, name in enumerate(names) if int(name.split("-")[0]) <= 777 <= int(name.split("-")[1])]
    click = f"<script>document.querySelectorAll('.row')[{band}].click()</script></body>"
    clicked.write_text(file.read_text().replace("</body>", click))
    opened = texts(browse(clicked), "span", "name")
    assert "777" in opened and len(opened) == 8 and all(name.isdigit() for name in opened)


def test_the_slowest_ranks_come_first_where_that_is_asked_for(tmp_path: Path, browse: Browse) -> None:
    rows = [row(load=1, main=1 + (rank == 3) + 2 * (rank == 5)) for rank in range(8)]
    file = written(tmp_path, keep(tmp_path / "r.json", **facts(rows)))
    choose = "const order = document.querySelector('select'); order.value = 'slowest'; order.onchange()"
    file.write_text(file.read_text().replace("</body>", f"<script>{choose}</script></body>"))
    assert texts(browse(file), "span", "name")[:2] == ["5", "3"]


def test_time_on_a_core_is_told_from_waiting_where_that_is_asked_for(tmp_path: Path, browse: Browse) -> None:
    file = written(tmp_path, keep(tmp_path / "r.json"))
    shown = browse(file)
    choose = "const parts = document.querySelectorAll('select')[1]; parts.value = 'cores'; parts.onchange()"
    file.write_text(file.read_text().replace("</body>", f"<script>{choose}</script></body>"))
    label = "</span>waited for a core"
    assert label not in shown and label in browse(file)


def test_plain_and_served_stand_on_one_page_and_one_scale(tmp_path: Path, browse: Browse) -> None:
    plain = keep(
        tmp_path / "plain.json",
        **{**facts([row(interpreter=1, main=7)]), "ranks": 2, "scope": "root", "bypassed": "off"},
    )
    document = browse(written(tmp_path, plain, keep(tmp_path / "served.json")))
    assert texts(document, "h1") == ["mpiimport: plain and served"]
    assert "root alone, of 2 ranks" in document and "the job ran as plain Python: off" in document
    cells = texts(document, "td")
    at = cells.index("total")
    assert cells[at : at + 3] == ["total", "8.000 / 8.000 / 8.000", "4.000 / 4.000 / 4.000"]
    ends = [float(end) for end in re.findall(r'aria-label="rank \d+: ends after ([\d.]+) s"', document)]
    assert ends == [8.0, 5.0, 3.0]


def test_names_are_text_whatever_they_hold(tmp_path: Path, browse: Browse) -> None:
    imports = {"name": [EVIL], "depth": [0], "began": [0.0], "own": [1.0], "wall": [1.0]}
    module = {"name": EVIL, "file": "/x", "own": 0.5, "wall": 0.6, "largest_own": 0.7}
    others = [{**module, "name": name} for name in ("constructor", "__proto__")]
    missed = [{"name": EVIL, "ranks": 1, "why": EVIL}]
    report = keep(tmp_path / "</title>.json", imports=imports, modules=[module, *others], missed=missed, program=EVIL)
    file = written(tmp_path, report)
    assert file.read_text().count("</script") == 2
    document = browse(file)
    assert any(text.startswith(EVIL) for text in texts(document, "button"))
    assert {EVIL, "constructor", "__proto__"} <= set(texts(document, "td"))


def test_the_page_names_no_other_file_and_may_not_ask_for_one(tmp_path: Path) -> None:
    text = written(tmp_path, keep(tmp_path / "r.json")).read_text()
    assert "default-src 'none'" in text
    assert not re.search(r"\b(src|href)\s*=|https?:|@import|url\(|fetch\(|XMLHttpRequest", text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_page_is_light_or_dark_as_the_person_likes(tmp_path: Path, browse: Browse, dark: bool) -> None:
    file = written(tmp_path, many(tmp_path / "r.json"))
    picture = tmp_path / "page.png"
    document = browse(file, *(["--force-dark-mode"] if dark else []), f"--screenshot={picture}", "--hide-scrollbars")
    assert "all wait for rank 2711 to start" in document
    red, green, blue = first_pixel(picture.read_bytes())
    assert max(red, green, blue) < 64 if dark else min(red, green, blue) > 192


def first_pixel(png: bytes) -> tuple[int, int, int]:
    """The pixel in the upper left corner, which no filter of the format changes (PNG, 9.2)."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    place, data = 8, b""
    while place < len(png):
        length = int.from_bytes(png[place : place + 4], "big")
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += 12 + length
    red, green, blue = zlib.decompress(data)[1:4]
    return red, green, blue
