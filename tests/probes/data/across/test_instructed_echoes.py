"""Outputs that are their input, by their instruction."""

import pytest

from ftlab.probes.data.across.instructed_echoes import KNOWN, InstructedEchoes
from ftlab.probes.data.across.reports import report_echoes
from ftlab.probes.data.rows.row_parts import parts_of
from tests.probes.data.across.test_echoes import document, foreign, sentence
from tests.probes.data.scanned import rows_with, scanned

TRANSLATE = "Translate it into German."


def rows_of(same=(), count=40, asked=TRANSLATE, text=sentence, answer=foreign):
    return [
        {
            "instruction": asked,
            "input": text(at),
            "output": text(at) if at in same else answer(at),
        }
        for at in range(count)
    ]


def found(rows):
    echoes = InstructedEchoes()
    for at, row in enumerate(rows):
        echoes.look(at, parts_of(row))
    return echoes.found()


def code(at):
    return f"x{at} = (a + b) * c\n" * 9


def wrong(at):
    return sentence(at).replace("There", "Their")


def test_an_input_that_was_not_translated_is_found():
    scan = scanned(rows_of({3, 9}))
    report_echoes(scan)
    assert rows_with(scan, "input-as-answer") == [3, 9]
    assert scan.findings.spots["input-as-answer"][0].column == "output"
    assert found(rows_of({3}, text=code)) == [3]


def test_each_instruction_is_judged_by_its_own_rows():
    correct = rows_of(set(range(20)), asked="Correct it.", answer=wrong)
    assert found([*correct, *rows_of({3})]) == [43]


@pytest.mark.parametrize(
    "rows",
    [
        rows_of(set(range(20))),
        rows_of({3}, count=10),
        rows_of({3}, answer=wrong),
        rows_of({3}, count=999, answer=lambda at: [foreign, wrong][at % 9 < 1](at)),
        rows_of({3}, text="Bus {}".format),
        rows_of({3}, text="".format),
        [row for at in range(40) for row in rows_of({0}, 1, asked=f"{TRANSLATE}{at}")],
        [
            *(rows_of((), 1, asked=str(at))[0] for at in range(KNOWN)),
            *rows_of({3}, text=document),
        ],
    ],
)
def test_is_silent_where_copies_are_meant_or_few_can_tell(rows):
    assert found(rows) == []
