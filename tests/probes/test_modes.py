"""The mode of a model's parts, step by step."""

import weakref

from ftlab.faults.model.eval_mode_left_on import EVALUATED, build
from ftlab.probes.modes import Modes
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.step import Block, StepRecord


def record(case, steps):
    records = []
    subject = Subject(case.model, [case.optimizer])
    with Recorder(subject, [Modes(interval=100)], records.append):
        case.run(steps)
    return records


def test_a_change_is_seen_at_once_also_between_due_steps():
    records = record(build(fixed=False), 6)
    off = [each.values["modes_off"] for each in records if isinstance(each, StepRecord)]
    assert [count > 0 for count in off] == [False] * EVALUATED + [True] * 3
    (block,) = (each for each in records if isinstance(each, Block))
    assert block.step == EVALUATED
    assert block.values["dropouts_off"].tolist() == [max(off)]


def test_nothing_is_named_while_all_is_in_training_mode():
    records = record(build(fixed=True), 6)
    assert not any(isinstance(each, Block) for each in records)


def test_the_model_is_not_kept_alive():
    case = build(fixed=True)
    probe = Modes()
    with Recorder(Subject(case.model, [case.optimizer]), [probe], lambda _: None):
        case.run(1)
    parts = [part.reference for part in probe._parts]
    assert parts
    assert all(isinstance(each, weakref.ref) for each in parts)


def test_dropouts_are_counted_by_themselves():
    case = build(fixed=False)
    records = record(case, EVALUATED + 1)
    on = [
        each.values["dropouts_on"] for each in records if isinstance(each, StepRecord)
    ]
    many = sum("lora_dropout.default" in name for name, _ in case.model.named_modules())
    assert on == [many] * EVALUATED + [0]
