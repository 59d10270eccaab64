import numpy as np
from scipy.stats import binned_statistic


class Profile1D(dict):
    x = None


def create_profile(region, bin_field, field, n_bins=32):
    mean, edges, _ = binned_statistic(region.radius, region.density, "mean", bins=n_bins)
    profile = Profile1D({field: np.nan_to_num(mean)})
    profile.x = (edges[1:] + edges[:-1]) / 2
    return profile
