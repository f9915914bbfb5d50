"""Batches of every shape, read into rows."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from transformers import BatchEncoding, DataCollatorWithFlattening

from ftlab.probes.templates.survey import survey
from ftlab.probes.tokens.rows import read_batch
from ftlab.records.errors import BadValueError
from tests.probes.tokens import vocabularies

IDS = [[1, 3, 4, 2, 0, 0], [1, 3, 3, 5, 3, 2]]
MASK = [[1, 1, 1, 1, 0, 0], [1] * 6]
LABELS = [[-100, -100, 4, 2, -100, -100], [-100, -100, -100, 5, 3, -100]]


def batch(**others):
    return {"input_ids": IDS, "attention_mask": MASK, "labels": LABELS} | others


def plain(row):
    names = ("ids", "attention", "labels", "positions", "weights", "segments")
    found = {name: getattr(row, name) for name in names}
    return {k: None if v is None else v.tolist() for k, v in found.items()}


class Known:
    bos_token_id, eos_token_id, pad_token_id = 1, 2, 0

    def convert_ids_to_tokens(self, ids):
        return [f"t{each}" for each in ids]

    def decode(self, ids):
        return "".join(f"t{each}" for each in ids)


class Shared(Known):
    pad_token_id = 2


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        torch.tensor,
        lambda value: torch.tensor(value).int(),
        lambda value: torch.tensor(value).to_sparse(),
        lambda value: [np.asarray(row) for row in value],
        lambda value: [torch.tensor(row) for row in value],
        lambda value: tuple(tuple(row) for row in value),
    ],
)
def test_tensors_arrays_and_lists_give_the_same(convert):
    expected = [plain(row) for row in read_batch(batch()).rows]
    made = BatchEncoding({name: convert(value) for name, value in batch().items()})
    assert [plain(row) for row in read_batch(made).rows] == expected
    assert expected[0]["weights"] == [0, 0, 1, 1, 0, 0]
    assert expected[0]["segments"] == [0, 0, 0, 0, -1, -1]
    assert {row.ids.dtype for row in read_batch(made).rows} == {np.dtype("int64")}


@given(st.lists(st.lists(st.integers(0, 99), max_size=9), max_size=5))
@settings(max_examples=60, deadline=None)
def test_ragged_rows_are_read_as_they_are(rows):
    given_rows = {"input_ids": rows, "labels": rows, "attention_mask": rows}
    made = read_batch(given_rows)
    assert [row.ids.tolist() for row in made.rows] == rows
    assert [row.labels.tolist() for row in made.rows] == rows


@given(st.lists(st.integers(1, 7), min_size=1, max_size=6), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_packed_documents_are_numbered_however_they_are_told(lengths, padding):
    total = sum(lengths)
    numbers = np.repeat(np.arange(len(lengths)), lengths).tolist()
    expected = [*numbers, *[-1] * padding]
    ids = [[7] * (total + padding)]
    places = [at for length in lengths for at in range(length)] + [0] * padding
    mask = {"attention_mask": [[1] * total + [0] * padding]}
    starts = np.cumsum([0, *lengths])
    ways = [
        {"position_ids": [places]},
        {"seq_idx": [[*numbers, *[numbers[-1]] * padding]]},
        {"cu_seq_lens_q": torch.tensor(starts, dtype=torch.int32)},
        {"attention_mask": [[each + 1 for each in numbers] + [0] * padding]},
    ]
    for way in ways:
        row = read_batch({"input_ids": ids} | mask | way).rows[0]
        assert row.segments.tolist() == expected, way


def test_padding_free_rows_of_transformers_are_told_apart():
    rows = [
        {"input_ids": [1, 5, 2], "labels": [1, 5, 2]},
        {"input_ids": [1, 2], "labels": [1, 2]},
    ]
    for kwargs in ({}, {"return_seq_idx": True, "return_flash_attn_kwargs": True}):
        made = DataCollatorWithFlattening(**kwargs)(rows)
        row = read_batch(made).rows[0]
        assert row.segments.tolist() == [0, 0, 0, 1, 1]
        assert row.positions.tolist() == [0, 1, 2, 0, 1]
        assert row.labels[[0, 3]].tolist() == [-100, -100]


def test_one_row_of_positions_stands_for_all_but_labels_of_a_class_do_not():
    made = read_batch(batch(position_ids=[[0, 1, 2, 3, 4, 5]]))
    assert [row.positions.tolist() for row in made.rows] == [[0, 1, 2, 3, 4, 5]] * 2
    square = {"input_ids": [[1, 2], [3, 4]], "labels": torch.tensor([1, 0])}
    made = read_batch(square)
    assert [row.labels for row in made.rows] == [None, None]
    assert "labels of shape (2,) does not go by token" in made.remarks
    assert not made.rows[0].trained.any()


def test_what_does_not_go_by_token_is_remarked():
    made = read_batch(batch(attention_mask=np.ones((2, 1, 6, 6))))
    said = "attention_mask of shape (2, 1, 6, 6) does not go by token"
    assert made.remarks == (said,)
    assert made.rows[0].attention is None
    assert read_batch({"input_ids": IDS}).remarks == (
        "attention_mask not in the batch",
    )
    several = read_batch(batch(labels=torch.zeros(2, 3)))
    assert "labels of shape (2, 3) does not go by token" in several.remarks


def test_masks_of_other_kinds_are_read():
    for kind in (bool, float, np.uint8):
        made = read_batch(batch(attention_mask=np.asarray(MASK, kind)))
        assert [row.attention.tolist() for row in made.rows] == MASK
    made = read_batch(batch(attention_mask=torch.tensor(MASK, dtype=torch.bfloat16)))
    assert [row.attention.tolist() for row in made.rows] == MASK


def test_padding_is_found_without_a_mask():
    ids = {"input_ids": [[0, 0, 1, 3, 2]]}
    assert read_batch(ids, Known()).rows[0].segments.tolist() == [-1, -1, 0, 0, 0]
    ends = {"input_ids": [[1, 3, 2, 2, 2]]}
    assert read_batch(ends, Shared()).rows[0].segments.tolist() == [0] * 5
    ends["labels"] = [[1, 3, 2, -100, -100]]
    assert read_batch(ends, Shared()).rows[0].segments.tolist() == [0, 0, 0, -1, -1]


def test_kinds_of_answers_give_rows_of_their_own():
    made = read_batch(
        {
            "prompt_input_ids": [[1, 3]],
            "chosen_input_ids": [[1, 3, 4], [1, 3, 2]],
            "chosen_labels": [[-100, -100, 4], [-100, 3, 2]],
            "rejected_ids": [[9]],
            "rejected_attention_mask": [[1]],
        }
    )
    assert [row.source for row in made.rows] == [
        "prompt 0",
        "chosen 0",
        "chosen 1",
        "rejected 0",
    ]
    assert made.rows[2].labels.tolist() == [-100, 3, 2]
    assert made.rows[3].attention.tolist() == [1]


def test_columns_that_say_what_is_trained_are_made_labels():
    columns = {"input_ids": [[4, 5, 6]], "completion_mask": [[0, 1, 1]]}
    made = read_batch(columns | {"assistant_masks": [[0, 0, 1]]})
    assert made.rows[0].labels.tolist() == [-100, -100, 6]
    said = "labels are made of completion_mask and assistant_masks"
    assert said in made.remarks


def test_weights_of_the_loss_are_read():
    made = read_batch(batch(loss_weights=torch.full((2, 6), 0.5)))
    assert made.rows[0].weights.tolist() == [0, 0, 0.5, 0.5, 0, 0]
    made = read_batch(batch(sample_weights=torch.tensor([2.0, 3.0])))
    assert [row.weights.max() for row in made.rows] == [2.0, 3.0]


def test_answers_of_a_decoder_stand_in_rows_of_their_own():
    both = {
        "input_ids": [[5, 6, 7]],
        "attention_mask": [[1, 1, 1]],
        "labels": [[8, 9, 2, -100]],
    }
    for others in ({}, {"decoder_input_ids": [[0, 8, 9, 2]]}):
        made = read_batch(both | others, Known())
        assert [row.source for row in made.rows] == ["sample 0", "target 0"]
        assert made.rows[0].labels is None
        assert made.rows[1].ids.tolist() == [8, 9, 2, 0]
        assert made.rows[1].trained.tolist() == [True, True, True, False]
        assert any("decoder" in each for each in made.remarks)


def test_a_batch_within_a_batch_is_found():
    made = read_batch({"inputs": {"input_ids": IDS}, "labels": LABELS})
    assert made.rows[1].labels.tolist() == LABELS[1]


@pytest.mark.parametrize("vocabulary", [vocabularies.byte_level, vocabularies.slow])
def test_ids_and_labels_outside_of_the_vocabulary_do_not_stop_it(vocabulary):
    odd = {"input_ids": [[5, 99_999, -7]], "labels": [[5, 88_888, -1]]}
    made = read_batch(odd, vocabulary())
    assert made.rows[0].ids.tolist() == [5, 99_999, -7]
    assert {99_999, -7, 88_888, -1} <= set(made.pieces)
    assert made.pieces[88_888].piece == "?"


def test_a_mark_of_labels_among_the_ids_is_no_token():
    tokenizer = vocabularies.byte_level()
    given = {"input_ids": [[5, -100, 6]]}
    made = read_batch(given, tokenizer, facts=survey(tokenizer))
    assert made.pieces[-100].piece == "?"


def test_a_tensor_without_values_is_refused():
    ids = torch.zeros(1, 3, dtype=torch.long, device="meta")
    with pytest.raises(BadValueError, match="device meta"):
        read_batch({"input_ids": ids})


def test_nothing_of_the_batch_is_changed_or_shared():
    given_batch = {name: torch.tensor(value) for name, value in batch().items()}
    versions = {name: value._version for name, value in given_batch.items()}
    made = read_batch(given_batch)
    assert {n: v._version for n, v in given_batch.items()} == versions
    assert len(made.rows) == 2


def test_labels_that_lost_a_column_are_no_answers_of_a_decoder():
    ids = np.array([[5, 6, 7, 8], [9, 10, 11, 12]])
    for labels in (ids[:, :3], ids[:, 1:], np.where(ids > 9, ids, -100)[:, 1:]):
        made = read_batch({"input_ids": ids, "labels": labels})
        assert len(made.rows) == 2
        assert any("does not go by token" in each for each in made.remarks)
    answers = read_batch({"input_ids": ids, "labels": ids[:, ::2] + 20})
    assert len(answers.rows) == 4


def test_what_is_no_batch_is_refused_with_the_call_that_works():
    with pytest.raises(BadValueError, match=r"it holds pixel_values"):
        read_batch({"pixel_values": [[1]]})
    with pytest.raises(BadValueError, match=r"input_ids is str; it must hold token"):
        read_batch({"input_ids": "text"})
    with pytest.raises(BadValueError, match=r"shape \(1, 2, 3\); it must hold"):
        read_batch({"input_ids": np.zeros((1, 2, 3))})
    with pytest.raises(BadValueError, match="must hold token ids"):
        read_batch({"input_ids": [[0.5]]})
    assert read_batch({"input_ids": []}).rows == ()
