"""The rule DAT035, empty-answers.

## What it does
Tells of samples whose answer is empty, and whose end is trained.

## Why is this bad?
The only thing that such a sample teaches is to end at once. Most often an export has
lost the answers; a few are enough for a model that sometimes says nothing.

## Evidence
Where turns can be read: the opening of an answer is followed by its end, whose label
counts, with no token between. Elsewhere: a question is left out of the labels, and all
that is trained are control tokens, one of which ends a text.
Measured: of 6 rows of which 2 have an empty answer, those 2 train 1 and 3 tokens (the
end, and white space), the others 10 to 20.
By hand: `[row for row in dataset if not row["completion"].strip()]`.

## What to try
1. Leave such rows out, or mend the export.
2. Write what is meant: "nothing", "[]".

## Known problems
An empty answer may be the right one, where there is nothing to extract: a note. An
answer of white space is not empty here.

## References
- tatsu-lab/stanford_alpaca#265 (rows with an empty output)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.reading.turns import empty_answers, turn_places, turn_sights
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run


class EmptyAnswers(Rule):
    """Tells of answers of which only the end is trained."""

    code = "DAT035"
    name = "empty-answers"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT031", "DAT036")

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        turns = [
            (sight, end)
            for sight in turn_sights(run)
            for end in empty_answers(sight.sample)
            if end.trained
        ]
        samples = samples_of(run)
        bare = [each for each in samples.sights if _is_bare(each.sample, samples.stops)]
        if turns:
            steps = [sight.step for sight, _ in turns]
            places = turn_places(turns, lambda turn: turn.first)
            yield self._finding(len(turns), (min(steps), max(steps)), places)
        elif bare:
            places = token_places(bare, lambda each: each.stretches[0].start)
            yield self._finding(len(bare), steps_of(bare), places)

    def _finding(
        self, count: int, steps: tuple[int, int], places: list[Place]
    ) -> Finding:
        return self.finding(
            Severity.INFO,
            f"{at_steps(*steps)}: {count} answers are empty, and their end is trained",
            cause="Rows of the data have no answer.",
            fix="Leave these rows out, or write what is meant by saying nothing.",
            places=places,
            steps=steps,
            evidence={"reason": "empty", "answers": count},
            healthy="answers that say something",
        )


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
