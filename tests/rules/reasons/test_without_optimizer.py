"""Why parameters are in no optimizer."""

import pytest

from ftlab.rules.reasons.without_optimizer import without_optimizer
from tests.runs import RunBuilder


def reason(order, missing, held, adapters=("a", "b")):
    builder = RunBuilder()
    for adapter in adapters:
        builder.tensor(f"m.q.lora_A.{adapter}.weight", meta={"adapter": adapter})
    builder.tensor("m.head.weight")
    builder.facts(
        model={"peft": {name: {} for name in order}},
        optimizers=({"groups": [{"names": list(held)}], "missing": list(missing)},),
    )
    builder.step()
    return without_optimizer(builder.run, missing)


A, B, HEAD = "m.q.lora_A.a.weight", "m.q.lora_A.b.weight", "m.head.weight"


def test_an_optimizer_that_holds_the_newer_adapter_was_built_for_it():
    found = reason("ab", [A], [B])
    assert found.kind == "adapter-not-active"
    assert "set_adapter('b')" in found.fix
    assert str(found.places[0]) == "call set_adapter"


def test_an_optimizer_that_holds_the_older_adapter_was_built_too_early():
    found = reason("ab", [B], [A])
    assert found.kind == "built-for-another-adapter"
    assert "set_adapter('b')" in found.fix


@pytest.mark.parametrize(
    ("missing", "held"),
    [([A], []), ([A], [HEAD]), ([A, HEAD], [B]), ([HEAD], [A])],
)
def test_other_parameters_came_after_the_optimizer(missing, held):
    assert reason("ab", missing, held).kind == "built-before"
