"""The rule DAT052, labels-per-word.

## What it does
Finds labels of a token classifier that are one per word, where texts are in pieces, or
one per piece without the tokens in front of and behind a text.

## Why is this bad?
From the first word in two pieces on, each class stands at the place of another word,
and the token in front of the text has the class of the first word. The model learns
classes by position, scores look like those of a hard task, and nothing raises.

## Evidence
Samples of the batches, 4 different ones at least: labels that are no tokens (fewer than
half of them are the token at their own place); in 90 % of the samples they count from
the very first position on, which is a control token, without a gap, and end 2 and more
tokens before the text does; by how many differs from sample to sample, or is the number
of control tokens in each. Labels that
follow `word_ids` leave control tokens and second pieces out, so that they begin later
and have gaps, or reach the end. Measured on the fault `labels-per-word`: 16 of 16
samples, and 0 of 16 with labels for the first piece of each word.
By hand: `labels[i, 0] != -100` at a row's first special token.

## What to try
1. `tokenizer(words, is_split_into_words=True)`, and labels by `word_ids()`: the class
   for the first piece of a word, -100 for the others and for special tokens.
2. `DataCollatorForTokenClassification` pads labels, and aligns none.

## Known problems
Labels that are padded with a class instead of -100 cannot be told from right ones.

## References
- transformers documentation, "Token classification", preprocessing
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 4, 0.9
"""Samples, and the share of them that are so."""

OWN = 0.5
"""Share of labels that are the token at their place, below which they are classes."""

LEFT = 2
"""Last tokens without a label: a piece of a word, and a token behind the text."""


class LabelsPerWord(Rule):
    """Finds classes of words at the places of pieces."""

    code = "DAT052"
    name = "labels-per-word"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all samples."""
        known = [e for e in samples_of(run).sights if e.sample.trained]
        sick = [each for each in known if _is_per_word(each.sample)]
        enough = len(known) >= SAMPLES and len(sick) >= SHARE * len(known)
        shifted = all(_left(e.sample) == len(e.sample.controls) for e in sick)
        if enough and (shifted or len({_left(e.sample) for e in sick}) > 1):
            yield self._finding(sick, len(known), shifted=shifted)

    def _finding(self, sick: list[Sight], seen: int, *, shifted: bool) -> Finding:
        steps, first = steps_of(sick), sick[0].sample
        left = _left(first)
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: the labels of {len(sick)} of {seen} samples begin on "
            f"the token in front of the text and end before the text does, by {left} "
            f"tokens in row {first.row}",
            cause="They are one per piece of a word, and the tokenizer has added "
            "tokens in front and behind: each stands one place too early."
            if shifted
            else "They are one per word, and the tokenizer has split words and added "
            "tokens.",
            fix="Align them: encoding.word_ids() names the word of each token; -100 "
            "where it is None, and on second pieces.",
            places=token_places(sick, lambda each: each.start),
            steps=steps,
            evidence={
                "samples": len(sick),
                "of": seen,
                "threshold": SHARE,
                "sample": first.row,
                "tokens left": left,
            },
            healthy="no label on special tokens, one for each word's first piece",
        )


def _left(sample: SampleFacts) -> int:
    """Count the last tokens that have no label."""
    return sample.length - sample.trained


def _is_per_word(sample: SampleFacts) -> bool:
    """Tell whether labels are as many as something that has fewer than the tokens."""
    if not 0 <= sample.same < OWN or sample.labels_of >= 0:
        return False
    begins = bool(sample.controls) and sample.controls[0].position == sample.start
    only = sample.stretches[0] if len(sample.stretches) == 1 else None
    if not begins or only is None or only.start != sample.start:
        return False
    return only.end <= sample.end - LEFT
