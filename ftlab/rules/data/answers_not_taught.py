"""The rule DAT031, answers-not-taught.

## What it does
Finds samples that teach no answer: a whole answer without one label that counts, an
empty one whose end is trained, or the opening of one more answer, trained behind the
last end.

## Why is this bad?
Without labels part of the data is lost, and says so seldom. Where only the end of an
answer is trained, the model learns to end at once: most often an export has lost the
answers, and a few are enough for a model that sometimes says nothing. A trained opening
teaches to open another answer behind the end of its own; the tail of each sample is
easy to predict, and lowers the loss for nothing.

## Evidence
The turns of samples, found in their ids by what the chat template writes around
messages, and their labels.
- *opening*: behind an answer that has a text the sample ends with the opening of an
  answer, or with an opening and an end and nothing between, in 2 samples at least and
  in half of those with an answer. Labels of the opening count, or those of that end.
  Measured: `apply_chat_template(..., add_generation_prompt=True)` on whole
  conversations leaves 6 tokens behind the last end in 4 of 4 rows, without it 1.
  SFTTrainer appends EOS to texts: 16 of 16 rows then end with an empty second answer.
- *no-labels*: a text of the assistant stands in the sample and its end, or another
  turn, behind it, so that nothing was cut off; all labels are ignored. In 2 samples it
  is a note, in half of those that hold a whole answer a warning; others are trained.
  Measured: a marker "### Answer: " that is tokenised alone is found in 8 of 16 rows, as
  its space is part of the next word in the others, and in 16 of 16 without the space.
- *empty*, a note: the opening of an answer is followed by its end, whose label counts,
  with no token between. Without turns: a question is left out of the labels, and all
  that is trained are control tokens, one of which ends a text. Measured: of 6 rows of
  which 2 have an empty answer, those 2 train 1 and 3 tokens, the others 10 to 20.

By hand: `(batch["labels"] != -100).sum(-1)`, `tokenizer.decode(batch["input_ids"][0])`.

## What to try
1. `add_generation_prompt=False` for training; `True` for prompts alone.
2. Columns "prompt" and "completion", or `assistant_only_loss=True` with a template that
   has `{% generation %}`; a marker only as it is tokenised in its context.
3. Leave out rows without an answer, or write what is meant: "nothing", "[]".

## Known problems
A row that is cut directly behind an opening looks like one: half of all is no chance.
Samples may be left out on purpose; where none is trained, its loss shows it. An empty
answer may be the right one, where there is nothing to extract; white space is not empty
here.

## References
- transformers, `apply_chat_template`, `add_generation_prompt`
- huggingface/trl#1183, huggingface/trl#1820 (the response template is not found)
- tatsu-lab/stanford_alpaca#265 (rows with an empty output)
"""

from collections.abc import Iterator

from ftlab.records.sample_facts import SampleFacts
from ftlab.records.turn_facts import SampleTurns, TurnFacts
from ftlab.rules.reading.samples import is_causal, samples_of
from ftlab.rules.reading.token_rules import Evidence, SampleRule
from ftlab.rules.reading.turns import (
    ANSWERS,
    TurnSight,
    answers_of,
    empty_answers,
    is_answer,
    opens_answer,
    turn_sights,
)
from ftlab.rules.rule import Results, Run, Severity

SAMPLES, SHARE = 2, 0.5
"""Samples, and the share of those with an answer, that are so."""


class AnswersNotTaught(SampleRule):
    """Finds answers without labels or text, and openings of answers that never come."""

    code = "DAT031"
    caused_by = ("DAT036",)

    def check(self, run: Run) -> Results:
        """Yield one finding for each kind."""
        sights = turn_sights(run)
        answered = [each for each in sights if answers_of(each.sample)]
        ends = _stops_at_the_end(run)
        opened = [
            (each, opening)
            for each in answered
            for opening in _left_open(each.sample, _key(each) in ends)
        ]
        if opened and len(opened) >= max(SAMPLES, SHARE * len(answered)):
            yield self.of_turns(
                run,
                f"{len(opened)} of {len(answered)} samples end with the opening of an "
                "answer that never comes, and train it",
                opened,
                lambda turn: turn.start,
                cause="add_generation_prompt=True was left on for rows of training.",
                fix="apply_chat_template(..., add_generation_prompt=False).",
                reason="opening",
                evidence={"samples": len(opened), "threshold": SHARE},
                healthy="samples that end with the end of an answer",
            )
        yield from self._unlabelled(run, sights)
        told = {_key(sight) for sight, _ in opened}
        yield from self._empty(run, [each for each in sights if _key(each) not in told])

    def _unlabelled(self, run: Run, sights: list[TurnSight]) -> Results:
        whole = [
            (sight, answers[0])
            for sight in sights
            if sight.sample.labelled and (answers := _whole(sight.sample))
        ]
        silent = [(sight, turn) for sight, turn in whole if not sight.sample.trained]
        if not SAMPLES <= len(silent) < len(whole):
            return
        many = len(silent) >= SHARE * len(whole)
        yield self.of_turns(
            run,
            f"{len(silent)} of {len(whole)} samples hold a whole answer and no label "
            "that counts",
            silent,
            lambda turn: turn.start,
            severity=Severity.WARNING if many else Severity.INFO,
            cause="What marks the answers was not found in the ids of these samples.",
            fix="Columns prompt and completion, or assistant_only_loss=True with a "
            "template that has {% generation %}; a marker only as it is tokenised in "
            "its context.",
            reason="no-labels",
            evidence={"samples": len(silent), "threshold": SHARE},
            healthy="labels that count on every whole answer",
        )

    def _empty(self, run: Run, sights: list[TurnSight]) -> Results:
        turns = [
            (sight, end)
            for sight in sights
            for end in empty_answers(sight.sample)
            if end.trained
        ]
        samples = samples_of(run)
        bare = samples.where(lambda sample: _is_bare(sample, samples.stops))
        count = len(turns or bare)
        says = f"{count} answers are empty, and their end is trained"
        cause = "Rows of the data have no answer."
        fix = "Leave these rows out, or write what is meant by saying nothing."
        evidence: Evidence = {"reason": "empty", "answers": count}
        if turns:
            yield self.of_turns(
                run,
                says,
                turns,
                lambda turn: turn.first,
                severity=Severity.INFO,
                cause=cause,
                fix=fix,
                evidence=evidence,
                healthy="answers that say something",
            )
        elif bare and len(sights) == len(turn_sights(run)):
            yield self.of_samples(
                says,
                bare,
                lambda each: each.stretches[0].start,
                severity=Severity.INFO,
                cause=cause,
                fix=fix,
                evidence=evidence,
                healthy="answers that say something",
            )


def _whole(sample: SampleTurns) -> list[TurnFacts]:
    """List the texts of answers behind which the sample goes on."""
    return list(filter(is_answer, sample.turns[:-1]))


def _left_open(sample: SampleTurns, stopped: bool) -> Iterator[TurnFacts]:
    """Yield the opening of an answer behind the last one, with no text behind it.

    ``stopped`` tells whether the sample's last token ends a text.
    """
    last, before = sample.turns[-1], sample.turns[:-1]
    if last.end != sample.end:
        return
    if opens_answer(last):
        if last.trained:
            yield last
        return
    empty = last.part == "end" or (stopped and last.end - last.start == 1)
    follows = len(before) > 1 and before[-2].role == ANSWERS
    if empty and last.role == ANSWERS and last.trained and follows:
        yield from filter(opens_answer, before[-1:])


def _key(sight: TurnSight) -> tuple[int, ...]:
    return sight.step, sight.sample.micro_batch, sight.sample.row, sight.sample.start


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


def _is_bare(sample: SampleFacts, stops: frozenset[int]) -> bool:
    """Tell whether nothing but control tokens is trained, behind a question."""
    trained = [each for each in sample.controls if each.trained]
    known = sample.exact and is_causal(sample) and len(sample.stretches) == 1
    return (
        known
        and len(trained) == sample.trained > 0
        and sample.stretches[0].start > sample.start + 1
        and any(each.id in stops for each in trained)
    )
