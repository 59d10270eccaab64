"""Ecosystems."""
import os

__version__ = "2024.1"
HERE = os.path.dirname(os.path.abspath(__file__))
CONFIG_FILE = os.path.join(HERE, "defaults.yaml")

from . import config, models
