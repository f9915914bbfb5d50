"""What a factor tells of a merge that somebody wrote."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.reading.hand_merges import HandMerge, hand_merges, kind_of
from tests.runs import RunBuilder, healthy_lora

SEEN = {
    "step": 3,
    "module": "q",
    "adapter": "default",
    "off": 0.0,
    "turned": False,
    "live": False,
    "scaling": 4.0,
    "rank": 4,
    "alpha": 16.0,
}


def look(factor, **fields):
    return HandMerge(factor=factor, **(SEEN | fields))


def given(builder, step, factors, **columns):
    """Record that layers were given so many times what their adapter adds."""
    values = {"off": 0.0, "turned": 0.0, "live": 0.0, "scaling": 4.0} | columns
    for index, module in enumerate(factors):
        meta = {"module": module, "adapter": "default", "rank": 4, "alpha": 16.0}
        meta["role"] = "hand_merge"
        name = f"{module} [default]"
        row = NameRecord(900 + index, "hand_merges", name, "adapter", "", meta=meta)
        builder.run.append(row)
    ids = np.arange(900, 900 + len(factors), dtype=np.int32)
    table = {name: np.full(len(ids), v, np.float32) for name, v in values.items()}
    table["factor"] = np.array(list(factors.values()), np.float32)
    builder.run.append(Block("hand_merges", step, ids, table))
    return builder


@pytest.mark.parametrize(
    ("factor", "fields", "kind"),
    [
        (1.0, {}, "right"),
        (0.25, {}, "unscaled"),
        (4.0, {}, "repeated"),
        (2.0, {}, "repeated"),
        (3.0, {"scaling": 1.0}, "repeated"),
        (1.5, {"scaling": 1.5, "alpha": 6.0}, "repeated"),
        (0.7, {}, "other"),
        (1.3, {}, "other"),
        (1.0, {"turned": True}, "transposed"),
        (0.5, {"scaling": 8.0}, "unrooted"),
        (0.5, {"scaling": 4.0}, "other"),
        (1.03, {"scaling": 1.05}, "other"),
    ],
)
def test_a_factor_is_told_by_what_makes_it(factor, fields, kind):
    assert look(factor, **fields).kind == kind


@pytest.mark.parametrize(("off", "kind"), [(0.0, "other"), (0.4, "unscaled")])
def test_what_is_left_widens_what_counts_as_equal(off, kind):
    assert look(0.23, off=off).kind == kind


def test_half_of_the_layers_must_tell_the_same():
    wrong, right = look(0.25), look(1.0)
    assert kind_of([wrong, wrong, right])[0] == "unscaled"
    assert kind_of([wrong, wrong, right])[1] == [wrong, wrong]
    assert kind_of([look(0.25), look(2.0), look(0.7)])[0] == "other"


def test_looks_come_by_step_and_adapter():
    builder = given(RunBuilder().step(), 0, {"q": 0.25, "v": 0.5})
    given(builder.step(), 1, {"q": 1.25})
    first, second = hand_merges(builder.run)
    assert [(each.module, each.factor) for each in first] == [("q", 0.25), ("v", 0.5)]
    assert [(each.step, each.factor) for each in second] == [(1, 1.25)]


def test_what_is_taken_out_is_no_merge():
    assert list(hand_merges(given(RunBuilder().step(), 0, {"q": -1.0}).run)) == []


def test_a_run_without_them_has_none():
    assert list(hand_merges(healthy_lora().run)) == []
