"""How many uncertain steps the static pass makes one after another: the more, the more nodes wait for root."""

# At most, and from how many nodes on. Of what uncertain steps lead to, one module in 12 to 50 is imported: with fewer
# nodes it costs less that each of them reads those late.
STEPS = 2
FROM_NODES = (24, 48)
MANY_NODES = FROM_NODES[-1]


def steps_for(nodes: int) -> int:
    """Return how many steps are made from functions and strings."""
    return sum(1 for least in FROM_NODES if nodes >= least)
