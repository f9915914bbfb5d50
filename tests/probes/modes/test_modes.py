"""The mode of a model's parts, step by step."""

import weakref

from ftlab.faults.model.modes import reference_is_the_base, teacher_shares_the_base
from ftlab.faults.model.modes.eval_mode_left_on import EVALUATED, build
from ftlab.probes.modes.modes import Modes
from ftlab.probes.recorder import Recorder
from ftlab.probes.subject import Subject
from ftlab.records.names import NameRecord
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


def put_back(module):
    """Give by step the dropouts that were off although training mode was asked for."""
    case = module.build(fixed=False)
    records = record(case, 3)
    steps = [each.values for each in records if isinstance(each, StepRecord)]
    names = [e for e in records if isinstance(e, NameRecord)]
    rows = [each.meta for each in names if each.table == "modes"]
    return [each.get("dropouts_put_back", 0) for each in steps], rows[-1]


def test_what_was_asked_for_and_undone_is_counted():
    counts, meta = put_back(teacher_shares_the_base)
    assert counts == [4, 4, 4]
    assert (meta["adapter_off"], meta["adapter_on"]) == (4, 0)


def test_what_was_not_asked_for_is_not_put_back():
    counts, meta = put_back(reference_is_the_base)
    assert counts == [0, 0, 0]
    assert meta["carrier_on"] == "PeftModelForCausalLM"
