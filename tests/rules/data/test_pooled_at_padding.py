"""DAT048."""

from ftlab.records.finding import Place
from ftlab.rules.data.pooled_at_padding import PooledAtPadding
from tests.rules.data.rows import PAD, SPECIAL, check, row, text
from tests.runs import only

RULE = PooledAtPadding()
POOLING = SPECIAL | {"pooling": {7}}


def padded(begin, length=6, width=9):
    ids = [*text(length, begin), *[PAD] * (width - length)]
    return row(ids, None, [1] * length + [0] * (width - length))


def test_samples_that_are_read_at_their_padding():
    rows = [row(text(9, 30), None), padded(10), padded(20)]
    finding = only(check(RULE, rows, special=POOLING, pieces={7: "</s>"}), "warning")
    assert "2 of 3 samples" in finding.message
    assert "'</s>' alone" in finding.message
    setting = Place("config", "model.config.pad_token_id")
    assert finding.places[:2] == (setting, Place("token", "8 of sample 1"))


def test_one_sample_is_too_few():
    assert check(RULE, [row(text(9), None), padded(20)], special=POOLING) == ()


def test_padding_that_the_model_knows_is_right():
    known = SPECIAL | {"pooling": {PAD}}
    assert check(RULE, [padded(10), padded(20)], special=known) == ()
    assert check(RULE, [padded(10), padded(20)]) == ()
