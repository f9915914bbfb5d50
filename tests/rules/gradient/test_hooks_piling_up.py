"""GRD010: hooks that are registered again and again."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.gradient.hooks_piling_up import HooksPilingUp
from tests.runs import RunBuilder, only, report_by

LOOKS = (0, 1, 2, 3, 4, 8, 16, 32)


def check(alike, hooks=None, place="module", looks=LOOKS, rows=1):
    """Counts at each look; ``None`` where there was no pile."""
    builder = RunBuilder()
    for row in range(rows):
        meta = {"owner": f"layers.{row}", "place": place, "kind": "forward hook"}
        meta |= {"function": "noise", "at": "train.py:7"}
        name = f"layers.{row} [forward hook noise train.py:7]"
        builder.run.append(NameRecord(row, "hooks", name, "module", "", meta=meta))
    counts = dict(zip(looks, zip(alike, hooks or alike, strict=True), strict=False))
    for step in range(max(counts) + 1):
        same, of_it = counts.get(step, (None, None))
        if of_it is not None:
            columns = {"alike": same, "hooks": of_it}
            values = {n: np.full(rows, v, np.float32) for n, v in columns.items()}
            ids = np.arange(rows, dtype=np.int32)
            builder.run.append(Block("hooks", step, ids, values))
        looked = (
            {"values": {"piled_hooks": float(of_it or 0)}} if step in counts else {}
        )
        builder.step(**looked)
    return report_by(HooksPilingUp(), builder.run)


def test_a_hook_that_comes_with_each_step_is_found():
    found = only(check((2, 3, 4, 5)).findings, "warning")
    assert list(map(str, found.places)) == ["module layers.0", "file train.py:7"]
    assert found.evidence == {"hooks": 5, "objects": 1, "threshold": 3}
    assert (
        "noise (train.py:7) is registered on layers.0 as a forward hook 5 times"
        in found.message
    )


def test_a_hook_that_comes_with_each_epoch_is_found():
    only(check((None, None, None, None, None, 2, 3)).findings, steps=(8, 16))


def test_all_objects_of_a_function_are_one_finding():
    (found,) = check((2, 3, 4), place="param", rows=3).findings
    assert list(map(str, found.places))[:3] == [f"param layers.{n}" for n in range(3)]


@pytest.mark.parametrize(
    "alike",
    [
        (None, None, None),
        (2, 2, 2, 2),
        (2, 3, 4, None),
        (2, 3, 4, 3),
        (3, 3, 3, 3),
        (None, None, 4, 4),
    ],
    ids=["none", "second-stage", "removed", "fewer", "at-once", "at-once-later"],
)
def test_hooks_that_do_not_grow_on_and_on_are_left_alone(alike):
    assert check(alike).findings == ()


def test_hooks_that_hold_different_things_count_where_they_come_with_each_step():
    ones = [1] * 7
    assert check(ones[:6], (2, 3, 4, 5, 6, 10)).findings == ()
    only(check(ones, (2, 3, 4, 5, 6, 10, 17)).findings, threshold=16)


def test_one_hook_for_each_adapter_or_layer_is_left_alone():
    assert check([1] * 8, (2, 2, 3, 3, 4, 6, 9, 17)).findings == ()
    assert check([1] * 8, (24, 24, 24, 24, 24, 24, 24, 24)).findings == ()


def test_it_is_not_checked_without_counts():
    report = report_by(HooksPilingUp(), RunBuilder().step().run)
    assert [each.code for each in report.not_checked] == ["GRD010"]
