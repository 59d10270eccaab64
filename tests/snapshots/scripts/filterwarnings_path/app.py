import warnings
warnings.filterwarnings("ignore")
warnings.simplefilter(action="ignore", category=FutureWarning)

import sys, os
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))
sys.path.append("..")

import numpy as np
import pandas as pd
from scipy.optimize import curve_fit
from scipy.signal import savgol_filter

from helpers import load_spectrum, gaussian
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
size = comm.Get_size()

lines = [4861.3, 4958.9, 5006.8, 6562.8]
results = []

for i, center in enumerate(lines):
    if i % size != rank:
        continue
    x, y = load_spectrum(center)
    smooth = savgol_filter(y, 11, 3)
    p0 = [smooth.max(), x[smooth.argmax()], 2.0]
    popt, pcov = curve_fit(gaussian, x, y, p0=p0)
    results.append({"line": center, "amp": popt[0], "center": popt[1], "sigma": abs(popt[2])})

results = comm.gather(results, root=0)

if rank == 0:
    df = pd.DataFrame([r for part in results for r in part])
    df = df.sort_values("line").reset_index(drop=True)
    df["shift"] = df["center"] - df["line"]
    print(df.round(3).to_string())
    print("log of -1:", np.log(-1.0))
