from .forcefield import ForceField
from .system import System


class VelocityVerlet:
    def __init__(self, field: ForceField, dt: float):
        self.field, self.dt = field, dt

    def step(self, system: System) -> None:
        f, _ = self.field.forces(system)
        system.v += 0.5 * self.dt * f
        system.x = (system.x + self.dt * system.v) % system.box
        f, _ = self.field.forces(system)
        system.v += 0.5 * self.dt * f

    def energy(self, system: System) -> float:
        return self.field.forces(system)[1] + system.kinetic
