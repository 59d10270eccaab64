"""Radial profiles of the densest halo of each snapshot, in parallel."""
import glob
import os

import numpy as np
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import yt
from yt.units import kpc

yt.enable_parallelism(suppress_logging=True)

DATA = os.path.join(os.path.dirname(__file__), "data")
fns = sorted(glob.glob(os.path.join(DATA, "DD????")))
ts = yt.DatasetSeries(fns)

storage = {}
for sto, ds in ts.piter(storage=storage):
    ad = ds.all_data()
    center = ad.argmax("density")
    sp = ds.sphere(center, (2.0, kpc))
    prof = yt.create_profile(sp, "radius", "density", n_bins=6)
    sto.result_id = str(ds)
    sto.result = (prof.x, prof["density"], float(ad.total_mass()))

if yt.is_root():
    fig, ax = plt.subplots()
    for name, (x, density, mass) in sorted(storage.items()):
        ax.loglog(x, density, label=name)
        print(f"{name}: mass {mass:.4f}", np.array2string(density, precision=3))
    ax.set_xlabel("r [kpc]")
    ax.legend()
    fig.savefig("profiles.png")
    print("written:", os.path.exists("profiles.png"))
