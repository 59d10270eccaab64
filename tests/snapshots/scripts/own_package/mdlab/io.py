import io
import json
import logging
from pathlib import Path

log = logging.getLogger(__name__)


class Table:
    def __init__(self, columns):
        self.columns = columns

    def render(self, rows):
        out = io.StringIO()
        print(*(f"{c:>10}" for c in self.columns), file=out)
        for row in rows:
            print(*(f"{v:10.3f}" if isinstance(v, float) else f"{v:10}" for v in row), file=out)
        return out.getvalue().rstrip()


def save(path, data):
    Path(path).write_text(json.dumps(data))
    log.info("saved %s", path)
