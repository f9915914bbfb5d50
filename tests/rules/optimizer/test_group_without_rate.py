"""OPT005."""

import math

import pytest

from ftlab.records.finding import Severity
from ftlab.rules.optimizer.group_without_rate import GroupWithoutRate
from tests.runs import RunBuilder, found_by, only, report_by


def report(rates, initial, steps=3, b_norm=0.0, role="lora_B"):
    """Report on a pair: its first factor in group 0, its second in group 1."""
    builder = RunBuilder()
    for group, part in enumerate(("lora_A", role)):
        meta = {"role": part, "adapter": "x", "module": "m.q", "group": group}
        builder.tensor(f"m.q.{part}.x.weight", "layers.0", meta=meta)
    groups = [
        {"lr": lr} | ({} if first is None else {"initial_lr": first})
        for lr, first in zip(rates, initial, strict=True)
    ]
    builder.facts(optimizers=({"class": "AdamW", "groups": groups},))
    builder.steps(steps, {"weight_l2": [1.0, b_norm]}, lr=rates)
    return report_by(GroupWithoutRate(), builder.run)


def test_is_quiet_on_a_healthy_run():
    assert report((1e-3, 1e-3), (1e-3, 1e-3)).findings == ()


def test_a_pair_whose_second_factor_cannot_move_is_an_error():
    finding = only(report((1e-3, 0.0), (1e-3, 0.0)).findings, "error", "optimizer lr")
    assert "param_groups[1]" in finding.fix


def test_a_pair_that_was_trained_before_is_a_warning():
    only(report((1e-3, 0.0), (1e-3, 0.0), b_norm=1.0).findings, "warning")


def test_a_frozen_first_factor_is_only_noted():
    only(report((0.0, 1e-3), (0.0, 1e-3), b_norm=1.0).findings, "info")


def test_nothing_with_a_rate_is_an_error():
    only(report((0.0, 0.0), (0.0, 0.0), b_norm=1.0).findings, "error")


def test_what_a_schedule_gives_is_let_pass():
    assert report((1e-3, 0.0), (1e-3, 1e-3), steps=40).findings == ()


@pytest.mark.parametrize(("steps", "found"), [(7, 0), (8, 1)])
def test_rates_by_hand_are_told_sooner_where_nothing_else_has_an_effect(steps, found):
    findings = report((1e-3, 0.0), (None, None), steps=steps).findings
    assert [each.severity for each in findings] == [Severity.ERROR] * found


@pytest.mark.parametrize(("steps", "found"), [(15, 0), (16, 1)])
def test_rates_by_hand_are_noted_later(steps, found):
    findings = report((1e-3, 0.0), (None, None), steps=steps, b_norm=1.0).findings
    assert len(findings) == found
    assert all(each.severity is Severity.INFO for each in findings)


def at_zero(rate=0.0, made=0, updates=8, initial=1e-3):
    moves = ("scheduler_step", "scheduler 0", {"lr_before": [0.0], "lr_after": [0.0]})
    group = {"lr": 0.0, "initial_lr": initial, "ids": []}
    builder = RunBuilder().facts(
        optimizers=({"class": "AdamW", "groups": [group]},),
        schedulers=({"class": "LambdaLR", "optimizer_index": 0},),
    )
    for step in range(updates):
        lr = rate if step == updates - 1 else 0.0
        builder.step(ops=("backward", *((moves,) if step < made else ())), lr=(lr,))
    return found_by(GroupWithoutRate(), builder.run)


def test_a_schedule_that_is_never_stepped_keeps_everything_at_zero():
    only(at_zero(), "warning", "call scheduler.step", reason="never-stepped")
    assert at_zero(updates=7) == ()
    assert at_zero(rate=1e-3) == ()


def test_a_schedule_that_gives_nothing():
    only(at_zero(made=8), reason="schedule-at-zero")
    assert at_zero(made=1) == ()


@pytest.mark.parametrize(
    ("rates", "initial", "found"),
    [
        ((1e-3, 1e-12), (None, None), 1),
        ((1e-4, 1e-13), (1e-3, 1e-12), 1),
        ((1e-3, 1e-10), (None, None), 0),  # layer-wise decay goes so far
        ((1e-3, 1e-12), (1e-3, 1e-3), 0),  # a warm-up of its own
    ],
)
def test_a_rate_that_is_next_to_zero(rates, initial, found):
    findings = report(rates, initial).findings
    assert len(findings) == found
    for finding in findings:
        assert finding.severity is Severity.WARNING
        assert finding.evidence["reason"] == "next-to-zero"
        assert str(finding.place) == "optimizer param_groups[1]"
    assert report(rates, initial, steps=1).findings == ()


def falling(rates, *moves):
    builder = RunBuilder()
    builder.facts(optimizers=({"class": "AdamW", "groups": [{"lr": 1.0}]},))
    for rate in rates:
        builder.step(lr=(rate,), ops=("backward", *moves))
    return found_by(GroupWithoutRate(), builder.run)


COSINE = [0.5 + 0.5 * math.cos(math.pi * step / 200) for step in range(201)]


@pytest.mark.parametrize("rates", [COSINE, [*COSINE, *COSINE[::-1]], [1.0] * 60])
def test_a_rate_that_falls_to_its_end_has_not_died(rates):
    assert falling(rates) == ()


def test_a_rate_that_compounds_has_died():
    rates = [0.5**step for step in range(40)]
    found = only(falling(rates), "warning", "optimizer lr", steps=(20, 39))
    assert "compound" in found.cause
    assert falling([0.5**step for step in range(35)]) == ()


def test_a_factor_of_an_epoch_is_the_scheduler_s():
    rates = [0.5**step for step in range(40)]
    found = only(
        falling(rates, ("scheduler_step", "scheduler 0", {})), "warning", "optimizer lr"
    )
    assert "for an epoch" in found.cause
