"""A stand-in for the package of this name."""

# Import custom logging to setup rootlogger
from .tools import logging as _logging_setup
from .tools.config import config

__version__ = "3.0.3"
