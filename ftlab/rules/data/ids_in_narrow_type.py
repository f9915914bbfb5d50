"""The rule DAT028, ids-in-narrow-type.

## What it does
Finds token ids that were stored, or cast, in a type too narrow for the vocabulary:
wrapped around in one byte or two, or rounded by bfloat16 or float16.

## Why is this bad?
Every id beyond the type's range is another token. All ids are within the vocabulary, so
nothing is raised; the loss falls, on text that nobody wrote.

## Evidence
The ids of the samples that were looked at, without padding:
- *rounded*: 24 different ids and more lie above 256 (bfloat16) or 2,048 (float16), and
  the type holds each of them exactly. Every second id at most is such a number: of 24
  it happens once in 2^24.
- *one byte*: all ids of 500 and more are below 256, the vocabulary is twice as large at
  least, and one in 20 decodes to no character. A text of bytes decodes, whatever its
  script (measured: 0 of 8,000 tokens in ten scripts, ends apart); of English in a
  vocabulary of 903 entries 24 % are broken once it was wrapped.
- *two bytes*: all ids are below 65,536, the tokens that begin or end texts have greater
  ids and never occur, and what 16 bits leave of one of them stands at the outer three
  places of 4 samples and more, and of 90 %.
By hand: `tokenizer.decode(batch["input_ids"][0])`.

## What to try
1. Store ids as `np.uint32`, or as `np.uint16` only where
   `len(tokenizer) <= 65_536`; write the file anew, for what is lost is lost.
2. Keep ids out of casts: `batch["pixel_values"].to(torch.bfloat16)`, not all of it.

## Known problems
Ids in two bytes without a mark at both ends of a sample cannot be told. One byte and
two are not checked without a tokenizer.

## References
- huggingface/transformers#2825 (a vocabulary of 119,547 entries stored as uint16)
- huggingface/accelerate#1405 (ids in half precision)
- IEEE 754: 8 and 11 significant bits
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.id_facts import IdFacts
from ftlab.rules.reading.samples import NEEDS, Samples, samples_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

DIFFERENT = 24
"""Different ids that are all held exactly."""

TOKENS, BROKEN = 500, 0.05
"""Tokens that are looked at, and the share of them that is no character."""

SAMPLES, SHARE = 4, 0.9
"""Samples that begin or end with what is left of a mark."""

TYPES = {8: "bfloat16", 11: "float16"}

_STORE = "Store ids as np.uint32, and write the file anew from the texts."
_CAST = "Leave ids out of the cast: only floats change their type."

Told = tuple[str, str, str, str]
"""The reason, what is so, the cause and the fix."""


class IdsInNarrowType(Rule):
    """Finds token ids that a narrow type has wrapped around or rounded."""

    code = "DAT028"
    name = "ids-in-narrow-type"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the first type that explains all ids."""
        samples = samples_of(run)
        held = [facts for _, facts in samples.numbers]
        told = _rounded(held) or _byte(held) or _pair(held, samples)
        if told:
            yield self._finding(samples.numbers, *told)

    def _finding(
        self,
        numbers: Sequence[tuple[int, IdFacts]],
        reason: str,
        what: str,
        cause: str,
        fix: str,
    ) -> Finding:
        steps = [step for step, _ in numbers]
        micro, row, position = numbers[0][1].place
        sample = f"{row} of micro-batch {micro}" if micro else str(row)
        return self.finding(
            Severity.ERROR,
            f"{at_steps(min(steps), max(steps))}: {what}",
            cause=cause,
            fix=fix,
            places=[
                Place("token", f"{position} of sample {sample}"),
                Place("sample", sample),
                Place("data", "input_ids"),
            ],
            steps=(min(steps), max(steps)),
            evidence={
                "reason": reason,
                "tokens": sum(facts.tokens for _, facts in numbers),
                "largest": max(facts.largest for _, facts in numbers),
                "vocabulary": numbers[0][1].size,
            },
            healthy="ids that decode to the text they were made of",
        )


def _rounded(held: Sequence[IdFacts]) -> Told | None:
    """Tell of the narrowest float that holds all ids."""
    for bits, name in TYPES.items():
        beyond = [facts.beyond[bits] for facts in held]
        exact = all(facts.beyond[bits] == facts.kept[bits] for facts in held)
        if exact and max(beyond, default=0) >= DIFFERENT:
            what = (
                f"all ids above {1 << bits:,} are numbers that {name} holds exactly, "
                f"{max(beyond)} different ones in a step"
            )
            return "rounded", what, f"The ids were cast to {name} on their way.", _CAST
    return None


def _byte(held: Sequence[IdFacts]) -> Told | None:
    """Tell of ids below 256 that are no text."""
    tokens = sum(facts.tokens for facts in held)
    broken = sum(facts.broken for facts in held)
    wide = max((facts.largest for facts in held), default=0)
    if tokens < TOKENS or wide >= 256 or broken < BROKEN * tokens:
        return None
    what = (
        f"all ids are below 256 in a vocabulary of {held[0].size:,}, and {broken} of "
        f"{tokens} tokens decode to no character"
    )
    return "one byte", what, "The ids were stored in one byte, and wrapped.", _STORE


def _pair(held: Sequence[IdFacts], samples: Samples) -> Told | None:
    """Tell of marks of which 16 bits are left."""
    if not held or any(facts.largest >= 1 << 16 for facts in held):
        return None
    counts: dict[tuple[int, int], int] = {}
    for facts in held:
        for each in facts.residues:
            key = each.id, each.left
            counts[key] = counts.get(key, 0) + each.samples
    (mark, left), count = max(counts.items(), key=lambda item: item[1], default=_NONE)
    if count < max(SAMPLES, SHARE * len(samples.sights)):
        return None
    what = (
        f"{count} samples begin or end with id {left}, which is what two bytes leave "
        f"of {mark}, the id of {samples.piece(mark)}; no id is above 65,535 in a "
        f"vocabulary of {held[0].size:,}"
    )
    return "two bytes", what, "The ids were stored in two bytes, and wrapped.", _STORE


_NONE = ((0, 0), 0)
