"""A Slurm of one node: its own munged, slurmctld and slurmd on loopback, in one directory, ended by their pids."""

import os
import secrets
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from .ranks import Mpi

# No accounting, no plugin that changes how a task runs.
CONFIGURATION = """\
ClusterName=lab
FirstJobId={first}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={directory}/munge.socket
StateSaveLocation={directory}/controller
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
ProctrackType=proctrack/{tracking}
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
PlugStackConfig={directory}/plugstack.conf
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={processors} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""
SECONDS = 30
MEGABYTE = 1 << 20


class Slurm:
    """The daemons, from ``start`` to ``stop``. ``environment`` is what srun needs to find them.

    ``tracking``: how it finds the processes of a step: linuxproc, by their parents; cgroup, those without one, too;
    ``plugin``: a line of plugstack.conf.
    """

    def __init__(self, directory: Path, tracking: str = "linuxproc", plugin: str = "") -> None:
        self.directory = directory
        self._tracking = tracking
        self._plugin = plugin
        self.configuration = directory / "slurm.conf"
        self.environment = {"SLURM_CONF": str(self.configuration)}
        self._daemons: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        for name in ("controller", "spool"):
            (self.directory / name).mkdir()
        key = self.directory / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        controller, daemon = _free_ports()
        self.configuration.write_text(
            CONFIGURATION.format(
                host=socket.gethostname().partition(".")[0],
                directory=self.directory,
                tracking=self._tracking,
                # MPIs name shared memory by it, and a killed job leaves that.
                first=secrets.randbelow(1 << 24) + 1,
                controller=controller,
                daemon=daemon,
                processors=os.cpu_count(),
                memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // MEGABYTE,
            )
        )
        (self.directory / "plugstack.conf").write_text(f"{self._plugin}\n")
        # There need be no systemd to ask for a group.
        (self.directory / "cgroup.conf").write_text("IgnoreSystemd=yes\n")
        files = [f"--{kind}-file={self.directory}/munge.{kind}" for kind in ("key", "pid", "log", "seed")]
        self._run("/usr/sbin/munged", "--foreground", "--force", *files, f"--socket={self.directory}/munge.socket")
        self._wait(lambda: (self.directory / "munge.socket").exists())
        for program in ("slurmctld", "slurmd"):
            self._run(f"/usr/sbin/{program}", "-D", "-f", str(self.configuration))
        self._wait(self._is_idle)

    @contextmanager
    def allocation(self) -> Iterator[dict[str, str]]:
        """Allocate the node while this context lasts; yields the variables of which srun makes a step in it."""
        said = self._ask("salloc", "--no-shell", "--quiet", "--exclusive", "--job-name=held")
        job = self._ask("squeue", "--noheader", "--format=%i", "--name=held").strip()
        assert job, said
        try:
            yield {**self.environment, "SLURM_JOB_ID": job}
        finally:
            self._ask("scancel", job)
            self._wait(self._is_idle)

    def jobs(self) -> list[str]:
        """Return the names of jobs that wait or run."""
        return self._ask("squeue", "--noheader", "--format=%j").split()

    def stop(self) -> None:
        for process in reversed(self._daemons):
            process.terminate()
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _run(self, *command: str) -> None:
        with (self.directory / f"{Path(command[0]).name}.out").open("wb") as output:
            self._daemons.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
                )
            )

    def _is_idle(self) -> bool:
        return self._ask("sinfo", "--noheader", "--format=%T").strip() == "idle"

    def _ask(self, *command: str) -> str:
        variables = {**os.environ, **self.environment}
        return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=SECONDS).stdout

    def _wait(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end:
                said = [path.read_text(errors="replace")[-2000:] for path in self.directory.glob("*.out")]
                raise TimeoutError("Slurm does not come up: " + "\n".join(said))
            time.sleep(0.1)


def by_srun(mpi: Mpi, pmi: str, variables: dict[str, str]) -> Mpi:
    """Return an MPI whose ranks srun starts. ``pmi``: the plugin that they speak to; ``variables``: srun's own."""
    environment = {**mpi.environment, **variables}
    options = (f"--mpi={pmi}", "--overcommit", "--overlap")
    return replace(mpi, prefix=Path("/usr"), options=options, environment=environment, launcher="srun")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]
