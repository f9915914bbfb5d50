"""The rule DAT017, labels-begin-wrong.

## What it does
Finds trainings whose labels begin at the wrong token: an answer's first tokens are left
out, part of its opening is trained, or the length of the prompt was counted in
characters, or in columns of a row that begins with padding.

## Why is this bad?
The model never learns how an answer begins, and at inference that is what it has to say
first; or part of each prompt is trained. The loss falls all the same, over other tokens
than was meant.

## Evidence
Samples of the batches whose labels begin once, behind a question that is left out.
- *word-cut*, *varies*: of 8 at least, in 95 % the same tokens close the prompt (three,
  or one control token), and one or two that differ from sample to sample stand between
  these and the first label. In 2 samples at least the border goes through a word, as no
  prompt ends, and more than 6 different tokens, a quarter of the samples, are left out:
  a warning. Or there are 12 different ones with letters, and as many as half of the
  samples: a prompt may end with a word of its own, so this is a note.
- *space-merged*: prompts close with the same tokens and a space, which in 2 samples at
  least is left out as a token of its own, and in 2 others is the beginning of the first
  token that is trained. *prompt-end*, a note: the last tokens of the opening of an
  answer are trained, in all of 4 at least that turns tell.
- *characters*, *columns*: for each sample the place is computed at which the prompt
  would end had its length been counted so: as many characters end as tokens have no
  label (one space may belong to the next token); as many tokens stand behind the
  padding as columns have no label. In 90 % of the samples, 6 at least (4 where rows are
  padded), the same two tokens stand before that place, at 3 different places, and fewer
  than half of these samples have the same two before their labels.

Measured with small vocabularies: a prompt that is counted with its EOS cuts a word in
11 to 13 of 16 samples; a space at the end of the prompt is a token of its own in 6 to 8
of 16. Right masks show neither, nor do prompts that end with one of 6 classes.
By hand: `tokenizer.convert_ids_to_tokens(ids[n - 3 : n + 2])`, `n` the first label;
`tokenizer.decode(ids[labels == -100])` is a prompt, no more and no less.

## What to try
1. Count tokens of the prompt as it stands in the row, without EOS and with one BOS:
   `len(tokenizer(prompt)["input_ids"])`, not `len(prompt)`.
2. Tokenise prompt and answer apart, and join the ids: no token holds both. No space at
   the end of a prompt; let the answer begin with it.
3. With padding in front: `labels[i, start : start + n]`, where
   `start = (attention_mask[i] == 0).sum()`; or mask before padding.
4. Begin the mask of answers where the generation prompt ends.

## Known problems
Parts of words that are to be completed look the same. Where the space of each prompt
goes together with the answer, the mask shows nothing of it. Prompts that end with
varied tokens, and no mark of an answer, cannot be told by their count. Characters are
not checked without a tokenizer.

## References
- huggingface/trl#2054 (a prompt that is tokenised alone ends with other tokens), #1920
- transformers, `padding_side`
"""

from collections import Counter
from collections.abc import Sequence

from ftlab.records.sample_facts import BorderGuess, SampleFacts
from ftlab.rules.reading.samples import Samples, Sight, is_causal, samples_of
from ftlab.rules.reading.token_rules import Evidence, SampleRule
from ftlab.rules.reading.turns import opens_answer, turns_where
from ftlab.rules.rule import Finding, Results, Run, Severity

SAMPLES, SHARE = 8, 0.95
"""Samples with a prompt, and the share of them that close it with the same tokens."""

CLOSING = 3
"""Tokens that close a prompt, where no control token does."""

LATE = (1, 2)
"""Tokens of an answer that are left out: EOS, BOS or both were counted."""

CUTS, CLASSES, KINDS = 2, 6, 0.25
"""Words through which the border goes; different tokens that may be classes, however
many samples there are, and their share of them."""

VARIED = 12
"""Different tokens at the end of prompts: ten digits and some classes are fewer."""

SPACES = 2
"""Samples whose prompt ends with a space, and samples that have lost it."""

TURNS = 4
"""Samples whose openings are trained in part."""

COUNTED, PADDED, ALIKE, OWN = 6, 4, 0.9, 0.5
"""Samples whose prompt was counted otherwise, fewer where padding says which, the share
that must close alike at the computed place, and may before the labels."""

DIFFERENT = 3
"""Different lengths: one length for all is a constant, and no count."""

_FIRST = {1: "the first tokens", 2: "the first two tokens each"}

_STARTS = ("\u0120", "\u2581")
"""What vocabularies write in front of a word."""

_COUNTS = {
    "characters": (
        "The length of the prompt was taken in characters of its text, and used as a "
        "number of tokens.",
        'Count tokens: len(tokenizer(prompt)["input_ids"]).',
    ),
    "columns": (
        "Prompts are counted from the first column of the row, where the padding "
        "stands.",
        "labels[i, start : start + n] = -100, where start is the row's padding.",
    ),
}

_HEALTHY = "a first label on the first token of each answer"

Told = list[tuple[Sight, BorderGuess]]


class LabelsBeginWrong(SampleRule):
    """Finds answers whose first label is not on their first token."""

    code = "DAT017"

    def check(self, run: Run) -> Results:
        """Yield one finding for the first way of counting, and one for openings."""
        samples = samples_of(run)
        yield from self._counted(samples)
        asked = samples.where(_has_prompt)
        for late in LATE if len(asked) >= SAMPLES else ():
            alike = _same_closing(asked, late)
            cut = _cut_within_words(alike, samples)
            if len(cut) >= CUTS or (alike and _vary(alike, samples)):
                yield self._late(alike, cut, late, samples)
                return
        own, merged = _spaces(asked, samples)
        if min(len(own), len(merged)) >= SPACES and len(asked) >= SAMPLES:
            yield self._merged(own, merged, samples)
        yield from self._early(run)

    def _counted(self, samples: Samples) -> Results:
        for unit in ("columns", "characters", "characters without BOS"):
            told = [
                (each, guess)
                for each in samples.where(is_causal)
                for guess in each.sample.guesses
                if guess.unit == unit and guess.position != _border(each.sample)
            ]
            alike = _alike(told, PADDED if unit == "columns" else COUNTED)
            if not alike:
                continue
            yield self._miscounted(alike, unit.split()[0], len(told), samples)
            return

    def _miscounted(
        self, alike: Told, reason: str, of: int, samples: Samples
    ) -> Finding:
        first, guess = alike[0]
        ends = {id(sight.sample): guess.position for sight, guess in alike}
        cause, fix = _COUNTS[reason]
        return self.of_samples(
            f"the labels of {len(alike)} samples begin at the wrong token: at "
            f"{_border(first.sample)} in row {first.sample.row}, where the prompt "
            f"ends with {' '.join(map(samples.piece, guess.closing))} before "
            f"{guess.position}",
            [sight for sight, _ in alike],
            lambda each: min(_border(each), ends[id(each)]),
            cause=cause,
            fix=fix,
            reason=reason,
            evidence={
                "samples": len(alike),
                "of": of,
                "border": _border(first.sample),
                "right position": guess.position,
                "threshold": ALIKE,
            },
            healthy=_HEALTHY,
        )

    def _late(
        self, alike: list[Sight], cut: list[Sight], late: int, samples: Samples
    ) -> Finding:
        proven = len(cut) >= CUTS
        shown = [*cut, *(each for each in alike if each not in cut)]
        left_out, said = (samples.piece(each) for each in shown[0].sample.border[-2:])
        evidence: Evidence = {
            "reason": "word-cut" if proven else "varies",
            "samples": len(alike),
            "cut": len(cut),
            "left_out": late,
            "threshold": CUTS if proven else VARIED,
        }
        return self.of_samples(
            f"{_FIRST[late]} of {len(alike)} answers have no label; in {len(cut)} of "
            f"these the labels begin within a word, as between {left_out} and {said}",
            shown,
            lambda each: _border(each) - late,
            severity=Severity.WARNING if proven else Severity.INFO,
            cause="The prompt was counted too long: with EOS or BOS, or by itself, "
            "where its last token goes together with the answer.",
            fix="Count the prompt's tokens within the row, or join the ids of prompt "
            "and answer, which were tokenised apart.",
            evidence=evidence,
            healthy=_HEALTHY,
        )

    def _merged(
        self, own: list[Sight], merged: list[Sight], samples: Samples
    ) -> Finding:
        said = samples.piece(merged[0].sample.border[-1])
        return self.of_samples(
            f"the space at the end of the prompt belongs to the answer's first token "
            f"in {len(merged)} samples, as in {said}, and to the prompt in {len(own)}",
            merged,
            _border,
            cause="The prompt ends with a space, and the tokenizer joins it to the "
            "word behind it: training has another prompt than inference.",
            fix="No space at the end of the prompt; let the answer begin with it.",
            reason="space-merged",
            evidence={
                "samples": len(merged),
                "of": len(own) + len(merged),
                "threshold": SPACES,
            },
            healthy="prompts that end with the same tokens in training as alone",
        )

    def _early(self, run: Run) -> Results:
        """Tell of openings whose end alone is trained."""
        openings = turns_where(run, opens_answer)
        partly = [
            (sight, turn)
            for sight, turn in openings
            if 0 < turn.trained < turn.end - turn.start
            and turn.first == turn.end - turn.trained
        ]
        if len(partly) < max(TURNS, len(openings)):
            return
        yield self.of_turns(
            run,
            f"the last tokens of the opening of {len(partly)} answers are trained, "
            "which a prompt already holds",
            partly,
            lambda turn: turn.first,
            severity=Severity.INFO,
            cause="The prompt was counted too short, or the mark of answers stands "
            "within their opening.",
            fix="Let the mask begin where the generation prompt ends.",
            reason="prompt-end",
            evidence={"answers": len(partly)},
            healthy=_HEALTHY,
        )


def _has_prompt(sample: SampleFacts) -> bool:
    """Tell whether a sample is trained from some token of it on."""
    known = sample.exact and is_causal(sample) and sample.trained > 1
    return known and len(sample.border) > 1 + LATE[0]


def _border(sample: SampleFacts) -> int:
    """Return the first position that is trained."""
    return sample.stretches[0].start


def _same_closing(asked: Sequence[Sight], late: int) -> list[Sight]:
    """List the samples whose prompts close alike, so many tokens before the border."""
    for length in (CLOSING, 1):
        closings = [_closing(each.sample, late, length) for each in asked]
        (common, count), *_ = Counter(closings).most_common(1)
        if common and count >= SHARE * len(asked):
            alike = [e for e, c in zip(asked, closings, strict=True) if c == common]
            return alike if _differ(alike, late) else []
    return []


def _closing(sample: SampleFacts, late: int, length: int) -> tuple[int, ...]:
    """Return the tokens that may close a prompt: common text, or one control token."""
    before = sample.border[: -1 - late]
    marks = {each.position for each in sample.controls}
    last = _border(sample) - late - 1
    left_out = range(last + 1, _border(sample))
    bare = last - sample.start < CLOSING - 1
    alone = length == 1 and (last not in marks or bare)
    if len(before) < length or alone or marks.intersection(left_out):
        return ()
    return before[-length:]


def _differ(alike: Sequence[Sight], late: int) -> bool:
    """Tell whether too many tokens are left out at each place to be classes."""
    enough = max(CLASSES, KINDS * len(alike))
    places = range(2, 2 + late)
    return all(len({e.sample.border[-at] for e in alike}) > enough for at in places)


def _cut_within_words(alike: list[Sight], samples: Samples) -> list[Sight]:
    """List those whose first trained token goes on with the word before it."""
    marked = any(each.startswith(_STARTS) for each in samples.pieces.values())
    return [each for each in alike if _cuts_a_word(each.sample, samples, marked)]


def _cuts_a_word(sample: SampleFacts, samples: Samples, marked: bool) -> bool:
    """Tell whether a border is within a word; ``marked``: beginnings are written."""
    before, first = (samples.pieces.get(each, "") for each in sample.border[-2:])
    inside = marked and before[-1:].isalpha() and first[:1].islower()
    return inside or first.startswith("##")


def _vary(alike: Sequence[Sight], samples: Samples) -> bool:
    """Tell whether so many tokens with letters are left out that none is a class."""
    left_out = [each.sample.border[-2] for each in alike]
    letters = {
        each for each in left_out if any(map(str.isalpha, samples.pieces.get(each, "")))
    }
    return len(letters) >= max(VARIED, len(left_out) / 2)


def _spaces(
    asked: Sequence[Sight], samples: Samples
) -> tuple[list[Sight], list[Sight]]:
    """Tell prompts that close with a space from those whose answer begins with it."""
    text = samples.pieces.get
    own = [e for e in asked if text(e.sample.border[-2], "") in _STARTS]
    closings = Counter(each.sample.border[:-2][-CLOSING + 1 :] for each in own)
    common = closings.most_common(1)[0][0] if closings else ()
    merged = [
        each
        for each in asked
        if len(common) == CLOSING - 1
        and each.sample.border[:-1][-len(common) :] == common
        and text(each.sample.border[-1], "").startswith(_STARTS)
    ]
    own = [each for each in own if each.sample.border[:-2][-len(common) :] == common]
    return own, merged


def _alike(told: Told, least: int) -> Told:
    """List the samples that close alike where they ought to, unless labels do too."""
    if len(told) < least:
        return []
    closing, count = _common([guess.closing for _, guess in told])
    alike = [each for each in told if each[1].closing == closing]
    lengths = {guess.position - sight.sample.start for sight, guess in alike}
    own = [sight.sample.border[-3:-1] for sight, _ in alike]
    enough = count >= max(least, ALIKE * len(told)) and len(lengths) >= DIFFERENT
    return alike if enough and _common(own)[1] < OWN * len(alike) else []


def _common(closings: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], int]:
    return Counter(closings).most_common(1)[0]
