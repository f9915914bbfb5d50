"""The rule DAT090, ids-of-another-tokenizer.

## What it does
Finds rows whose ids come from another tokenizer than the run's, or from another version
of it: a cache that was made for another model, ids that added tokens have shifted.

## Why is this bad?
Every id is a token of the model's, and stands for another one than was meant: it is
trained on noise. Nothing fails, and the loss falls, for noise has its frequencies too.

## Evidence
Of the samples that are looked at, 8 a step and 256 tokens of each: the ids between
special tokens are written as text, and the run's tokenizer reads it again. A place is
one within it at which other ids come back; the outer 2 of a stretch do not count. Rows
with 4 places and 4 % of their tokens or more are broken; told where half of the rows
are, 4 at least of 128 tokens together.
Measured on 16 paragraphs, and on code, other scripts and white space: none of 8 right
tokenizers (SentencePiece of Mistral, Tekken, byte-level BPE, WordPiece, Unigram) has a
single place, cut on either side or word by word; a prompt and its completion made apart
within a word give 1 or 2 a row. A vocabulary shifted by one id has 7 to 17 % in
Mistral's and 3 to 19 % in Tekken's, Tekken's read as Mistral's 2 to 10 %.
Where a Trainer's dataset has `text` beside `input_ids`, both are compared: of 8 rows,
less than 20 % of the tokens in common in half of them. That the text is another one is
possible too: a note by itself, and evidence where rows are broken.
By hand: `tokenizer(tokenizer.decode(ids))["input_ids"] == ids`.

## What to try
1. Tokenise again: delete the cache, or name it after the tokenizer's fingerprint.
2. `ftlab.tokenizer_diff(old, new)`, where both are at hand.

## Known problems
It is not true that ids of another tokenizer hardly ever come back: of the wrong ones
that were measured half did at the least, and most in most rows. Vocabularies that are
small, Unigram, of whole words or bytes give back nearly all: they are seldom found, nor
is the third Mistral's read as the first's (3 % of places). Texts that were cut with
dropout of merges beforehand (4 to 10 % of places), or that a model without training has
drawn, look the same.

## References
- Provilkov et al., BPE-Dropout (2020)
- huggingface/datasets, "The cache", fingerprints
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.round_trip import RoundTrip
from ftlab.rules.reading.samples import NEEDS, samples_of
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

ROWS, TOKENS, SHARE = 4, 128, 0.5
"""Rows and tokens that it takes, and the share of rows that are broken."""

KEPT = 0.2
"""Share of tokens in common with the text beside, below which ids say another one."""


class IdsOfAnotherTokenizer(Rule):
    """Finds ids that the run's tokenizer would not have written."""

    code = "DAT090"
    name = "ids-of-another-tokenizer"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        trips = samples_of(run).trips
        broken = [(step, trip) for step, trip in trips if trip.broken]
        rows, tokens, count = (
            sum(getattr(trip, name) for _, trip in trips)
            for name in ("rows", "tokens", "broken")
        )
        told = first_facts(run).training.get("texts") or {}
        apart = _apart(told)
        if count >= max(ROWS, SHARE * rows) and tokens >= TOKENS:
            yield self._finding(broken, rows, count, apart)
        elif apart:
            yield self._note(told, apart)

    def _finding(
        self,
        broken: Sequence[tuple[int, RoundTrip]],
        rows: int,
        count: int,
        apart: int,
    ) -> Finding:
        (step, trip), (last, _) = broken[0], broken[-1]
        micro, row, position = trip.place
        sample = f"{row} of micro-batch {micro}" if micro else str(row)
        beside = f", and {apart} rows say another text than the one beside" * bool(
            apart
        )
        return self.finding(
            Severity.WARNING,
            f"{at_steps(step, last)}: the tokenizer would have written other ids in "
            f"{count} of {rows} rows: {trip.held!r} is {trip.back!r}{beside}",
            cause="The ids were made by another tokenizer, or another version of it.",
            fix="Tokenise the data again with the tokenizer of this model.",
            places=[
                Place("data", "input_ids"),
                Place("token", f"{position} of sample {sample}"),
            ],
            steps=(step, last),
            evidence={
                "rows": rows,
                "broken": count,
                "sites": sum(each.sites for _, each in broken),
                "tokens": sum(each.tokens for _, each in broken),
                "threshold": SHARE,
            },
            healthy="ids that come back as they were",
        )

    def _note(self, told: Mapping[str, Any], apart: int) -> Finding:
        return self.finding(
            Severity.INFO,
            f"{apart} of the first {told['rows']} rows have hardly a token of what the "
            f"tokenizer makes of their {told['column']}",
            cause="The ids were made by another tokenizer, or of another text.",
            fix="Tokenise the data again with the tokenizer of this model.",
            places=[Place("data", f"input_ids beside {told['column']}")],
            steps=(-1, -1),
            evidence={"rows": apart, "of": int(told["rows"]), "threshold": KEPT},
            healthy="the ids of the text",
        )


def _apart(told: Mapping[str, Any]) -> int:
    """Count rows whose ids are not of the text beside; 0 where they are few."""
    kept = list(told.get("kept", ()))
    found = sum(share < KEPT for share in kept)
    return found if found >= max(2, SHARE * len(kept)) else 0
