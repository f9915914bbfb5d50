"""What a batch tells of its documents, and where it does not."""

import numpy as np
import torch

from ftlab.probes.attention.documents import (
    Marks,
    documents_of,
    keeping_apart,
    marks_of,
)

MARKS = Marks(frozenset({1}), frozenset({2}), frozenset({0}))
SHARED = Marks(frozenset({1}), frozenset({2}), frozenset({2}))


def told(ids, marks=MARKS, **batch):
    batch = {name: torch.tensor([values]) for name, values in batch.items()}
    return documents_of({"input_ids": torch.tensor([ids]), **batch}, marks)[0]


def test_position_ids_that_begin_again():
    found = told([5, 6, 7, 8], position_ids=[0, 1, 0, 1])
    assert (found.numbers.tolist(), found.told_by) == ([0, 0, 1, 1], "position ids")
    assert found.starts == [0, 2]
    assert found.sure


def test_positions_of_left_padding_are_no_documents():
    found = told(
        [0, 0, 5, 6, 7], position_ids=[1, 1, 0, 1, 2], attention_mask=[0, 0, 1, 1, 1]
    )
    assert found.numbers.tolist() == [-1, -1, 0, 0, 0]
    assert found.told_by == ""


def test_cumulated_lengths_and_numbers():
    for name in ("cu_seq_lens_q", "cu_seqlens"):
        found = told([5, 6, 7, 8, 9], **{name: [0, 2, 5]})
        assert (found.numbers.tolist(), found.told_by) == (
            [0, 0, 1, 1, 1],
            "cu_seq_lens",
        )
    found = told([5, 6, 7, 8], seq_idx=[4, 4, 4, 9])
    assert (found.numbers.tolist(), found.told_by) == ([0, 0, 0, 1], "seq_idx")


def test_cumulated_lengths_go_over_rows_laid_end_to_end():
    batch = {
        "input_ids": torch.full((2, 3), 5),
        "cu_seqlens": torch.tensor([0, 2, 3, 6]),
    }
    first, second = documents_of(batch, MARKS)
    assert first.numbers.tolist() == [0, 0, 1]
    assert second.numbers.tolist() == [0, 0, 0]


def test_a_bos_in_the_middle_begins_a_document():
    found = told([1, 5, 6, 2, 1, 7])
    assert (found.numbers.tolist(), found.told_by) == ([0, 0, 0, 0, 1, 1], "BOS")
    assert found.sure


def test_a_bos_that_a_template_repeats_may_begin_a_turn():
    class Tokenizer:
        bos_token, bos_token_id, eos_token_id, pad_token_id = "<s>", 1, 2, 0
        chat_template = "{% for m in messages %}{{ bos_token + m.content }}{% endfor %}"

    marks = marks_of(Tokenizer())
    assert marks.repeated
    assert not told([1, 5, 2, 1, 7], marks).sure
    Tokenizer.chat_template = (
        "{{ bos_token }}{% for m in messages %}{{ m }}{% endfor %}"
    )
    assert not marks_of(Tokenizer()).repeated


def test_a_bos_with_no_text_before_or_behind_it_begins_no_document():
    for row in ([1, 1, 5, 6, 2], [1, 5, 6, 1], [1, 5, 6, 2, 1, 2], [1, 2, 1, 5]):
        assert told(row).numbers.tolist() == [0] * len(row)
    assert told([1, 5, 2, 1, 1, 6]).numbers.tolist() == [0, 0, 0, 1, 1, 1]


def test_an_eos_that_a_template_writes_after_turns_ends_no_document():
    turned = Marks(frozenset({1}), frozenset({2}), frozenset({0}), turned=True)
    assert told([5, 6, 2, 7, 8, 2]).starts == [0, 3]
    assert told([5, 6, 2, 7, 8, 2], turned).starts == [0]


def test_an_eos_in_the_middle_says_may_be():
    found = told([5, 2, 6, 7, 2])
    assert (found.count, found.told_by, found.sure) == (2, "EOS", False)


def test_one_document_is_sure():
    assert told([5, 6, 2]).sure
    assert told([1, 5, 6, 2, 0, 0]).numbers.tolist() == [0, 0, 0, 0, -1, -1]


def test_pads_at_the_ends_without_a_mask():
    assert told([0, 0, 5, 6]).numbers.tolist() == [-1, -1, 0, 0]
    assert told([5, 0, 6]).numbers.tolist() == [0, 0, 0]


def test_a_pad_that_ends_texts_keeps_one():
    assert told([5, 6, 2, 2, 2], SHARED).numbers.tolist() == [0, 0, 0, -1, -1]
    same = Marks(frozenset({2}), frozenset({2}), frozenset({2}))
    assert told([2, 2, 2, 5], same).numbers.tolist() == [-1, -1, 0, 0]


def test_where_they_share_an_id_the_mask_says_which_is_padding():
    found = told([5, 6, 2, 2, 2], SHARED, attention_mask=[1, 1, 1, 0, 0])
    assert found.numbers.tolist() == [0, 0, 0, -1, -1]


def test_an_eos_in_front_of_a_text_is_padding_where_they_share_an_id():
    found = told([2, 2, 1, 5, 6], SHARED)
    assert found.numbers.tolist() == [-1, -1, 0, 0, 0]
    assert found.told_by == ""


def test_what_is_trained_is_no_padding():
    assert told([5, 0, 0], labels=[5, 0, 0]).numbers.tolist() == [0, 0, 0]
    assert told([5, 0, 0], labels=[5, 0, -100]).numbers.tolist() == [0, 0, -1]


def test_a_mask_of_ones_over_a_dedicated_pad_is_not_believed():
    ids, ones = [0, 0, 5, 6], [1, 1, 1, 1]
    assert told(ids, attention_mask=ones).numbers.tolist() == [-1, -1, 0, 0]
    assert (told([2, 2, 5, 6], SHARED, attention_mask=ones).numbers >= 0).all()


def test_lists_and_arrays_are_read_as_well():
    batch = {"input_ids": [[5, 6, 7]], "position_ids": np.array([[0, 0, 1]])}
    assert documents_of(batch, MARKS)[0].numbers.tolist() == [0, 1, 1]


def test_arguments_that_may_keep_documents_apart_are_named():
    ids = torch.ones(2, 6, dtype=torch.long)
    usual = {"input_ids": ids, "labels": ids, "attention_mask": ids, "use_cache": False}
    assert keeping_apart({**usual, "position_ids": ids, "weights": ids[0]}) == []
    blocks = torch.ones(2, 1, 6, 6)
    assert keeping_apart({**usual, "attention_mask": blocks}) == ["attention_mask"]
    assert keeping_apart({**usual, "attention_mask": {"full": blocks}}) != []
    starts = torch.tensor([0, 3, 6])
    assert keeping_apart({**usual, "cu_seq_lens_q": starts}) == ["cu_seq_lens_q"]
    assert keeping_apart({**usual, "seq_idx": ids}) == ["seq_idx"]
    assert keeping_apart({"input_ids": None, "labels": [[1]]}) == []
