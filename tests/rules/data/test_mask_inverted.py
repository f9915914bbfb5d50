"""DAT007."""

from ftlab.records.finding import Place
from ftlab.rules.data.mask_inverted import MaskInverted
from tests.rules.data.rows import (
    EOS,
    PAD,
    SPECIAL,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = MaskInverted()


def inverted(length, pad=PAD, labels="all"):
    pads = 7 - length
    ids = [*text(length), *[pad] * pads]
    return row(ids, labels, [0] * length + [1] * pads)


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_padding_is_all_that_is_seen():
    (finding,) = check(RULE, [inverted(4), inverted(5)])
    assert finding.place == Place("token", "4 of sample 0")


def test_labels_may_follow_the_mask():
    rows = [inverted(n, labels=[-100] * n + [PAD] * (7 - n)) for n in (4, 5)]
    assert check(RULE, rows)


def test_padding_that_ends_texts_is_told_by_the_hidden_labels():
    special = SPECIAL | {"pad": {EOS}}
    rows = [inverted(n, pad=EOS) for n in (4, 5)]
    assert check(RULE, rows, special=special)
    alone = [row([EOS] * n, mask=[1] * n) for n in (1, 2)]
    assert check(RULE, alone, special=special) == ()


def test_rows_that_fill_up_a_batch_have_no_labels():
    rows = [row([PAD] * n, [-100] * n, [1] * n) for n in (4, 5)]
    assert check(RULE, rows) == ()


def test_padding_that_is_seen_beside_text_is_another_fault():
    rows = [row([PAD, PAD, *text(n)]) for n in (4, 5)]
    assert check(RULE, rows) == ()
