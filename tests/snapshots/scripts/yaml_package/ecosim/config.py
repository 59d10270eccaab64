"""Settings: those of defaults.yaml, of $ECOSIM_CONFIG, and of the command line."""
import os

import yaml

from . import CONFIG_FILE

try:
    from yaml import CSafeLoader as Loader
except ImportError:
    from yaml import SafeLoader as Loader

with open(CONFIG_FILE) as stream:
    _settings = yaml.load(stream, Loader=Loader)

if "ECOSIM_CONFIG" in os.environ:
    with open(os.environ["ECOSIM_CONFIG"]) as stream:
        _settings.update(yaml.load(stream, Loader=Loader))


def get(key):
    value = _settings
    for part in key.split("."):
        value = value[part]
    return value


def override(key, text):
    *parents, last = key.split(".")
    place = _settings
    for part in parents:
        place = place[part]
    place[last] = yaml.load(text, Loader=Loader)
