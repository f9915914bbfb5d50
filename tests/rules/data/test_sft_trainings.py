"""The rules about data on trainings of TRL that are as they should be."""

import contextlib
import io
import warnings
from itertools import chain

import pytest

import ftlab
from ftlab.records.finding import Severity
from ftlab.rules.reading.turns import ANSWERS, turn_sights
from tests.probes.tokens import trainings

LONG = {"max_length": 256, "max_steps": 3, "per_device_train_batch_size": 4}


def several(turns=3):
    """Conversations of several questions and answers."""
    talks = iter(each["messages"] for each in trainings.talks(12 * turns))
    return [
        {"messages": [*chain(*some)]} for some in zip(*[talks] * turns, strict=True)
    ]


def completions(rows):
    return [
        {"prompt": r["messages"][:-1], "completion": r["messages"][-1:]} for r in rows
    ]


def texts():
    return [
        {"prompt": f"### {q['content']}\n", "completion": f"{a['content']}"}
        for q, a in (each["messages"] for each in trainings.talks())
    ]


def plain():
    return [{"text": f"{row['prompt']}{row['completion']}"} for row in texts()]


ANSWERS_ALONE = {
    "completion only": (completions(several()), {"completion_only_loss": True}),
    "assistant only": (several(), {"assistant_only_loss": True}),
    "assistant only, packed": (
        several(),
        {"assistant_only_loss": True, "packing": True},
    ),
    "completion only, without padding": (
        completions(trainings.talks()),
        {"completion_only_loss": True, "padding_free": True, "max_length": None},
    ),
}
WHOLE = {
    "conversations": (several(), {}),
    "packed best fit": (several(), {"packing": True, "packing_strategy": "bfd"}),
    "packed and wrapped": (
        trainings.talks(6),
        {"packing": True, "packing_strategy": "wrapped"},
    ),
    "without padding": (several(), {"padding_free": True, "max_length": None}),
    "texts": (plain(), {}),
    "texts, packed": (plain(), {"packing": True}),
    "completions of texts": (texts(), {}),
}


def watched(rows, settings):
    trainer = trainings.sft(rows, **LONG | settings)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ftlab.watch(trainer) as watch:
            trainer.train()
    return watch


def alarms(watch):
    found = [each for each in watch.findings if each.code.startswith("DAT")]
    return [str(each) for each in found if each.severity >= Severity.WARNING]


@pytest.mark.parametrize("name", [*ANSWERS_ALONE, *WHOLE])
def test_a_training_as_it_should_be_is_quiet(name):
    assert alarms(watched(*{**ANSWERS_ALONE, **WHOLE}[name])) == []


@pytest.mark.parametrize("name", ANSWERS_ALONE)
def test_answers_are_found_where_the_labels_are(name):
    sights = turn_sights(watched(*ANSWERS_ALONE[name]).run)
    turns = [turn for sight in sights for turn in sight.sample.turns]
    said = {(turn.role, turn.part) for turn in turns if turn.trained}
    assert said == {(ANSWERS, "text"), (ANSWERS, "end")}
    spoken = [t for t in turns if t.role == ANSWERS and t.part == "text"]
    assert spoken
    if name.startswith("assistant"):
        assert all(turn.trained == turn.end - turn.start for turn in spoken)


def test_rows_that_the_template_did_not_write_have_no_turns():
    sights = turn_sights(watched(*WHOLE["texts"]).run)
    assert not [t for s in sights for t in s.sample.turns if t.role]
