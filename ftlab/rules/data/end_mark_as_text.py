"""The rule DAT018, end-mark-as-text.

## What it does
Finds trainings whose texts end with the mark of another model, such as `</s>` or
`<|im_end|>`, which this tokenizer reads as common text.

## Why is this bad?
The mark is some pieces like any other text, at which no generation stops. The model
learns to write it, and goes on; its own EOS is never trained.

## Evidence
Samples of the batches of which none holds a token that ends a text, and strings in
brackets (`<...>`, `[...]`) in them that are two tokens or more. *at-the-end*: 4 samples
at least, and 90 % of all, end with the same one, and it does not close a tag that they
open. *within*: 4 samples at least, and a quarter of all, hold one that is no tag with a
partner, and whose name says that something ends: a bar (`<|...|>`) or "end", "eos",
"eot", "eod", "eom", "sep", "stop" or "/s".
Measured: documents joined with `</s>` for a GPT-2 vocabulary, cut into blocks of 64:
the mark is in 24 of 24 blocks, and its own EOS in none. Pages of tags hold pairs.
By hand: `tokenizer.tokenize("</s>")` is one token, or it is text.

## What to try
1. `text + tokenizer.eos_token` instead of the mark that an example had.
2. `tokenizer.add_special_tokens(...)`, new rows of the embedding, and a model whose
   generation stops at it.

## Known problems
Texts about such marks, a quarter of them, without one EOS, look the same. Whoever stops
generation at a string may end texts with it.

## References
- hiyouga/LlamaFactory#1493 (`</s>` as text)
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.spelled_mark import SpelledMark
from ftlab.rules.reading.samples import NEEDS, PLACES, Samples, is_causal, samples_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, AT_THE_END, WITHIN = 4, 0.9, 0.25
"""Samples that hold a mark, and the share of those that end with it, or hold it."""

_ENDING = re.compile("(?:end|eos|eot|eod|eom|sep|separator|stop)(?:of[a-z]+)?")

_BARS = "|\uff5c"


@dataclass(slots=True)
class _Held:
    """What all steps together say of one mark."""

    samples: int = 0
    ends: int = 0
    paired: bool = False
    steps: list[int] = field(default_factory=list)
    places: list[tuple[int, int, int, int]] = field(default_factory=list)

    def add(self, step: int, mark: SpelledMark) -> None:
        self.samples += mark.samples
        self.ends += mark.ends
        self.paired |= mark.paired
        self.steps.append(step)
        self.places.extend(mark.places)


class EndMarkAsText(Rule):
    """Finds ends of texts that are spelled."""

    code = "DAT018"
    name = "end-mark-as-text"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT032",)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for the most frequent mark."""
        samples = samples_of(run)
        if not samples.marked or _has_ends(samples):
            return
        total = sum(len(each.samples) for each in samples.marked)
        held: dict[str, _Held] = defaultdict(_Held)
        for seen in samples.marked:
            for mark in seen.marks:
                held[mark.text].add(seen.step, mark)
        for text, each in sorted(held.items(), key=lambda pair: -pair[1].samples):
            if _reason(text, each, total):
                yield self._finding(samples, text, each, total)
                return

    def _finding(self, samples: Samples, text: str, held: _Held, total: int) -> Finding:
        reason = _reason(text, held, total)
        steps = min(held.steps), max(held.steps)
        number = held.ends if reason == "at-the-end" else held.samples
        verb = "end with" if reason == "at-the-end" else "hold"
        first = held.places[0]
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {number} of {total} samples {verb} {text!r}, which "
            f"is {first[3] - first[2]} common tokens here; none holds {samples.end}",
            cause="The mark is that of another model's tokenizer; this one reads it as "
            "text.",
            fix="tokenizer.eos_token in its place.",
            places=_places(held),
            steps=steps,
            evidence={
                "reason": reason,
                "mark": text,
                "samples": number,
                "sample": first[1],
                "position": first[2],
                "threshold": AT_THE_END if reason == "at-the-end" else WITHIN,
            },
            healthy="EOS as one token at the end of each text",
        )


def _has_ends(samples: Samples) -> bool:
    """Tell whether a sample holds a token that ends a text, or is no text to go on."""
    return any(
        (each.sample.labelled and each.sample.trained and not is_causal(each.sample))
        or any(c.id in samples.stops for c in each.sample.controls)
        for each in samples.sights
    )


def _reason(text: str, held: _Held, total: int) -> str:
    ends = _says_end(text)
    paired = held.paired and not ends
    if held.ends >= max(SAMPLES, AT_THE_END * total) and not paired:
        return "at-the-end"
    if ends and held.samples >= max(SAMPLES, WITHIN * total) and not held.paired:
        return "within"
    return ""


def _says_end(text: str) -> bool:
    """Tell whether the name of a mark says that something ends there."""
    inner = text[1:-1]
    if text[0] == "[" and not inner.isupper():
        return False  # a note in a text: [end], [Stop]
    bars = inner[0] in _BARS and inner[-1] in _BARS and any(map(str.isalpha, inner))
    words = re.findall("[a-z]+", inner.lower())
    named = any(_ENDING.fullmatch(word) for word in words)
    return bars or named or inner == "/s"


def _places(held: _Held) -> list[Place]:
    rows = [
        (f"{r} of micro-batch {m}" if m else str(r), s) for m, r, s, _ in held.places
    ]
    tokens = [
        Place("token", f"{start} of sample {row}") for row, start in rows[:PLACES]
    ]
    return [*tokens, *dict.fromkeys(Place("sample", row) for row, _ in rows[:PLACES])]
