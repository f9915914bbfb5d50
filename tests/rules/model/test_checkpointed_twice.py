"""MOD025: two checkpoints around the same modules."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.engine import Engine
from ftlab.rules.model.checkpointed_twice import CheckpointedTwice
from tests.runs import RunBuilder, healthy_lora

TABLE = "nested_checkpoints"
META = {"outer": "CheckpointWrapper", "inner": "Layer"}


def report(*steps):
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
    return Engine([CheckpointedTwice()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    rule = CheckpointedTwice()
    assert Engine([rule]).check(healthy_lora().run).findings == ()


@pytest.mark.parametrize(("steps", "found"), [((1, 3), 1), ((3,), 0), ((0, 1), 0)])
def test_takes_two_steps_and_the_last_that_was_looked_at(steps, found):
    assert len(report(*steps)) == found


def test_names_the_modules_and_who_calls_the_two():
    (found,) = report(1, 3)
    assert [str(each) for each in found.places[:2]] == [
        "module layers.0",
        "module layers.1",
    ]
    assert "ran 3 times" in found.message
    assert "CheckpointWrapper" in found.cause
    assert "Layer" in found.cause
    assert (found.first_step, found.last_step) == (1, 3)
