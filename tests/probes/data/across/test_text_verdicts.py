"""Labels as texts that judge a completion, and such that are its answer."""

import pytest

from ftlab.probes.data.across.reports import report_text_verdicts
from tests.probes.data.scanned import rows_with, scanned


def judged(labels, completion="It is bridge number {}."):
    return [
        {"prompt": "Which bridge?", "completion": completion.format(at), "label": label}
        for at, label in enumerate(labels)
    ]


def found(rows):
    scan = scanned(rows)
    report_text_verdicts(scan)
    return rows_with(scan, "verdict-as-text")


@pytest.mark.parametrize(
    "words", [("True", "False"), ("yes", "no"), ("1", "0"), (" TRUE", "false ")]
)
def test_verdicts_that_are_texts_are_found(words):
    assert found(judged([words[at % 2] for at in range(40)])) == list(range(40))
    mixed = [True if at % 4 else words[at % 8 // 4] for at in range(40)]
    assert found(judged(mixed)) == list(range(0, 40, 4))


YES_NO = ["yes", "no"] * 20


@pytest.mark.parametrize(
    "rows",
    [
        judged([at % 2 == 0 for at in range(40)]),
        judged([at % 2 for at in range(40)]),
        judged([*YES_NO, "perhaps"]),
        judged(["true"] * 40),
        [
            row | {"completion": f"It has {at} arches. So the answer is {said}."}
            for at, (row, said) in enumerate(zip(judged(YES_NO), YES_NO, strict=True))
        ],
        [
            row | {"completion": ("positive", "negative")[at % 2]}
            for at, row in enumerate(judged(["1", "0"] * 20))
        ],
        [{"text": f"Bridge {at}.", "label": said} for at, said in enumerate(YES_NO)],
        [
            {"question": f"Bridge {at}?", "answer": f"It is {at}.", "label": said}
            for at, said in enumerate(YES_NO)
        ],
    ],
)
def test_is_silent_on_healthy_rows(rows):
    assert found(rows) == []
