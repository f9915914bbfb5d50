"""DAT025."""

from ftlab.records.finding import Place
from ftlab.rules.data.padding_trained import PaddingTrained
from tests.rules.data.rows import (
    PAD,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
)

RULE = PaddingTrained()


def padded(number, labels, left=False):
    ids, pads = [number, 6, 7], [PAD] * len(labels)
    if left:
        return row([*pads, *ids], [*labels, *ids], [0] * len(pads) + [1] * 3)
    return row([*ids, *pads], [*ids, *labels], [1] * 3 + [0] * len(pads))


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_labels_of_padding_are_counted():
    (finding,) = check(RULE, [padded(8, [PAD, PAD]), padded(9, [PAD, PAD, PAD])])
    assert finding.place == Place("token", "3 of sample 0")
    assert finding.evidence["labels"] == 5


def test_padding_may_stand_on_the_left():
    rows = [padded(n, [PAD, PAD], left=True) for n in (8, 9)]
    (finding,) = check(RULE, rows)
    assert finding.place == Place("token", "0 of sample 0")


def test_one_label_behind_a_text_may_be_its_end():
    assert check(RULE, [padded(n, [PAD, -100, -100]) for n in (8, 9)]) == ()


def test_padding_without_labels_is_right():
    assert check(RULE, [padded(n, [-100, -100]) for n in (8, 9)]) == ()
