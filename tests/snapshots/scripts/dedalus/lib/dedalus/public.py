"""Import and create public names."""

from .core.coords import Coordinate, Distributor
from .core.basis import RealFourier
from .core.problems import IVP
from .extras.flow_tools import GlobalArrayReducer

__all__ = ["Coordinate", "Distributor", "RealFourier", "IVP", "GlobalArrayReducer"]
