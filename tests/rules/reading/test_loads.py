"""Loads in the ledger: which of them left something unread."""

from ftlab.rules.reading.loads import lost_loads
from tests.runs import RunBuilder

LOST = ("load", "model", {"matched": 0, "lost": 8})
READ = ("load", "model", {"matched": 8})
FORWARD = ("forward", "model", {"grad_enabled": False})


def lost(*steps):
    builder = RunBuilder()
    for ops in steps:
        builder.step(ops=ops)
    return [(entry.step, entry.index) for entry in lost_loads(builder.run)]


def test_a_load_that_was_read_forgives_another_one_of_its_step():
    assert lost([LOST, READ]) == lost([READ, LOST]) == []
    assert lost([FORWARD, LOST, READ, FORWARD]) == []
    assert lost([LOST], [READ]) == [(0, 0)]


def test_it_does_not_where_the_model_was_used_between_the_two():
    assert lost([LOST, FORWARD, READ]) == [(0, 0)]
    assert lost([READ, FORWARD, LOST]) == [(0, 2)]
    assert lost([READ, FORWARD, LOST, READ]) == []
