"""Healthy runs are quiet, and faults found, where most steps are measured lightly.

When a step is light hangs on the clock; here it is every step but two in sixteen.
"""

import pytest

from ftlab.faults.registry import list_healthy, load
from ftlab.probes.budget import Budget
from ftlab.records.budget import FIRST_LOOK, SHARE, STRIDE
from ftlab.session.scoring.grade import grade, watch_healthy

FEW = {
    "another-adapter-looked-at",
    "frozen-to-be-used",
    "gaps-in-a-series",
    "gradients-of-the-input",
    "merged-by-hand-for-evaluation",
    "merged-then-begun-anew",
    "saved-then-begun-anew",
    "second-stage-in-the-same-optimizer",
}
"""Runs that a rule spoke on when what exonerates them was seen in full steps alone."""

LONG = [healthy for healthy in list_healthy() if healthy.steps > STRIDE + 1]


def marked(healthy):
    ring = pytest.mark.gallery if healthy.id in FEW else pytest.mark.slow
    return pytest.param(healthy, id=healthy.id, marks=ring)


@pytest.fixture(autouse=True)
def mostly_light(monkeypatch):
    def decides(budget, step, *, before):
        place = step - budget.first
        full = place <= STRIDE or place in FIRST_LOOK or place % (2 * STRIDE) in (0, 1)
        return full or step <= budget._wanted

    monkeypatch.setattr(Budget, "_decides", decides)


@pytest.mark.parametrize("healthy", map(marked, LONG))
def test_a_healthy_run_is_quiet(healthy):
    assert watch_healthy(healthy, budget=SHARE).alarms == ()


@pytest.mark.gallery
@pytest.mark.parametrize("name", ["adapter-reset-each-epoch", "weight-decay-eats-lora"])
def test_a_fault_that_goes_on_is_found(name):
    graded = grade(load(name), budget=SHARE)
    assert graded.right_cause, graded
    assert graded.twin == ()
