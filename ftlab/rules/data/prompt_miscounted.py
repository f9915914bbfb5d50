"""The rule DAT027, prompt-miscounted.

## What it does
Finds labels that begin at the wrong token, because the length of the prompt was counted
in characters of the text, or in columns of a row that begins with padding.

## Why is this bad?
Part of each answer is never trained, or part of each prompt is. The loss falls all the
same, over fewer tokens or other ones than was meant.

## Evidence
Samples whose labels begin once, behind a prompt. For each the place is computed at
which the prompt would end had its length been counted so: *characters*, where as many
characters end as tokens have no label (one space may belong to the next token);
*columns*, as many tokens behind the padding as columns have no label. It is a finding
where in 90 % of the samples, 6 at least (4 where rows are padded), the same two tokens
stand before that place, at 3 different places, and fewer than half of these samples
have the same two before their labels: chance does not put a place of its own behind the
same tokens in every sample.
By hand: `tokenizer.decode(ids[labels == -100])` is a prompt, no more and no less.

## What to try
1. Count tokens: `len(tokenizer(prompt)["input_ids"])`, not `len(prompt)`.
2. With padding in front: `labels[i, start : start + n]`, where
   `start = (attention_mask[i] == 0).sum()`; or mask before padding.

## Known problems
Prompts that end with varied tokens, and no mark of an answer, cannot be told.
Characters are not checked without a tokenizer.

## References
- transformers, `padding_side`
- huggingface/trl#1920
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import BorderGuess, SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, PADDED = 6, 4
"""Samples that it takes; fewer where padding says which ones are wrong."""

SHARE, OWN = 0.9, 0.5
"""Share that must close alike at the computed place, and may before the labels."""

DIFFERENT = 3
"""Different lengths: one length for all is a constant, and no count."""

_FIX = {
    "characters": 'Count tokens: len(tokenizer(prompt)["input_ids"]).',
    "columns": "labels[i, start : start + n] = -100, where start is the row's padding.",
}
_CAUSE = {
    "characters": "The length of the prompt was taken in characters of its text, and "
    "used as a number of tokens.",
    "columns": "Prompts are counted from the first column of the row, where the "
    "padding stands.",
}

Told = list[tuple[Sight, BorderGuess]]


class PromptMiscounted(Rule):
    """Finds prompts whose length was counted in something else than tokens."""

    code = "DAT027"
    name = "prompt-miscounted"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first way of counting that explains the labels."""
        samples = samples_of(run)
        for unit in ("columns", "characters", "characters without BOS"):
            told = [
                (each, guess)
                for each in samples.sights
                if is_causal(each.sample)
                for guess in each.sample.guesses
                if guess.unit == unit and guess.position != _border(each.sample)
            ]
            alike = _alike(told, PADDED if unit == "columns" else SAMPLES)
            if alike:
                yield self._finding(unit.split()[0], alike, len(told), samples)
                return

    def _finding(self, unit: str, alike: Told, of: int, samples: Samples) -> Finding:
        sights = [sight for sight, _ in alike]
        ends = {id(sight.sample): guess.position for sight, guess in alike}
        steps, (first, guess) = steps_of(sights), alike[0]
        border = _border(first.sample)
        closing = " ".join(map(samples.piece, guess.closing))
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: the labels of {len(alike)} samples begin at the "
            f"wrong token: at {border} in row {first.sample.row}, where the prompt "
            f"ends with {closing} before {guess.position}",
            cause=_CAUSE[unit],
            fix=_FIX[unit],
            places=token_places(
                sights, lambda each: min(_border(each), ends[id(each)])
            ),
            steps=steps,
            evidence={
                "reason": unit,
                "samples": len(alike),
                "of": of,
                "sample": first.sample.row,
                "position": border,
                "right position": guess.position,
                "threshold": SHARE,
            },
            healthy="a first label on the first token of each answer",
        )


def _border(sample: SampleFacts) -> int:
    """Return the first position that is trained."""
    return sample.stretches[0].start


def _alike(told: Told, least: int) -> Told:
    """List the samples that close alike where they ought to, unless labels do too."""
    if len(told) < least:
        return []
    closing, count = _common([guess.closing for _, guess in told])
    alike = [each for each in told if each[1].closing == closing]
    lengths = {guess.position - sight.sample.start for sight, guess in alike}
    own = [sight.sample.border[-3:-1] for sight, _ in alike]
    enough = count >= max(least, SHARE * len(told)) and len(lengths) >= DIFFERENT
    return alike if enough and _common(own)[1] < OWN * len(alike) else []


def _common(closings: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    return Counter(closings).most_common(1)[0]
