"""What a batch holds is told, also where the forward raises."""

import contextlib

import pytest
import torch

from ftlab.faults.builders.tiny import adamw, batches, llama
from ftlab.faults.builders.trainers import words
from ftlab.faults.builders.zoo import LABELS, classes, pictures, roberta, t5, vit
from ftlab.probes.tokens.batch_checks import EVENTS, BatchChecks
from ftlab.records.batch_facts import SeenBatches
from ftlab.records.event import Event
from tests.probes.recording import Recording


def seen(model, made, *, micro_batches=1, **settings):
    """What was told of these batches; a forward that raises ends the loop."""
    optimizer = adamw(model)
    recording = Recording(model, optimizer, probes=[BatchChecks()], **settings)
    with recording, contextlib.suppress(IndexError, RuntimeError, ValueError):
        for number, batch in enumerate(made, 1):
            model(**batch).loss.backward()
            if number % micro_batches == 0:
                optimizer.step()
                optimizer.zero_grad()
    events = [each for each in recording.records if isinstance(each, Event)]
    return [SeenBatches.from_json(each.detail) for each in events], recording


def odd(model, made, **settings):
    told, _ = seen(model, made, **settings)
    return [each for step in told for each in step.oddities]


def test_one_event_tells_that_batches_are_looked_at():
    told, recording = seen(llama(), batches(4))
    assert told == [SeenBatches(0)]
    assert len(recording.steps) == 4


def test_an_id_that_ends_the_run_is_told_with_its_token():
    made = batches(3)
    made[2]["input_ids"][1, 3] = 128
    tokenizer = words()
    tokenizer.add_tokens(["<new>"])
    told, recording = seen(llama(), made, tokenizer=tokenizer)
    (each,) = told[-1].oddities
    assert told[-1].step == 2
    assert told[-1].unfinished
    assert (each.row, each.position, each.value, each.limit) == (1, 3, 128, 128)
    assert each.piece == "<new>"
    assert len(recording.steps) == 2


def test_the_micro_batch_is_counted_from_the_step():
    made = batches(4)
    made[3]["labels"][2, 5] = 400
    (each,) = odd(llama(), made, micro_batches=2)
    assert (each.kind, each.micro_batch) == ("labels", 1)
    assert (each.row, each.position) == (2, 5)


def test_what_was_told_early_is_not_told_again():
    model, (batch,) = llama(), batches(1)
    batch["labels"][:] = -100
    optimizer = adamw(model)
    with Recording(model, optimizer, probes=[BatchChecks()]) as recording:
        model(**batch).loss.backward()
        recording.recorder.catch_up()
        optimizer.step()
    told = [each for each in recording.records if isinstance(each, Event)]
    assert [len(each.detail["oddities"]) for each in told] == [1, 0]


def test_labels_of_classes_are_held_against_their_number():
    made = classes(batches(2))
    made[1]["labels"][3] = LABELS
    (each,) = odd(roberta(), made)
    assert (each.kind, each.row, each.limit) == ("labels", 3, LABELS)


@pytest.mark.parametrize("kind", ["regression", "several", "per token"])
def test_labels_of_other_kinds_are_right(kind):
    made = batches(2)
    if kind == "regression":
        model = roberta(num_labels=1)
        labels = torch.full((4,), 40.0)
    elif kind == "several":
        model = roberta(problem_type="multi_label_classification")
        labels = torch.ones(4, LABELS)
    else:
        model = roberta(kind="TokenClassification")
        labels = torch.zeros(4, 16, dtype=torch.int64)
        labels[:, 8:] = -100
    assert odd(model, [each | {"labels": labels} for each in made]) == []


def test_an_encoder_and_a_decoder_may_read_different_lengths():
    made = [each | {"labels": each["labels"][:, :9]} for each in batches(2)]
    assert odd(t5(), made) == []


def test_numbers_that_are_none_are_told_with_their_row():
    made = pictures(3)
    made[1]["pixel_values"][2, 0, 3, 3] = torch.inf
    told = odd(vit(), made)
    assert [(e.kind, e.row, e.value) for e in told] == [("non-finite", 2, "infinite")]


def test_a_vector_of_a_token_is_told_with_its_position():
    model = llama()
    vectors = model.get_input_embeddings()(batches(1)[0]["input_ids"]).detach()
    vectors[1, 7, 5] = torch.nan
    batch = {"inputs_embeds": vectors, "labels": batches(1)[0]["labels"]}
    (each,) = odd(model, [batch])
    assert (each.field, each.row, each.position) == ("inputs_embeds", 1, 7)


def test_a_mask_of_floats_may_be_infinite():
    (batch,) = batches(1)
    batch["attention_mask"] = torch.zeros(4, 1, 16, 16).masked_fill(
        torch.ones(16, 16).triu(1).bool(), -torch.inf
    )
    assert odd(llama(), [batch]) == []


def test_inputs_are_constant_only_where_all_of_the_first_are():
    dark = [each | {"pixel_values": each["pixel_values"] * 0} for each in pictures(4)]
    told = odd(vit(), dark)
    assert [(e.kind, e.field, e.value) for e in told] == [
        ("constant", "pixel_values", 0.0)
    ]
    assert odd(vit(), [*dark[:3], *pictures(1), dark[3]]) == []


def test_an_empty_picture_or_state_beside_words_is_right():
    class Both(Anything):
        config = llama().config

    (row,) = batches(1)
    for field in ("pixel_values", "state"):
        made = [{"input_ids": row["input_ids"], field: torch.zeros(4, 3, 2)}] * 5
        assert told_of(Both(), made) == []
    assert (
        told_of(Anything(), [{"ids": row["labels"], "h": torch.zeros(4, 3)}] * 5) == []
    )
    alone = told_of(Anything(), [{"h": torch.zeros(4, 3)}] * 5)
    assert [(each.kind, each.field) for each in alone] == [("constant", "h")]
    assert told_of(Anything(), [{"h": torch.zeros(4)}] * 5) == []


def told_of(model, made):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[BatchChecks()]) as recording:
        for batch in made:
            model(**batch).backward()
            optimizer.step()
    events = [each for each in recording.records if isinstance(each, Event)]
    return [o for e in events for o in SeenBatches.from_json(e.detail).oddities]


def test_a_range_of_files_is_told_of_inputs_that_are_known():
    made = [each | {"pixel_values": each["pixel_values"] * 1e5} for each in pictures(1)]
    (each,) = odd(vit(), made)
    assert each.kind == "off-scale"
    assert each.value > each.limit == 1e4


@pytest.mark.parametrize(
    ("field", "change", "kind"),
    [
        ("input_ids", lambda ids: ids.float(), "dtype"),
        ("labels", lambda labels: labels.int(), "dtype"),
        ("labels", lambda labels: labels[:, 1:], "shape"),
        ("labels", lambda labels: labels[:3], "shape"),
        ("attention_mask", lambda mask: mask[:3], "shape"),
        ("input_ids", lambda ids: ids[0], "shape"),
        ("input_ids", lambda ids: ids[:, None], "shape"),
    ],
)
def test_what_a_model_cannot_take_is_told_by_dtype_and_shape(field, change, kind):
    (batch,) = batches(1)
    batch.setdefault("attention_mask", torch.ones(4, 16, dtype=torch.int64))
    told = odd(llama(), [batch | {field: change(batch[field])}])
    assert (told[0].kind, told[0].field) == (kind, field)


def test_a_long_run_of_odd_batches_fills_no_log():
    made = batches(1) * (EVENTS + 6)
    for batch in made:
        batch["labels"] = torch.full_like(batch["labels"], -100)
    told, recording = seen(llama(), made)
    assert len(told) == EVENTS + 1  # and the last step, when watching ends
    assert len(recording.steps) == EVENTS + 6


class Anything(torch.nn.Module):
    """Takes whatever it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, **inputs):
        return self.weight.sum()


@pytest.mark.parametrize(
    "batch",
    [
        {},
        {"input_ids": None, "labels": None},
        {"input_ids": torch.zeros(0, 4, dtype=torch.int64)},
        {"input_ids": torch.zeros(3, 0, dtype=torch.int64)},
        {"input_ids": torch.tensor(3), "labels": torch.tensor(0.5)},
        {"input_ids": torch.ones(4, dtype=torch.bool)},
        {"input_ids": torch.ones(2, 3, 4, dtype=torch.uint8)},
        {"input_ids": [[1, 2]], "labels": "text"},
        {"x": {"input_ids": torch.ones(2, 3), "y": {"labels": torch.ones(2)}}},
        {"labels": torch.ones(2, 3, dtype=torch.complex64)},
        {"input_ids": torch.eye(3).to_sparse()},
        {"x": torch.ones(2, 3, dtype=torch.float8_e4m3fn)},
        {"x": torch.ones(2, 3, requires_grad=True)},
        {"x": torch.ones(3000, 2, dtype=torch.bfloat16)},
        {"input_ids": torch.full((1, 4), 2**62)},
        {"input_ids": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])},
    ],
)
def test_odd_input_never_raises_into_the_training(batch, recwarn):
    model = Anything()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with Recording(model, optimizer, probes=[BatchChecks()]) as recording:
        for _ in range(2):
            model(**batch).backward()
            optimizer.step()
    assert len(recording.steps) == 2
    assert [str(each.message) for each in recwarn if "ftlab" in str(each.message)] == []
    assert not any("was detached" in str(each.message) for each in recwarn)


def test_the_batch_is_left_as_it_is():
    (batch,) = batches(1)
    before = {name: value.clone() for name, value in batch.items()}
    seen(llama(), [batch])
    assert all(torch.equal(batch[name], before[name]) for name in before)
