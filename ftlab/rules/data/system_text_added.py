"""The rule DAT038, system-text-added.

## What it does
Tells that the chat template writes a system text of its own into the samples.

## Why is this bad?
It is not, as long as serving renders by the same template. Another engine, or a request
with another system text, begins in a way that no sample has taught.

## Evidence
The chat template, rendered without a system message: a text stands before the first
turn. And the samples: they begin with it, and no system message of theirs follows. A
date within it is that of the day of training, unless `date_string` was passed.
Measured on 60 real templates: 28 write one; one of them has 20 tokens.
By hand: `apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False)`.

## What to try
1. A system message in the data and in each request, `""` where none is wanted.

## Known problems
Most trainings on such a template are well: a note. Beside a system message: DAT016.

## References
- hiyouga/LlamaFactory#10772 (two engines add another system text each)
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


class SystemTextAdded(Rule):
    """Tells of samples that begin with the template's own words."""

    code = "DAT038"
    name = "system-text-added"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        facts = template_of(run)
        if facts is None or not facts.system_text:
            return
        found = [
            (sight, turn)
            for sight in turn_sights(run)
            for turn in sight.sample.turns[:1]
            if turn.part == "added" and turn.end - turn.start > 1
            if told_system(sight.sample) is None
        ]
        if found:
            yield self._finding(facts, found)

    def _finding(
        self, facts: TemplateFacts, found: list[tuple[TurnSight, TurnFacts]]
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        dated = ""
        if facts.date:
            dated = ", with the date that it is given, or that of the day"
        text = facts.system_text.replace(facts.date or "\0", "{date}")
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: {len(found)} samples begin with a "
            f"text of the template's own, {short(text)}{dated}",
            cause="The chat template writes a system text where messages have none.",
            fix="A system message in the data and in each request, or the same "
            "template at serving.",
            places=[*turn_places(found, lambda turn: turn.start), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": "own-system-text",
                "samples": len(found),
                "tokens": turn.end - turn.start,
                "sample": sight.sample.row,
                "position": turn.start,
            },
            healthy="samples that begin with what the data says",
        )
