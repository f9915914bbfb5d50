"""Prompts that end with their own solution."""

import pytest

from ftlab.probes.data.across.reports import report_solved
from ftlab.probes.data.across.solution_leaks import FIRST, SolutionLeaks
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.scanned import rows_with, scanned

LEFT = list(range(3, 60, 10))


def solved(at):
    return f"Each of the {at} boxes holds 3 pens. So there are {3 * at} of them."


def boxes(at, left=""):
    return f"There are {at} boxes with 3 pens each. How many pens are there?{left}"


def rows_of(solution, between, count=60, columns=("prompt", "solution")):
    for at in range(count):
        left = f"{between}{solution(at)}" if at in LEFT else ""
        yield dict(zip(columns, (boxes(at, left), solution(at)), strict=True))


def found(rows):
    leaks = SolutionLeaks()
    for at, row in enumerate(rows):
        leaks.look(at, row, parts_of(row))
    return leaks.found()


def number(at):
    return str(3 * at)


@pytest.mark.parametrize("solution", [solved, number])
@pytest.mark.parametrize("between", ["\n\n", "\n", " "])
def test_a_solution_behind_some_questions_is_found(solution, between):
    assert found(rows_of(solution, between)) == LEFT


@pytest.mark.parametrize(
    "columns",
    [
        ("prompt", "answer"),
        ("prompt", "ground_truth"),
        ("problem", "solution"),
        ("question", "answer"),
    ],
)
def test_columns_of_other_names_are_read(columns):
    assert found(rows_of(solved, "\n", columns=columns)) == LEFT


def test_messages_and_solutions_within_records_are_read():
    rows = [
        {
            "prompt": [{"role": "user", "content": row["prompt"]}],
            "reward_model": {"style": "rule", "ground_truth": row["solution"]},
        }
        for row in rows_of(number, "\n")
    ]
    assert found(rows) == LEFT


def test_the_first_places_are_told():
    scan = scanned(list(rows_of(solved, "\n\n")))
    report_solved(scan)
    assert rows_with(scan, "solution-in-prompt") == LEFT
    spot = scan.findings.spots["solution-in-prompt"][0]
    assert (spot.column, spot.says) == ("prompt", "the solution is its end")


def options(at):
    last = (at, at + 1, number(at)) if at in LEFT else (number(at), at, at + 1)
    return {"prompt": boxes(at, f"\n{last[0]}\n{last[1]}\n{last[2]}")}


def corrected(at):
    wrong = solved(at) if at in LEFT else solved(at).replace("Each", "each")
    return {"prompt": f"Correct this:\n\n{wrong}", "solution": solved(at)}


@pytest.mark.parametrize(
    "rows",
    [
        [options(at) | {"solution": number(at)} for at in range(60)],
        [corrected(at) for at in range(60)],
        [
            {"prompt": f"Say it:\n{solved(at)}", "solution": solved(at)}
            for at in range(60)
        ],
        list(rows_of(solved, "\n", count=40)),
        list(rows_of(solved, "\n", columns=("prompt", "completion"))),
        list(rows_of(number, " of ")),
        [{"prompt": number(at), "solution": number(at)} for at in range(60)],
        [{"prompt": boxes(at), "solution": ""} for at in range(60)],
        [{"prompt": [], "ground_truth": "4"}] * 60,
        [{"prompt": boxes(at, "\n4"), "ground_truth": 4} for at in range(60)],
    ],
)
def test_prompts_that_end_so_on_purpose_are_in_order(rows):
    assert found(rows) == []


def test_of_many_rows_some_are_compared():
    rows = list(rows_of(number, "\n", count=FIRST + 60))
    for at in range(FIRST, FIRST + 60):
        rows[at] = {"prompt": boxes(at, f"\n{at}"), "solution": number(at)}
    assert found(rows) == LEFT
