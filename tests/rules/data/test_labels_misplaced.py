"""DAT025."""

import pytest

from ftlab.records.finding import Place
from ftlab.rules.data.labels_misplaced import LabelsMisplaced
from ftlab.rules.engine import Engine
from tests.rules.data.rows import BOS, EOS, PAD, check, row, run_of, text
from tests.rules.numeric.losses import losses
from tests.runs import only

RULE = LabelsMisplaced()


def padded(number, labels, left=False):
    ids, pads = [number, 6, 7], [PAD] * len(labels)
    if left:
        return row([*pads, *ids], [*labels, *ids], [0] * len(pads) + [1] * 3)
    return row([*ids, *pads], [*ids, *labels], [1] * 3 + [0] * len(pads))


def test_labels_of_padding_are_counted():
    (finding,) = check(RULE, [padded(8, [PAD, PAD]), padded(9, [PAD, PAD, PAD])])
    assert finding.place == Place("token", "3 of sample 0")
    assert finding.evidence["labels"] == 5


def test_padding_may_stand_on_the_left():
    rows = [padded(n, [PAD, PAD], left=True) for n in (8, 9)]
    only(check(RULE, rows), place="token 0 of sample 0")


def test_one_label_behind_a_text_may_be_its_end():
    assert check(RULE, [padded(n, [PAD, -100, -100]) for n in (8, 9)]) == ()


def test_padding_without_labels_is_right():
    assert check(RULE, [padded(n, [-100, -100]) for n in (8, 9)]) == ()


FILLER = {
    "common_label": 0.0,
    "common_share": 0.4,
    "common_read": 0.0,
    "label_next": 0.6,
}
SINGLE = {**FILLER, "common_label": 9.0, "common_share": 1.0, "common_read": 0.3}


def check_labels(*columns, **settings):
    return Engine([RULE]).check(losses(*columns, **settings)).findings


def test_a_filler_where_the_text_has_others():
    finding = only(check_labels(FILLER, FILLER), "warning", reason="filler")
    assert "40 % of the labels are token 0, where" in finding.message


@pytest.mark.parametrize(
    "change",
    [
        {"common_share": 0.05, "label_next": 0.95},
        {"common_read": 0.2},
        {"label_next": 0.3},
        {"label_next": 1.0},
        {"label_next": 0.9},
        {"label_next": float("nan")},
        {"common_share": float("nan")},
    ],
)
def test_common_words_and_labels_of_another_kind_are_healthy(change):
    assert check_labels(FILLER | change) == ()


def test_one_step_without_it_is_healthy():
    assert check_labels(FILLER, FILLER | {"common_read": 0.4}) == ()


def test_labels_that_are_one_token():
    labels = {"labels": 40.0, "batch_size": 8.0}
    only(check_labels(SINGLE, values=labels), reason="single")


@pytest.mark.parametrize(("labels", "classes"), [(8.0, 128), (40.0, 10)])
def test_one_class_for_each_row_is_healthy(labels, classes):
    values = {"labels": labels, "batch_size": 8.0}
    assert check_labels(SINGLE, values=values, classes=classes) == ()


def test_a_text_of_one_token_has_labels_of_one_token():
    values = {"labels": 40.0, "batch_size": 8.0}
    dummy = SINGLE | {"common_read": 1.0, "label_next": 1.0}
    assert check_labels(dummy, values=values) == ()


def test_the_first_such_label_of_each_sample_is_its_place():
    ids = text(12)
    late = [*ids[:5], 0, 0, *ids[7:]]
    run = losses(FILLER)
    for event in run_of([row(ids, late), row(ids), row(text(9, 30), [0] * 9)]).events:
        run.append(event)
    (finding,) = Engine([RULE]).check(run).findings
    tokens = [each for each in finding.places if each.kind == "token"]
    assert tokens == [Place("token", "5 of sample 0"), Place("token", "0 of sample 2")]


def test_without_a_cross_entropy_it_is_open():
    report = Engine([RULE]).check(run_of([row(text(9))]))
    assert report.findings == ()
    assert [each.code for each in report.not_checked] == [RULE.code]


LONG, SHORT = text(9, 10), [*text(5, 30), *[PAD] * 4]
NONE = [-100] * 4


def crossed():
    mask = [1] * 5 + [0] * 4
    return [row(LONG, [*SHORT[:5], *NONE]), row(SHORT, LONG, mask=mask)]


def test_labels_of_one_another_are_named():
    finding = only(check(RULE, crossed()), "error")
    assert "row 0 has those of row 1" in finding.message
    assert Place("token", "0 of sample 0") in finding.places


def test_labels_of_a_longer_row_are_not_called_padding():
    only(check(RULE, crossed() * 2), reason="other-rows")


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


WORDS = [(5, 3), (7, 4), (6, 5), (9, 4)]


def rows(words=WORDS, first=0, behind=0, **marks):
    """Rows between two marks, with as many classes as words from ``first`` on."""
    made = []
    for pieces, count in words:
        ids = [marks.get("before", BOS), *text(pieces), EOS]
        classes = [-100] * first + [7 + n % 2 for n in range(count)]
        rest = len(ids) - len(classes)
        made.append(row(ids, classes + [-100] * (rest - behind) + [7] * behind))
    return made


def test_as_many_labels_as_words_are_found():
    finding = only(check(RULE, rows()), "warning", "token 0 of sample 0")
    assert finding.evidence["tokens left"] == 4


def test_labels_of_pieces_alone_stand_one_place_too_early():
    (finding,) = check(RULE, rows([(5, 5), (7, 7), (6, 6), (9, 9)]))
    assert "one place too early" in finding.cause
    assert finding.evidence["tokens left"] == 2


@pytest.mark.parametrize(
    "fine",
    [
        rows(first=1),
        rows(behind=1),
        rows([(5, 7), (7, 9), (6, 8), (9, 11)]),
        rows([(5, 6), (7, 8), (6, 7), (9, 10)]),
        rows([(5, 7), (7, 8), (6, 8), (9, 10)]),
        rows([(5, 3), (7, 5), (6, 4), (9, 7)]),
        rows(before=40),
        rows()[:3],
        [*rows(), *rows([(8, 4)], first=1)],
    ],
    ids=[
        "no BOS",
        "gap",
        "all",
        "last",
        "nearly all",
        "always two",
        "no mark",
        "few",
        "some",
    ],
)
def test_labels_of_tokens_are_fine(fine):
    assert check(RULE, fine) == ()


def test_prompts_that_are_trained_alone_are_tokens():
    made = []
    for pieces, count in WORDS:
        ids = [BOS, *text(pieces), EOS]
        made.append(row(ids, ids[:count] + [-100] * (len(ids) - count)))
    assert check(RULE, made) == ()
