"""ADP035."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.best_adapter_not_found import BestAdapterNotFound
from ftlab.rules.engine import Engine
from ftlab.runlog.run import Run
from tests.runs import RunBuilder, healthy_lora

SAVE = {
    "kind": "adapter",
    "folder": "checkpoint-4",
    "adapters": ["mine"],
    "below": ["mine"],
}


def check(save, asked=True):
    builder = RunBuilder().facts(
        model={"peft": {"mine": {}}},
        training={"args": {"load_best_model_at_end": asked}},
    )
    builder.step(ops=[("save", "model", save)])
    return Engine([BestAdapterNotFound()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run_and_not_checked_on_an_empty_one():
    assert Engine([BestAdapterNotFound()]).check(healthy_lora().run).findings == ()
    assert len(Engine([BestAdapterNotFound()]).check(Run()).not_checked) == 1


def test_a_checkpoint_holds_its_adapter_one_folder_below():
    (finding,) = check(SAVE)
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "load_best_model_at_end")
    assert "checkpoint-4/mine" in finding.message


@pytest.mark.parametrize(
    ("save", "asked"),
    [
        (SAVE, False),
        (SAVE | {"below": []}, True),
        (SAVE | {"adapters": ["default", "mine"]}, True),
        (SAVE | {"folder": "export"}, True),
    ],
)
def test_where_nobody_looks_for_it_or_it_is_found_it_is_fine(save, asked):
    assert check(save, asked) == ()


@pytest.mark.parametrize(("trained", "count"), [("mine", 1), ("default", 0)])
def test_another_one_lies_where_the_trainer_looks(trained, count):
    builder = RunBuilder().facts(
        model={"peft": {"default": {}, "mine": {}}},
        training={"args": {"load_best_model_at_end": True}},
    )
    builder.lora("layers.0", trained)
    builder.step(ops=[("save", "model", SAVE | {"adapters": ["default", "mine"]})])
    found = Engine([BestAdapterNotFound()]).check(builder.run).findings
    assert [each.evidence["reason"] for each in found] == ["other-in-root"] * count
    assert all(each.severity is Severity.ERROR for each in found)
