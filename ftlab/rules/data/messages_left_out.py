"""The rule DAT036, messages-left-out.

## What it does
Finds what the messages say and the ids do not, because the chat template leaves it out:
whole messages, tool calls, a reasoning, the indentation of an answer's first line.

## Why is this bad?
The template has left it out without a word, and the loss is low. The model is trained
to say nothing where it should call a tool, and to know the result of a call that nobody
made. The last answer teaches to think first, where all before it teach to answer at
once. A system text that is there at serving was never seen. Code that is stripped lacks
the indentation of its first line alone.

## Evidence
- *no-tool-calls*: the arguments of `tool_calls` are not in what the template renders,
  and within a conversation the opening of an answer is followed by its end, with no
  token between, and by another turn. Measured: a ChatML template without a branch for
  tool calls writes neither name nor arguments in each of 8 rows.
- *reasoning-in-history*: of two answers with a reasoning, that of the first is not in
  the text; the last answer begins with one, answers before the last question have none
  and are trained, in 2 samples at least, and no such answer has one. Measured: a
  template that takes reasoning away writes 8 of 16 of 8 conversations, and all 16 when
  each answer is the last of a sample of its own.
- The kind of a message: of messages that were given to `ftlab.tokens`, and of the first
  16 rows of a Trainer's dataset those that hold messages beside `input_ids`, as TRL's
  do, and were not cut (32,768 tokens at most), letters and digits, in stretches of 8 to
  24 between line ends and quotes, are searched for in the decoded ids, and none is
  there. *indentation*: an answer begins with four spaces, a tab, or two spaces that
  later lines have too, and its first line stands nowhere behind two spaces or a tab,
  which the tokenizer keeps. In 2 rows at least (or the only one) and in half of them a
  warning, else a note. Measured: a template that writes a system text only before a
  last question has it in 0 of 16 trained rows, and in each prompt; one that strips
  texts, as Llama 3's does, takes the indentation from 16 of 16 answers.

By hand: `tokenizer.decode(row["input_ids"])` beside `row["messages"]`, or
`tokenizer.apply_chat_template(messages, tools=tools, tokenize=False)`.

## What to try
1. A template of the model that writes it, in training as in serving.
2. Write it into `content` yourself: calls, a system text into the first question, code
   between fences.
3. One sample for each answer, with the turns before it, and only that answer trained.

## Known problems
Calls beside a text of the same message are lost as well, and seen only where the
dataset keeps its messages; packed ones do not: `ftlab.tokens(tokenizer, messages)`.
Data whose earlier answers have no reasoning by themselves looks the same. To leave the
reasoning out of history is right; to train what is left is not. Other outer white space
and texts that are rewritten in part count as written.

## References
- huggingface/trl#5517 (templates that drop the assistant's tool calls)
- axon-rl/gem#44, modelscope/ms-swift#4939 (the template takes reasoning away)
- meta-llama/llama3#104 (the template that strips)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ftlab.records.template_words import DROPPED
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reading.token_rules import SampleRule, Turns
from ftlab.rules.reading.turns import (
    NEEDS,
    TurnSight,
    answers_of,
    empty_answers,
    has_turns,
    template_of,
    turn_sights,
)
from ftlab.rules.rule import Finding, Place, Results, Run, Severity, to_runs_with

CALLS, REASONING = "tool calls", "reasoning in history"
"""What templates drop, as the survey names it."""

SAMPLES = 2
"""Samples whose earlier answers are trained without a reasoning."""

ROWS, SHARE = 2, 0.5
"""Rows that lack a message, and their share of those looked at."""

INDENTATION = "indentation"
"""The kind of what stripped texts lack."""

_WORDS = {
    **DROPPED,
    "tool": DROPPED["tool results"],
    INDENTATION: "the indentation of an answer's first line is",
}

_TEMPLATE = Place("config", "tokenizer.chat_template")


def _told(run: Run) -> Mapping[str, Any]:
    found = first_facts(run).training.get("left_out")
    return found if isinstance(found, Mapping) else {}


def _is_known(run: Run) -> bool:
    return has_turns(run) or bool(_told(run))


class MessagesLeftOut(SampleRule):
    """Finds what the data says and the ids do not."""

    code = "DAT036"
    requires = replace(NEEDS, present=_is_known)
    applies = to_runs_with(_is_known)

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind of message, for calls and for reasoning."""
        told = _told(run)
        for each in told.get("found", ()):
            yield self._message(each, int(told["rows"]))
        facts = template_of(run)
        dropped = () if facts is None else facts.drops
        sights = turn_sights(run)
        if CALLS in dropped and (found := _silent(sights)):
            yield self._turns(
                run,
                "no-tool-calls",
                f"{len(found)} answers within conversations are empty, and the "
                "template writes no tool calls",
                found,
                cause="The chat template leaves tool_calls out without a word.",
                fix="A template that writes tool calls, or calls that are part of "
                "content.",
            )
        if REASONING in dropped and (found := _thoughtless(sights)):
            yield self._turns(
                run,
                "reasoning-in-history",
                f"{len(found)} answers are trained without a reasoning, and the last "
                "ones of their conversations with one",
                found,
                cause="The chat template takes the reasoning away from all answers but "
                "the last one, and the labels of the others count.",
                fix="One sample for each answer, with that answer alone trained, or a "
                "template that keeps the reasoning.",
            )

    def _turns(
        self, run: Run, reason: str, says: str, found: Turns, *, cause: str, fix: str
    ) -> Finding:
        calls = reason == "no-tool-calls"
        return self.of_turns(
            run,
            says,
            found,
            lambda turn: turn.start if calls else turn.first,
            cause=cause,
            fix=fix,
            reason=reason,
            evidence={"answers": len(found)},
            healthy="turns that hold what the messages say",
            behind=[_TEMPLATE],
        )

    def _message(self, found: Mapping[str, Any], looked: int) -> Finding:
        rows = int(found["rows"])
        many = rows >= max(min(ROWS, looked), SHARE * looked)
        what = _WORDS.get(str(found["kind"]), f"{found['kind']} is")
        stripped = found["kind"] == INDENTATION
        return self.finding(
            Severity.WARNING if many else Severity.INFO,
            (f"in {rows} of the first {looked} rows " if looked > 1 else "")
            + f"{what} not in the ids",
            cause="The chat template strips texts of their outer white space."
            if stripped
            else "The chat template leaves it out without a word.",
            fix="A template that writes it, in training as in serving, or "
            + ("code between fences." if stripped else "a content that holds it."),
            places=[
                Place("data", f"message {found['message']} of row {found['row']}"),
                _TEMPLATE,
            ],
            steps=(-1, -1),
            reason=str(found["kind"]),
            evidence={"rows": rows, "looked": looked, "threshold": SHARE},
            healthy="ids that hold what the messages say",
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
        if turn.trained and answers_of(sight.sample)[-1].reasoning
    ]
    return found if len({id(sight) for sight, _ in found}) >= SAMPLES else []


def _history(sample: SampleTurns) -> list[TurnFacts]:
    """List the answers before the last question: those behind it belong together."""
    asked = [t.start for t in sample.turns if t.role == "user" and t.part == "text"]
    return [t for t in answers_of(sample) if asked and t.start < asked[-1]]
