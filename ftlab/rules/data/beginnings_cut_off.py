"""The rule DAT024, beginnings-cut-off.

## What it does
Finds batches whose rows begin in the middle of a text: they were truncated from the
left, or documents were packed one behind the other and cut wherever a row was full.

## Why is this bad?
Such a row has no BOS, no system text and no question: the model learns to go on with an
answer of which it has not seen the beginning.

## Evidence
Samples of the batches, each counted once. *truncated*: of the samples with the greatest
length at least 2, and half of them, do not begin with the control token that all
shorter ones (3 at least) begin with. *wrapped*: 3 rows at least, all of one length,
hold control tokens behind the ends of texts within them (at least 3 times, and behind
0.8 of these ends); 2 rows at least, and a third of them, begin with common text.
Measured: `truncation_side="left"` at 64 tokens: each long row begins with text, each
short one with BOS. `packing_strategy="wrapped"`: 6 of 8 rows begin within a document,
with "bfd" none.
By hand: `tokenizer.convert_ids_to_tokens(batch["input_ids"][:, 0])`.

## What to try
1. `packing_strategy="bfd"`, which keeps documents whole.
2. Leave out the oldest turns, not tokens; or drop rows that do not fit.

## Known problems
For pre-training on plain documents, which BOS opens, wrapping is usual: a note. Left
truncation of rows that are all too long looks like wrapping, and has the same effect.
Documents that begin with common text have no beginning that could be missed.

## References
- TRL, `pack_dataset` ("wrapped" ignores boundaries of sequences)
- transformers, `truncation_side`
"""

import itertools
from collections import Counter
from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    BEHIND,
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

CUT, SHORTER, OF_LONGEST = 2, 3, 0.5
"""Truncated samples, shorter ones, and the share of the longest that are truncated."""

ROWS, OPENINGS, SHARE = 3, 3, 1 / 3
"""Rows of one length, documents that begin within them, and rows that do not."""

OPENED = 0.8
"""Share of the ends within rows behind which another document is opened."""

_WORDS = {
    "truncated": "do not begin with {} as the shorter ones do",
    "wrapped": "begin within a document; documents begin with {}",
}
_CAUSES = {
    "truncated": "Samples that are too long lose their beginning: truncation from the "
    "left.",
    "wrapped": "Documents stand one behind the other and are cut where a row is full.",
}
_FIXES = {
    "truncated": "Truncate whole turns, the oldest first, or leave out what does not "
    "fit.",
    "wrapped": 'packing_strategy="bfd", which keeps documents whole.',
}


class BeginningsCutOff(Rule):
    """Finds samples that begin in the middle of a text."""

    code = "DAT024"
    name = "beginnings-cut-off"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples that begin so."""
        samples = samples_of(run)
        known = [
            each
            for each in samples.sights
            if each.sample.exact
            and (is_causal(each.sample) or not each.sample.labelled)
        ]
        opening, cut = _truncated(known)
        reason = "truncated"
        if not cut:
            reason, (opening, cut) = "wrapped", _wrapped(known, samples)
        if cut:
            yield self._finding(samples, reason, opening, cut)

    def _finding(
        self, samples: Samples, reason: str, opening: int, cut: list[Sight]
    ) -> Finding:
        steps, first = steps_of(cut), cut[0].sample
        plain = reason == "wrapped" and not _has_turns(samples)
        words = _WORDS[reason].format(samples.piece(opening))
        return self.finding(
            Severity.INFO if plain else Severity.WARNING,
            f"{at_steps(*steps)}: {len(cut)} samples of {first.length} tokens {words}",
            cause=_CAUSES[reason],
            fix=_FIXES[reason],
            places=token_places(cut, lambda sample: sample.start),
            steps=steps,
            evidence={
                "reason": reason,
                "samples": len(cut),
                "length": first.length,
                "token": samples.piece(first.head[0]),
                "sample": first.row,
                "position": first.start,
            },
            healthy="samples that begin where a text begins",
        )


def _truncated(known: list[Sight]) -> tuple[int, list[Sight]]:
    """Give the token that shorter samples begin with, and the long ones that do not."""
    length = max((each.sample.length for each in known), default=0)
    shorter = [e.sample for e in known if 0 < e.sample.length < length]
    longest = [each for each in known if each.sample.length == length]
    openings = {each.head[0] for each in shorter if _opens_by_control(each)}
    if len(shorter) < SHORTER or len(openings) != 1:
        return 0, []
    if not all(_opens_by_control(each) for each in shorter):
        return 0, []
    (opening,) = openings
    cut = [each for each in longest if each.sample.head[0] != opening]
    enough = len(cut) >= max(CUT, OF_LONGEST * len(longest))
    return opening, cut if enough else []


def _wrapped(known: list[Sight], samples: Samples) -> tuple[int, list[Sight]]:
    """Give the token that documents begin with, and the rows that begin within one."""
    rows = [each for each in known if each.sample.documents == 1]
    if len({each.sample.length for each in rows}) != 1 or len(rows) < ROWS:
        return 0, []
    inner = [token for each in rows for token in _inner_openings(each.sample, samples)]
    begins = [each for each in inner if each in samples.ids("bos")]
    ends = sum(_inner_ends(each.sample, samples) for each in rows)
    if len(inner) < max(OPENINGS, OPENED * ends):
        return 0, []
    opening = Counter(begins or inner).most_common(1)[0][0]
    cut = [each for each in rows if not _opens_by_control(each.sample)]
    enough = len(cut) >= max(CUT, SHARE * len(rows))
    return opening, cut if enough else []


def _inner_openings(sample: SampleFacts, samples: Samples) -> Iterator[int]:
    """Yield the control tokens that follow the ends of texts."""
    controls = sample.controls
    for one, other in itertools.pairwise(controls):
        near = other.position - one.position < BEHIND
        if one.id in samples.stops and near and other.id not in samples.stops:
            yield other.id


def _inner_ends(sample: SampleFacts, samples: Samples) -> int:
    """Count the ends of texts behind which there is room for another one."""
    last = sample.end - BEHIND
    return sum(
        each.id in samples.stops and each.position < last for each in sample.controls
    )


def _has_turns(samples: Samples) -> bool:
    """Tell whether other control tokens than BOS follow the ends of texts."""
    found = (
        o for each in samples.sights for o in _inner_openings(each.sample, samples)
    )
    return any(token not in samples.ids("bos") for token in found)


def _opens_by_control(sample: SampleFacts) -> bool:
    controls = sample.controls
    return bool(controls) and controls[0].position == sample.start
