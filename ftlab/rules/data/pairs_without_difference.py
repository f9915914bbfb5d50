"""The rule DAT013, pairs-without-difference.

## What it does
Finds preference training in which chosen and rejected texts are the same tokens.

## Why is this bad?
The loss compares the two: between equal rows there is nothing to learn. Margins and
gradients are 0, and the loss stays where it began, at ln 2 for DPO and reward models.

## Evidence
The rows of due steps, compared token by token as halves of a batch, as neighbours and
as forwards in turn. That rows are compared with each other is told by the Trainer's
class; or by the loss, where the model is given no labels of its tokens: the same number
(to 0.001) for 3 batches of other texts and of equal pairs only, or ln 2 at first, with
the other pairs sharing a beginning.
An error where all pairs are equal, a warning from half of them on, a note from a tenth.
Measured, DPO of a small model for 200 steps, margin on other pairs: 0.54 without equal
pairs, 0.48 with a tenth, 0.42 with a quarter, 0.32 with half, 0.02 with 0.9 of them.
They are cut where all are as long as the longest row, and do not end with EOS.
By hand: `(ids[:n // 2] == ids[n // 2:]).all(1)`.

## What to try
1. A greater `max_length`; or cut prompts from the left, where answers are kept.
2. Give `chosen` and `rejected` a column each, and drop rows in which they are equal.

## Known problems
Losses with a term of their own for the chosen text (ORPO, CPO) in a loop of one's own
are not told from others. SimCSE and R-Drop use each row twice on purpose: their loss is
another one for each batch.

## References
- huggingface/trl#1236 (loss of 0.693, margins of 0)
"""

from ftlab.records.pair_facts import EqualPair, SeenPairs
from ftlab.rules.reading.pairs import compares, pairs_of, places_of
from ftlab.rules.reading.samples import NEEDS, samples_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps

SHARE, NOTED = 0.5, 0.1
"""Shares of equal pairs: for a warning, and for a note."""

PAIRS = 2
"""Equal pairs; one is chance."""


class PairsWithoutDifference(Rule):
    """Finds chosen and rejected texts that are one text."""

    code = "DAT013"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for all pairs."""
        found = pairs_of(run)
        if found is None or not compares(run, *found):
            return
        seen, steps = found
        if seen.equal >= max(PAIRS, NOTED * seen.pairs):
            yield self._finding(run, seen, steps)

    def _finding(self, run: Run, seen: SeenPairs, steps: tuple[int, ...]) -> Finding:
        share = seen.equal / seen.pairs
        cut = _cut(seen, samples_of(run).stops)
        first = seen.some[0]
        told = f"both {seen.longest} tokens long, as the longest row is" if cut else ""
        return self.finding(
            _severity(share),
            f"{at_steps(min(steps), max(steps))}: chosen and rejected are the same "
            f"tokens in {seen.equal} of {seen.pairs} pairs"
            + (f", {told}" if told else f", of {first.length} tokens in the first"),
            cause="Both texts are cut before they differ."
            if cut
            else "Both texts of a pair are the same in the data.",
            fix="Raise max_length, so that the answers' ends are kept."
            if cut
            else "Give chosen and rejected a column each; drop pairs that are equal.",
            places=places_of(seen.some),
            steps=(min(steps), max(steps)),
            reason="cut" if cut else "equal",
            evidence={
                "pairs": seen.pairs,
                "equal": seen.equal,
                "share": share,
                "threshold": SHARE,
                "longest": seen.longest,
                "sample": first.row,
                "other": first.other,
            },
            healthy="chosen and rejected that differ in a token at least",
        )


def _severity(share: float) -> Severity:
    if share == 1:
        return Severity.ERROR
    return Severity.WARNING if share >= SHARE else Severity.INFO


def _cut(seen: SeenPairs, stops: frozenset[int]) -> bool:
    """Tell whether equal pairs go up to the longest length, and end with no end."""

    def whole(pair: EqualPair) -> bool:
        return pair.length < seen.longest or pair.last in stops

    return not any(map(whole, seen.some))
