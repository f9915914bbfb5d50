"""ADP045."""

import pytest

from ftlab.rules.adapter.frozen_adapter_thawed import FrozenAdapterThawed
from tests.runs import RunBuilder, found_by, only

USED, MADE = {"inference_mode": True}, {"inference_mode": False}


FROZEN = {"one": {"parts": {"lora_B": {"trainable": 0}}}}


def findings(
    first=USED,
    second=MADE,
    gradients=((1, 1, 1, 1),),
    active="one,two",
    before=None,
    ops=(),
):
    builder = RunBuilder()
    builder.lora("layers.0", "one")
    builder.lora("layers.0", "two")
    wired = {"adapters": {"adapters": before or {}}}
    builder.facts(model={"peft": {"one": first, "two": second}} | wired)
    builder.state(active=active)
    for row in gradients:
        builder.step({"grad_l2": list(row), "has_grad": 1.0}, ops=ops)
    return found_by(FrozenAdapterThawed(), builder.run)


def test_one_that_leaving_disable_adapter_has_thawed_is_a_warning():
    finding = only(findings(before=FROZEN, ops=("enable_adapters",)), "warning")
    assert finding.evidence["reason"] == "thawed-by-a-look"


@pytest.mark.parametrize(
    ("before", "ops"),
    [
        (FROZEN, ()),
        (FROZEN, ("enable_adapters", "set_adapter")),
        (None, ("enable_adapters",)),
        ({"one": {"parts": {"lora_B": {"trainable": 1}}}}, ("enable_adapters",)),
    ],
    ids=["no look", "made active", "not known", "trainable before"],
)
def test_what_may_be_meant_is_only_noted(before, ops):
    only(findings(before=before, ops=ops), "info", reason="loaded-for-use")


def switched(look="two", first=USED, before=FROZEN, trained="one,two"):
    """Train with one frozen, look at other adapters, and train both."""
    builder = RunBuilder()
    builder.lora("layers.0", "one")
    builder.lora("layers.0", "two")
    builder.facts(
        model={
            "peft": {"one": first, "two": MADE},
            "adapters": {"adapters": before},
        }
    )
    then, away = builder.state(active=trained), builder.state(active=look)
    both = builder.state(active="one,two")
    train = [("forward", "model", {"grad_enabled": True, **then})]
    behind = [("forward", "model", {"grad_enabled": False, **away}), "set_adapter"]
    for gradients, ops in (
        ((0, 0, 1, 1), [*train, *behind]),
        ((1, 1, 1, 1), [("forward", "model", {"grad_enabled": True, **both})]),
    ):
        builder.step({"grad_l2": list(gradients), "has_grad": 1.0}, ops=ops)
    return found_by(FrozenAdapterThawed(), builder.run)


@pytest.mark.parametrize("first", [USED, MADE], ids=["loaded", "frozen by hand"])
def test_one_that_a_switch_there_and_back_has_thawed_is_a_warning(first):
    finding = only(switched(first=first), "warning", reason="thawed-by-a-switch")
    assert "call set_adapter" in map(str, finding.places)


@pytest.mark.parametrize(
    "change",
    [
        {"look": "one,two"},
        {"trained": "two"},
        {"before": {"one": {"parts": {"lora_B": {"trainable": 1}}}}},
    ],
    ids=["no other", "both for the first time", "trainable before"],
)
def test_one_that_was_made_active_may_be_meant(change):
    only(switched(**change), "info")
    assert switched(first=MADE, **change) == ()


def test_one_that_was_loaded_for_use_learns_beside_another():
    finding = only(findings(), tensors=2)
    assert finding.place.name == "model.layers.0.q.lora_A.one.weight"
    assert "call disable_adapter" in map(str, finding.places)


@pytest.mark.parametrize(
    "change",
    [
        {"second": USED},
        {"first": MADE},
        {"active": "two"},
        {"gradients": [(0, 0, 1, 1)]},
        {"gradients": [(1, 1, 0, 0), (0, 0, 1, 1)]},
    ],
    ids=["both loaded", "none loaded", "one active", "one frozen", "in turn"],
)
def test_what_is_meant_is_left_alone(change):
    assert findings(**change) == ()


def beside_a_head(gradients, looks=(1,), before=FROZEN, config=USED, also=()):
    """Train a head over one adapter; rows of the gradients are A, B and the head."""
    builder = RunBuilder()
    builder.lora("layers.0", "one")
    builder.tensor("value.weight")
    builder.facts(
        model={"peft": {"one": config}, "adapters": {"adapters": before or {}}}
    )
    builder.state(active="one")
    for step, row in enumerate(gradients):
        ops = ["enable_adapters", *also] if step in looks else []
        builder.step({"grad_l2": list(row), "has_grad": 1.0}, ops=ops)
    return found_by(FrozenAdapterThawed(), builder.run)


HEAD, ALL = (0, 0, 1), (1, 1, 1)


@pytest.mark.parametrize("config", [USED, MADE], ids=["loaded", "frozen by hand"])
def test_one_that_a_look_has_thawed_beside_a_head_is_a_warning(config):
    finding = only(beside_a_head([HEAD, ALL, ALL], config=config), "warning")
    assert finding.evidence["reason"] == "thawed-by-a-look"
    assert finding.message.startswith("steps 1-2")
    assert "weights outside of adapters" in finding.message
    assert "requires_grad_(False)" in finding.fix


@pytest.mark.parametrize(
    "run",
    [
        {"gradients": [HEAD, HEAD, HEAD]},
        {"gradients": [HEAD, HEAD, HEAD, ALL]},
        {"gradients": [ALL, ALL, ALL]},
        {"gradients": [HEAD, ALL, ALL], "looks": ()},
        {"gradients": [HEAD, ALL, ALL], "also": ("set_adapter",)},
        {"gradients": [HEAD, (1, 1, 0), (1, 1, 0)]},
    ],
    ids=["frozen", "thawed later", "at once", "no look", "set", "the head stops"],
)
def test_one_that_somebody_thaws_beside_a_head_is_left_alone(run):
    assert beside_a_head(**run) == ()


def test_one_that_was_thawed_before_the_run_is_only_noted():
    run = {"gradients": [ALL, ALL], "before": None, "looks": ()}
    only(beside_a_head(**run), "info", reason="loaded-for-use")
    assert beside_a_head(**run, config=MADE) == ()
