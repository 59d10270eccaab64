"""Climatology and anomalies of a temperature field, a block of years on each rank."""
import numpy as np
import pandas as pd
import xarray as xr
import dask
import dask.array as da
from mpi4py import MPI

dask.config.set(scheduler="synchronous")
xr.set_options(keep_attrs=True)

comm = MPI.COMM_WORLD
YEARS = np.arange(2000, 2008)


def open_year(year):
    """Stands for xr.open_dataset(f'tas_{year}.nc', chunks={'time': 30})."""
    time = pd.date_range(f"{year}-01-01", periods=360, freq="D")
    lat = np.linspace(-60, 60, 7)
    lon = np.arange(0, 360, 45.0)
    season = 10 * np.sin(2 * np.pi * time.day_of_year / 365)
    values = da.from_array(
        season.values[:, None, None] + 0.02 * (year - 2000) + np.cos(np.deg2rad(lat))[None, :, None] * 20
        + np.zeros((1, 1, lon.size)),
        chunks=(30, 7, 8),
    )
    return xr.Dataset(
        {"tas": (("time", "lat", "lon"), values)},
        coords={"time": time, "lat": lat, "lon": lon},
        attrs={"source": "made up"},
    )


mine = YEARS[comm.rank :: comm.size]
ds = xr.concat([open_year(y) for y in mine], dim="time")
monthly = ds.tas.groupby("time.month").mean("time")
weights = np.cos(np.deg2rad(ds.lat))
series = monthly.weighted(weights).mean(("lat", "lon")).compute()

table = comm.gather(series.values, root=0)
print(f"rank {comm.rank}: years {mine.tolist()}, {dict(ds.sizes)}, {type(ds.tas.data).__module__}")
comm.Barrier()
if comm.rank == 0:
    mean = xr.DataArray(np.mean(table, axis=0), dims="month", coords={"month": series.month}, name="tas")
    print(mean.to_series().round(3).to_string())
