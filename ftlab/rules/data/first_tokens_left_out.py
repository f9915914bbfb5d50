"""The rule DAT017, first-tokens-left-out.

## What it does
Finds trainings whose answers are trained from their second or third token on: what is
left out of the labels is longer than the prompt.

## Why is this bad?
The model never learns how an answer begins, and at inference that is what it has to say
first: it begins with whatever the base model would, and the loss shows nothing.

## Evidence
Samples of the batches, 8 at least that have a question left out of the labels. In 95 %
of them the same tokens close the prompt (three, or one control token), and one or two
tokens that differ from sample to sample stand between these and the first label that
counts. Right masks begin directly behind what closes the prompt. *word-cut*: in 2
samples at least the border goes through a word, as no prompt ends, and more than 6
different tokens, a quarter of the samples, are left out: a warning. *varies*: there are
12 different ones with letters, and as many as half of the samples: a prompt may end
with a word of its own, so this is information.
*space-merged*: prompts close with the same tokens and a space, which in 2 samples at
least is left out of the labels as a token of its own, and in 2 others is the beginning
of the first token that is trained: a warning. *prompt-end*: the last tokens of the
opening of an answer are trained, in all of 4 at least that turns tell: information.
Measured with small vocabularies: a prompt that is counted with its EOS cuts a word in
11 to 13 of 16 samples; a space at the end of the prompt is a token of its own in 6 to 8
of 16. Right masks show neither, nor do prompts that end with one of 6 classes.
By hand: `tokenizer.convert_ids_to_tokens(ids[n - 3 : n + 2])`, `n` the first label.

## What to try
1. Count the prompt as it stands in the row: without EOS, and with one BOS.
2. Tokenise prompt and answer apart, and join the ids: no token holds both.
3. No space at the end of a prompt; let the answer begin with it.
4. Begin the mask of answers where the generation prompt ends.

## Known problems
Parts of words that are to be completed look the same. Where the space of each prompt
goes together with the answer, the mask shows nothing of it.

## References
- huggingface/trl#2054 (a prompt that is tokenised alone ends with other tokens)
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    is_causal,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.reading.turns import ANSWERS, OPENINGS, turn_places, turn_sights
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

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

_FIRST = {1: "the first tokens", 2: "the first two tokens each"}

_STARTS = ("\u0120", "\u2581")
"""What vocabularies write in front of a word."""


class FirstTokensLeftOut(Rule):
    """Finds answers whose first tokens have no label."""

    code = "DAT017"
    name = "first-tokens-left-out"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples, and one for openings."""
        samples = samples_of(run)
        asked = [each for each in samples.sights if _has_prompt(each.sample)]
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

    def _late(
        self, alike: list[Sight], cut: list[Sight], late: int, samples: Samples
    ) -> Finding:
        proven = len(cut) >= CUTS
        shown = [*cut, *(each for each in alike if each not in cut)]
        first, steps = shown[0].sample, steps_of(alike)
        left_out, said = (samples.piece(each) for each in first.border[-2:])
        return self.finding(
            Severity.WARNING if proven else Severity.INFO,
            f"{at_steps(*steps)}: {_FIRST[late]} of {len(alike)} answers "
            f"have no label; in {len(cut)} of these the labels begin within a word, "
            f"as between {left_out} and {said}",
            cause="The prompt was counted too long: with EOS or BOS, or by itself, "
            "where its last token goes together with the answer.",
            fix="Count the prompt's tokens within the row, or join the ids of prompt "
            "and answer, which were tokenised apart.",
            places=token_places(shown, lambda each: _border(each) - late),
            steps=steps,
            evidence={
                "reason": "word-cut" if proven else "varies",
                "samples": len(alike),
                "cut": len(cut),
                "left_out": late,
                "sample": first.row,
                "position": _border(first) - late,
                "threshold": CUTS if proven else VARIED,
            },
            healthy="a first label on the first token of each answer",
        )

    def _merged(
        self, own: list[Sight], merged: list[Sight], samples: Samples
    ) -> Finding:
        steps, first = steps_of([*own, *merged]), merged[0].sample
        said = samples.piece(first.border[-1])
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: the space at the end of the prompt belongs to the "
            f"answer's first token in {len(merged)} samples, as in {said}, and to the "
            f"prompt in {len(own)}",
            cause="The prompt ends with a space, and the tokenizer joins it to the "
            "word behind it: training has another prompt than inference.",
            fix="No space at the end of the prompt; let the answer begin with it.",
            places=token_places(merged, _border),
            steps=steps,
            evidence={
                "reason": "space-merged",
                "samples": len(merged),
                "of": len(own) + len(merged),
                "sample": first.row,
                "position": _border(first),
                "threshold": SPACES,
            },
            healthy="prompts that end with the same tokens in training as alone",
        )

    def _early(self, run: Run) -> Iterator[Finding]:
        """Tell of openings whose end alone is trained."""
        openings = [
            (sight, turn)
            for sight in turn_sights(run)
            for turn in sight.sample.turns
            if turn.role == ANSWERS and turn.part in OPENINGS
        ]
        partly = [
            (sight, turn)
            for sight, turn in openings
            if 0 < turn.trained < turn.end - turn.start
            and turn.first == turn.end - turn.trained
        ]
        if len(partly) < max(TURNS, len(openings)):
            return
        steps = [sight.step for sight, _ in partly]
        yield self.finding(
            Severity.INFO,
            f"{at_steps(min(steps), max(steps))}: the last tokens of the opening of "
            f"{len(partly)} answers are trained, which a prompt already holds",
            cause="The prompt was counted too short, or the mark of answers stands "
            "within their opening.",
            fix="Let the mask begin where the generation prompt ends.",
            places=turn_places(partly, lambda turn: turn.first),
            steps=(min(steps), max(steps)),
            evidence={"reason": "prompt-end", "answers": len(partly)},
            healthy="a first label on the first token of each answer",
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
