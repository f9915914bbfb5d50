"""The tables that the comparison prints."""

from benchmarks.localisation import details, summary, written
from benchmarks.naming.claim import ASPECTS, EXACT, PARTLY, SILENT, WRONGLY
from benchmarks.naming.trial import Trial


def trial(tool: str, case: str, *verdicts: str, **changes) -> Trial:
    given = dict(zip(ASPECTS, verdicts or [SILENT] * 5, strict=True))
    values = {"phase": "forward", "crash": "", "alarm": "", "twin_crash": ""}
    return Trial(
        case=case,
        tool=tool,
        verdicts=given,
        claim=None,
        seconds=0.0,
        **(values | changes),
    )


TRIALS = [
    trial("one", "a", *[EXACT] * 5),
    trial("one", "b", EXACT, WRONGLY, PARTLY, SILENT, EXACT, alarm="model.norm"),
    trial("two", "a", crash="ValueError: no", twin_crash="ValueError: no"),
    trial("two", "b", phase="backward"),
]


def test_verdicts_are_counted_for_each_tool():
    head, one, two = summary(TRIALS)
    row = dict(zip(head, one, strict=True))
    assert (row["tool"], row["cases"], row["all exactly"]) == ("one", "2", "1")
    assert (row["found"], row["phase"]) == ("2 / 0 / 0", "1 / 0 / 1")
    assert (row["op"], row["module"]) == ("1 / 1 / 0", "1 / 0 / 0")
    assert (row["false alarms"], row["crashes"]) == ("1", "0")
    assert two[-1] == "2"


def test_a_phase_can_be_counted_alone():
    counted = [row[:2] for row in summary(TRIALS, "backward")[1:]]
    assert counted == [["one", "0"], ["two", "1"]]


def test_each_case_has_a_row_of_signs():
    assert details(TRIALS) == [
        ["case", "one", "two"],
        ["a", "+++++", "..... crash"],
        ["b", "+x~.+ alarm", "....."],
    ]


def test_tables_are_written_as_text_and_as_markdown():
    rows = [["tool", "op"], ["a", "1"]]
    assert written(rows, markdown=False) == "tool  op\na     1"
    assert written(rows, markdown=True) == "| tool | op |\n| --- | --- |\n| a | 1 |"
