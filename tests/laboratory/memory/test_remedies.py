"""The smallest change that fits."""

import pytest

from ftlab.laboratory.memory.optimizers import optimizer_maker
from ftlab.laboratory.memory.remedies import fitting
from ftlab.laboratory.memory.step import StepPlan, rehearsed, sized
from tests.laboratory.memory.models import base

HALF = "per_device_train_batch_size=4, gradient_accumulation_steps=2"
SINGLE = "per_device_train_batch_size=1, gradient_accumulation_steps=8"
CHECKED = "gradient_checkpointing=True"


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.8, HALF),
        pytest.param(0.69, CHECKED, marks=pytest.mark.slow),
        (0.55, f"{CHECKED}, {HALF}"),
        pytest.param(0.4, f"{CHECKED}, {SINGLE}", marks=pytest.mark.slow),
    ],
)
def test_the_first_that_fits_is_told(share, words):
    model, plan = base("llama"), StepPlan(optimizer_maker("adamw"))
    whole = rehearsed(model, sized(8, 96), plan).peak
    found = fitting(model, (8, 96), plan, share * whole)
    assert found.words == words
    again = rehearsed(model, sized(found.rows, found.length), found.plan)
    assert again.peak == found.peak <= 0.95 * share * whole


def test_nothing_may_fit():
    model, plan = base("llama"), StepPlan(optimizer_maker("adamw"))
    assert fitting(model, (2, 16), plan, 1000.0) is None
