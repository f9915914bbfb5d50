"""DAT028."""

import pytest

from ftlab.records.event import Event
from ftlab.records.finding import Place, Severity
from ftlab.records.id_facts import IdFacts, Residue
from ftlab.records.round_trip import RoundTrip
from ftlab.records.sample_facts import SeenSamples
from ftlab.rules.data.ids_misread import BROKEN, DIFFERENT, SAMPLES, TOKENS, IdsMisread
from tests.rules.data import rows
from tests.runs import RunBuilder, found_by, only

RULE = IdsMisread()


def facts(**settings):
    """Ids of a wide vocabulary, of which some are numbers that floats hold."""
    known = {
        "size": 100_000,
        "tokens": 600,
        "largest": 60_000,
        "beyond": {8: 99, 11: 90},
        "kept": {8: 40, 11: 50},
        "place": (0, 3, 7),
    }
    return IdFacts(**known | settings)


def found(*held, samples=4):
    run = rows.run_of([rows.row(rows.text(9, 10 + n)) for n in range(samples)])
    builder = RunBuilder().facts(model={"class": "Llama"})
    (event,) = [each for each in run.whole.events if each.kind == "rows"]
    sights = SeenSamples.from_json(0, event.detail).samples
    for step, ids in enumerate(held):
        builder.step(ops=[])
        seen = SeenSamples(step, sights if not step else (), {}, {}, (), ids)
        builder.run.append(Event("rows", step, 0.0, "", seen.as_json()))
    return found_by(RULE, builder.run)


def reasons(*held, **settings):
    return [each.evidence["reason"] for each in found(*held, **settings)]


def test_ids_of_all_kinds_are_left_in_peace():
    assert found(facts(), facts()) == ()


@pytest.mark.parametrize(("bits", "name"), [(8, "bfloat16"), (11, "float16")])
def test_ids_that_a_type_holds_exactly_are_rounded(bits, name):
    kept = {8: 40, 11: 50} | {bits: facts().beyond[bits]}
    finding = only(found(facts(kept=kept)), reason="rounded")
    assert finding.severity == Severity.ERROR
    assert name in finding.message
    assert finding.places[0] == Place("token", "7 of sample 3")


def test_one_id_that_was_not_rounded_is_enough_to_say_nothing():
    exact = facts(kept={8: 99, 11: 50})
    assert reasons(exact) == ["rounded"]
    assert reasons(exact, facts()) == []


def test_few_ids_may_be_such_numbers_by_chance():
    few = {8: DIFFERENT - 1, 11: 0}
    assert reasons(facts(beyond=few, kept=few)) == []
    many = {8: DIFFERENT, 11: 0}
    assert reasons(facts(beyond=many, kept=many)) == ["rounded"]


def test_what_two_steps_hold_is_no_rarer_than_in_one():
    few = {8: DIFFERENT - 1, 11: 0}
    one = facts(beyond=few, kept=few)
    assert reasons(one, one) == []


def narrow(**settings):
    nothing = {8: 0, 11: 0}
    known = {"largest": 255, "beyond": nothing, "kept": nothing, "size": 900}
    return facts(**known | {"broken": int(600 * BROKEN)} | settings)


def test_ids_of_one_byte_that_do_not_decode_are_told():
    assert reasons(narrow()) == ["one byte"]
    assert reasons(narrow(tokens=TOKENS // 2), narrow(tokens=TOKENS // 2)) == [
        "one byte"
    ]


@pytest.mark.parametrize(
    "settings", [{"broken": 29}, {"largest": 256}, {"tokens": TOKENS - 1}]
)
def test_ids_of_bytes_that_decode_or_are_few_are_not(settings):
    assert reasons(narrow(**settings)) == []


def test_what_is_left_of_marks_is_told():
    left = (Residue(70_001, 4465, SAMPLES),)
    assert reasons(facts(residues=left)) == ["two bytes"]
    assert reasons(facts(residues=left), samples=5) == []
    assert reasons(facts(residues=(Residue(70_001, 4465, SAMPLES - 1),))) == []
    few = (Residue(70_001, 4465, SAMPLES - 1),)
    assert reasons(facts(residues=few), samples=SAMPLES - 1) == []
    wide = facts(largest=70_000)
    assert reasons(facts(residues=left), wide) == []


def check(*trips, kept=()):
    texts = {"rows": len(kept), "column": "text", "kept": list(kept)}
    training = {"texts": texts} if kept else {}
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training)
    for step, trip in enumerate(trips or [None]):
        seen = SeenSamples(step, (), trip=trip)
        builder.run.append(Event("rows", step, 0.0, "", seen.as_json()))
        builder.step()
    return found_by(RULE, builder.run)


def trip(rows=8, broken=8, tokens=800):
    return RoundTrip(rows, tokens, 9 * broken, broken, (1, 2, 17), "to ken", "token")


def test_rows_that_do_not_come_back():
    finding = only(check(trip(broken=0), trip(broken=8), trip(broken=7)), "warning")
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
    only(check(kept=[0.1, 0.0, 0.9, 0.15]), "info", "data input_ids beside text")
    (finding,) = check(trip(), kept=[0.1, 0.0])
    assert "and 2 rows say another text than the one beside" in finding.message


@pytest.mark.parametrize("kept", [[1.0, 1.0], [0.1, 0.9, 0.9, 0.9], [0.1], [0.2, 0.2]])
def test_texts_that_the_ids_say_are_healthy(kept):
    assert check(kept=kept) == ()
