"""ADP036."""

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.adapter.rank_budget_out_of_step import RankBudgetOutOfStep
from tests.runs import RunBuilder, found_by, only

CONFIG = {"tinit": 4, "tfinal": 10, "deltaT": 2, "total_step": 40, "target_r": 2}


def check(steps, clock=None, kept=None, planned=None, schedule=None, **parts):
    """Check a run whose allocator is told ``clock(step)`` and keeps ``kept(step)``."""
    described = {"type": "ADALORA", "parts": {"adapter": {"trainable": 4}}} | parts
    builder = RunBuilder()
    builder.facts(
        model={
            "adapters": {"adapters": {"default": described}},
            "peft": {"default": CONFIG},
        },
        training={"max_steps": planned} if planned else {},
        schedulers=({"asked": {"num_training_steps": schedule}},) if schedule else (),
    )
    for step in range(steps):
        left = kept(step) if kept else 0.0 if step == 0 else 32.0
        values = {"ranks": 32.0, "ranks_kept": left}
        if clock and clock(step) is not None:
            values["allocator_step"] = float(clock(step))
        builder.step(values=values)
    return found_by(RankBudgetOutOfStep(), builder.run)


def some(step):
    return min(8.0, 32.0 * step)


def reason(findings):
    (finding,) = findings
    return finding.evidence["reason"]


def test_an_allocator_that_is_never_called():
    only(check(8), "warning", "call update_and_allocate", reason="never-called")


def test_nothing_is_missed_before_the_first_rank_was_to_go():
    assert check(6) == ()


def test_ranks_that_somebody_has_given_away_otherwise_are_no_fault():
    assert check(20, kept=some) == ()


def test_an_adapter_that_is_not_trained_is_left_alone():
    assert check(20, parts={"adapter": {"trainable": 0}}) == ()
    assert check(20, type="LORA") == ()


@pytest.mark.parametrize("known", [{}, {"planned": 40}, {"schedule": 40}])
def test_a_clock_that_goes_with_the_steps_is_quiet(known):
    assert check(40, lambda step: step + 1, some, **known) == ()


def test_calls_at_every_fourth_step_are_quiet():
    assert check(40, lambda s: s if s % 4 == 0 else None, planned=40) == ()


def test_a_clock_of_micro_batches_whose_total_counts_them_too_is_quiet():
    assert check(20, lambda step: 2 * step + 2, planned=20) == ()


def test_a_clock_of_micro_batches_is_too_fast():
    finding = only(check(6, lambda step: 4 * step + 4, planned=40), reason="too-fast")
    assert str(finding.place) == "call update_and_allocate"
    assert "micro-batch" in finding.cause
    assert "at optimizer step 7" in finding.message


def test_where_the_length_is_not_known_the_clock_must_have_passed_the_total():
    assert check(14, lambda step: 4 * step + 4) == ()
    assert reason(check(16, lambda step: 4 * step)) == "too-fast"


def test_a_total_that_is_too_small():
    finding = only(check(6, lambda step: step, planned=61), place="config total_step")
    assert finding.evidence["reason"] == "too-fast"


def test_a_total_that_is_too_large():
    finding = only(check(6, lambda step: step, planned=8), place="config total_step")
    assert finding.evidence["reason"] == "too-slow"


def test_a_run_that_ends_a_little_early_has_given_most_away():
    assert check(6, lambda step: step, planned=26) == ()


def test_a_clock_of_epochs_stands_still():
    assert reason(check(12, lambda step: step // 100)) == "stands-still"
    assert check(5, lambda step: step // 100) == ()


def test_ranks_that_are_all_gone():
    (finding,) = check(12, lambda s: s, lambda s: 0.0 if s in (0, 6, 8) else 32.0)
    assert finding.evidence["reason"] == "all-gone"
    assert finding.severity is Severity.ERROR
    assert (finding.first_step, finding.last_step) == (6, 8)


def test_a_start_at_0_is_not_gone():
    assert check(5, lambda s: s, lambda s: 0.0 if s < 3 else 32.0) == ()
