"""What was frozen for an evaluation and not thawed after it."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.adapter.adapter_frozen import AdapterFrozen
from ftlab.rules.reasons.unthawed import not_thawed
from tests.runs import RunBuilder, found_by, only

NAME = "m.q.lora_A.a.weight"


def run_of(trainable=False, group=0, adapter="a"):
    builder = RunBuilder()
    meta = {"adapter": adapter, "group": group}
    record = NameRecord(0, "tensors", NAME, "param", "", meta=meta, trainable=trainable)
    builder.run.append(record)
    part = {"tensors": 2, "trainable": 1}
    wired = {"adapters": {"a": {"type": "LORA", "parts": {"lora_A": part}}}}
    builder.facts(model={"adapters": wired}, optimizers=({},))
    builder.step().step()
    builder.run.append(NameRecord(9, "unthawed", NAME, "param", ""))
    values = {"thawed": np.array([3], np.float32)}
    builder.run.append(Block("unthawed", 1, np.array([9], np.int32), values))
    return builder.run


def test_what_is_frozen_still_and_held_is_returned():
    found = not_thawed(run_of())
    assert (found.step, found.names, found.thawed) == (1, [NAME], 3)


@pytest.mark.parametrize(
    "settings",
    [{"trainable": True}, {"group": -1}, {"adapter": ""}],
    ids=["thawed later", "in no optimizer", "of the base"],
)
def test_anything_else_is_not(settings):
    assert not_thawed(run_of(**settings)) is None


def test_a_run_without_such_an_evaluation_has_none():
    assert not_thawed(RunBuilder().run) is None


def test_it_is_a_warning_with_the_tensors_in_front():
    found = only(found_by(AdapterFrozen(), run_of()), "warning")
    assert found.evidence["reason"] == "not-thawed-again"
    assert str(found.place) == f"param {NAME}"
    assert found.first_step == 1
