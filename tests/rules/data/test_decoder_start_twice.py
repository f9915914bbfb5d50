"""DAT015."""

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.rules.data.decoder_start_twice import DecoderStartTwice
from ftlab.rules.engine import Engine
from tests.runs import RunBuilder, healthy_lora

RULE = DecoderStartTwice()


def report(*rows, pieces=None, **more):
    builder = RunBuilder().facts(model={"class": "T5"})
    builder.step()
    detail = {"rows": [list(row) for row in rows], "pieces": pieces or {}, **more}
    builder.run.append(Event("decoder", 0, 0.0, "", detail))
    return Engine([RULE]).check(builder.run)


def test_it_is_about_encoder_decoders_only():
    made = Engine([RULE]).check(healthy_lora().run)
    assert made.findings == made.not_checked == ()
    (missing,) = Engine([RULE]).check(RunBuilder().run).not_checked
    assert missing.code == "DAT015"


def test_the_start_stands_twice():
    (finding,) = report((0, 0, 5, 5), (1, 0, 5, 5), pieces={"5": "<pad>"}).findings
    assert finding.severity is Severity.WARNING
    assert "'<pad>' twice" in finding.message
    assert finding.place == Place("token", "0 of sample 0")
    assert Place("token", "0 of sample 0 of micro-batch 1") in finding.places


def test_models_made_of_two_are_documented_so():
    rows = (0, 0, 5, 5), (0, 1, 5, 5)
    (finding,) = report(*rows, composed=True).findings
    assert finding.severity is Severity.INFO
    (finding,) = report(*rows, composed=False).findings
    assert finding.severity is Severity.WARNING


def test_a_language_behind_the_start_is_right():
    assert report((0, 0, 5, 6), (0, 1, 5, 6)).findings == ()


def test_some_rows_may_have_an_empty_answer():
    rows = [(0, 0, 5, 5), (0, 1, 5, 5), *((0, n, 5, 6) for n in range(2, 5))]
    assert report(*rows).findings == ()
    assert report((0, 0, 5, 5)).findings == ()
    assert report(*rows[:4]).findings
