"""The rule DAT036, turns-left-out.

## What it does
Finds answers that are empty because the chat template writes no tool calls, and answers
that are trained without the reasoning that it has taken away from them.

## Why is this bad?
The model is trained to say nothing where it should call a tool, and to know the result
of a call that nobody made. And the last answer teaches to think first, where all
answers before it teach to answer at once. Nothing raises, and the loss is low.

## Evidence
The chat template, rendered with messages that have both, and the turns of the samples.
*no-tool-calls*: the arguments of `tool_calls` are not in the text, and within a
conversation the opening of an answer is followed by its end, with no token between, and
by another turn. *reasoning-in-history*: of two answers with a reasoning, that of the
first is not in the text; the last answer begins with one, answers before the last
question have none and are trained, in 2 samples at least, and no such answer has one.
Measured: a ChatML template without a branch for tool calls writes neither name nor
arguments in each of 8 rows; one that takes reasoning away writes 8 of 16 of 8
conversations, and all 16 when each answer is the last of a sample of its own.
By hand: `tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)`.

## What to try
1. A template of the model that writes them, in training as in serving.
2. Write calls into `content` yourself; one sample for each answer, with the turns
   before it, and only that answer trained.

## Known problems
Calls beside a text of the same message are lost as well, and cannot be seen: the turn
is not empty. Data whose earlier answers have no reasoning by themselves looks the same.
To leave the reasoning out of history is right; to train what is left is not.

## References
- huggingface/trl#5517 (templates that drop the assistant's tool calls)
- axon-rl/gem#44, modelscope/ms-swift#4939 (the template takes reasoning away)
"""

from collections.abc import Callable, Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    TurnSight,
    empty_answers,
    has_turns,
    template_of,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

CALLS, REASONING = "tool calls", "reasoning in history"
"""What templates drop, as the survey names it."""

SAMPLES = 2
"""Samples whose earlier answers are trained without a reasoning."""

Turns = Sequence[tuple[TurnSight, TurnFacts]]


class TurnsLeftOut(Rule):
    """Finds answers whose tool calls or reasoning were not written."""

    code = "DAT036"
    name = "turns-left-out"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT039",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for calls, and one for reasoning."""
        facts = template_of(run)
        dropped = () if facts is None else facts.drops
        sights = turn_sights(run)
        if CALLS in dropped and (found := _silent(sights)):
            yield self._finding(
                "no-tool-calls",
                f"{len(found)} answers within conversations are empty, and the "
                "template writes no tool calls",
                found,
                lambda turn: turn.start,
                cause="The chat template leaves tool_calls out without a word.",
                fix="A template that writes tool calls, or calls that are part of "
                "content.",
            )
        if REASONING in dropped and (found := _thoughtless(sights)):
            yield self._finding(
                "reasoning-in-history",
                f"{len(found)} answers are trained without a reasoning, and the last "
                "ones of their conversations with one",
                found,
                lambda turn: turn.first,
                cause="The chat template takes the reasoning away from all answers but "
                "the last one, and the labels of the others count.",
                fix="One sample for each answer, with that answer alone trained, or a "
                "template that keeps the reasoning.",
            )

    def _finding(
        self,
        reason: str,
        says: str,
        found: Turns,
        at: Callable[[TurnFacts], int],
        *,
        cause: str,
        fix: str,
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {says}",
            cause=cause,
            fix=fix,
            places=[*turn_places(found, at), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": reason,
                "answers": len(found),
                "sample": sight.sample.row,
                "position": at(turn),
            },
            healthy="turns that hold what the messages say",
        )


def _silent(sights: Sequence[TurnSight]) -> Turns:
    """Return the empty answers behind which another message follows."""
    return [
        (sight, end)
        for sight in sights
        for end in empty_answers(sight.sample)
        if any(t.start >= end.end and t.part == "text" for t in sight.sample.turns)
    ]


def _thoughtless(sights: Sequence[TurnSight]) -> Turns:
    """Return earlier answers without a reasoning, where the last ones have one."""
    earlier = [(s, t) for s in sights for t in _history(s.sample)]
    if any(turn.reasoning for _, turn in earlier):
        return []
    found = [
        (sight, turn)
        for sight, turn in earlier
        if turn.trained and _answers(sight.sample)[-1].reasoning
    ]
    return found if len({id(sight) for sight, _ in found}) >= SAMPLES else []


def _history(sample: SampleTurns) -> list[TurnFacts]:
    """List the answers before the last question: those behind it belong together."""
    asked = [t.start for t in sample.turns if t.role == "user" and t.part == "text"]
    return [t for t in _answers(sample) if asked and t.start < asked[-1]]


def _answers(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts of answers."""
    return [t for t in sample.turns if t.role == ANSWERS and t.part == "text"]
