import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import stats
from mpi4py import MPI

pd.set_option("display.width", 120)
pd.set_option("display.max_columns", None)

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size

GROUPS = ["control", "low", "high"]
EFFECT = {"control": 0.0, "low": 0.2, "high": 0.6}


def simulate(study):
    rng = np.random.default_rng(study)
    frames = []
    for group in GROUPS:
        values = rng.normal(EFFECT[group], 1.0, 60)
        frames.append(pd.DataFrame({"study": study, "group": group, "value": values}))
    return pd.concat(frames, ignore_index=True)


studies = [s for s in range(6) if s % size == rank]
df = pd.concat([simulate(s) for s in studies], ignore_index=True)

# write and read the part of this rank
part = f"part-{rank:05d}.parquet"
pq.write_table(pa.Table.from_pandas(df), part, compression="snappy")
df = pq.read_table(part).to_pandas()
comm.Barrier()

rows = []
for study, g in df.groupby("study"):
    a, b = g[g.group == "control"].value, g[g.group == "high"].value
    t, p = stats.ttest_ind(a, b)
    rows.append((study, t, p, stats.kruskal(*[x.value for _, x in g.groupby("group")]).pvalue))

rows = comm.gather(rows, root=0)
if rank == 0:
    table = pd.DataFrame([r for part in rows for r in part], columns=["study", "t", "p", "kruskal"])
    print(table.sort_values("study").set_index("study").round(4))
    print("combined p: %.3e" % stats.combine_pvalues(table.sort_values("study").p)[1])
