"""DAT043."""

from ftlab.records.finding import Place, Severity
from ftlab.rules.data.labels_of_other_rows import LabelsOfOtherRows
from ftlab.rules.data.padding_trained import PaddingTrained
from tests.rules.data.rows import (
    PAD,
    check,
    is_quiet_on_a_healthy_run_and_open_on_an_empty_one,
    row,
    text,
)

RULE = LabelsOfOtherRows()
LONG, SHORT = text(9, 10), [*text(5, 30), *[PAD] * 4]
NONE = [-100] * 4


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def crossed():
    mask = [1] * 5 + [0] * 4
    return [row(LONG, [*SHORT[:5], *NONE]), row(SHORT, LONG, mask=mask)]


def test_labels_of_one_another_are_named():
    (finding,) = check(RULE, crossed())
    assert finding.severity is Severity.ERROR
    assert "row 0 has those of row 1" in finding.message
    assert Place("token", "0 of sample 0") in finding.places


def test_labels_of_a_longer_row_are_not_called_padding():
    assert check(PaddingTrained(), crossed() * 2) == ()


def test_rows_of_their_own_labels_are_fine():
    rows = [row(text(9, at), [*NONE, *text(9, at)[4:]]) for at in (10, 20, 30)]
    assert check(RULE, rows) == ()
    assert check(RULE, [rows[0]] * 3) == ()


def test_one_row_of_a_batch_proves_nothing():
    assert check(RULE, [crossed()[0], row(SHORT, SHORT)]) == ()


def test_labels_of_nobody_are_another_matter():
    strange = text(9, 40)
    assert check(RULE, [row(LONG, strange), row(text(9, 20), strange)]) == ()


def test_three_labels_agree_by_chance():
    few = [-100] * 6
    rows = [row(LONG, [*few, *SHORT[6:]]), row(SHORT, [*few, *LONG[6:]])]
    assert check(RULE, rows) == ()


def test_labels_that_all_lie_behind_the_text_are_those_of_a_longer_row():
    behind = row(SHORT, [*[-100] * 5, *LONG[5:]], mask=[1] * 5 + [0] * 4)
    (finding,) = check(RULE, [behind, row(LONG, [*SHORT[:5], *NONE])])
    assert Place("token", "5 of sample 0") in finding.places
