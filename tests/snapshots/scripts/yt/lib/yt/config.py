import configparser
import os

DEFAULTS = {"yt": {"loglevel": "40", "colored_logs": "False", "serialize": "False"}}

ytcfg = configparser.ConfigParser()
ytcfg.read_dict(DEFAULTS)
CONFIG_DIR = os.environ.get("XDG_CONFIG_HOME", os.path.join(os.path.expanduser("~"), ".config"))
ytcfg.read([os.path.join(CONFIG_DIR, "yt", "yt.toml"), "yt.toml"])
