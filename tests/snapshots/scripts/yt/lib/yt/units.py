import functools


@functools.total_ordering
class Unit:
    def __init__(self, name, base):
        self.name, self.base = name, base

    def __lt__(self, other):
        return self.base < other.base

    def __str__(self):
        return self.name


pc = Unit("pc", 3.0857e18)
kpc = Unit("kpc", 3.0857e21)
Mpc = Unit("Mpc", 3.0857e24)
