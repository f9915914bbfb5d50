"""The rule DAT037, reasoning-left-out.

## What it does
Finds conversations whose earlier answers are trained without the reasoning that the
chat template has taken away from them.

## Why is this bad?
The last answer teaches to think first, and all answers before it teach the model to
answer at once. The reasoning of those is never trained, though the data has it.

## Evidence
The chat template, rendered with two answers that both have a reasoning: that of the
first is not in the text, that of the second is. And the turns of the samples: the last
answer begins with a reasoning, and answers before the last question have none and are
trained, in 2 samples at least; and no answer before a last question has one.
Measured: a template of this kind writes 8 of 16 reasonings of 8 conversations, and all
16 when each answer is a sample of its own, the last of its conversation.
By hand: search `apply_chat_template(messages, tokenize=False)` for each reasoning.

## What to try
1. One sample for each answer, with the turns before it, and only that answer trained.
2. A template that keeps the reasoning, in training as in serving.

## Known problems
Data whose earlier answers have no reasoning by themselves looks the same. To leave the
reasoning out of history is right; to train what is left of those answers is not.

## References
- axon-rl/gem#44, modelscope/ms-swift#4939 (the template takes reasoning away)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    TurnSight,
    has_turns,
    template_of,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

DROPPED = "reasoning in history"

SAMPLES = 2
"""Samples whose earlier answers are trained without a reasoning."""


class ReasoningLeftOut(Rule):
    """Finds answers that are trained without their reasoning."""

    code = "DAT037"
    name = "reasoning-left-out"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding where all earlier answers have lost theirs."""
        facts = template_of(run)
        if facts is None or DROPPED not in facts.drops:
            return
        sights = turn_sights(run)
        earlier = [(s, t) for s in sights for t in _history(s.sample)]
        if any(turn.reasoning for _, turn in earlier):
            return
        found = [
            (sight, turn)
            for sight, turn in earlier
            if turn.trained and _answers(sight.sample)[-1].reasoning
        ]
        if len({id(sight) for sight, _ in found}) >= SAMPLES:
            yield self._finding(found)

    def _finding(self, found: list[tuple[TurnSight, TurnFacts]]) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {len(found)} answers are trained "
            "without a reasoning, and the last ones of their conversations with one",
            cause="The chat template takes the reasoning away from all answers but the "
            "last one, and the labels of the others count.",
            fix="One sample for each answer, with that answer alone trained, or a "
            "template that keeps the reasoning.",
            places=[*turn_places(found, lambda turn: turn.first), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": "reasoning-in-history",
                "answers": len(found),
                "sample": sight.sample.row,
                "position": turn.first,
            },
            healthy="answers that are trained with their reasoning, or not at all",
        )


def _history(sample: SampleTurns) -> list[TurnFacts]:
    """List the answers before the last question: those behind it belong together."""
    asked = [t.start for t in sample.turns if t.role == "user" and t.part == "text"]
    return [t for t in _answers(sample) if asked and t.start < asked[-1]]


def _answers(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts of answers."""
    return [t for t in sample.turns if t.role == ANSWERS and t.part == "text"]
