"""DAT084."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.records.loader_start import LoaderStart
from ftlab.rules.data.resumed_epoch_anew import ResumedEpochAnew
from tests.rules.data.loaders import (
    check,
    is_left_out_without_a_loader_and_open_on_an_empty_run,
)

RULE = ResumedEpochAnew()
SEEDED = LoaderStart(5, order="random", sampler="Seedable", seed=42, epoch=0)


def resumed(epoch=0.625, skips=False):
    return {"step": 5, "epoch": epoch, "skips": skips}


def test_a_run_that_was_not_resumed_is_left_out():
    assert is_left_out_without_a_loader_and_open_on_an_empty_run(RULE)


@pytest.mark.parametrize("start", [SEEDED, LoaderStart(5, order="in order")])
def test_an_epoch_that_begins_anew_in_its_order(start):
    (finding,) = check(RULE, start, resumed=resumed())
    assert finding.severity is Severity.INFO
    assert finding.place == Place("config", "args.ignore_data_skip")
    assert "at step 5, after 62% of an epoch" in finding.message


@pytest.mark.parametrize(
    ("start", "told"),
    [
        (SEEDED, resumed(skips=True)),
        (SEEDED, resumed(epoch=1.0)),
        (SEEDED, resumed(epoch=0.99999)),
        (LoaderStart(5, order="random", sampler="Random"), resumed()),
        (LoaderStart(5, order="stream"), resumed()),
    ],
)
def test_other_resumes_are_healthy(start, told):
    assert check(RULE, start, resumed=told) == ()
