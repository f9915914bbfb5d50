"""What the grades add up to, and the table as text."""

import pytest

from ftlab.session.scoring.board import Score
from ftlab.session.scoring.grade import Grade, Quiet
from ftlab.session.scoring.text import HEAD, line


def graded(**fields):
    values = {
        "id": "a-fault",
        "area": "adapter",
        "code": "AAA001",
        "seed": 0,
        "found": True,
        "right_cause": True,
        "right_place": True,
        "any_place": True,
        "steps": 1,
        "seconds": 0.5,
        "codes": ("AAA001",),
        "place": "param w",
        "wrong": (),
        "twin": (),
    }
    return Grade(**(values | fields))


MISSED = graded(
    found=False,
    right_cause=False,
    right_place=False,
    any_place=False,
    steps=None,
    codes=("BBB001",),
    wrong=("BBB001",),
)
LATER = graded(right_place=False)
QUIET = Quiet("a-run", 2, 200, (), 1.0)
ALARM = Quiet("a-run", 0, 200, ("CCC001",), 1.0)


def test_shares_are_of_all_faults():
    score = Score((graded(), LATER, MISSED, graded()), (QUIET,))
    assert score.recall == 0.75
    assert score.cause_accuracy == 0.75
    assert score.location_accuracy == 0.5
    assert score.location_anywhere == 0.75


def test_precision_counts_wrong_findings_and_every_false_alarm():
    score = Score((graded(), graded(twin=("AAA001",)), MISSED), (QUIET, ALARM))
    assert score.false_alarms == 2
    assert score.precision == 2 / (2 + 3)


@pytest.mark.parametrize(
    ("grades", "healthy", "perfect"),
    [
        ((graded(),), (QUIET,), True),
        ((LATER,), (), False),
        ((MISSED,), (), False),
        ((graded(),), (ALARM,), False),
        ((), (), True),
    ],
)
def test_a_perfect_score_finds_all_and_says_nothing_else(grades, healthy, perfect):
    assert Score(grades, healthy).perfect is perfect


def test_the_table_has_a_row_for_each_fault():
    table = Score((graded(), LATER), ()).table()
    assert list(table["right_place"]) == [True, False]
    assert list(table["id"]) == ["a-fault", "a-fault"]


def test_json_holds_totals_and_rows():
    values = Score((graded(),), (ALARM,)).to_json()
    assert values["totals"]["false_alarms"] == 1
    assert values["totals"]["healthy_runs"] == 2
    assert values["faults"][0]["codes"] == ("AAA001",)
    assert values["healthy"][0]["alarms"] == ("CCC001",)


def test_the_text_lines_up_under_its_head():
    text = repr(Score((graded(), MISSED), (QUIET, ALARM)))
    rows = text.splitlines()
    assert rows[0] == HEAD
    assert rows[1].split() == ["a-fault", "AAA001", *["yes"] * 3, "1", "0.50"]
    assert rows[1].index("AAA001") == HEAD.index("rule")
    assert rows[2].endswith("heard BBB001 at param w; wrong: BBB001")
    assert rows[3].startswith("healthy: a-run (seed 2)")
    assert rows[3].endswith("quiet")
    assert rows[4].endswith("false alarm: CCC001")
    assert "recall            50.0% of 2" in rows
    assert "false alarms      1 on 4 healthy runs (2 of them twins)" in rows


def test_a_place_that_is_not_the_first_is_said_to_come_later():
    assert " later " in line(LATER)


def test_an_alarm_on_the_twin_is_remarked():
    assert line(graded(twin=("AAA001",))).endswith("alarm on the twin: AAA001")
