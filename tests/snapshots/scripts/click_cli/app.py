"""Count k-mers of sequences, a share of the records on each process."""
from __future__ import annotations

import collections
import itertools
import sys
from pathlib import Path

import click
import numpy as np

try:
    from mpi4py import MPI
except ImportError:
    MPI = None

ALPHABET = "ACGT"
CONTEXT_SETTINGS = dict(help_option_names=["-h", "--help"])


def read_fasta(path: Path):
    """Yield name and sequence of each record."""
    name, parts = None, []
    for line in path.read_text().splitlines():
        if line.startswith(">"):
            if name:
                yield name, "".join(parts)
            name, parts = line[1:].split()[0], []
        else:
            parts.append(line.strip())
    if name:
        yield name, "".join(parts)


def count(sequence: str, k: int) -> collections.Counter:
    return collections.Counter(sequence[i : i + k] for i in range(len(sequence) - k + 1))


@click.group(context_settings=CONTEXT_SETTINGS)
@click.version_option("1.4.2", prog_name="kmers")
@click.option("-v", "--verbose", count=True, help="Say more.")
@click.pass_context
def cli(ctx, verbose):
    """Tools for k-mers."""
    ctx.obj = {"verbose": verbose}


@cli.command("count")
@click.argument("fasta", type=click.Path(exists=True, path_type=Path))
@click.option("-k", default=3, show_default=True, type=click.IntRange(1, 12))
@click.option("--top", default=5, show_default=True)
@click.pass_obj
def count_command(obj, fasta, k, top):
    """Count the k-mers of FASTA."""
    comm = MPI.COMM_WORLD if MPI else None
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    total: collections.Counter = collections.Counter()
    for name, sequence in itertools.islice(read_fasta(fasta), rank, None, size):
        total += count(sequence, k)
        if obj["verbose"]:
            click.echo(f"[{rank}] {name}: {len(sequence)} bases")
    if comm:
        total = comm.reduce(total, root=0)
    if rank == 0:
        for kmer, n in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:top]:
            click.secho(f"{kmer}\t{n}", fg="green")
        entropy = -sum(p * np.log2(p) for p in np.array(list(total.values())) / sum(total.values()))
        click.echo(f"entropy {entropy:.4f} of {2 * k}")


if __name__ == "__main__":
    sys.exit(cli())
