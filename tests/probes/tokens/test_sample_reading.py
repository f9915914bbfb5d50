"""Facts of the samples in a row."""

import numpy as np
import pytest

from ftlab.probes.tokens.sample_reading import (
    BORDER,
    DOCUMENTS,
    LIMIT,
    Columns,
    samples_in,
)
from ftlab.records.sample_facts import NOTHING, TEXT, Control, Stretch

SPECIAL = {
    "bos": frozenset({1}),
    "eos": frozenset({2}),
    "stop": frozenset({2}),
    "pad": frozenset({0}),
    "control": frozenset({0, 1, 2, 3}),
}
PAD_IS_EOS = SPECIAL | {"pad": frozenset({2})}


def read(ids, labels=None, attention=None, positions=None, special=SPECIAL):
    rows = (ids, labels, attention, positions)
    columns = Columns(*(None if row is None else np.array(row) for row in rows))
    return list(samples_in(columns, special, 0, 0))


def test_padding_of_the_mask_is_left_out_and_what_is_trained_is_told():
    (sample,) = read(
        [0, 1, 5, 6, 2, 0], [-100, -100, -100, 6, -100, -100], [0, 1, 1, 1, 1, 0]
    )
    assert (sample.start, sample.end, sample.exact, sample.width) == (1, 5, True, 6)
    assert sample.stretches == (Stretch(3, 4, 2),)
    assert sample.controls == (Control(1, 1, False), Control(4, 2, False))
    assert (sample.trained, sample.padding_trained) == (1, 0)
    assert (sample.head, sample.tail) == ((1, 5, 6, 2), (1, 5, 6, 2))
    assert (sample.same, sample.ahead) == (1.0, 0.0)


def test_labels_of_padding_are_counted():
    (sample,) = read([5, 6, 0, 0], [5, 6, 0, -100], [1, 1, 0, 0])
    assert sample.padding_trained == 1


def test_labels_that_were_shifted_are_the_tokens_behind():
    (sample,) = read([5, 6, 7, 8], [6, 7, 8, -100])
    assert (sample.same, sample.ahead) == (0.0, 1.0)
    assert sample.unlike == -1


def test_the_first_label_of_another_text_is_told():
    (sample,) = read([1, 5, 6, 7, 8], [-100, 5, 0, 0, 8])
    assert sample.unlike == 2
    assert read([5, 6], [5, 6])[0].unlike == -1
    assert read([5, 6], None)[0].unlike == -1
    _, second = read([5, 6, 7, 8], [5, 6, 7, 9], positions=[0, 1, 0, 1])
    assert second.unlike == 3


@pytest.mark.parametrize(
    ("special", "end", "exact"), [(SPECIAL, 2, True), (PAD_IS_EOS, 4, False)]
)
def test_without_a_mask_pads_end_a_sample_unless_they_are_eos(special, end, exact):
    pad = next(iter(special["pad"]))
    (sample,) = read([5, 6, pad, pad], special=special)
    assert (sample.end, sample.exact) == (end, exact)


def test_positions_that_begin_anew_begin_a_document():
    first, second = read([1, 5, 2, 1, 6], [1, 5, 2, -100, 6], positions=[0, 1, 2, 0, 1])
    assert (first.start, first.end, first.documents) == (0, 3, 2)
    assert (second.start, second.end, second.position) == (3, 5, 0)
    assert first.stretches == (Stretch(0, 3, NOTHING),)


def test_what_follows_a_stretch_is_named_only_where_it_is_a_control_token():
    (sample,) = read([5, 6, 7, 3], [5, -100, 7, -100])
    assert [each.after for each in sample.stretches] == [TEXT, 3]


def test_long_rows_are_cut_short():
    count = 4 * LIMIT
    (sample,) = read([1, 5] * count, [1, -100] * count)
    assert len(sample.stretches) == len(sample.controls) == LIMIT
    assert sample.controls[-1].position == 2 * count - 2
    assert len(read([5] * count, positions=[0] * count)) == DOCUMENTS


def test_a_row_of_padding_alone_holds_no_sample():
    assert read([0, 0], [-100, -100], [0, 0]) == []


def test_what_stands_before_the_first_trained_token_is_kept_with_it():
    ids = list(range(10, 30))
    (sample,) = read(ids, [-100] * 9 + ids[9:])
    assert sample.border == tuple(range(19 - BORDER, 20))
    (sample,) = read([0, 5, 6, 7], [-100, -100, 6, 7], [0, 1, 1, 1])
    assert sample.border == (5, 6)
    for labels in (ids, [-100] * 20, None):
        assert read(ids, labels)[0].border == ()


def test_control_tokens_that_are_hidden_alone_are_kept():
    ids = [5, 2, 6, 7, 2, 2, 8, 2]
    (sample,) = read(ids, ids, [1, 0, 1, 0, 0, 0, 1, 1])
    assert sample.hidden == (Control(1, 2, True),)
    (word,) = read(ids, ids, [1, 1, 0, 1, 1, 1, 1, 1])
    assert word.hidden == ()
    (unmasked,) = read(ids, ids)
    assert unmasked.hidden == ()


@pytest.mark.parametrize(
    ("behind", "again"),
    [
        ([5, 6, 7, 8], (3, 7)),
        ([6, 7, 8], (2, 6)),
        ([7, 8], (0, -1)),
        ([8, 6, 7, 5, 6, 7], (3, 10)),
    ],
)
def test_what_comes_before_the_border_is_searched_behind_it(behind, again):
    ids = [5, 6, 7, 9, *behind]
    (sample,) = read(ids, [-100] * 3 + ids[3:])
    assert (sample.again, sample.again_at) == again


def test_the_padding_that_a_classifier_reads_is_told():
    special = {**SPECIAL, "pooling": frozenset({2})}
    (padded,) = read([5, 6, 0, 0], attention=[1, 1, 0, 0], special=special)
    assert padded.pooled == 3
    for ids, mask in (([5, 6, 2, 2], [1, 1, 0, 0]), ([0, 0, 5, 6], [0, 0, 1, 1])):
        assert read(ids, attention=mask, special=special)[0].pooled == -1
    assert read([5, 6, 0, 0], attention=[1, 1, 0, 0])[0].pooled == -1
    assert read([5, 6, 0, 0], special=special)[0].pooled == -1
