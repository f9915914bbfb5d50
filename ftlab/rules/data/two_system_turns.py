"""The rule DAT016, two-system-turns.

## What it does
Finds samples with the system message of the data and one of the chat template's own.

## Why is this bad?
Each sample begins with two instructions, which may contradict each other. The model
learns to obey a text that nobody wrote into the data, and is served the two only where
the same template is used.

## Evidence
The chat template, rendered with a system message and without: the turn that it writes
for conversations without one stands beside that of the message. It opens as that does:
a fixed beginning within the same turn (a date, tools), in front of all turns, or under
another role is none. And the turns of the samples: 2 with a system message, at least.
Measured on 81 real templates (72 of them come with TRL): none writes two, and 25 have
a system text of their own.
By hand: `apply_chat_template([{"role": "system", "content": "A"}, ...],
tokenize=False)`.

## What to try
1. A template that writes its own text only where `messages[0].role != "system"`.
2. No system message in the data, where the template's own is meant.

## Known problems
A text of the template's own within the turn of the message is taken for meant.

## References
- modelscope/ms-swift#2328 (two system prompts in training)
"""

from collections.abc import Iterator

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
"""Samples with a system message."""


class TwoSystemTurns(Rule):
    """Finds samples that begin with two system turns."""

    code = "DAT016"
    name = "two-system-turns"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        facts = template_of(run)
        if facts is None or not facts.system_kept:
            return
        found = [
            (sight, turn)
            for sight in turn_sights(run)
            if (turn := told_system(sight.sample)) is not None
        ]
        if len(found) >= SAMPLES:
            yield self._finding(facts, found)

    def _finding(
        self, facts: TemplateFacts, found: list[tuple[TurnSight, TurnFacts]]
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        row, first = sight.sample.row, sight.sample.turns[0]
        own = [(sight, sight.sample.turns[0]) for sight, _ in found]
        both = [each for pair in zip(found, own, strict=True) for each in pair]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {len(found)} samples have two system "
            f"turns: the template's own, {short(facts.system_text)}, and that of the "
            f"data, from token {turn.start} of sample {row} on",
            cause="The chat template writes its system text even where messages have "
            "one.",
            fix="Write it only where messages[0].role != 'system', or leave the "
            "system message out of the data.",
            places=[*turn_places(both, lambda turn: turn.start), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "samples": len(found),
                "threshold": SAMPLES,
                "sample": row,
                "own": first.start,
                "position": turn.start,
            },
            healthy="one system turn, or none",
        )
