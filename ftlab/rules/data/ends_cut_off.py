"""The rule DAT023, ends-cut-off.

## What it does
Finds batches in which the longest samples, all of exactly one length, lack the end that
shorter ones have, or that the chat template writes: they were truncated. Where nothing
of an answer is left, such a sample has no label at all.

## Why is this bad?
Long answers are taught to break off in the middle of a word: the model stops after
short ones, and never after long ones.

## Evidence
Samples of the batches, each counted once. Of those with the greatest length at least 2,
and half of them, have no control token among their last 3, and are trained up to their
last token, or not at all; of the shorter ones, 3 at least, 90 % are trained and have
one. A warning where they are 5 % of all samples or more; fewer are usual in long data,
and a note.
Where none is shorter, 4 samples at least of the length that a Trainer's `max_length`
is, without packing, with turns of a chat template that ends answers with a control
token: then each lacks what its template wrote.
Measured: with `max_length=64` 2 of 8 rows of an SFTTrainer lose their end and have 64
tokens, with 256 none. Documents of a packed row count as samples (`packing="bfd"` cuts
what is longer than a row).
By hand: `[row[-3:] for row in dataset["input_ids"] if len(row) == max_length]`.

## What to try
1. A greater `max_length`, as far as memory allows.
2. Leave out rows that do not fit, or split conversations between turns.
3. Do not train the last token of what was cut off.

## Known problems
Texts cut into blocks for pre-training all have one length, and nothing is said. Two
different samples that break off by nature and share the greatest length look the same.

## References
- TRL, SFTConfig, `max_length` (1024 unless set) and `truncation_mode`
- TRL, `pack_dataset`, "bfd" ("discarding overflow tokens")
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import NOTHING, SampleFacts
from ftlab.rules.reading.asked import arguments
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    closes,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.reading.turns import ANSWERS, template_of, turn_sights
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

CUT, SHORTER = 2, 3
"""Samples that were cut, and shorter ones to compare them with."""

ALL = 4
"""Samples that were cut where none is shorter."""

OF_LONGEST, ENDED = 0.5, 0.9
"""Share of the longest without an end, and of the shorter ones with one."""

MANY = 0.05
"""Share of all samples above which it is a warning."""


class EndsCutOff(Rule):
    """Finds samples that were truncated at their end."""

    code = "DAT023"
    name = "ends-cut-off"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples of the greatest length."""
        samples = samples_of(run)
        known = [
            each
            for each in samples.sights
            if each.sample.exact and (is_causal(each.sample) or _is_silent(each.sample))
        ]
        length = max((each.sample.length for each in known), default=0)
        longest = [each for each in known if each.sample.length == length]
        shorter = [each for each in known if each.sample.length < length]
        cut = [each for each in longest if _is_cut(each.sample)]
        ended = sum(closes(e.sample) and e.sample.trained > 0 for e in shorter)
        many = len(cut) >= max(CUT, OF_LONGEST * len(longest))
        if many and len(shorter) >= SHORTER and ended >= ENDED * len(shorter):
            yield self._finding(samples, cut, len(known), "shorter ones have one")
        elif len(cut) == len(known) >= ALL and _is_limit(run, length):
            yield self._finding(samples, cut, len(known), "their template writes one")

    def _finding(
        self, samples: Samples, cut: list[Sight], known: int, where: str
    ) -> Finding:
        steps, first, share = steps_of(cut), cut[0].sample, len(cut) / known
        lost = sum(_is_silent(each.sample) for each in cut)
        lost_words = f", and {lost} of them no label" if lost else ""
        return self.finding(
            Severity.WARNING if share >= MANY else Severity.INFO,
            f"{at_steps(*steps)}: {len(cut)} of {known} samples are cut at "
            f"{first.length} tokens and have no end{lost_words}; {where}",
            cause=f"Samples are truncated at {first.length} tokens, and their end goes "
            "with what is cut off.",
            fix="Raise max_length, or leave out what does not fit.",
            places=token_places(cut, lambda sample: sample.end - 1),
            steps=steps,
            evidence={
                "samples": len(cut),
                "share": share,
                "threshold": MANY,
                "length": first.length,
                "unlabelled": lost,
                "token": samples.piece(first.tail[-1]),
                "sample": first.row,
                "position": first.end - 1,
            },
            healthy="an end behind long answers as behind short ones",
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
