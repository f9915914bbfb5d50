"""What is wrong with an answer that is rejected, and with one that is not."""

import pytest

from tests.probes.data.scanned import rows_with, scanned

GOOD = "It is a bridge of stone, and was built in another century than the harbour."
LOOP = "It is a bridge of stone, and it stands. " * 12
FAULTS = [
    ("looping-answer", LOOP),
    ("unfinished-answer", f"{GOOD[:-1]}, which was of"[:-2] + "the"),
    ("model-named-in-answer", "As an AI language model, I have seen no bridge."),
    ("error-as-answer", "Rate limit reached for requests"),
    ("placeholder-answer", "{answer}"),
    ("mark-before-answer", "### Response: It is a bridge of stone, and it is old."),
    ("next-turn-in-answer", f"{GOOD}\n\nUser: And that?\nAssistant: That is too."),
]


@pytest.mark.parametrize(("name", "answer"), FAULTS)
def test_what_is_a_reason_to_reject_is_no_fault_of_a_rejected_answer(name, answer):
    asked = "What stands there in the middle of the valley?"
    rows = [
        {"prompt": asked, "chosen": answer, "rejected": GOOD},
        {"prompt": asked, "chosen": GOOD, "rejected": answer},
        {"prompt": asked, "completion": answer, "label": True},
        {"prompt": asked, "completion": answer, "label": False},
        {"prompt": asked, "completion": answer},
    ]
    assert rows_with(scanned(rows), name) == [0, 2, 4]


def test_an_empty_answer_says_nothing_on_either_side():
    rows = [
        {"prompt": "What?", "chosen": "", "rejected": "b"},
        {"prompt": "What?", "chosen": "b", "rejected": ""},
        {"prompt": "What?", "completion": "", "label": False},
    ]
    assert rows_with(scanned(rows), "empty-answer") == [0, 1, 2]


def test_the_chosen_side_is_looked_at_where_answers_are_compared():
    rows = [
        {"prompt": "Why is that so?", "chosen": said, "rejected": other}
        for said, other in ((GOOD, "xxx"), ("xxx", GOOD))
    ]
    scan = scanned(rows)
    assert [row for row, _, _ in scan.nones.found()] == [1]
