"""ADP035."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.adapter_in_folder_below import AdapterInFolderBelow
from tests.runs import RunBuilder, found_by, only

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
    return found_by(AdapterInFolderBelow(), builder.run)


def test_a_checkpoint_holds_its_adapter_one_folder_below():
    finding = only(check(SAVE), "warning", "config load_best_model_at_end")
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
    found = found_by(AdapterInFolderBelow(), builder.run)
    assert [each.evidence["reason"] for each in found] == ["other-in-root"] * count
    assert all(each.severity is Severity.ERROR for each in found)


def read(**detail):
    found = {"folder": "out", "zero": True, "below": ["mine"]} | detail
    return ("read", "saved folder", found)


def loading(*ops):
    builder = RunBuilder().facts(model={"peft": {"default": {}, "mine": {}}})
    builder.lora("layers.0", "mine")
    builder.step(ops=ops)
    return found_by(AdapterInFolderBelow(), builder.run)


def test_the_adapter_above_the_trained_one_is_loaded():
    finding = only(loading(read(), read()), "warning", "file adapter keys")
    assert "is in out/mine" in finding.message


@pytest.mark.parametrize(
    "ops",
    [
        (read(zero=False),),
        (read(below=[]),),
        (read(below=["other"]),),
        (read(), read(folder="mine", zero=False, below=[])),
    ],
)
def test_trained_ones_none_below_others_and_both_are_fine(ops):
    assert loading(*ops) == ()
