"""Running a case while the rules are asked."""

import pytest

from ftlab.faults.builders.loops import plain_step
from ftlab.faults.builders.tiny import adamw, batches, lora
from ftlab.faults.fault import Case
from ftlab.faults.registry import load
from ftlab.faults.variation import Variation
from ftlab.records.finding import Finding, Place, Severity
from ftlab.rules.rule import Rule
from ftlab.session.scoring.grade import grade
from ftlab.session.scoring.record import watch_case


class Loud(Rule):
    """Speaks once, at the step that it was told."""

    code = "AAA001"
    name = "loud"

    def __init__(self, at):
        self.at = at

    def check(self, run):
        if run.last_step == self.at:
            yield Finding(
                self.code,
                self.name,
                Severity.WARNING,
                "m",
                "c",
                "f",
                (Place("call", "step"),),
                0,
                0,
            )


def healthy_case(**fields):
    model = lora()
    optimizer = adamw(model)
    step = fields.pop("step", plain_step(model, optimizer))
    return Case(model, optimizer, batches(), step, **fields)


@pytest.mark.parametrize("at", [-1, 0, 3])
def test_what_is_said_in_the_middle_of_a_run_stays_said(at):
    watched = watch_case(healthy_case(), 5, rules=[Loud(at)])
    assert watched.found_at == {"AAA001": at}
    assert [each.code for each in watched.report.findings] == ["AAA001"]


@pytest.mark.parametrize(("at", "asked"), [(0, True), (1, True), (3, False), (4, True)])
def test_the_rules_are_asked_after_each_of_as_many_steps_and_at_the_end(at, asked):
    watched = watch_case(healthy_case(), 5, rules=[Loud(at)], each_step=2)
    assert ("AAA001" in watched.found_at) is asked


def test_what_the_user_does_afterwards_is_watched():
    seen = []
    case = healthy_case(afterwards=lambda: seen.append(len(case.losses)))
    watched = watch_case(case, 3, rules=[])
    assert seen == [3]
    assert len(watched.run.steps) == 3


def test_what_a_case_raises_ends_it_and_is_kept():
    model = lora()
    optimizer = adamw(model)
    inner = plain_step(model, optimizer)

    def step(batch):
        if len(case.losses) == 2:
            raise ValueError("enough")
        return inner(batch)

    case = Case(model, optimizer, batches(), step)
    watched = watch_case(case, 5, rules=[])
    assert str(watched.error) == "enough"
    assert len(watched.run.steps) == 2


def test_a_trainer_is_watched_as_ftlab_watches_it(tmp_path):
    from transformers import Trainer, TrainingArguments

    from tests.models import Rows

    options = TrainingArguments(
        str(tmp_path),
        max_steps=4,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
    )
    model = lora()
    trainer = Trainer(model, options, train_dataset=Rows())
    watched = watch_case(Case(model, trainer=trainer), 1, rules=[Loud(2)])
    assert watched.error is None
    assert len(watched.run.steps) == 4
    assert watched.run.facts.training["trainer_class"] == "Trainer"
    assert watched.found_at == {"AAA001": 2}
    assert "train" not in vars(trainer)


def test_a_grade_tells_rules_of_ones_own_from_the_expected_one():
    fault = load("optimizer-stale-params")
    graded = grade(fault, rules=[Loud(1)], variation=Variation(seed=3))
    assert (graded.found, graded.right_cause, graded.steps) == (False, False, None)
    assert (graded.seed, graded.wrong, graded.twin) == (3, ("AAA001",), ("AAA001",))
    assert graded.place == "call step"
