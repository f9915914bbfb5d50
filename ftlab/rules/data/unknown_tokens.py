"""The rule DAT009, unknown-tokens.

## What it does
Finds texts of which a good part is the token for what the vocabulary does not know.

## Why is this bad?
Names, emoji or a whole script come to the model as one and the same token, and it
learns to say that token. The loss on such rows is low, for it is easy to predict.

## Evidence
Samples of the batches: the share of UNK, exact up to 32 control tokens in a sample,
else of the stretches at both of its ends. Told where it is above 25 % in at least 2
samples of 16 tokens and more, or above 15 % of all 32 tokens and more that were looked
at. Where labels are not the tokens that are read (masked words, classes of tokens) only
positions that have no label are looked at.
Vocabularies of whole words leave 3 to 5 % (WikiText-2, Penn Treebank): at 5 %, fewer
than one row of 16 in a thousand has more than 25 %, and fewer than one heap of 32 in a
hundred more than 15 %. Not judged: an UNK that also pads, begins or ends a text.
Measured: English pieces of words write up to 64 % UNK of texts that have some letters
of another script, WordPiece up to 91 %, masked or not.
By hand: `(input_ids == tokenizer.unk_token_id).float().mean(1)`.

## What to try
1. A tokenizer with byte fallback, or a byte-level one, and its model.
2. Leave out rows with many unknown tokens.
3. The text itself: broken encodings are unknown too.

## Known problems
UNK at positions whose label is another token may be noise on purpose, and is not
counted; noise of that kind above 25 % in texts without labels would be.

## References
- SentencePiece, `byte_fallback`
- ludwig-ai/ludwig#3897 (a model that learned to write UNK)
"""

from ftlab.records.sample_facts import Control, SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Results, Rule, Run
from ftlab.rules.words import at_steps

SHARE, LENGTH = 0.25, 16
"""Share of unknown tokens in a sample, five times what vocabularies of whole words
leave, and the tokens from which on it says something."""

OF_ALL, ALL = 0.15, 32
"""The same of all samples together, which may be shorter."""

SAMPLES = 2
"""Samples above it."""

KEPT = 32
"""Control tokens of a sample that are known, the first and the last half of them."""


class UnknownTokens(Rule):
    """Finds texts that the vocabulary does not know."""

    code = "DAT009"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        unknown = _unknown(samples)
        shares = _too_large(samples, unknown)
        if len(shares) < SAMPLES:
            return
        sick = [each for _, each in shares]
        steps, worst = steps_of(sick), max(share for share, _ in shares)
        piece = samples.piece(min(unknown))
        yield self.warning(
            f"{at_steps(*steps)}: up to {worst:.0%} of the tokens of {len(sick)} "
            f"samples are {piece}",
            cause="The vocabulary does not know these characters, and has no bytes to "
            "fall back on.",
            fix="A tokenizer with byte fallback, or without these rows.",
            places=token_places(sick, lambda each: _first(each, unknown)),
            steps=steps,
            evidence={
                "share": worst,
                "samples": len(sick),
                "of": len(samples.sights),
                "token": piece,
                "sample": sick[0].sample.row,
                "position": _first(sick[0].sample, unknown),
                "threshold": SHARE,
            },
            healthy="below 1 % for vocabularies of parts of words",
        )


def _too_large(samples: Samples, unknown: frozenset[int]) -> list[tuple[float, Sight]]:
    """List the samples with too many of them, and their shares."""
    judged = [each for each in samples.sights if _read(each.sample)]
    shares = [(_share(each.sample, unknown), each) for each in judged]
    lengths = [_read(each.sample) for each in judged]
    total = sum(s * n for (s, _), n in zip(shares, lengths, strict=True))
    if sum(lengths) >= ALL and total > OF_ALL * sum(lengths):
        return [(share, each) for share, each in shares if share > OF_ALL]
    return [
        (share, each)
        for (share, each), length in zip(shares, lengths, strict=True)
        if length >= LENGTH and share > SHARE
    ]


def _unknown(samples: Samples) -> frozenset[int]:
    others = samples.stops | samples.ids("pad") | samples.ids("bos")
    return samples.ids("unk") - others


def _read(sample: SampleFacts) -> int:
    """Count the tokens that are text: a label may say that one stands for another."""
    return sample.length - (0 if is_causal(sample) else sample.trained)


def _share(sample: SampleFacts, unknown: frozenset[int]) -> float:
    found, read = sample.controls, _read(sample)
    counted = [each for each in found if _counts(each, sample, unknown)]
    if len(found) < KEPT:
        return len(counted) / read
    front, back = found[: KEPT // 2], found[-KEPT // 2 :]
    seen = front[-1].position - sample.start + 1 + sample.end - back[0].position
    return len(counted) / (min(seen, sample.length) * read / sample.length)


def _counts(control: Control, sample: SampleFacts, unknown: frozenset[int]) -> bool:
    return control.id in unknown and (is_causal(sample) or not control.trained)


def _first(sample: SampleFacts, unknown: frozenset[int]) -> int:
    return next(e.position for e in sample.controls if _counts(e, sample, unknown))
