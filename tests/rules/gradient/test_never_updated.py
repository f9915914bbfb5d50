"""Backwards without an update: three causes, and what is left to its user."""

import pytest

from ftlab.records.finding import Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.engine import Engine
from ftlab.rules.gradient.never_updated import NeverUpdated
from tests.runs import RunBuilder, loop_ops, only

KNOWN = {
    "backwards": 20,
    "clears": 0,
    "gathered": 0,
    "divided": 0,
    "held": 0,
    "asked": 0,
    "ended": True,
}


def report(known=None, *, optimizers=({"class": "AdamW"},), ended="detached"):
    builder = RunBuilder().facts(optimizers=optimizers)
    builder.run.update_meta({"ended": ended})
    if known is not None:
        detail = KNOWN | known
        builder.run.append(LedgerEntry(-1, 0, "no_update", "model", detail))
    return Engine([NeverUpdated()]).check(builder.run)


def found(known, **settings):
    (finding,) = report(known, **settings).findings
    return finding


def severity(known, **settings):
    return found(known, **settings).severity


@pytest.mark.parametrize(
    ("known", "reason", "place"),
    [
        ({"held": 5, "asked": 4}, "held-back", "call optimizer.step"),
        (
            {"clears": 1, "gathered": 10},
            "cleared-before-update",
            "call optimizer.zero_grad",
        ),
        ({"clears": 19, "gathered": 1}, "no-step", "call optimizer.step"),
        ({}, "no-step", "call optimizer.step"),
    ],
)
def test_the_reason_is_what_was_counted(known, reason, place):
    finding = found(known)
    assert finding.evidence["reason"] == reason
    assert str(finding.place) == place
    assert finding.severity >= Severity.WARNING


def test_what_an_earlier_loop_has_asked_of_accelerate_proves_nothing():
    cleared = {"clears": 10, "gathered": 3, "asked": 4}
    assert severity(cleared, optimizers=()) == Severity.INFO
    assert severity(cleared | {"divided": 4}, optimizers=()) == Severity.ERROR
    assert severity(cleared | {"held": 2}, optimizers=()) == Severity.ERROR


def test_steps_that_are_held_back_while_accelerate_gathers_are_no_fault():
    within = {"held": 3, "asked": 4, "backwards": 20}
    assert found(within | {"ended": True}).evidence["reason"] == "held-back"
    assert found(within | {"ended": False}).evidence["reason"] == "no-step"
    assert found(within | {"backwards": 4}).evidence["reason"] == "no-step"


def test_a_watch_that_ends_within_the_first_accumulation_is_noted_only():
    assert severity({"divided": 64}) == Severity.INFO
    assert severity({"asked": 64, "held": 20}) == Severity.INFO
    assert severity({"divided": 16}) == Severity.WARNING


def test_few_backwards_and_a_run_that_failed_are_noted_only():
    assert severity({"backwards": 7}) == Severity.INFO
    assert severity({}, ended="interrupted") == Severity.INFO
    assert severity({}, ended="failed: RuntimeError: memory") == Severity.INFO


def test_without_an_optimizer_gradients_may_be_all_that_is_wanted():
    assert severity({}, optimizers=()) == Severity.INFO
    assert severity({"clears": 6, "gathered": 3}, optimizers=()) == Severity.INFO
    early = {"clears": 6, "gathered": 3, "divided": 4}
    assert severity(early, optimizers=()) == Severity.ERROR


def test_what_was_noted_last_counts():
    builder = RunBuilder().facts(optimizers=({"class": "AdamW"},))
    for backwards in (8, 20):
        detail = KNOWN | {"backwards": backwards}
        builder.run.append(LedgerEntry(-1, 0, "no_update", "model", detail))
    only(Engine([NeverUpdated()]).check(builder.run).findings, backwards=20)


def test_an_empty_run_is_not_checked_and_one_with_steps_left_out():
    (missing,) = report().not_checked
    assert missing.code == "GRD019"
    builder = RunBuilder().steps(4, ops=loop_ops())
    assert Engine([NeverUpdated()]).check(builder.run).not_checked == ()


def test_what_is_noted_after_the_rules_have_spoken_is_heard():
    builder = RunBuilder().facts(optimizers=({"class": "AdamW"},))
    engine = Engine([NeverUpdated()])
    assert engine.finish(builder.run).findings == ()
    builder.run.append(LedgerEntry(-1, 0, "no_update", "model", KNOWN))
    assert len(engine.finish(builder.run).findings) == 1
