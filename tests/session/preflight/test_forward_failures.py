"""How a failing forward is told: where, between which precisions, with what proof."""

import torch

from ftlab.session.preflight.preflight import preflight
from tests.session.preflight.mixed import mixed_loop
from tests.session.preflight.objects import item_of, lora_loop

FORWARD = "forward works"


def test_a_step_of_ones_own_that_needs_autocast_fails_with_the_proof():
    given, step = mixed_loop()
    item = item_of(FORWARD, **given, step=step)
    assert item.label == "error"
    assert item.says.startswith("in lm_head it gets float32 for weights in bfloat16")
    assert "torch.autocast('cpu', torch.bfloat16)" in item.fix
    assert item.evidence["under autocast"] == "came through"
    assert str(item.places[0]) == "module base_model.model.lm_head"


def test_the_rest_is_checked_under_autocast_then():
    given, step = mixed_loop()
    checklist = preflight(**given, step=step)
    (finite,) = [i for i in checklist if i.name == "dry steps are finite"]
    assert finite.status == "passed"
    assert [item.name for item in checklist.failed] == [FORWARD]


def test_a_step_that_preflight_made_is_noted_and_fails_nothing():
    given, _ = mixed_loop()
    checklist = preflight(**given)
    assert checklist.ok
    (item,) = [i for i in checklist if i.name == FORWARD]
    assert item.noted
    assert "only under autocast in bfloat16" in item.says


def test_arguments_that_ask_for_autocast_are_enough():
    given, _ = mixed_loop()
    item = item_of(FORWARD, **given, args={"bf16": True})
    assert (item.status, item.noted) == ("passed", False)


def test_autocast_that_the_step_switches_off_is_no_proof():
    given, step = mixed_loop()

    def off(batch):
        with torch.autocast("cpu", enabled=False):
            return step(batch)

    item = item_of(FORWARD, **given, step=off)
    assert item.label == "error"
    assert "it gets float32 for weights in bfloat16" in item.says
    assert "the step switches it off" in item.fix


def test_a_failure_outside_of_the_model_is_the_loops_own():
    def step(batch):
        raise KeyError("labels")

    checklist = preflight(**lora_loop(), step=step)
    (item,) = [i for i in checklist if i.name == "the loop's body works"]
    assert item.says.startswith("your step raised KeyError: 'labels' at ")
    assert "test_forward_failures.py:" in item.says
    assert not [i for i in checklist if i.name == FORWARD]


def test_what_failed_is_said_once_and_not_as_many_missing_records():
    def step(batch):
        raise KeyError("labels")

    checklist = preflight(**lora_loop(), step=step)
    fixes = {i.fix for i in checklist["numerics"] if i.status == "not checked"}
    assert fixes == {"fix what failed above, and call preflight again"}


def test_parts_that_only_the_loop_knows_how_to_call_are_not_tried():
    parts = torch.nn.ModuleDict({"body": torch.nn.Linear(4, 4)})
    optimizer = torch.optim.SGD(parts.parameters(), lr=0.1)
    checklist = preflight(parts, optimizer=optimizer, batch={"x": torch.ones(2, 4)})
    assert checklist.ok
    (item,) = [each for each in checklist.not_checked if each.name == FORWARD]
    assert item.says.startswith("a ModuleDict has no forward")
