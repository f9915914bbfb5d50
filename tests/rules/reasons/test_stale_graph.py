"""A compiled graph that cannot have noticed what became trainable."""

import pytest

from ftlab.records.names import NameRecord
from ftlab.rules.reasons.missing import Missing
from ftlab.rules.reasons.stale_graph import stale_graph
from tests.runs import RunBuilder

LOST = Missing(True, [NameRecord(0, "tensors", "m.w", "param", "")], [])


@pytest.mark.parametrize(
    "facts", [{}, {"compilation": {}}, {"compilation": {"unguarded": []}}]
)
def test_guarded_graphs_are_made_anew(facts):
    assert stale_graph(RunBuilder().facts(model=facts).run, LOST) is None


def test_a_graph_without_guards_explains_missing_gradients():
    facts = {"compilation": {"unguarded": ["m.layers.0"]}}
    reason = stale_graph(RunBuilder().facts(model=facts).run, LOST)
    assert reason.kind == "stale-graph"
    assert str(reason.places[0]) == "module m.layers.0"
