"""Summarise counts per sample. Rule `summarise` of the Snakefile; also runs by hand."""
import logging
import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import yaml

try:
    snakemake
except NameError:
    # not started by Snakemake
    snakemake = SimpleNamespace(
        input=SimpleNamespace(counts="counts.tsv"),
        output=["summary.tsv"],
        params=SimpleNamespace(min_count=5),
        config=yaml.safe_load("{samples: [liver, brain, heart, lung]}"),
        threads=1,
        log=[],
        wildcards=SimpleNamespace(batch="A"),
    )

logging.basicConfig(
    filename=snakemake.log[0] if snakemake.log else None,
    level=logging.INFO,
    format="%(levelname)s %(message)s",
)

from mpi4py import MPI

comm = MPI.COMM_WORLD
samples = snakemake.config["samples"]
min_count = snakemake.params.min_count

counts = pd.read_csv(snakemake.input.counts, sep="\t", index_col="gene")

mine = []
for sample in samples[comm.rank :: comm.size]:
    column = counts[sample]
    expressed = column[column >= min_count]
    mine.append(
        {
            "sample": sample,
            "genes": len(expressed),
            "log_mean": float(np.log1p(expressed).mean()),
            "top": expressed.idxmax(),
        }
    )

rows = comm.gather(mine, root=0)
if comm.rank == 0:
    summary = pd.DataFrame([row for part in rows for row in part]).set_index("sample").loc[samples]
    summary.round(4).to_csv(snakemake.output[0], sep="\t")
    print("batch", snakemake.wildcards.batch)
    print(open(snakemake.output[0]).read(), end="")
    print("size", os.path.getsize(snakemake.output[0]))
