"""ADP037."""

from ftlab.rules.adapter.adapter_begun_anew import AdapterBegunAnew
from ftlab.rules.engine import Engine
from tests.rules.reading.test_restarts import pairs, vectors
from tests.runs import only


def check(builder):
    return Engine([AdapterBegunAnew()]).check(builder.run).findings


def test_twice_is_a_warning_at_the_layers():
    finding = only(check(pairs(at=(4, 8))), "warning", "module model.layers.0.q")
    assert (finding.first_step, finding.last_step) == (4, 8)
    assert finding.evidence["restarts"] == 2


def test_once_is_only_noted():
    only(check(pairs(at=(4,))), "info")


def test_a_healthy_adapter_is_quiet():
    assert check(pairs(at=())) == ()
    assert check(vectors(at=())) == ()


def test_vectors_that_are_1_again():
    only(check(vectors(at=(4, 8))), restarts=2)
