"""GRD004: a second pass that is not the first."""

import numpy as np
import pytest

from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.gradient.recomputed_otherwise import RecomputedOtherwise
from tests.runs import RunBuilder, found_by, only, places


def run(*differences, names=("layers.0", "layers.0.mlp")):
    builder = RunBuilder()
    for row, name in enumerate(names):
        builder.run.append(NameRecord(row, "recomputed", name, "module", "layers.0"))
    for step, difference in enumerate(differences):
        if difference is not None:
            ids = np.arange(len(names), dtype=np.int32)
            values = {"difference": np.full(len(names), difference, np.float32)}
            builder.run.append(Block("recomputed", step, ids, values))
        builder.step(values={"recomputed": 4.0})
    return found_by(RecomputedOtherwise(), builder.run)


def test_is_quiet_where_both_passes_agree():
    assert run(None, None) == ()


@pytest.mark.parametrize(("difference", "found"), [(9e-4, 0), (2e-3, 1)])
def test_takes_a_difference_of_a_thousandth(difference, found):
    assert len(run(None, difference)) == found


def test_names_the_innermost_module_and_the_steps():
    found = only(run(None, 0.1, None, 0.2), steps=(1, 3))
    assert places(found) == ["module layers.0.mlp", "config preserve_rng_state"]
    assert found.evidence["largest_difference"] == pytest.approx(0.2)


def test_another_dtype_is_told_as_the_cause_of_a_difference():
    builder = RunBuilder()
    meta = {"dtype": "bfloat16", "again": "float32"}
    row = NameRecord(0, "recomputed", "layers.0.mlp", "module", "layers.0", meta=meta)
    builder.run.append(row)
    columns = {"difference": 0.01, "other_dtype": 1.0}
    values = {name: np.array([n], np.float32) for name, n in columns.items()}
    builder.run.append(Block("recomputed", 0, np.array([0], np.int32), values))
    builder.step(values={"recomputed": 4.0})
    found = only(found_by(RecomputedOtherwise(), builder.run), reason="other-dtype")
    assert "gave float32" in found.message
    assert places(found) == ["call torch.autocast", "module layers.0.mlp"]


@pytest.mark.parametrize(("first", "again", "found"), [(1, 1, 1), (0, 1, 0), (2, 0, 0)])
def test_statistics_that_are_gathered_in_both_passes_are_found(first, again, found):
    builder = RunBuilder().step(values={"recomputed": 4.0})
    builder.run.append(NameRecord(3, "statistics", "layers.0.norm", "module", ""))
    values = {"gathered": first, "gathered_again": again}
    arrays = {name: np.array([n], np.float32) for name, n in values.items()}
    builder.run.append(Block("statistics", 0, np.array([3], np.int32), arrays))
    findings = found_by(RecomputedOtherwise(), builder.run)
    assert [str(each.place) for each in findings] == ["module layers.0.norm"] * found
