"""The rule DAT034, answers-not-trained.

## What it does
Finds samples that hold a whole answer and not one label that counts, beside others that
are trained.

## Why is this bad?
Such a sample teaches nothing. What was to mark the answers stands in it in other tokens
than it was searched for, and says so seldom: part of the data is lost.

## Evidence
The turns of samples, found in their ids by what the chat template writes around
messages: a text of the assistant stands in the sample and its end, or another turn,
behind it, so that nothing was cut off; all labels of the sample are ignored. In 2
samples it is a note, in half of those that hold a whole answer a warning; other samples
are trained.
Measured: a marker "### Answer: " that is tokenised alone is found in 8 of 16 rows, as
its space is part of the next word in the others, and in 16 of 16 without the space.
By hand: `(batch["labels"] != -100).sum(-1)`.

## What to try
1. Columns "prompt" and "completion" in place of a marker.
2. `assistant_only_loss=True` with a template that has `{% generation %}`.
3. A marker that is tokenised in its context, or a control token.

## Known problems
Samples may be left out on purpose; half of all are not, as far as is known. Where no
sample at all is trained, that is seen by its loss. Rows that no turn can be read from
are not looked at.

## References
- huggingface/trl#1183, huggingface/trl#1820 (the response template is not found)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    TurnSight,
    has_turns,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 2, 0.5
"""Samples without labels; of those with a whole answer, the share that is too much."""


class AnswersNotTrained(Rule):
    """Finds whole answers in samples without a label."""

    code = "DAT034"
    name = "answers-not-trained"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        whole = [
            (sight, answers[0])
            for sight in turn_sights(run)
            if sight.sample.labelled and (answers := _whole(sight.sample))
        ]
        silent = [(sight, turn) for sight, turn in whole if not sight.sample.trained]
        if SAMPLES <= len(silent) < len(whole):
            yield self._finding(silent, len(whole))

    def _finding(
        self, found: list[tuple[TurnSight, TurnFacts]], answered: int
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        many = len(found) >= SHARE * answered
        return self.finding(
            Severity.WARNING if many else Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: {len(found)} of {answered} samples "
            "hold a whole answer and no label that counts",
            cause="What marks the answers was not found in the ids of these samples.",
            fix="Columns prompt and completion, or assistant_only_loss=True with a "
            "template that has {% generation %}; a marker only as it is tokenised in "
            "its context.",
            places=turn_places(found, lambda turn: turn.start),
            steps=(min(steps), max(steps)),
            evidence={
                "samples": len(found),
                "threshold": SHARE,
                "sample": sight.sample.row,
                "position": turn.start,
            },
            healthy="labels that count on every whole answer",
        )


def _whole(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts of answers behind which the sample goes on."""
    return [t for t in sample.turns[:-1] if t.role == ANSWERS and t.part == "text"]
