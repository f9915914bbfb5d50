"""The rule DAT031, generation-prompt-trained.

## What it does
Finds samples that are over, and yet end with the opening of one more answer, which is
trained.

## Why is this bad?
The model learns to open another answer behind the end of its own one. The tail of each
sample is easy to predict, and lowers the loss for nothing.

## Evidence
The turns of samples, found in their ids by what the chat template writes around
messages: behind an answer that has a text the sample ends with the opening of an
answer, or with an opening and an end and nothing between, in 2 samples at least and in
half of those with an answer. Labels of the opening count, or those of that end.
Measured: `apply_chat_template(..., add_generation_prompt=True)` on whole conversations
leaves 6 tokens behind the last end in 4 of 4 rows, without it 1. SFTTrainer appends EOS
to texts: 16 of 16 rows then end with an empty second answer, without it 0.
By hand: `tokenizer.decode(batch["input_ids"][0])`.

## What to try
1. `add_generation_prompt=False` for training; `True` for prompts alone.

## Known problems
A row that is cut directly behind an opening looks the same: half of all is no chance.
An empty answer to a question of its own is told by DAT035.

## References
- transformers, `apply_chat_template`, `add_generation_prompt`
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.samples import samples_of
from ftlab.rules.reading.turns import (
    ANSWERS,
    NEEDS,
    OPENINGS,
    TurnSight,
    has_turns,
    turn_places,
    turn_sights,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 2, 0.5
"""Samples, and the share of those with an answer, that end with an opening."""


class GenerationPromptTrained(Rule):
    """Finds openings of answers that never come."""

    code = "DAT031"
    name = "generation-prompt-trained"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are turns, or nothing is known of the run."""
        return not run.facts.model or has_turns(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        answered = [each for each in turn_sights(run) if _has_answer(each.sample)]
        ends = _stops_at_the_end(run)
        open_ = [
            (each, opening)
            for each in answered
            for opening in _left_open(each.sample, _key(each) in ends)
        ]
        if len(open_) >= max(SAMPLES, SHARE * len(answered)):
            yield self._finding(open_, len(answered))

    def _finding(
        self, found: list[tuple[TurnSight, TurnFacts]], answered: int
    ) -> Finding:
        steps = [sight.step for sight, _ in found]
        sight, turn = found[0]
        return self.finding(
            Severity.WARNING,
            f"{at_steps(min(steps), max(steps))}: {len(found)} of {answered} samples "
            "end with the opening of an answer that never comes, and train it",
            cause="add_generation_prompt=True was left on for rows of training.",
            fix="apply_chat_template(..., add_generation_prompt=False).",
            places=turn_places(found, lambda turn: turn.start),
            steps=(min(steps), max(steps)),
            evidence={
                "samples": len(found),
                "threshold": SHARE,
                "sample": sight.sample.row,
                "position": turn.start,
            },
            healthy="samples that end with the end of an answer",
        )


def _has_answer(sample: SampleTurns) -> bool:
    return any(t.role == ANSWERS and t.part == "text" for t in sample.turns)


def _left_open(sample: SampleTurns, stopped: bool) -> Iterator[TurnFacts]:
    """Yield the opening of an answer behind the last one, with no text behind it.

    ``stopped`` tells whether the sample's last token ends a text.
    """
    last, before = sample.turns[-1], sample.turns[:-1]
    if last.end != sample.end:
        return
    if _opens(last):
        if last.trained:
            yield last
        return
    empty = last.part == "end" or (stopped and last.end - last.start == 1)
    follows = len(before) > 1 and before[-2].role == ANSWERS
    if empty and last.role == ANSWERS and last.trained and follows:
        yield from (turn for turn in before[-1:] if _opens(turn))


def _key(sight: TurnSight) -> tuple[int, ...]:
    return sight.step, sight.sample.micro_batch, sight.sample.row, sight.sample.start


def _opens(turn: TurnFacts) -> bool:
    return turn.part in OPENINGS and turn.role == ANSWERS


def _stops_at_the_end(run: Run) -> set[tuple[int, ...]]:
    """Give the samples whose last token is one that ends a text, however often seen."""
    stops = samples_of(run).stops
    return {
        (event.step, each["micro_batch"], each["row"], each["start"])
        for event in run.whole.events
        if event.kind == "rows"
        for each in event.detail["samples"]
        if stops.intersection(each["tail"][-1:])
    }
