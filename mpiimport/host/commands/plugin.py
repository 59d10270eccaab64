"""``mpiimport plugin``: the plugin goes into a container runtime only if it loads there, and out when it does not.

A plugin that does not load makes every command of Apptainer and SingularityCE fail, so that none of its own code can
help; the runtimes' `plugin` commands alone still work.
"""

import argparse
import re
import shutil
import subprocess

from ..complaint import Complaint
from ..machine.entry_points import PLUGIN


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("plugin")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    install = actions.add_parser("install", help="install a plugin, unless it was compiled for another runtime")
    install.add_argument("file", metavar="FILE", help="what plugin/build.sh has made")
    install.set_defaults(run=_install)
    check = actions.add_parser("check", help="disable the plugin if the runtime cannot load it, as after an upgrade")
    check.set_defaults(run=_check)
    for action in (install, check):
        action.add_argument("--runtime", metavar="PROGRAM", help="the apptainer or singularity; else that on PATH")


def _install(arguments: argparse.Namespace, _: list[str]) -> int:
    runtime = _runtime(arguments.runtime)
    done = _run(runtime, "plugin", "install", arguments.file)
    # A refused plugin may have replaced the file of an earlier one.
    trouble = _disabled(runtime)
    if done.returncode or trouble:
        raise Complaint(
            f"{runtime} does not take the plugin {arguments.file} and works without: {trouble or _last_line(done)};"
            " compile it for this very runtime (docs/plugin.md)"
        )
    print(f"installed in {runtime}")
    return 0


def _check(arguments: argparse.Namespace, _: list[str]) -> int:
    runtime = _runtime(arguments.runtime)
    if trouble := _disabled(runtime):
        raise Complaint(
            f"{runtime} could not load the plugin, so it is disabled: {trouble};"
            " compile and install it anew for this runtime (docs/plugin.md)"
        )
    print(f"{runtime} works")
    return 0


def _disabled(runtime: str) -> str:
    """Disable the plugin if ``runtime`` fails with it and not without; return what the failure was."""
    broken = _run(runtime, "--version")
    if not broken.returncode:
        return ""
    if _run(runtime, "plugin", "disable", PLUGIN).returncode or _run(runtime, "--version").returncode:
        raise Complaint(f"{runtime} fails, and not because of this plugin: {_last_line(broken)}")
    return _last_line(broken)


def _runtime(program: str | None) -> str:
    found = shutil.which(program) if program else shutil.which("apptainer") or shutil.which("singularity")
    if not found:
        raise Complaint(f"there is no {program or 'apptainer or singularity'}: name one by --runtime")
    return found


def _run(runtime: str, *words: str) -> "subprocess.CompletedProcess[str]":
    # Nothing may stand in front of the words: the runtimes leave plugins alone only where the first is `plugin`.
    return subprocess.run([runtime, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _last_line(done: "subprocess.CompletedProcess[str]") -> str:
    plain = re.sub(r"\x1b\[[0-9]*m", "", done.stderr or done.stdout)
    return plain.strip().rpartition("\n")[2].removeprefix("FATAL:").strip()
