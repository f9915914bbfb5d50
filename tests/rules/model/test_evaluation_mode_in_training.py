"""MOD006: what is trained in evaluation mode."""

import numpy as np
import pytest

from ftlab.records.finding import Severity
from ftlab.records.names import NameRecord
from ftlab.records.step import Block
from ftlab.rules.model.evaluation_mode_in_training import EvaluationModeInTraining
from tests.runs import RunBuilder, found_by, only

LEARNS = {"learns": True, "single": False, "alike_on": False, "p": 0.1, "parts": "m.d"}
SINGLE = LEARNS | {"single": True}


ADAPTER = LEARNS | {"adapter_off": 2, "adapter_on": 0, "carrier_on": ""}
CARRIED = ADAPTER | {"carrier_on": "PeftModel"}
START = (2, 2, 2, 2)


def check(meta, counts=(2, 0, 0), off=(0, 2, 2), parts=2, put_back=()):
    """Judge a run in which a part changed its mode at step 1."""
    builder = RunBuilder()
    builder.run.append(NameRecord(7, "modes", "m", "module", "", meta=meta))
    names = ("dropouts_off", "statistics_off", "checkpointing_off")
    for step, many in enumerate(off):
        modes = {"modes_off": float(many), "modes_on": float(parts - many)}
        undone = {"dropouts_put_back": 2.0} if step in put_back else {}
        builder.step(values=modes | undone)
        if step == 1:
            values = {
                n: np.array([c], np.float32) for n, c in zip(names, counts, strict=True)
            }
            ids = np.array([7], np.int32)
            builder.run.append(Block("modes", step, ids, values))
    return found_by(EvaluationModeInTraining(), builder.run)


def test_a_learning_part_without_dropout_for_two_steps_is_found():
    found = only(check(LEARNS), place="module m")
    assert "module m.d" in map(str, found.places)
    assert (found.severity, found.first_step, found.last_step) == (
        Severity.WARNING,
        1,
        2,
    )


def test_one_step_is_not_enough():
    assert check(LEARNS, off=(0, 2, 0)) == ()


def test_what_learns_nothing_is_left_alone():
    assert check(LEARNS | {"learns": False}) == ()


@pytest.mark.parametrize(("alike", "found"), [(True, 1), (False, 0)])
def test_a_dropout_alone_counts_where_others_like_it_are_on(alike, found):
    assert len(check(SINGLE | {"alike_on": alike})) == found


def test_batch_norm_alone_is_noted():
    only(check(LEARNS, counts=(0, 3, 0)), "info")


def test_what_was_off_from_the_start_is_noted():
    only(check(LEARNS, off=(2, 2, 2)), "info", reason="from-the-start")


def test_checkpointing_that_does_nothing_from_the_start_is_noted():
    only(check(LEARNS, off=(2, 2, 2), counts=(2, 0, 1)), "info", reason="checkpointing")


def test_norms_that_are_frozen_before_hide_nothing():
    builder = RunBuilder()
    builder.run.append(NameRecord(7, "modes", "m", "module", "", meta=LEARNS))
    for step, dropouts in enumerate((0, None, 2, None)):
        off = 1.0 if step < 2 else 3.0
        builder.step(values={"modes_off": off, "modes_on": 3.0 - off})
        if dropouts is not None:
            named = {"dropouts_off": dropouts, "statistics_off": 1}
            values = {n: np.array([c], np.float32) for n, c in named.items()}
            values["checkpointing_off"] = np.zeros(1, np.float32)
            builder.run.append(Block("modes", step, np.array([7], np.int32), values))
    only(found_by(EvaluationModeInTraining(), builder.run), "warning", steps=(2, 3))


def test_blocks_that_are_not_checkpointed_are_worth_a_warning():
    found = only(check(LEARNS | {"p": 0.0}, counts=(0, 0, 4)), "warning")
    assert "4 blocks not checkpointed" in found.message


@pytest.mark.parametrize(
    ("meta", "put_back", "reason"),
    [
        (ADAPTER, (0, 1, 2, 3), "put-back"),
        (ADAPTER, (1, 3), "put-back"),
        (CARRIED, (), "base-alone"),
    ],
    ids=["each step", "half of them", "base alone"],
)
def test_an_adapter_whose_dropout_was_asked_for_is_worth_a_warning(
    meta, put_back, reason
):
    only(check(meta, off=START, put_back=put_back), "warning", reason=reason)


@pytest.mark.parametrize(
    ("meta", "put_back"),
    [
        (ADAPTER, ()),
        (ADAPTER, (1,)),
        (LEARNS, (0, 1, 2, 3)),
        (CARRIED | {"adapter_on": 1}, ()),
        (CARRIED | {"adapter_off": 0}, (0, 1, 2, 3)),
    ],
    ids=["not asked", "once", "no adapter", "some are on", "base alone has dropout"],
)
def test_what_may_be_meant_is_noted(meta, put_back):
    only(check(meta, off=START, put_back=put_back), "info", reason="from-the-start")
