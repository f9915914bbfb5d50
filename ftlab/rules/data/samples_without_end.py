"""The rule DAT021, samples-without-end.

## What it does
Finds trainings on texts of many lengths of which none ends with EOS, although the
tokenizer has one: a warning where the texts are answers, else information.

## Why is this bad?
Nothing teaches the model to stop: it answers, and goes on until `max_new_tokens`.

## Evidence
Samples of the batches, 4 different ones at least. The last token of each is trained, is
what the model reads (no masked words), and is no control token, nor are the two before
it; no sample holds a token that ends a text (`eos_token_id` of the generation config,
the model's config or the tokenizer) anywhere. Samples have several lengths, and at most
half of them the longest: texts that were cut into blocks have one length and rightly no
end. They are answers where a question is left out of the labels, or where all begin
with the same two tokens behind BOS, as a formatting writes them ("### Question").
Measured: "### Question ... ### Answer ..." through a tokenizer that adds no EOS ends 0
of 6 rows with it, and 6 of 6 after `text + tokenizer.eos_token`.
By hand: `[row[-1] for row in dataset["input_ids"]]` against `tokenizer.eos_token_id`.

## What to try
1. Append `tokenizer.eos_token` to every text before it is tokenised.
2. A chat template that closes the last answer with a token that generation stops at.

## Known problems
Paragraphs for further pre-training may rightly have no end: that is information. A
formatting that begins with the user's own words, trained as a whole, is taken for such.
Left out without a tokenizer.

## References
- huggingface/transformers#22794, huggingface/trl#1623 (no EOS is added)
"""

from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import NOTHING, SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    closes,
    has_tokenizer,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES = 4
"""Different samples without an end."""

LONGEST = 0.5
"""Share of the samples that may have the longest length: more are cut."""

OPENING = 2
"""Tokens behind BOS that are the same where one formatting wrote the texts."""


class SamplesWithoutEnd(Rule):
    """Finds texts of which none has an end."""

    code = "DAT021"
    name = "samples-without-end"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT028", "DAT018", "DAT032")

    def applies(self, run: Run) -> bool:
        """Leave out runs without a tokenizer: their ids may be no text."""
        return has_tokenizer(run) or not run.facts.model

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding where every sample ends in the middle of nothing."""
        samples = samples_of(run)
        sights = samples.sights
        endless = all(_is_endless(each.sample, samples) for each in sights)
        if endless and len(sights) >= SAMPLES and samples.stops and _vary(sights):
            yield self._finding(samples)

    def _finding(self, samples: Samples) -> Finding:
        sights = samples.sights
        steps, first = steps_of(sights), sights[0].sample
        last = samples.piece(first.tail[-1])
        answers = _left_out(sights) or _alike(sights, samples)
        return self.finding(
            Severity.WARNING if answers else Severity.INFO,
            f"{at_steps(*steps)}: none of {len(sights)} samples ends with "
            f"{samples.end} or holds it; the first one ends with {last}",
            cause="Nothing appends EOS to the texts: the formatting writes none, and "
            "this tokenizer adds none by itself.",
            fix="text + tokenizer.eos_token in the formatting, or a chat template "
            "that closes the last answer.",
            places=token_places(sights, lambda sample: sample.end - 1),
            steps=steps,
            evidence={
                "reason": "no-end",
                "samples": len(sights),
                "ends": 0,
                "token": last,
                "sample": first.row,
                "position": first.end - 1,
            },
            healthy="EOS, or the end of a turn, behind every answer",
        )


def _is_endless(sample: SampleFacts, samples: Samples) -> bool:
    """Tell whether a sample is trained up to a last token that is common text."""
    stretches = sample.stretches
    trained = bool(stretches) and stretches[-1].after == NOTHING
    held = any(each.id in samples.stops for each in sample.controls)
    known = sample.exact and is_causal(sample)
    return known and trained and not closes(sample) and not held


def _left_out(sights: Sequence[Sight]) -> bool:
    """Tell whether each sample has a question in front that is not trained."""
    return all(
        each.sample.stretches[0].start > each.sample.start + 1 for each in sights
    )


def _alike(sights: Sequence[Sight], samples: Samples) -> bool:
    """Tell whether all samples begin as one formatting writes them."""
    bos = samples.ids("bos")
    heads = [each.sample.head for each in sights]
    begins = {
        head[1:][:OPENING] if head[:1] and head[0] in bos else head[:OPENING]
        for head in heads
    }
    return len(begins) == 1 and len(begins.pop()) == OPENING


def _vary(sights: Sequence[Sight]) -> bool:
    lengths = [each.sample.length for each in sights]
    return lengths.count(max(lengths)) <= LONGEST * len(lengths)
