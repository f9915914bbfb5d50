"""DAT015: decoders that are started twice, or not at all."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.decoder_start_wrong import WORDED, DecoderStartWrong
from tests.runs import RunBuilder, only, report_by

RULE = DecoderStartWrong()
START, BOS, TEXT = 0, 1, 40


def report(*rows, pieces=None, **more):
    builder = RunBuilder().facts(model={"class": "T5"})
    builder.step()
    detail = {"rows": [list(row) for row in rows], "pieces": pieces or {}, **more}
    builder.run.append(Event("decoder", 0, 0.0, "", detail))
    return report_by(RULE, builder.run)


def begun(firsts, *, start=START, pieces=None):
    rows = [(0, number, first, 50) for number, first in enumerate(firsts)]
    return report(*rows, pieces=pieces, start=start, control=[START, BOS])


def test_the_start_stands_twice():
    (finding,) = report((0, 0, 5, 5), (1, 0, 5, 5), pieces={"5": "<pad>"}).findings
    assert finding.severity is Severity.WARNING
    assert "'<pad>' twice" in finding.message
    assert finding.place == Place("token", "0 of sample 0")
    assert Place("token", "0 of sample 0 of micro-batch 1") in finding.places


def test_models_made_of_two_are_documented_so():
    rows = (0, 0, 5, 5), (0, 1, 5, 5)
    only(report(*rows, composed=True).findings, "info")
    only(report(*rows, composed=False).findings, "warning")


def test_a_language_behind_the_start_is_right():
    assert report((0, 0, 5, 6), (0, 1, 5, 6)).findings == ()


def test_some_rows_may_have_an_empty_answer():
    rows = [(0, 0, 5, 5), (0, 1, 5, 5), *((0, n, 5, 6) for n in range(2, 5))]
    assert report(*rows).findings == ()
    assert report((0, 0, 5, 5)).findings == ()
    assert report(*rows[:4]).findings


def test_text_where_the_start_belongs():
    texts = [TEXT + n for n in range(WORDED)]
    finding = only(begun(texts, pieces={str(TEXT): "The"}).findings, "warning")
    assert finding.place == Place("token", "0 of sample 0")
    assert "'The', and never token 0" in finding.message


@pytest.mark.parametrize(
    "firsts",
    [
        [START] * 8,
        [BOS] * 8,
        [START, *[TEXT] * 30],
        [TEXT] * (WORDED - 1),
        [BOS, BOS, *[TEXT] * 8],
    ],
)
def test_other_beginnings_are_healthy(firsts):
    assert begun(firsts).findings == ()


def test_without_a_start_nothing_is_known():
    assert begun([TEXT] * 8, start=-1).findings == ()
