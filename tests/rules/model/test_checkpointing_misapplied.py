"""MOD011: checkpointing that is on and saves nothing, or costs twice."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.checkpointing_misapplied import CheckpointingMisapplied
from tests.runs import RunBuilder, found_by, only

TABLE = "nested_checkpoints"
META = {"outer": "CheckpointWrapper", "inner": "Layer"}


def report(kind, steps, again=0.0, names=("layers.0",)):
    """Report on four steps, the third not looked at; ``steps``: where it was kept."""
    builder = RunBuilder()
    for row, name in enumerate(names):
        meta = {"kind": kind, "class": "Layer"}
        builder.run.append(NameRecord(row, "kept", name, "module", "", meta=meta))
    for step in range(4):
        if step in steps:
            ids = np.arange(len(names), dtype=np.int32)
            values = {"kept": np.ones(len(names), np.float32)}
            builder.run.append(Block("kept", step, ids, values))
        builder.step(values={} if step == 2 else {"recomputed": again})
    return found_by(CheckpointingMisapplied(), builder.run)


@pytest.mark.parametrize(("steps", "found"), [((0, 1, 3), 1), ((3,), 0), ((0, 1), 0)])
def test_takes_two_steps_and_the_last_that_was_looked_at(steps, found):
    assert len(report("block", steps)) == found


def test_names_all_blocks_first():
    (found,) = report("block", (0, 1, 3), names=("layers.0", "layers.1"))
    assert [str(place) for place in found.places[:2]] == [
        "module layers.0",
        "module layers.1",
    ]
    assert found.evidence["reason"] == "forward-replaced"
    assert (found.first_step, found.last_step) == (0, 3)


@pytest.mark.parametrize(
    ("kind", "reason", "place"),
    [
        ("mark", "mark-unread", "module layers.0"),
        ("config", "config-unread", "config gradient_checkpointing"),
        ("arguments", "enabled-by-nothing", "config gradient_checkpointing"),
    ],
)
def test_what_concerns_the_whole_model_takes_that_nothing_ran_again(
    kind, reason, place
):
    (found,) = report(kind, (0, 1, 3))
    assert (found.evidence["reason"], str(found.place)) == (reason, place)
    assert report(kind, (0, 1, 3), again=4.0) == ()


def test_one_block_is_enough_where_others_ran_again():
    assert len(report("block", (0, 1, 3), again=4.0)) == 1


def nested(*steps):
    """Report on four steps, the third not looked at; ``steps``: where it was so."""
    builder = RunBuilder()
    for row in (0, 1):
        name = f"layers.{row}"
        builder.run.append(NameRecord(row, TABLE, name, "module", "", meta=META))
    for step in range(4):
        if step in steps:
            values = {"runs": np.full(2, 3, np.float32)}
            builder.run.append(Block(TABLE, step, np.arange(2, dtype=np.int32), values))
        builder.step(values={} if step == 2 else {"recomputed": 8.0})
    return found_by(CheckpointingMisapplied(), builder.run)


@pytest.mark.parametrize(("steps", "found"), [((1, 3), 1), ((3,), 0), ((0, 1), 0)])
def test_running_twice_takes_two_steps_and_the_last_too(steps, found):
    assert len(nested(*steps)) == found


def test_names_the_modules_and_who_calls_the_two():
    found = only(nested(1, 3), steps=(1, 3))
    assert [str(each) for each in found.places[:2]] == [
        "module layers.0",
        "module layers.1",
    ]
    assert "ran 3 times" in found.message
    assert "CheckpointWrapper" in found.cause
    assert "Layer" in found.cause
