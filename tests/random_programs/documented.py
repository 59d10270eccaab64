"""What the documentation says may differ from plain Python in what a program prints."""

import re

# What may differ: a pattern, what stands for it in the comparison, and the entry of docs/behaviour.md that says so.
DOCUMENTED: tuple[tuple[str, str, str], ...] = (
    # Before addresses: a random name may hold what looks like one.
    (r"left\.\d+\.\w{8}", "TEMPORARY", "random names differ from run to run"),
    (r"0x[0-9a-f]+", "ADDRESS", "addresses differ from run to run"),
    (r"\('start\.py', '<module>'\), ", "", "Under the early start one frame lies below the program's first, ours"),
    (
        r"(?m)^\[(\('<frozen runpy>', '_run_module_as_main'\), \('<frozen runpy>', '_run_code'\), "
        r"\('__main__\.py', '<module>'\), )+",
        "[",
        "Under `python -m mpiimport` there are this frame and the two of `runpy`",
    ),
    (
        r"(?m)^.*/lib/mpiimport/(start|__main__)\.py:\d+: (\w+Warning: .*\n)  execution\.begin\(\)\(\)\n",
        r"sys:1: \2",
        "A warning that is to name what called the program names that frame",
    ),
    (r"(?m)^ResourceWarning: Enable tracemalloc.*\n", "", "When objects are deleted that nothing reaches any more"),
    (r"(unclosed file <_io\.\w+ name=)\d+\b", r"\1DESCRIPTOR", "the first file that it opens has a higher number"),
    (r"(?m)^\[([\w.-]+):\d+\] ", r"[\1:PROCESS] ", "process numbers differ from run to run"),
    (r"subprocess \d+ is still", "subprocess PROCESS is still", "process numbers differ from run to run"),
    (r"\bStoreSourceLoader\b", "SourceFileLoader", "Finders and loaders are subclasses of importlib's"),
    (r"\bStoreExtensionLoader\b", "ExtensionFileLoader", "Finders and loaders are subclasses of importlib's"),
    (r"(?m)^(holders .*), 'tuple'\]$", r"\1]", "gc.get_referrers shows the arguments with which it is executed"),
    (
        r"(?m)(^  File \"<frozen importlib\._bootstrap_external>\", line \d+, in get_code\n)+",
        "get_code\n",
        "A traceback that shows importlib's frames shows one more",
    ),
    (r"object refcount : \d+", "object refcount : COUNT", "frames lie below the program's first"),
    (r"Previous line repeated \d+ more times", "REPEATED", "one frame lies below the program's first, ours"),
    (r"(?m)^Abort\(\d+\): Fatal", "Abort(NUMBER): Fatal", "MPICH's numbers of errors differ from run to run"),
    (r"cmd=abort exitcode=\d+", "cmd=abort exitcode=NUMBER", "MPICH's numbers of errors differ from run to run"),
    (r"(?m)^Abort\(\d+\) on node .*\n", "", "An exception that nothing catches ends the whole job"),
    (
        r"Exception ignored in audit hook:\nTraceback .*\n(  .*\n)+\w+Error: .*\n",
        "",
        "An audit hook of the program sees the files of the store",
    ),
    (
        r"\('making\.py', '<module>'\), \('making\.py', 'make'\), \('making\.py', 'resume'\), "
        r"\('resume\.py', 'resume'\), ",
        "",
        "Four frames of the maker lie below the program's",
    ),
    (
        r"(?m)^.*/lib/mpiimport/snapshot/restore/resume\.py:\d+: (\w+Warning: .*\n)  status: int = .*\n",
        r"sys:1: \1",
        "debuggers and `stacklevel` of warnings do",
    ),
    (
        r"(?m)^(\w+ \(\d+, \d+, \d+\)) \d{4,} ",
        r"\1 0 ",
        "The garbage collector passes over the objects of the snapshot",
    ),
    (
        r"(?m)^.*ResourceWarning: unclosed file <_io\.BufferedRandom name='\S*TEMPORARY'>\n",
        "",
        "The collector has counted less when the program begins",
    ),
    (r"(?m)^ (mpiimport-restore|python3\.\d+)$", " EXECUTABLE", "`/proc/self/exe` is `mpiimport-restore`"),
    (r"(?m)^mpiimport: running as plain Python: .*\n", "", "Where the service steps aside ... one line from root"),
)


def undocumented(text: str) -> str:
    """Return the text without what may differ."""
    for pattern, stands, _row in DOCUMENTED:
        text = re.sub(pattern, stands, text)
    return text
