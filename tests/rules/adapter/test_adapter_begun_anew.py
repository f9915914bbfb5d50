"""ADP037."""

from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_begun_anew import AdapterBegunAnew
from ftlab.rules.engine import Engine
from tests.rules.reading.test_restarts import pairs, vectors


def check(builder):
    return Engine([AdapterBegunAnew()]).check(builder.run).findings


def test_twice_is_a_warning_at_the_layers():
    (finding,) = check(pairs(at=(4, 8)))
    assert finding.severity is Severity.WARNING
    assert str(finding.place) == "module model.layers.0.q"
    assert (finding.first_step, finding.last_step) == (4, 8)
    assert finding.evidence["restarts"] == 2


def test_once_is_only_noted():
    (finding,) = check(pairs(at=(4,)))
    assert finding.severity is Severity.INFO


def test_a_healthy_adapter_is_quiet():
    assert check(pairs(at=())) == ()
    assert check(vectors(at=())) == ()


def test_vectors_that_are_1_again():
    (finding,) = check(vectors(at=(4, 8)))
    assert finding.evidence["restarts"] == 2
