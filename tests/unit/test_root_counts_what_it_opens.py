"""What a report says root opened and read is what root did open and read."""

import json
import subprocess
import sys

from tests.conftest import ROOT

PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
from mpiimport.runtime.importing.site_answers import Answers
from mpiimport.runtime.options import from_environment
from mpiimport.runtime.program import Program
from mpiimport.runtime.payload.learning import Learning
from mpiimport.runtime.payload.payload import read_payload

seen = []
sys.addaudithook(lambda event, words: event == "open" and words[1] is None and seen.append(words[0]))

def taken():
    with open("/proc/self/io") as stream:
        return int(stream.readline().split()[1])

before = taken()
loaded = set(sys.modules)
program = Program.parse(["-c", "import decimal, numpy"])
payload = read_payload(program, from_environment(), Learning.of(program, ""), loaded, Answers())
for name, size in payload.sizes.items():
    payload.fill(name, 0, memoryview(bytearray(size)))
found = payload.effort()
# A clock that threads are decided by, no part of any tree.
files = [path for path in seen if os.path.isfile(path) and path != "/proc/self/schedstat"]
print(json.dumps([found, files, taken() - before]))
"""


def test_files_and_bytes() -> None:
    command = [sys.executable, "-c", PROBE, str(ROOT)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={"MPIIMPORT_MANIFESTS": "-"})
    found, opened, taken = json.loads(done.stdout)
    assert found["files_opened"] == len(opened) > 300
    # The kernel also counts what the probe itself, and the imports it makes, read.
    assert 0.9 * taken < found["bytes_read"] <= taken
    assert found["directories_listed"] > 10
