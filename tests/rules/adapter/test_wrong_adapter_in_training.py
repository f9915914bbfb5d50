"""ADP008."""

import pytest

from ftlab.rules.adapter.wrong_adapter_in_training import WrongAdapterInTraining
from tests.runs import RunBuilder, only, reporter

SET = ("set_adapter", "adapters", {"call": "set_adapter", "adapters": "b"})
report = reporter(WrongAdapterInTraining())


def passing(*states):
    entries = [("forward", "model", {"grad_enabled": True, **s}) for s in states]
    return [*entries, ("backward", "loss", states[-1])]


def two_adapters(held=("a",)):
    """Build a run with two adapters; returns it with the states of both."""
    builder = RunBuilder()
    for adapter in "ab":
        for role in ("lora_A", "lora_B"):
            meta = {"adapter": adapter, "group": 0 if adapter in held else -1}
            builder.tensor(f"m.q.{role}.{adapter}.weight", meta=meta)
    builder.facts(optimizers=({"class": "AdamW"},))
    return builder, builder.state(active="a"), builder.state(active="b")


def test_a_switch_that_stays_is_named_with_the_adapter_that_runs():
    builder, a, b = two_adapters()
    builder.step(ops=passing(a)).step(ops=[SET, *passing(b)])
    finding = only(report(builder).findings, steps=(1, 1))
    places = [str(place) for place in finding.places]
    assert places[0] == "param m.q.lora_A.b.weight"
    assert "call set_adapter" in places
    assert "optimizer param_groups" in places


@pytest.mark.parametrize(
    ("there", "call"), [("ab", "set_adapter('a')"), ("b", "AdamW(")], ids=str
)
def test_what_was_deleted_is_not_to_be_made_active_again(there, call):
    builder, a, b = two_adapters()
    builder.step(ops=passing(a)).step(ops=[SET, *passing(b)])
    known = {"peft": {name: {} for name in there}}
    builder.facts(step=1, model=known, optimizers=({"class": "AdamW"},))
    (finding,) = report(builder).findings
    assert call in finding.fix
    assert ("delete_adapter" in finding.cause) == (there == "b")


def groups(*adapters):
    """Describe an optimizer that holds these adapters of `two_adapters`."""
    names = [f"m.q.lora_B.{adapter}.weight" for adapter in adapters]
    return ({"class": "AdamW", "groups": [{"names": names}]},)


def test_a_first_stage_had_its_own_adapter_in_the_same_optimizer():
    builder, a, b = two_adapters(held=("b",))
    builder.facts(step=0, optimizers=groups("a"))
    builder.step(ops=passing(a)).step(ops=passing(a))
    builder.facts(step=1, optimizers=groups("b"))
    builder.step(ops=passing(b))
    assert report(builder).findings == ()


def test_a_second_stage_that_runs_the_adapter_of_the_first_is_found():
    builder, a, _ = two_adapters(held=("b",))
    builder.facts(step=0, optimizers=groups("a"))
    builder.step(ops=passing(a))
    builder.facts(step=0, optimizers=groups("b"))
    builder.step(ops=passing(a)).step(ops=passing(a))
    only(report(builder).findings, steps=(1, 2))


def test_an_optimizer_that_was_wrong_from_the_start_is_another_rule_s():
    builder, _, b = two_adapters()
    builder.step(ops=passing(b)).step(ops=passing(b))
    assert report(builder).findings == ()


def frozen_reference():
    builder = RunBuilder()
    builder.tensor("m.q.lora_A.a.weight", meta={"adapter": "a", "group": 0})
    builder.facts(optimizers=({"class": "AdamW"},))
    return builder, builder.state(active="a"), builder.state(active="b")


def test_a_frozen_adapter_that_is_active_from_the_start_is_named():
    builder, _, b = frozen_reference()
    builder.step(ops=passing(b)).step(ops=passing(b))
    finding = only(report(builder).findings, place="param m.q.lora_A.a.weight")
    assert finding.evidence["reason"] == "frozen-one-active"
    assert "set_adapter('a')" in finding.fix


def test_one_pass_of_a_frozen_adapter_is_no_proof():
    builder, _, b = frozen_reference()
    builder.step(ops=passing(b))
    assert report(builder).findings == ()


def test_a_frozen_adapter_beside_the_trained_one_is_healthy():
    builder, a, b = frozen_reference()
    builder.step(ops=passing(b, a)).step(ops=passing(b, a))
    assert report(builder).findings == ()


def test_adapters_in_turn_that_are_both_held_are_healthy():
    builder, a, b = two_adapters(held=("a", "b"))
    builder.step(ops=passing(a)).step(ops=[SET, *passing(b)])
    assert report(builder).findings == ()


def test_an_adapter_that_is_switched_away_before_backward_is_named():
    builder, a, b = two_adapters(held=("a", "b"))
    builder.step(ops=passing(a, b))
    finding = only(report(builder).findings, place="param m.q.lora_A.a.weight")
    assert finding.evidence["reason"] == "frozen-before-backward"
    assert finding.evidence["lost"] == "a"


def test_a_reference_that_the_optimizer_does_not_hold_may_be_switched_away():
    builder, a, b = two_adapters()
    builder.step(ops=passing(b, a))
    assert report(builder).findings == ()


def test_both_at_once_are_healthy():
    builder, _, _ = two_adapters(held=("a", "b"))
    builder.step(ops=passing(builder.state(active="a,b")))
    assert report(builder).findings == ()


def both_held(gradients):
    builder, a, b = two_adapters(held=("a", "b"))
    builder.step({"grad_l2": gradients}, ops=[*passing(a)[:-1], SET, *passing(b)])
    return report(builder).findings


def test_one_that_is_switched_away_has_no_gradient_and_is_named_with_the_other():
    finding = only(both_held((0.0, 0.0, 1.0, 1.0)), lost="a")
    assert str(finding.places[-1]) == "param m.q.lora_B.b.weight"


def test_one_that_was_made_trainable_again_has_its_gradient_and_is_not():
    assert both_held((1.0, 1.0, 1.0, 1.0)) == ()
