"""Which rows of the batches are equal to those they are compared with."""

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, llama
from ftlab.probes.tokens.pair_rows import PairRows
from ftlab.records.event import Event
from ftlab.records.pair_facts import SeenPairs
from tests.probes.recording import Recording


def seen(steps, **settings):
    """Train on steps of forwards; return what was told, by form."""
    model = llama()
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[PairRows(**settings)]) as recording:
        for forwards in steps:
            for batch in forwards:
                model(**batch).logits.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    events = [each for each in recording.records if isinstance(each, Event)]
    return [
        (
            event.step,
            {s.form: s for s in map(SeenPairs.from_json, event.detail["forms"])},
        )
        for event in events
    ]


def ids(*rows):
    return {"input_ids": torch.tensor(rows)}


ONE, TWO, LIKE = [5, 6, 7, 8], [9, 10, 11, 12], [5, 6, 7, 9]


def test_halves_are_compared():
    ((step, found),) = seen([[ids(ONE, TWO, ONE, [9, 10, 11, 13])]])
    halves = found["halves"]
    assert step == 0
    assert (halves.pairs, halves.equal, halves.alike, halves.longest) == (2, 1, 1, 4)
    (pair,) = halves.some
    assert (pair.row, pair.other, pair.length, pair.last) == (0, 2, 4, 8)


def test_neighbours_are_compared():
    ((_, found),) = seen([[ids(ONE, ONE, TWO, TWO)]])
    assert list(found) == ["neighbours"]
    assert [(p.row, p.other) for p in found["neighbours"].some] == [(0, 1), (2, 3)]


def test_forwards_in_turn_are_compared_whatever_their_widths():
    padded = {
        "input_ids": torch.tensor([[5, 6, 7, 8, 0], [9, 10, 11, 12, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0]] * 2),
    }
    left = {name: values.roll(1, 1) for name, values in padded.items()}
    for second in (padded, left):
        ((_, found),) = seen([[ids(ONE, TWO), second]])
        places = [(p.micro_batch, p.other_micro_batch) for p in found["forwards"].some]
        assert places == [(0, 1), (0, 1)]


def test_one_token_is_a_difference():
    assert seen([[ids(ONE, LIKE)], [ids(ONE, TWO)]]) == []


def test_padding_hides_nothing_of_a_text():
    batch = ids(ONE, [5, 6, 7, 0])
    batch["attention_mask"] = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    assert seen([[batch]]) == []


def test_counts_are_those_of_the_run_so_far():
    told = seen([[ids(ONE, TWO)], [ids(ONE, ONE)], [ids(TWO, TWO)]])
    assert [step for step, _ in told] == [1, 2]
    last = told[-1][1]["halves"]
    assert (last.pairs, last.equal, last.whole_steps) == (3, 2, 2)


def test_batches_that_are_written_to_afterwards_are_told_as_they_were():
    model = llama()
    optimizer = adamw(model)
    first, second = ids(ONE), ids(ONE)
    with Recording(model, optimizer, probes=[PairRows()]) as recording:
        model(**first).logits.sum().backward()
        first["input_ids"].zero_()
        model(**second).logits.sum().backward()
        optimizer.step()
    assert [each for each in recording.records if isinstance(each, Event)]


@pytest.mark.parametrize(
    "inputs",
    [
        {"inputs_embeds": torch.zeros(2, 3, 64)},
        {"input_ids": torch.zeros(2, 3, dtype=torch.int32)},
        {"input_ids": torch.zeros(0, 3, dtype=torch.int64)},
        {"input_ids": torch.zeros(3, dtype=torch.int64)},
        {"input_ids": torch.zeros(2, 2), "attention_mask": torch.ones(2, 2)},
        {
            "input_ids": torch.ones(2, 3, dtype=torch.int64),
            "attention_mask": torch.zeros(2, 1, 3, 3, dtype=torch.bool),
        },
        {"input_ids": None},
    ],
)
def test_odd_batches_are_passed_over(inputs):
    probe = PairRows()

    class Moment:
        step = 0

    assert probe.on_batch(Moment, inputs) == ()
    for reading in probe.on_gradients(Moment):
        list(reading.finish(reading.values.numpy()))
