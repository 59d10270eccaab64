"""`mpiimport run` sends a snapshot in jobs of as many nodes as the model says."""

import re

from benchmarks.page.one_file import Transfer, pays_from, read_of_node, reading, sending
from tests.conftest import ROOT

SOURCE = ROOT / "hooks" / "internal" / "entrypoints" / "commands" / "sending.go"


def test_the_number_of_nodes_is_that_of_the_model() -> None:
    (number,) = re.findall(r"^const manyNodes = (\d+)$", SOURCE.read_text(), re.MULTILINE)
    assert int(number) - 1 == pays_from(read_of_node(), Transfer())


def test_sending_takes_a_level_more_where_nodes_send_on() -> None:
    machine = Transfer(sbcast_start=0.0)
    # 8 nodes, those below them, and those below 50 of these.
    assert [round(sending(nodes, machine) / sending(8, machine)) for nodes in (8, 9, 64, 1_024)] == [1, 2, 2, 7]


def test_what_all_read_grows_with_their_number() -> None:
    machine = Transfer()
    assert reading(1, 1e9, machine) == 1e9 / machine.client_bandwidth
    assert reading(2_000, 1e6, machine) == 2 * reading(1_000, 1e6, machine)
