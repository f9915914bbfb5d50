"""MOD020: a compiled model that nobody calls."""

import pytest

from ftlab.rules.engine import Engine
from ftlab.rules.model.compiled_model_bypassed import CompiledModelBypassed
from tests.runs import RunBuilder, healthy_lora


def report(calls, modules=("",)):
    """``calls``: compiled and bypassed ones of each step."""
    compilation = {"modules": list(modules), "graphs": 0}
    builder = RunBuilder().facts(model={"class": "Toy", "compilation": compilation})
    for compiled, bypassed in calls:
        values = {"compiled_calls": compiled, "bypassed_calls": bypassed}
        builder.step(values=values)
    return Engine([CompiledModelBypassed()]).check(builder.run).findings


def test_is_left_out_where_nothing_is_compiled():
    rule = CompiledModelBypassed()
    assert not rule.applies(healthy_lora().run)


def test_a_model_that_was_passed_by_at_every_step_is_found():
    (found,) = report([(0, 1), (0, 2)])
    assert str(found.place) == "call torch.compile"
    assert found.evidence["calls"] == 3


@pytest.mark.parametrize(
    "calls",
    [[(0, 1)], [(0, 1), (1, 0)], [(0, 1), (0, 0)], [(1, 1), (0, 1)]],
)
def test_one_compiled_call_or_too_few_steps_are_enough_to_be_quiet(calls):
    assert report(calls) == ()


def test_parts_that_are_compiled_for_themselves_may_do_the_work():
    assert report([(0, 1)] * 3, modules=["", "layers.0"]) == ()
