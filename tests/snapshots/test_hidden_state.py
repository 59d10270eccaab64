"""The begin ends before what keeps something that belongs to one process: no snapshot shares it."""

import pytest

from tests.conftest import but_everyday

from .conftest import Baked, reach

pytestmark = pytest.mark.usefixtures("installed")

# A module of Python each; VALUE is what it keeps.
BLOCKERS = {
    "pid": "import os\nVALUE = os.getpid()",
    "pid in a closure": "import os\ndef make(number=os.getpid()): return lambda: number\nVALUE = 1; keep = make()",
    "parent": "import os\nVALUE = os.getppid()",
    "time": "import time\nVALUE = time.time()",
    "clock": "import time\nVALUE = time.perf_counter()",
    "entropy": "import os\nVALUE = os.urandom(8)",
    "uuid": "import uuid\nVALUE = uuid.uuid4().hex",
    "secret": "import secrets\nVALUE = secrets.token_hex()",
    "two generators, one hidden": "import random\nVALUE = random.Random()\nhidden = iter([random.Random()])",
    "generator's frame": "import random\ndef g(r):\n    while True: yield r.random()\nVALUE = g(random.Random())",
    "directory": "import os\nVALUE = os.getcwd()",
    "network": "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\nVALUE = s.getsockname()\ns.close()",
    "host": "import socket\nVALUE = socket.gethostname()",
    "terminal": "import os\nVALUE = os.isatty(1)",
    "which processors": "import os\nVALUE = sorted(os.sched_getaffinity(0))",
    "seed by rank": "import os, random\nVALUE = random.Random(int(os.environ.get('PMI_RANK', '3')))",
    "shuffled": "import random\nVALUE = random.sample(range(20), 20)",
    "drawn": "import random\nVALUE = random.choice([1, 1])",
    "drawn from its own": "import random\nown = random.Random()\nVALUE = own.choice([1, 1])",
    "drawn by NumPy": "import numpy\nVALUE = int(numpy.random.rand() * 0)",
    "OpenSSL's generator": "import ssl\nVALUE = ssl.RAND_bytes(8)",
    "node": "import uuid\nVALUE = uuid.getnode()",
    "sequence number": "import uuid\nVALUE = uuid.uuid1()",
    "host by platform": "import platform\nVALUE = platform.node()",
    "host among others": "import os\nVALUE = tuple(os.uname())",
    "key of children": "import multiprocessing\nVALUE = multiprocessing.current_process().authkey.hex()",
    "name of a temporary file": "import tempfile\nVALUE = next(tempfile._get_candidate_names())",
    "user": "import getpass\nVALUE = getpass.getuser()",
    "window": "import shutil\nVALUE = shutil.get_terminal_size()",
    "directory of temporary files": "import tempfile\nVALUE = tempfile.gettempdir()",
    "limits": "import resource\nVALUE = resource.getrlimit(resource.RLIMIT_NOFILE)",
    "input": "import sys\nVALUE = sys.stdin.read()",
    "output": "print('imported')\nVALUE = 1",
    "file": "open('made', 'w').close()\nVALUE = 1",
    "child": "import subprocess\nVALUE = subprocess.check_output(['echo', 'x'])",
    "umask": "import os\nVALUE = os.umask(0o22)",
    "timer": "import signal\nVALUE = signal.setitimer(signal.ITIMER_REAL, 1000)",
    "all variables": "import os\nVALUE = dict(os.environ)",
    "how many variables": "import os\nVALUE = len(os.environ)",
    "variables of launchers": "import os\nVALUE = [name for name in os.environ if name.startswith('SLURM_')]",
    "own mappings": "VALUE = open('/proc/self/maps').read()",
    "temporary directory": "import tempfile\nVALUE = tempfile.mkdtemp()",
    "outermost file": "import inspect\nVALUE = inspect.stack()[-1].filename",
    "files below": "import traceback\nVALUE = [each.filename for each in traceback.extract_stack()]",
    "whose import it is": "import sys\nframe = sys._getframe().f_back\n"
    "while frame and 'importlib' in frame.f_code.co_filename: frame = frame.f_back\n"
    "VALUE = frame.f_globals['__name__'] if frame else None",
    "frame by its number": "import sys\nVALUE = []\ntry:\n"
    "    for number in range(99): VALUE.append(sys._getframe(number).f_code.co_filename)\nexcept ValueError: pass",
    "warning of who imports": "import warnings\nVALUE = warnings.warn('old', FutureWarning, stacklevel=2)",
    "warning for the script": "import warnings\nwarnings.warn('old', DeprecationWarning, 2)\nVALUE = 1",
    "frame of an exception": "try: 1 / 0\nexcept ArithmeticError as exc: frame = exc.__traceback__.tb_frame\n"
    "while frame.f_back: frame = frame.f_back\nVALUE = sorted(frame.f_globals)",
    "kind of a stream": "import os, stat\nVALUE = stat.S_ISREG(os.fstat(1).st_mode)",
    "kinds of all streams": "import os\nVALUE = [os.fstat(number).st_mode for number in range(3)]",
    "kind of a stream by its name": "import os\nVALUE = os.stat('/dev/stdin').st_mode",
    "place in a stream": "import sys\nVALUE = sys.stdin.seekable()",
    "stream for another": "import os\nos.dup2(1, 2)\nVALUE = 1",
    "whether input waits": "import select\nVALUE = select.select([0], [], [], 0)",
    "time of a file": "import os\nos.utime(__file__)\nVALUE = 1",
    "removed directory": "import os\ntry: os.rmdir('/none')\nexcept OSError: VALUE = 1",
    "kind of scheduling": "import os\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nVALUE = 1",
    "call by its number": "import ctypes\nVALUE = ctypes.CDLL(None).syscall(252, 1, 0)",
    "who may do what": "import ctypes\nVALUE = ctypes.CDLL(None).capget(ctypes.create_string_buffer(8), None)",
    "profile function": "import sys\nVALUE = []\nsys.setprofile(lambda *given: VALUE.append(given[1]))",
    "trace function": "import sys\nVALUE = []\nsys.settrace(lambda *given: VALUE.append(given[1]))",
    "priority": "import os\nVALUE = os.getpriority(os.PRIO_PROCESS, 0)",
    "what is done with a signal": "import signal\nVALUE = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN",
    "what was done with a signal": "import signal\nVALUE = signal.signal(signal.SIGUSR1, signal.SIG_DFL)",
    "ignored signals of C": "import ctypes\nVALUE = ctypes.create_string_buffer(200)\n"
    "ctypes.CDLL(None).sigaction(1, None, VALUE)",
    "thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1,), daemon=True).start()\nVALUE = 1",
    "generator with a seed of the system": "import numpy\nGENERATOR = numpy.random.default_rng()\n"
    "VALUE = GENERATOR.random() > 2",
}
LEFT_UNDONE = {
    "descriptor": ("VALUE = open('/dev/null')", "a file was left open: /dev/null"),
    "mapped file": (
        "import mmap\nwith open('/etc/passwd') as file:\n    VALUE = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)",
        "a file was left open: /etc/passwd",
    ),
    "socket": ("import socket\nVALUE = socket.socket()", "a file was left open: socket:"),
    "closed stream": ("import sys\nsys.stdin.close()", "sys.stdin was closed"),
    "stream": ("import sys, io\nsys.stdout = io.TextIOWrapper(sys.stdout.buffer)", "sys.stdout was replaced"),
    "shared memory": ("import mmap\nVALUE = mmap.mmap(-1, 4096)", "memory is shared"),
    "blocked signal": ("import signal\nsignal.pthread_sigmask(0, [10])", "a signal was blocked"),
    "marked memory": (
        "import mmap\nVALUE = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)\nVALUE.madvise(mmap.MADV_DONTFORK)",
        "",
    ),
}
SHOWN = "import json\nimport plant\nprint(plant.VALUE)"
EVERYDAY = {"pid in a closure", "clock", "entropy", "generator's frame", "two generators, one hidden"}
EVERYDAY |= {
    "host by platform",
    "seed by rank",
    "shuffled",
    "OpenSSL's generator",
    "file",
    "child",
    "timer",
    "own mappings",
    "variables of launchers",
    "outermost file",
    "frame by its number",
    "profile function",
    "warning for the script",
    "kind of a stream",
    "stream for another",
    "call by its number",
}


@pytest.mark.parametrize("name", but_everyday(BLOCKERS, EVERYDAY))
def test_a_module_that_keeps_what_is_its_processs_own_ends_the_begin(baked: Baked, name: str) -> None:
    baked.module("plant", BLOCKERS[name])
    said = baked.bake(baked.script(SHOWN))
    assert "it ends before line 2, `import plant`: " in reach(said), said
    assert baked.start_restored(baked.script(SHOWN)).status == 0


@pytest.mark.parametrize("name", LEFT_UNDONE)
def test_what_no_other_process_can_have_ends_the_begin(baked: Baked, name: str) -> None:
    text, why = LEFT_UNDONE[name]
    baked.module("plant", text)
    said = reach(baked.bake(baked.script("import json\nimport plant")))
    assert "it ends before line 2, `import plant`: " in said and why in said


@pytest.mark.parametrize("module", ["random", "numpy.random"])
def test_a_seed_that_is_that_of_each_process_stays(baked: Baked, module: str) -> None:
    baked.module("plant", f"import {module}\n{module}.seed(3)")
    script = baked.script(f"import json\nimport plant, {module}\nprint({module}.random())")
    assert "it prints" in reach(baked.bake(script))
    assert baked.start_restored(script) == baked.plain(script)


@pytest.mark.parametrize("module", but_everyday(["random", "numpy.random"], {"random"}))
def test_a_seed_that_follows_from_the_rank_ends_the_begin(baked: Baked, module: str) -> None:
    baked.module("plant", f"import os, {module}\n{module}.seed(int(os.environ.get('PMI_RANK', '3')))")
    said = reach(baked.bake(baked.script("import json\nimport plant")))
    assert "`import plant`: it seeds the generator of " in said
