"""Configuration handling."""
import configparser
import os
import pathlib

config = configparser.ConfigParser()
config.read_dict({"logging": {"stdout_level": "warning", "file_level": "none"}, "transforms": {"library": "scipy"}})
config.read([str(pathlib.Path(__file__).with_name("dedalus.cfg")), os.path.expanduser("~/.dedalus/dedalus.cfg"), "dedalus.cfg"])
