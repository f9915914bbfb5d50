"""The rule DAT028, ids-misread.

## What it does
Finds token ids that stand for other text than was meant: wrapped around in one byte or
two, rounded by bfloat16 or float16, or made by another tokenizer than the run's, or
another version of it.

## Why is this bad?
Every such id is another token. All are within the vocabulary, so nothing is raised; the
loss falls, on text that nobody wrote, for noise has its frequencies too.

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
- *another-tokenizer*: of 8 rows a step and 256 tokens of each, the ids between special
  tokens are written as text, and the run's tokenizer reads it again. Rows in which
  other ids come back at 4 places (the outer 2 of a stretch apart) and 4 % of their
  tokens or more are broken; told where half of the rows are, 4 at least of 128 tokens
  together. Measured on 16 paragraphs, and on code, other scripts and white space: none
  of 8 right tokenizers (SentencePiece of Mistral, Tekken, byte-level BPE, WordPiece,
  Unigram) has a single place, cut on either side or word by word; a prompt and its
  completion made apart within a word give 1 or 2 a row. A vocabulary shifted by one id
  has 7 to 17 % in Mistral's and 3 to 19 % in Tekken's, Tekken's read as Mistral's 2 to
  10 %.
- *another-text*, a note: a Trainer's dataset has `text` beside `input_ids`, and of 8
  rows, less than 20 % of the tokens are in common in half of them.

By hand: `tokenizer.decode(batch["input_ids"][0])`,
`tokenizer(tokenizer.decode(ids))["input_ids"] == ids`.

## What to try
1. Store ids as `np.uint32`, or as `np.uint16` only where
   `len(tokenizer) <= 65_536`; write the file anew, for what is lost is lost.
2. Keep ids out of casts: `batch["pixel_values"].to(torch.bfloat16)`, not all of it.
3. Tokenise again: delete the cache, or name it after the tokenizer's fingerprint.
   `ftlab.tokenizer_diff(old, new)`, where both are at hand.

## Known problems
Ids in two bytes without a mark at both ends of a sample cannot be told; one byte and
two are not checked without a tokenizer. Ids of another tokenizer often come back: of
the wrong ones that were measured half did at the least. Vocabularies that are small,
Unigram, of whole words or bytes are seldom found, nor is the third Mistral's read as
the first's (3 % of places). Texts that were cut with dropout of merges beforehand (4 to
10 % of places), or that a model without training has drawn, look the same.

## References
- huggingface/transformers#2825 (a vocabulary of 119,547 entries stored as uint16)
- huggingface/accelerate#1405 (ids in half precision)
- IEEE 754: 8 and 11 significant bits
- Provilkov et al., BPE-Dropout (2020)
- huggingface/datasets, "The cache", fingerprints
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ftlab.records.id_facts import IdFacts
from ftlab.rules.reading.samples import Samples, row_name, row_places, samples_of
from ftlab.rules.reading.saving import first_facts
from ftlab.rules.reading.token_rules import Evidence, SampleRule
from ftlab.rules.rule import Finding, Place, Results, Run, Severity
from ftlab.rules.words import at_steps

DIFFERENT = 24
"""Different ids that are all held exactly."""

TOKENS, BROKEN = 500, 0.05
"""Tokens that are looked at, and the share of them that is no character."""

SAMPLES, SHARE = 4, 0.9
"""Samples that begin or end with what is left of a mark."""

ROWS, READ, OF_ROWS = 4, 128, 0.5
"""Rows and tokens that are read again, and the share of rows that are broken."""

KEPT = 0.2
"""Share of tokens in common with the text beside, below which ids say another one."""

TYPES = {8: "bfloat16", 11: "float16"}

_STORE = "Store ids as np.uint32, and write the file anew from the texts."
_CAST = "Leave ids out of the cast: only floats change their type."
_AGAIN = "Tokenise the data again with the tokenizer of this model."

Told = tuple[str, str, str, str]
"""The reason, what is so, the cause and the fix."""


class IdsMisread(SampleRule):
    """Finds token ids that are not those of their text."""

    code = "DAT028"

    def check(self, run: Run) -> Results:
        """Yield one finding for the first type that explains all ids, and for texts."""
        samples = samples_of(run)
        held = [facts for _, facts in samples.numbers]
        told = _rounded(held) or _byte(held) or _pair(held, samples)
        if told:
            reason, *words = told
            evidence: Evidence = {
                "reason": reason,
                "tokens": sum(facts.tokens for facts in held),
                "largest": max(facts.largest for facts in held),
                "vocabulary": held[0].size,
            }
            steps = [step for step, _ in samples.numbers]
            yield self._ids(
                Severity.ERROR, steps, held[0].place, words, evidence, whole=True
            )
        else:
            yield from self._another(run, samples)

    def _another(self, run: Run, samples: Samples) -> Results:
        """Tell of ids that the run's tokenizer would not have written."""
        trips = samples.trips
        broken = [(step, trip) for step, trip in trips if trip.broken]
        rows, tokens, count = (
            sum(getattr(trip, name) for _, trip in trips)
            for name in ("rows", "tokens", "broken")
        )
        told = first_facts(run).training.get("texts") or {}
        apart = _apart(told)
        if count >= max(ROWS, OF_ROWS * rows) and tokens >= READ:
            trip = broken[0][1]
            beside = f", and {apart} rows say another text than the one beside"
            yield self._ids(
                Severity.WARNING,
                [broken[0][0], broken[-1][0]],
                trip.place,
                (
                    f"the tokenizer would have written other ids in {count} of {rows} "
                    f"rows: {trip.held!r} is {trip.back!r}{beside if apart else ''}",
                    "The ids were made by another tokenizer, or another version of it.",
                    _AGAIN,
                ),
                {
                    "reason": "another-tokenizer",
                    "rows": rows,
                    "broken": count,
                    "sites": sum(each.sites for _, each in broken),
                    "tokens": sum(each.tokens for _, each in broken),
                    "threshold": OF_ROWS,
                },
            )
        elif apart:
            yield self.note(
                f"{apart} of the first {told['rows']} rows have hardly a token of what "
                f"the tokenizer makes of their {told['column']}",
                cause="The ids were made by another tokenizer, or of another text.",
                fix=_AGAIN,
                places={"data": f"input_ids beside {told['column']}"},
                steps=(-1, -1),
                reason="another-text",
                evidence={"rows": apart, "of": int(told["rows"]), "threshold": KEPT},
                healthy="the ids of the text",
            )

    def _ids(
        self,
        severity: Severity,
        steps: Sequence[int],
        place: tuple[int, int, int],
        words: Sequence[str],
        evidence: Evidence,
        *,
        whole: bool = False,
    ) -> Finding:
        """Tell of a first place; ``whole``: all of its sample is so."""
        (micro, row, position), (says, cause, fix) = place, words
        places = row_places([(row_name(micro, row), position)])[: 2 if whole else 1]
        data = Place("data", "input_ids")
        return self.finding(
            severity,
            f"{at_steps(min(steps), max(steps))}: {says}",
            cause=cause,
            fix=fix,
            places=[*places, data] if whole else [data, *places],
            steps=(min(steps), max(steps)),
            evidence=evidence,
            healthy="ids that decode to the text they were made of, and come back",
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
    (mark, left), count = max(
        counts.items(), key=lambda item: item[1], default=((0, 0), 0)
    )
    if count < max(SAMPLES, SHARE * len(samples.sights)):
        return None
    what = (
        f"{count} samples begin or end with id {left}, which is what two bytes leave "
        f"of {mark}, the id of {samples.piece(mark)}; no id is above 65,535 in a "
        f"vocabulary of {held[0].size:,}"
    )
    return "two bytes", what, "The ids were stored in two bytes, and wrapped.", _STORE


def _apart(told: Mapping[str, Any]) -> int:
    """Count rows whose ids are not of the text beside; 0 where they are few."""
    kept = list(told.get("kept", ()))
    found = sum(share < KEPT for share in kept)
    return found if found >= max(2, OF_ROWS * len(kept)) else 0
