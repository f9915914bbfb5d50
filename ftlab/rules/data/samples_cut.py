"""The rule DAT023, samples-cut.

## What it does
Finds samples that were cut at one length and have lost their end, or that begin in the
middle of a text: truncated from the left, or packed one behind the other and cut
wherever a row was full.

## Why is this bad?
Long answers are taught to break off in the middle of a word: the model stops after
short ones, and never after long ones. A row without a beginning has no BOS, no system
text and no question: the model goes on with an answer of which it has not seen the
beginning.

## Evidence
Samples of the batches, each counted once.
- *end*: of those with the greatest length at least 2, and half of them, have no control
  token among their last 3, and are trained up to their last token, or not at all
  (nothing of an answer is left); of the shorter ones, 3 at least, 90 % are trained and
  have one. A warning from 5 % of all samples; fewer are usual in long data, and a note.
  Where none is shorter, 4 samples at least of the length that a Trainer's `max_length`
  is, without packing, with turns of a chat template that ends answers with a control
  token. Measured: with `max_length=64` 2 of 8 rows of an SFTTrainer lose their end and
  have 64 tokens, with 256 none. Documents of a packed row count as samples
  (`packing="bfd"` cuts what is longer than a row).
- *truncated*: of the samples with the greatest length at least 2, and half of them, do
  not begin with the control token that all shorter ones (3 at least) begin with.
  *wrapped*: 3 rows at least, all of one length, hold control tokens behind the ends of
  texts within them (at least 3 times, and behind 0.8 of these ends); 2 rows at least,
  and a third of them, begin with common text. Measured: `truncation_side="left"` at 64
  tokens: each long row begins with text, each short one with BOS;
  `packing_strategy="wrapped"`: 6 of 8 rows begin within a document, with "bfd" none.

By hand: `[row[-3:] for row in dataset["input_ids"] if len(row) == max_length]`, or
`tokenizer.convert_ids_to_tokens(batch["input_ids"][:, 0])`.

## What to try
1. A greater `max_length`, as far as memory allows, or leave out rows that do not fit.
2. Leave out the oldest turns, not tokens; do not train the last token of what was cut.
3. `packing_strategy="bfd"`, which keeps documents whole.

## Known problems
Texts cut into blocks for pre-training all have one length, and nothing is said; for
plain documents, which BOS opens, wrapping is usual: a note. Left truncation of rows
that are all too long looks like wrapping, and has the same effect. Two different
samples that break off by nature and share the greatest length look cut. Documents that
begin with common text have no beginning that could be missed.

## References
- TRL, SFTConfig, `max_length` (1024 unless set) and `truncation_mode`
- TRL, `pack_dataset` ("bfd" discards overflow tokens, "wrapped" ignores boundaries)
- transformers, `truncation_side`
"""

import itertools
from collections import Counter
from collections.abc import Iterator

from ftlab.records.sample_facts import NOTHING, SampleFacts
from ftlab.rules.reading.asked import arguments
from ftlab.rules.reading.samples import (
    BEHIND,
    Samples,
    Sight,
    closes,
    is_causal,
    samples_of,
)
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.reading.turns import ANSWERS, template_of, turn_sights
from ftlab.rules.rule import Finding, Results, Run, Severity

CUT, SHORTER, OF_LONGEST, ENDED = 2, 3, 0.5, 0.9
"""Samples that were cut, shorter ones to compare them with, the share of the longest
that is cut, and of the shorter ones with an end."""

ALL = 4
"""Samples that were cut where none is shorter."""

MANY = 0.05
"""Share of all samples without an end above which it is a warning."""

ROWS, OPENINGS, SHARE, OPENED = 3, 3, 1 / 3, 0.8
"""Rows of one length, documents that begin within them, rows that do not begin with
one, and the share of the ends within rows behind which another is opened."""

_WORDS = {
    "truncated": (
        "do not begin with {} as the shorter ones do",
        "Samples that are too long lose their beginning: truncation from the left.",
        "Truncate whole turns, the oldest first, or leave out what does not fit.",
    ),
    "wrapped": (
        "begin within a document; documents begin with {}",
        "Documents stand one behind the other and are cut where a row is full.",
        'packing_strategy="bfd", which keeps documents whole.',
    ),
}
"""By reason: what such samples do, why, and what to do."""


class SamplesCut(SampleRule):
    """Finds samples without their end, or without their beginning."""

    code = "DAT023"

    def check(self, run: Run) -> Results:
        """Yield one finding about ends, and one about beginnings."""
        samples = samples_of(run)
        ends = samples.where(lambda e: e.exact and (is_causal(e) or _is_silent(e)))
        yield from self._ends(run, samples, ends)
        known = samples.where(lambda e: e.exact and (is_causal(e) or not e.labelled))
        reason, (opening, cut) = "truncated", _truncated(known)
        if not cut:
            reason, (opening, cut) = "wrapped", _wrapped(known, samples)
        if cut:
            yield self._beginnings(samples, reason, opening, cut)

    def _ends(self, run: Run, samples: Samples, known: list[Sight]) -> Results:
        length = max((each.sample.length for each in known), default=0)
        longest = [each for each in known if each.sample.length == length]
        shorter = [each for each in known if each.sample.length < length]
        cut = [each for each in longest if _is_cut(each.sample)]
        ended = sum(closes(e.sample) and e.sample.trained > 0 for e in shorter)
        many = len(cut) >= max(CUT, OF_LONGEST * len(longest))
        if many and len(shorter) >= SHORTER and ended >= ENDED * len(shorter):
            where = "shorter ones have one"
        elif len(cut) == len(known) >= ALL and _is_limit(run, length):
            where = "their template writes one"
        else:
            return
        share = len(cut) / len(known)
        lost = sum(_is_silent(each.sample) for each in cut)
        lost_words = f", and {lost} of them no label" if lost else ""
        yield self.of_samples(
            f"{len(cut)} of {len(known)} samples are cut at {length} tokens and have "
            f"no end{lost_words}; {where}",
            cut,
            lambda sample: sample.end - 1,
            severity=Severity.WARNING if share >= MANY else Severity.INFO,
            cause=f"Samples are truncated at {length} tokens, and their end goes with "
            "what is cut off.",
            fix="Raise max_length, or leave out what does not fit.",
            reason="end",
            evidence={
                "samples": len(cut),
                "share": share,
                "threshold": MANY,
                "length": length,
                "unlabelled": lost,
                "token": samples.piece(cut[0].sample.tail[-1]),
            },
            healthy="an end behind long answers as behind short ones",
        )

    def _beginnings(
        self, samples: Samples, reason: str, opening: int, cut: list[Sight]
    ) -> Finding:
        first = cut[0].sample
        plain = reason == "wrapped" and not _has_turns(samples)
        words, cause, fix = _WORDS[reason]
        return self.of_samples(
            f"{len(cut)} samples of {first.length} tokens "
            f"{words.format(samples.piece(opening))}",
            cut,
            lambda sample: sample.start,
            severity=Severity.INFO if plain else Severity.WARNING,
            cause=cause,
            fix=fix,
            reason=reason,
            evidence={
                "samples": len(cut),
                "length": first.length,
                "token": samples.piece(first.head[0]),
            },
            healthy="samples that begin where a text begins",
        )


def _is_silent(sample: SampleFacts) -> bool:
    """Tell whether a sample has labels of which none counts."""
    return sample.labelled and not sample.trained and not sample.padding_trained


def _is_cut(sample: SampleFacts) -> bool:
    trained = bool(sample.stretches) and sample.stretches[-1].after == NOTHING
    return (trained or _is_silent(sample)) and not closes(sample)


def _is_limit(run: Run, length: int) -> bool:
    """Tell whether conversations that end with a mark are cut at a length asked for."""
    asked, template = arguments(run), template_of(run)
    if asked.get("max_length") != length or asked.get("packing"):
        return False
    ended = template is not None and bool(template.stops.get("template"))
    turns = (turn for sight in turn_sights(run) for turn in sight.sample.turns)
    return ended and any(turn.role == ANSWERS for turn in turns)


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
