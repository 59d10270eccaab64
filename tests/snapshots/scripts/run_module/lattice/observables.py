import numpy as np
from scipy import fft, stats


def summary(history):
    values = np.asarray(history)[len(history) // 2 :]
    return values.mean(), stats.sem(values)


def autocorrelation(history):
    x = np.asarray(history) - np.mean(history)
    power = np.abs(fft.fft(x, 2 * len(x))) ** 2
    c = fft.ifft(power).real[: len(x)]
    return c[1] / c[0] if c[0] else 0.0
