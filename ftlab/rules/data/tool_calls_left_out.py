"""The rule DAT036, tool-calls-left-out.

## What it does
Finds answers that are empty because the chat template writes no tool calls.

## Why is this bad?
The model is trained to say nothing where it should call a tool, and to know the result
of a call that nobody made. Nothing raises, and the loss is low.

## Evidence
The chat template, rendered with a message that has `tool_calls`: their arguments are
not in the text. And the turns of the samples: within a conversation the opening of an
answer is followed by its end, with no token between, and by another turn.
Measured: a ChatML template without a branch for tool calls writes neither name nor
arguments of the call, in each of 8 rows.
By hand: `tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)`.

## What to try
1. A template of the model that writes tool calls.
2. Write the calls into `content` yourself, in training as in serving.

## Known problems
Calls beside a text of the same message are lost as well, and cannot be seen: the turn
is not empty. Calls that are written into `content` are no calls to the template.

## References
- huggingface/trl#5517 (templates that drop the assistant's tool calls)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.turns import (
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

DROPPED = "tool calls"


class ToolCallsLeftOut(Rule):
    """Finds answers whose tool calls were not written."""

    code = "DAT036"
    name = "tool-calls-left-out"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT039",)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        facts = template_of(run)
        if facts is None or DROPPED not in facts.drops:
            return
        found = [
            (sight, end)
            for sight in turn_sights(run)
            for end in empty_answers(sight.sample)
            if _goes_on(sight.sample, end)
        ]
        if found:
            yield self._finding(found)

    def _finding(self, found: list[tuple[TurnSight, TurnFacts]]) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, end = found[0]
        setting = Place("config", "tokenizer.chat_template")
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {len(found)} answers within "
            "conversations are empty, and the template writes no tool calls",
            cause="The chat template leaves tool_calls out without a word.",
            fix="A template that writes tool calls, or calls that are part of content.",
            places=[*turn_places(found, lambda turn: turn.start), setting],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": "no-tool-calls",
                "answers": len(found),
                "sample": sight.sample.row,
                "position": end.start,
            },
            healthy="turns that hold the calls which were made in them",
        )


def _goes_on(sample: SampleTurns, end: TurnFacts) -> bool:
    """Tell whether another message follows."""
    return any(t.start >= end.end and t.part == "text" for t in sample.turns)
