"""Runs whose samples are told turn by turn."""

from ftlab.records.event import Event
from ftlab.records.template import TemplateFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from tests.runs import RunBuilder, found_by, healthy_lora, report_by

FACTS = TemplateFacts(
    openings={"user": "<u>"},
    last_ends={"assistant": "</t>"},
    stops={"template": (3,)},
    pieces={"</t>": 1},
)


def part(start, end, role="user", trained=0, first=None, part="text"):
    """A part of a turn; trained up to its end unless it is said where it begins."""
    first = (end - trained if trained else -1) if first is None else first
    return TurnFacts(start, end, role, part, trained, first)


def sample(*turns, row=0):
    end = max(turn.end for turn in turns)
    trained = sum(turn.trained for turn in turns)
    return SampleTurns(row, 0, 0, end, True, trained, turns)


def check(rule, *samples, facts=FACTS, **training):
    builder = RunBuilder().facts(model={"class": "Llama"}, training=training)
    builder.step()
    detail = {
        "samples": [each.as_json() for each in samples],
        "template": facts.as_json(),
    }
    builder.run.append(Event("turns", 0, 0.0, "", detail))
    return found_by(rule, builder.run)


def is_left_out_without_turns_and_open_on_an_empty_run(rule):
    known = RunBuilder().facts(model={"class": "L"}).step().run
    report = report_by(rule, known)
    assert (report.findings, report.not_checked) == ((), ())
    report = report_by(rule, RunBuilder().run)
    assert [each.code for each in report.not_checked] == [rule.code]
    return found_by(rule, healthy_lora().run) == ()
