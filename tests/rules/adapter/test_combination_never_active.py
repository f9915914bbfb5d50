"""ADP060: combinations that the looks at a model have passed by."""

from ftlab.records.finding import Severity
from ftlab.rules.adapter.combination_never_active import CombinationNeverActive
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder

LEFT = {"adapter": "mix", "active": "b", "forwards": 2}


def after(*ops, peft=("a", "b")):
    builder = RunBuilder().facts(model={"peft": {name: {} for name in peft}})
    builder.step(ops=[("step", "optimizer 0", {}), *ops])
    return builder.run


def test_a_combination_that_was_passed_by_is_named():
    run = after(("unused", "adapters", LEFT))
    (found,) = Engine([CombinationNeverActive()]).check(run).findings
    assert found.severity is Severity.WARNING
    assert found.message == (
        "step 0: adapter 'mix' was combined from others but never used: 2 forwards "
        "after it ran 'b'"
    )
    assert found.fix == "Call model.set_adapter('mix') before the model is evaluated."
    assert [str(place) for place in found.places] == [
        "call set_adapter",
        "call add_weighted_adapter",
        "config active_adapters",
        "object adapter mix",
    ]


def test_a_run_without_one_is_left_out():
    made = {"call": "add_weighted_adapter", "adapters": "mix"}
    rule, left = CombinationNeverActive(), ("unused", "adapters", LEFT)
    assert rule.applies(after(left))
    assert not rule.applies(after(("add_adapter", "adapters", made)))
    assert not rule.applies(after(left, peft=()))
