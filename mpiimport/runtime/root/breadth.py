"""How many uncertain steps the static pass makes one after another: the more, the more nodes wait for root."""

# At most, and from how many nodes on. Of what uncertain steps lead to, one module in 12 to 50 is imported: with fewer
# nodes it costs less that each of them reads those late.
STEPS = 2
FROM_NODES = (24, 48)
MANY_NODES = FROM_NODES[-1]
# The parts that packages bring when they are asked for: of these more are wanted.
ATTRIBUTES_FROM_NODES = 4


def steps_for(nodes: int) -> tuple[int, int]:
    """Return how many steps are made from any function or string, and how many from the ``__getattr__`` of modules."""
    steps = sum(1 for least in FROM_NODES if nodes >= least)
    return steps, max(steps, int(nodes >= ATTRIBUTES_FROM_NODES))
