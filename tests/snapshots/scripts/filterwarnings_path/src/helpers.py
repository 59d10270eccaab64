import numpy as np


def gaussian(x, amp, center, sigma):
    return amp * np.exp(-0.5 * ((x - center) / sigma) ** 2)


def load_spectrum(center, width=20.0, n=200):
    """A line as the spectrograph would see it."""
    rng = np.random.RandomState(int(center))
    x = np.linspace(center - width, center + width, n)
    y = gaussian(x, 10.0, center + 0.5, 3.0) + 0.1 * rng.randn(n)
    return x, y
