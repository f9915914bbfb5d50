"""Rows that are the same within a micro-batch."""

import numpy as np

from ftlab.probes.tokens.copied_rows import copied_rows
from ftlab.probes.tokens.sample_reading import Columns


def row(ids, labels=None, mask=None):
    labels = ids if labels is None else labels
    return Columns(*(None if x is None else np.array(x) for x in (ids, labels, mask)))


def told(*rows, micro=0):
    (found,) = copied_rows([(micro, n, each) for n, each in enumerate(rows)])
    return found.rows, found.different, found.first, found.again


def test_the_first_row_that_comes_again_is_named():
    assert told(row([5, 6]), row([7, 8]), row([9, 9]), row([7, 8])) == (4, 3, 1, 3)
    assert told(row([5, 6]), row([7, 8])) == (2, 2, -1, -1)


def test_other_labels_make_another_row():
    assert told(row([5, 6]), row([5, 6], [-100, 6]))[1] == 2


def test_padding_is_no_part_of_a_row():
    left = row([0, 5, 6], [-100, 5, 6], [0, 1, 1])
    right = row([5, 6, 0], [5, 6, -100], [1, 1, 0])
    assert told(left, right)[1] == 1
    hidden = row([5, 6, 7], [5, 6, 7], [1, 1, 0])
    assert told(right, hidden)[1] == 2


def test_micro_batches_are_told_apart_and_rows_without_labels_left_out():
    rows = [(micro, n, row([5, 6])) for micro in (0, 1) for n in range(2)]
    assert [(f.micro_batch, f.different) for f in copied_rows(rows)] == [(0, 1), (1, 1)]
    bare = Columns(np.array([5, 6]))
    assert list(copied_rows([(0, 0, bare), (0, 1, bare)])) == []


def test_batches_of_the_same_rows_have_one_content_in_any_order():
    one, other = row([5, 6]), row([7, 8])
    contents = {
        found.content
        for rows in ([one, other], [other, one], [one, one, other])
        for found in copied_rows([(0, n, each) for n, each in enumerate(rows)])
    }
    assert len(contents) == 1
