"""An adapter that an evaluation made active, and that training went on with."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.wrong_adapter_in_training import WrongAdapterInTraining
from ftlab.rules.reasons.left_active import left_active
from tests.runs import RunBuilder, found_by, only

LOADED = {"a": {"inference_mode": False}, "b": {"inference_mode": True}}
SET = ("set_adapter", "adapters", {"call": "set_adapter"})
TRAIN_A, TRAIN_B, LOOK_A, LOOK_B, BOTH = "train a", "train b", "look a", "look b", "ab"


def run_of(*steps, configs=LOADED):
    """Make a run of what was done in each step: forwards, and ``"set"``."""
    builder = RunBuilder()
    for adapter in "ab":
        meta = {"adapter": adapter, "group": 0}
        builder.tensor(f"m.q.lora_A.{adapter}.weight", meta=meta)
    builder.facts(model={"peft": configs}, optimizers=({"class": "AdamW"},))
    states = {name: builder.state(active=name) for name in "ab"}
    states["b,a"] = builder.state(active="a,b")
    for names in steps:
        ops = []
        for name in names:
            if name == "set":
                ops.append(SET)
                continue
            graph = not name.startswith("look")
            state = states["b,a" if name == BOTH else name[-1]]
            ops.append(("forward", "model", {"grad_enabled": graph, **state}))
            if graph:
                ops.append(("backward", "loss", state))
        builder.step(ops=ops)
    return builder.run


def test_what_was_looked_at_and_trained_on_was_left_active():
    found = left_active(
        run_of([TRAIN_A, "set", LOOK_B], [TRAIN_B], [TRAIN_B]), {"a", "b"}
    )
    assert (found.active, found.before, found.steps) == ("b", "a", (1, 2))
    assert found.was_loaded


@pytest.mark.parametrize(
    "steps",
    [
        [[TRAIN_A, "set"], [TRAIN_B]],
        [[TRAIN_A, "set", LOOK_B, "set"], [TRAIN_A]],
        [[TRAIN_A, "set", LOOK_B, "set"], [TRAIN_B]],
        [[TRAIN_A, "set", LOOK_B], [TRAIN_B], ["set", TRAIN_A]],
        [[TRAIN_A, "set", LOOK_A], [TRAIN_A]],
        [[BOTH, "set", LOOK_B], [TRAIN_B]],
        [[LOOK_B, TRAIN_B], [TRAIN_B]],
    ],
    ids=["chosen", "set back", "chosen again", "in turn", "same", "both", "one"],
)
def test_what_was_chosen_or_takes_turns_was_not(steps):
    assert left_active(run_of(*steps), {"a", "b"}) is None


def test_what_no_optimizer_holds_is_told_otherwise():
    run = run_of([TRAIN_A, "set", LOOK_B], [TRAIN_B])
    assert left_active(run, {"a"}) is None


@pytest.mark.parametrize(
    ("configs", "severity"),
    [(LOADED, Severity.WARNING), ({}, Severity.INFO)],
    ids=["loaded for use", "not known"],
)
def test_the_places_name_both_adapters_first(configs, severity):
    run = run_of([TRAIN_A, "set", LOOK_B], [TRAIN_B], configs=configs)
    found = only(found_by(WrongAdapterInTraining(), run), reason="left-active")
    assert found.severity is severity
    assert list(map(str, found.places[:2])) == [
        "param m.q.lora_A.b.weight",
        "param m.q.lora_A.a.weight",
    ]
