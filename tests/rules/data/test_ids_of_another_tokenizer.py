"""DAT090."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.round_trip import RoundTrip
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.ids_of_another_tokenizer import IdsOfAnotherTokenizer
from ftlab.rules.engine import Engine
from tests.rules.data.rows import is_quiet_on_a_healthy_run_and_open_on_an_empty_one
from tests.runs import RunBuilder

RULE = IdsOfAnotherTokenizer()


def check(*trips, kept=()):
    texts = {"rows": len(kept), "column": "text", "kept": list(kept)}
    training = {"texts": texts} if kept else {}
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training)
    for step, trip in enumerate(trips or [None]):
        seen = SeenSamples(step, (), trip=trip)
        builder.run.append(Event("rows", step, 0.0, "", seen.as_json()))
        builder.step()
    return Engine([RULE]).check(builder.run).findings


def trip(rows=8, broken=8, tokens=800):
    return RoundTrip(rows, tokens, 9 * broken, broken, (1, 2, 17), "to ken", "token")


def test_a_healthy_run_is_left_in_peace():
    assert is_quiet_on_a_healthy_run_and_open_on_an_empty_one(RULE)


def test_rows_that_do_not_come_back():
    (finding,) = check(trip(broken=0), trip(broken=8), trip(broken=7))
    assert finding.severity is Severity.WARNING
    assert finding.place == Place("data", "input_ids")
    assert Place("token", "17 of sample 2 of micro-batch 1") in finding.places
    assert "steps 1-2" in finding.message
    assert "15 of 24 rows: 'to ken' is 'token'" in finding.message


@pytest.mark.parametrize(
    "trips",
    [
        [trip(broken=0)],
        [trip(broken=3)],
        [trip(rows=3, broken=3)],
        [trip(rows=4, broken=4, tokens=100)],
        [trip(), trip(broken=0), trip(broken=0)],
    ],
)
def test_other_rows_are_healthy(trips):
    assert check(*trips) == ()


def test_a_text_beside_is_a_note_and_beside_broken_rows_evidence():
    (note,) = check(kept=[0.1, 0.0, 0.9, 0.15])
    assert note.severity is Severity.INFO
    assert note.place == Place("data", "input_ids beside text")
    (finding,) = check(trip(), kept=[0.1, 0.0])
    assert "and 2 rows say another text than the one beside" in finding.message


@pytest.mark.parametrize("kept", [[1.0, 1.0], [0.1, 0.9, 0.9, 0.9], [0.1], [0.2, 0.2]])
def test_texts_that_the_ids_say_are_healthy(kept):
    assert check(kept=kept) == ()
