"""ADP047."""

import pytest

from ftlab.records.finding import Place, Severity
from ftlab.rules.adapter.asked_rate_not_used import AskedRateNotUsed
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora


def check(asked=1e-4, rates=(3e-3,), made_with=(1e-4,), step=8):
    start = {"base_rates": list(rates), "made_with": list(made_with)}
    builder = RunBuilder().facts(
        step=step,
        model={"peft": {}, "start": start},
        training={"trainer_class": "Trainer", "args": {"learning_rate": asked}},
    )
    return Engine([AskedRateNotUsed()]).check(builder.run).findings


def test_is_quiet_on_a_healthy_run():
    assert Engine([AskedRateNotUsed()]).check(healthy_lora().run).findings == ()


def test_a_checkpoint_has_overwritten_the_rate():
    (finding,) = check()
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("config", "learning_rate")
    assert finding.evidence["ratio"] == pytest.approx(30)


@pytest.mark.parametrize(
    "case",
    [
        {"rates": (1e-4,)},
        {"rates": (1.6e-3, 1e-4)},
        {"step": 0},
        {"made_with": (3e-3,)},
        {"made_with": (None,)},
        {"rates": ()},
        {"asked": None},
    ],
)
def test_what_was_asked_for_is_used_or_was_asked_for_elsewhere(case):
    assert check(**case) == ()
