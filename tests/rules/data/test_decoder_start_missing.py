"""DAT049."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.decoder_start_missing import ROWS, DecoderStartMissing
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder

RULE = DecoderStartMissing()
START, BOS, TEXT = 0, 1, 40


def report(firsts, *, start=START, pieces=None):
    builder = RunBuilder().facts(model={"class": "T5"}).step()
    rows = [[0, number, first, 50] for number, first in enumerate(firsts)]
    detail = {"rows": rows, "pieces": pieces or {}, "start": start, "control": [0, 1]}
    builder.run.append(Event("decoder", 0, 0.0, "", detail))
    return Engine([RULE]).check(builder.run)


def test_it_is_about_encoder_decoders_only():
    known = RunBuilder().facts(model={"class": "Llama"}).step().run
    assert Engine([RULE]).check(known).not_checked == ()
    (open_one,) = Engine([RULE]).check(RunBuilder().run).not_checked
    assert open_one.code == RULE.code


def test_text_where_the_start_belongs():
    texts = [TEXT + n for n in range(ROWS)]
    (finding,) = report(texts, pieces={str(TEXT): "The"}).findings
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("token", "0 of sample 0")
    assert "'The', and never token 0" in finding.message


@pytest.mark.parametrize(
    "firsts",
    [
        [START] * 8,
        [BOS] * 8,
        [START, *[TEXT] * 30],
        [TEXT] * (ROWS - 1),
        [BOS, BOS, *[TEXT] * 8],
    ],
)
def test_other_beginnings_are_healthy(firsts):
    assert report(firsts).findings == ()


def test_without_a_start_nothing_is_known():
    assert report([TEXT] * 8, start=-1).findings == ()
