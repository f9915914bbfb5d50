"""MOD009: rows of new tokens that the batches need and that stay."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.new_tokens_frozen import NewTokensFrozen
from tests.runs import RunBuilder, found_by, only

FROZEN = {
    "frozen": True,
    "output": False,
    "tied": False,
    "looks": "mean",
    "still": "128,129",
    "learnt": "",
}


def check(still=2, steps=(0,), dtype="float32", **meta):
    builder = RunBuilder()
    builder.run.append(
        NameRecord(7, "new_tokens", "m.w", "param", "", dtype=dtype, meta=FROZEN | meta)
    )
    for step in range(max(steps) + 1):
        builder.step()
        if step in steps:
            row = np.array([7], np.int32)
            values = {"fresh": 4.0, "used": 2.0, "still": float(still)}
            arrays = {name: np.array([n], np.float32) for name, n in values.items()}
            builder.run.append(Block("new_tokens", step, row, arrays))
    return found_by(NewTokensFrozen(), builder.run)


def test_frozen_rows_that_are_used_are_found_at_once():
    found = only(check(), reason="input-frozen")
    assert list(map(str, found.places))[:2] == ["param m.w", "token 128"]
    assert "at the mean" in found.message


def test_rows_that_are_not_used_or_move_are_left_alone():
    assert check(still=0) == ()


@pytest.mark.parametrize(
    ("steps", "dtype", "found"),
    [((0, 4), "float32", 0), ((0, 8), "float32", 1), ((0, 8), "bfloat16", 0)],
)
def test_trainable_rows_get_eight_updates(steps, dtype, found):
    assert len(check(steps=steps, dtype=dtype, frozen=False)) == found


def test_the_rows_that_are_trained_instead_are_named():
    (found,) = check(learnt="124,125")
    assert "The rows 124,125 are trained instead." in found.cause
