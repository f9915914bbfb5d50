"""The rule DAT038, system-text-added.

## What it does
Finds a system text of the chat template's own in the samples: beside the system message
of the data, or where the data has none.

## Why is this bad?
Beside a message of the data, each sample begins with two instructions, which may
contradict each other: the model learns to obey a text that nobody wrote into the data.
Alone it is well as long as serving renders by the same template; another engine, or a
request with another system text, begins in a way that no sample has taught.

## Evidence
The chat template, rendered with a system message and without. *beside*: the turn that
it writes for conversations without one stands beside that of the message, and opens as
that does, in 2 samples with a system message at least; a fixed beginning within the
same turn (a date, tools), in front of all turns, or under another role is none.
*alone*: a text stands before the first turn, samples begin with it, and no system
message of theirs follows; a date within it is that of the day of training, unless
`date_string` was passed.
Measured on 81 real templates (72 of them come with TRL): none writes two, and 25 have a
system text of their own; one of them has 20 tokens.
By hand: `apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)`.

## What to try
1. A template that writes its own text only where `messages[0].role != "system"`.
2. A system message in the data and in each request, `""` where none is wanted.

## Known problems
Most trainings on a template with a text of its own are well: a note. Such a text within
the turn of the message is taken for meant.

## References
- modelscope/ms-swift#2328 (two system prompts in training)
- hiyouga/LlamaFactory#10772 (two engines add another system text each)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.template import TemplateFacts
from ftlab.records.template_words import short
from ftlab.records.turn_facts import TurnFacts
from ftlab.rules.reading.turns import (
    NEEDS,
    TurnSight,
    has_turns,
    template_of,
    told_system,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES = 2
"""Samples with a system message of their own."""

Turns = Sequence[tuple[TurnSight, TurnFacts]]

_WORDS = {
    "beside": (
        "The chat template writes its system text even where messages have one.",
        "Write it only where messages[0].role != 'system', or leave the system message "
        "out of the data.",
        "one system turn, or none",
    ),
    "alone": (
        "The chat template writes a system text where messages have none.",
        "A system message in the data and in each request, or the same template at "
        "serving.",
        "samples that begin with what the data says",
    ),
}
"""By reason: cause, fix, and how it should be."""


class SystemTextAdded(Rule):
    """Finds samples with the template's own words."""

    code = "DAT038"
    name = "system-text-added"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for samples with a system message, and one for others."""
        facts = template_of(run)
        if facts is None:
            return
        sights = turn_sights(run)
        told = [(each, told_system(each.sample)) for each in sights]
        beside = [(sight, turn) for sight, turn in told if turn is not None]
        if facts.system_kept and len(beside) >= SAMPLES:
            yield self._beside(facts, beside)
        alone = [
            (sight, turn)
            for sight, its in told
            for turn in sight.sample.turns[:1]
            if its is None and turn.part == "added" and turn.end - turn.start > 1
        ]
        if facts.system_text and alone:
            yield self._alone(facts, alone)

    def _beside(self, facts: TemplateFacts, found: Turns) -> Finding:
        sight, turn = found[0]
        own = [(sight, sight.sample.turns[0]) for sight, _ in found]
        both = [each for pair in zip(found, own, strict=True) for each in pair]
        says = (
            f"{len(found)} samples have two system turns: the template's own, "
            f"{short(facts.system_text)}, and that of the data, from token "
            f"{turn.start} of sample {sight.sample.row} on"
        )
        return self._finding("beside", Severity.WARNING, says, found, both)

    def _alone(self, facts: TemplateFacts, found: Turns) -> Finding:
        dated = ""
        if facts.date:
            dated = ", with the date that it is given, or that of the day"
        text = facts.system_text.replace(facts.date or "\0", "{date}")
        says = (
            f"{len(found)} samples begin with a text of the template's own, "
            f"{short(text)}{dated}"
        )
        return self._finding("alone", Severity.INFO, says, found, found)

    def _finding(
        self, reason: str, severity: Severity, says: str, found: Turns, shown: Turns
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        cause, fix, healthy = _WORDS[reason]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            severity,
            f"{at_steps(min(steps), max(steps))}: {says}",
            cause=cause,
            fix=fix,
            places=[*turn_places(shown, lambda turn: turn.start), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": reason,
                "samples": len(found),
                "tokens": turn.end - turn.start,
                "sample": sight.sample.row,
                "position": turn.start,
            },
            healthy=healthy,
        )
