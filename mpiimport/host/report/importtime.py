"""Root's imports as ``python -X importtime`` prints them, for programs that read that."""

from typing import Any

HEAD = "import time: self [us] | cumulative | imported package"


def lines(imports: dict[str, Any]) -> list[str]:
    """Return the lines: each module after those that it imported, as they end."""
    walls = [round(1e6 * seconds) for seconds in imports["wall"]]
    found = [HEAD]
    # Those that are on: name, time, and what is left of it beside the modules that it imported.
    around: list[list[Any]] = []

    def end(depth: int) -> None:
        while len(around) > depth:
            name, wall, alone = around.pop()
            found.append(f"import time: {max(alone, 0):9} | {wall:10} | {'  ' * len(around)}{name}")

    for name, depth, wall in zip(imports["name"], imports["depth"], walls, strict=True):
        end(depth)
        if around:
            around[-1][2] -= wall
        around.append([name, wall, wall])
    end(0)
    return found
