"""ADP053: frozen copies that are no copies."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.reference_shares_memory import ReferenceSharesMemory
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def check(model):
    run = RunBuilder().facts(model=model).step().run
    return Engine([ReferenceSharesMemory()]).check(run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([ReferenceSharesMemory()]).check(healthy_lora().run).findings == ()
    assert check({"shared_memory": {}}) == ()


def test_both_sides_are_named_the_frozen_one_first():
    shared = {
        "frozen": {"count": 2, "names": ["slow.weight", "slow.bias"]},
        "trained": {"count": 2, "names": ["fast.weight", "fast.bias"]},
    }
    (finding,) = check({"shared_memory": shared})
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("param", "slow.weight")
    assert Place("param", "fast.bias") in finding.places
    assert finding.evidence["tensors"] == 2
