"""Ids and labels that no token stands for."""

import numpy as np
import pytest

from ftlab.probes.tokens.rows import read_batch
from ftlab.probes.tokens.unknown_ids import unknown_remarks
from ftlab.records.token_row import TokenRow
from tests.probes.tokens import vocabularies


@pytest.mark.parametrize("name", ["byte_level", "unigram", "word_piece", "slow"])
def test_the_first_of_each_is_told_of_a_batch(name):
    tokenizer = getattr(vocabularies, name)()
    batch = {
        "input_ids": [[5, 6, 7], [5, 9_999, 6]],
        "labels": [[-100, -1, -1], [5, -100, 8_888]],
        "attention_mask": [[1, 1, 1], [1, 1, 1]],
    }
    assert read_batch(batch, tokenizer).remarks == (
        "id 9999 is not in the tokenizer: token 1 of sample 1",
        "label -1 is neither a token nor -100: token 1 of sample 0, and 2 more",
    )
    assert read_batch(batch).remarks == ()


def test_what_losses_leave_out_and_what_the_tokenizer_has_is_right():
    ids = np.array([5, 6, 7])
    row = TokenRow(ids, labels=np.array([-100, 6, 7]), source="sample 0")
    assert list(unknown_remarks([row, TokenRow(ids)], {-100, 8})) == []
    assert list(unknown_remarks([], {8})) == []
