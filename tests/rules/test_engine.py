"""The engine: windows, budget, resuming, a rule that raises."""

import itertools
import warnings

import pytest

from ftlab.faults.registry import load
from ftlab.records.errors import FtlabWarning
from ftlab.records.finding import Place, Severity
from ftlab.records.step import LedgerEntry
from ftlab.rules.engine import WINDOW, Engine
from ftlab.rules.rule import Need, Rule
from ftlab.session.score import record
from tests.runs import RunBuilder, healthy_lora, only


class Clock:
    """A clock that rules advance by what they cost."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Fake(Rule):
    """Records which windows it saw; finds what `find` says."""

    since, status, requires = "0.1.0", "stable", ()

    def __init__(self, code="AAA001", clock=None, cost=0.0, find=None):
        self.code, self.name = code, code.lower()
        self.clock, self.cost, self.find = clock, cost, find
        self.seen = []

    def check(self, run):
        steps = run.steps.step
        self.seen.append((int(steps[0]), int(steps[-1])) if len(steps) else None)
        if self.clock is not None:
            self.clock.now += self.cost
        if self.find is not None:
            yield from self.find(self, run)


def found(rule, run, place="w", severity=Severity.WARNING, steps=None):
    last = int(run.steps.step[-1])
    first, last = steps or (int(run.steps.step[0]), last)
    return rule.finding(
        severity,
        f"up to step {last}",
        cause="c",
        fix="f",
        places=[Place("param", place)],
        steps=(first, last),
        evidence={},
        healthy="h",
    )


def run_of(steps):
    return RunBuilder().steps(steps)


def test_a_short_run_is_one_window():
    rule = Fake()
    Engine([rule]).check(run_of(10).run)
    assert rule.seen == [(0, 9)]


def test_a_long_run_is_seen_whole_latest_window_first():
    rule = Fake()
    Engine([rule]).check(run_of(900).run)
    assert rule.seen[0] == (900 - WINDOW, 899)
    assert [window[1] for window in rule.seen] == sorted(
        (window[1] for window in rule.seen), reverse=True
    )
    steps = set()
    for first, last in rule.seen:
        assert last - first < WINDOW
        steps |= set(range(first, last + 1))
    assert steps == set(range(900))


def test_neighbouring_windows_overlap():
    rule = Fake()
    Engine([rule]).check(run_of(900).run)
    spans = sorted(rule.seen)
    for (_, last), (first, _) in itertools.pairwise(spans):
        assert last - first >= 32


def test_ticks_go_on_where_they_stopped():
    clock = Clock()
    rules = [Fake(f"AAA00{i}", clock, cost=1.0) for i in range(3)]
    engine, run = Engine(rules, clock=clock), run_of(5).run
    for _ in range(3):
        engine.tick(run, budget_s=1.0)
    assert [len(rule.seen) for rule in rules] == [1, 1, 1]
    engine.tick(run, budget_s=1.0)
    assert [len(rule.seen) for rule in rules] == [1, 1, 1]


def test_the_latest_step_comes_before_what_was_missed():
    clock = Clock()
    rule = Fake(clock=clock, cost=1.0)
    engine, builder = Engine([rule], clock=clock), run_of(5)
    engine.tick(builder.run, 1.0)
    builder.steps(600)
    engine.tick(builder.run, 1.0)
    assert rule.seen[-1] == (605 - WINDOW, 604)
    engine.tick(builder.run, 1.0)
    assert rule.seen[-1][1] < 604
    for _ in range(5):
        engine.tick(builder.run, 1.0)
    covered = {s for first, last in rule.seen for s in range(first, last + 1)}
    assert covered == set(range(605))


def test_the_budget_is_kept_over_many_ticks():
    clock = Clock()
    rule = Fake(clock=clock, cost=1.0)
    engine, builder = Engine([rule], clock=clock), RunBuilder()
    for _ in range(100):
        builder.step()
        engine.tick(builder.run, budget_s=0.1)
    assert clock.now <= 100 * 0.1 + 1.0
    assert len(rule.seen) >= 9


def test_a_rule_that_would_not_fit_waits():
    clock = Clock()
    rules = [Fake("AAA001", clock, 0.1), Fake("AAA002", clock, 5.0)]
    engine, builder = Engine(rules, clock=clock), run_of(2)
    engine.tick(builder.run, budget_s=10.0)
    builder.step()
    engine.tick(builder.run, budget_s=1.0)
    assert [len(rule.seen) for rule in rules] == [2, 1]


def test_a_finding_is_told_once_and_again_when_it_lasted_twice_as_long():
    rule = Fake(find=lambda rule, run: [found(rule, run)])
    engine, builder = Engine([rule]), RunBuilder()
    told = []
    for step in range(64):
        builder.step()
        told += [step] * len(engine.tick(builder.run, 1.0).findings)
    assert told == [0, 1, 3, 7, 15, 31, 63]


def test_first_and_last_step_are_merged():
    rule = Fake(find=lambda rule, run: [found(rule, run)])
    finding = only(Engine([rule]).check(run_of(900).run).findings, steps=(0, 899))
    assert finding.message == "up to step 899"


def test_a_failing_rule_is_one_warning_and_the_others_go_on():
    def fail(rule, run):
        raise ZeroDivisionError("by zero")

    bad, good = Fake("AAA001", find=fail), Fake("AAA002")
    engine, builder = Engine([bad, good]), run_of(3)
    with pytest.warns(FtlabWarning, match=r"AAA001.*ZeroDivisionError: by zero"):
        engine.tick(builder.run, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        builder.step()
        engine.tick(builder.run, 1.0)
        report = engine.finish(builder.run)
    assert len(bad.seen) == 1
    assert len(good.seen) == 2
    (entry,) = report.not_checked
    assert entry.code == "AAA001"
    assert "ZeroDivisionError" in entry.reason


def test_a_rule_that_misses_something_is_not_called():
    rule = Fake()
    rule.requires = (Need("the moon", "bring it", lambda _: False),)
    report = Engine([rule]).check(run_of(3).run)
    assert rule.seen == []
    (entry,) = report.not_checked
    assert entry.reason == "the run does not contain the moon"
    assert entry.record == "bring it"


def test_what_a_rule_leaves_open_is_reported_until_it_is_decided():
    def unsure(rule, run):
        if len(run.steps) < 3:
            yield rule.cannot_tell("too short", "run longer")

    engine, builder = Engine([Fake(find=unsure)]), run_of(2)
    assert engine.tick(builder.run, 1.0).not_checked[0].reason == "too short"
    builder.step()
    assert engine.tick(builder.run, 1.0).not_checked == ()


def test_an_older_window_that_decides_nothing_takes_nothing_back():
    def unsure(rule, run):
        if run.steps.step[0] == 0:
            yield rule.cannot_tell("too early", "run longer")

    assert Engine([Fake(find=unsure)]).check(run_of(900).run).not_checked == ()


def test_facts_are_checked_before_the_first_step():
    builder = healthy_lora(steps=0)
    report = Engine().check(builder.run)
    undecided = {entry.code for entry in report.not_checked}
    assert not {"OPT001", "OPT002"} & undecided


def test_checking_twice_gives_the_same_report():
    engine, run = Engine(), healthy_lora().run
    assert engine.check(run) == engine.check(run)


def test_a_removed_rule_is_left_out():
    rule = Fake()
    rule.status = "removed"
    assert Engine([rule]).check(run_of(2).run).not_checked == ()
    assert rule.seen == []


def test_a_healthy_run_has_no_finding():
    run = record(load("lora-b-frozen").build(fixed=True), 20)
    report = Engine().check(run)
    assert report.findings == ()
    assert report.not_checked == ()
    assert report.healthy


def test_a_rule_that_does_not_apply_is_neither_called_nor_not_checked():
    class Elsewhere(Fake):
        def applies(self, run):
            return False

    rule = Elsewhere(find=lambda *_: [None])
    report = Engine([rule]).check(run_of(2).run)
    assert (report.findings, report.not_checked, rule.seen) == ((), (), [])


def test_a_rule_whose_need_is_known_to_be_absent_does_not_apply():
    rule = Fake(find=lambda *_: [None])
    rule.requires = (Need("it", "do it", lambda _: False, absent=lambda _: True),)
    report = Engine([rule]).check(run_of(2).run)
    assert (report.findings, report.not_checked, rule.seen) == ((), (), [])


def test_what_comes_after_the_last_step_is_judged_too():
    rule, builder = Fake(), run_of(3)
    engine = Engine([rule])
    engine.finish(builder.run)
    engine.finish(builder.run)
    assert len(rule.seen) == 1
    builder.run.append(LedgerEntry(2, 0, "save"))
    engine.finish(builder.run)
    assert rule.seen == [(0, 2), (0, 2)]


def test_rules_share_one_window_and_see_what_comes_later():
    windows = []

    def look(_, window):
        windows.append(window)
        return ()

    engine = Engine([Fake("GRD001", find=look), Fake("GRD002", find=look)])
    builder = RunBuilder()
    for _ in range(2):
        builder.step()
        engine.finish(builder.run)
    assert windows[0] is windows[1]
    assert windows[2] is windows[3]
    assert [len(window.steps) for window in windows[1:3]] == [1, 2]
