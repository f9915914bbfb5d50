"""Question marks in place of letters of a script, and those that somebody wrote."""

import pytest

from ftlab.probes.data.across.lost_letters import LostLetters
from ftlab.probes.data.across.reports import report_lost_letters
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.scanned import rows_with, scanned

THAI = "\u0e40\u0e1b\u0e34\u0e14\u0e41\u0e1f\u0e49\u0e21"
LOST = "???? GIF ???????"


def found(*answers, prompt="Translate."):
    lost = LostLetters()
    for at, answer in enumerate(answers):
        lost.look(at, parts_of({"prompt": prompt, "completion": answer}))
    return lost.found().numbers().tolist()


@pytest.mark.parametrize(
    "answer",
    [
        LOST,
        "??????????: ?????????????????",
        "???????????????????????????????? Exec",
        "%s ???????? %d",
        "?????? (???)",
    ],
)
def test_text_that_lost_its_letters_is_found(answer):
    assert found(THAI, answer) == [1]


def test_an_answer_of_nothing_else_is_found_beside_others():
    assert found(THAI, LOST, "????????????", "??????????") == [1, 2, 3]


@pytest.mark.parametrize(
    "answer",
    [
        "???",
        "????????????",
        "What???? Is it so????",
        "Which ???? is it, and ???? is that",
        "12. Qxf7?? Kd8 ??",
        r"a(?:b)??c(???)",
        "Why not ??? OK",
        f"{THAI} ???? {THAI} ??????",
        "__ ?? ____",
    ],
)
def test_is_silent_on_question_marks_that_somebody_wrote(answer):
    assert found(THAI, answer) == []


def test_is_silent_where_most_others_have_letters_of_the_west():
    assert found(THAI, "Open it.", "Close it.", LOST) == []


def test_is_silent_where_nearly_all_are_nothing_else():
    assert found(*[THAI] * 9, LOST, *["????"] * 6) == [9]


def test_is_silent_where_the_prompt_has_question_marks():
    assert found(THAI, LOST, prompt="Which ???? is it?") == []


def test_the_answer_is_told_once():
    rows = [{"prompt": f"Name {at}.", "completion": f"{THAI} {at}"} for at in range(9)]
    rows += [{"prompt": "One?", "completion": "??????: ????"}]
    rows += [{"prompt": "Two?", "completion": "????????"}]
    rows += [{"prompt": "Three?", "completion": "-"}]
    scan = scanned(rows)
    report_lost_letters(scan)
    assert rows_with(scan, "broken-encoding") == [9, 10]
    assert rows_with(scan, "answer-without-words") == [11]
    assert [spot.char for spot in scan.findings.spots["broken-encoding"]] == [0, 0]


def test_nothing_is_left_of_a_kind_whose_rows_are_all_taken_back():
    rows = [{"prompt": "Name it.", "completion": THAI}] * 2
    rows += [{"prompt": "One?", "completion": LOST}]
    scan = scanned([*rows, {"prompt": "Two?", "completion": "????????"}])
    assert rows_with(scan, "answer-without-words") == [3]
    report_lost_letters(scan)
    assert "answer-without-words" not in scan.findings.rows
