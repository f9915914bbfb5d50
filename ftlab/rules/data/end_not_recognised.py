"""The rule DAT018, end-not-recognised.

## What it does
Finds trainings whose texts end with a mark that is no end here: common text to this
tokenizer, such as `</s>` or `<|im_end|>` of another model, or a token at which the
model's generation does not stop.

## Why is this bad?
The model learns to write the end of its turn, and `generate` goes on behind it to
`max_new_tokens`: a question that the model makes up, and an answer to it. A mark in
seven pieces must be learnt piece by piece, and the tokenizer's own EOS is never
trained.

## Evidence
- *at-the-end*, *within*: no sample holds a token that ends a text, and 4 at least hold
  a string in brackets (`<...>`, `[...]`) that is two tokens or more. 90 % of all end
  with the same one, and it does not close a tag that they open; or a quarter of all
  hold one that is no tag with a partner, and whose name says that something ends: a bar
  (`<|...|>`) or "end", "eos", "eot", "eod", "eom", "sep", "stop" or "/s". Measured:
  documents joined with `</s>` for a GPT-2 vocabulary, cut into blocks of 64: the mark
  is in 24 of 24 blocks, and its own EOS in none. Pages of tags hold pairs.
- *in-pieces*: the text that the chat template writes behind a final answer holds a
  control string of 2 tokens or more, and none that is one token. Measured: ChatML on a
  Llama vocabulary makes 7 pieces of `<|im_end|>` and of `<|im_start|>`.
- *not-heeded*: 90 % of the samples, 4 at least, end with one and the same control token
  (whitespace behind it left out), its label counts, and it is not among the
  `eos_token_id` of the generation config, or of the model's config without one.
  Measured: `<|eot_id|>` ends the answers and `eos_token_id` is `<|end_of_text|>`: 20 of
  20 tokens more after the end; with both in the list none.

By hand: `tokenizer.tokenize("</s>")` is one token, or it is text;
`model.generation_config.eos_token_id` against the last ids of a row.

## What to try
1. `text + tokenizer.eos_token` instead of the mark that an example had, or a template
   whose control strings this vocabulary has.
2. `tokenizer.add_special_tokens(...)`, `model.resize_token_embeddings(...)`, train the
   new rows, and stop generation there.
3. `model.generation_config.eos_token_id = [old, new]`, saved with the model; or
   `tokenizer.eos_token = "..."` before training, which a Trainer takes over.

## Known problems
Texts about such marks, a quarter of them, without one EOS, look the same. Who stops at
strings, passes `eos_token_id` to each call of `generate`, or serves with an engine that
is told so, has it right. Openings such as `[INST]` may well be plain text.

## References
- hiyouga/LlamaFactory#1493 (`</s>` as text), huggingface/trl#1242 (`setup_chat_format`)
- vllm-project/vllm#4180, oobabooga/textgen#5885 (`<|eot_id|>` of Llama 3)
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from ftlab.records.sample_facts import Control, SampleFacts
from ftlab.records.spelled_mark import SpelledMark
from ftlab.records.template import TemplateFacts
from ftlab.rules.reading.samples import (
    BEHIND,
    PLACES,
    Samples,
    is_causal,
    row_name,
    row_places,
    samples_of,
)
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.reading.turns import ANSWERS, template_of, turns_where
from ftlab.rules.rule import Finding, Place, Results, Run
from ftlab.rules.words import at_steps

SAMPLES, SHARE, WITHIN = 4, 0.9, 0.25
"""Samples, and the share of them that end with the same mark, or hold it."""

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


class EndNotRecognised(SampleRule):
    """Finds ends that are learnt, and at which nothing stops."""

    code = "DAT018"
    caused_by = ("EXP017", "DAT028", "DAT073")

    def check(self, run: Run) -> Results:
        """Yield one finding: in pieces by the template, else spelled, or not heeded."""
        found = [*self._in_pieces(run)] or [*self._spelled(samples_of(run))]
        yield from found
        yield from self._not_heeded(samples_of(run))

    def _in_pieces(self, run: Run) -> Results:
        """Tell of the template's end of an answer."""
        facts = template_of(run)
        broken = _broken(facts) if facts is not None else {}
        if not broken:
            return
        string, count = next(iter(broken.items()))
        yield self.of_turns(
            run,
            f"{string!r} ends an answer and is {count} tokens of this vocabulary",
            turns_where(run, lambda t: t.role == ANSWERS and t.part == "end"),
            lambda turn: turn.start,
            cause="The chat template writes control strings that this tokenizer does "
            "not have.",
            fix="A template of this model, or add the strings as special tokens, "
            "resize the embeddings and train the new rows.",
            reason="in-pieces",
            evidence={"token": string, "pieces": count, "threshold": 1},
            healthy="one token for the end of an answer",
            behind=[Place("config", "tokenizer.chat_template")],
        )

    def _spelled(self, samples: Samples) -> Results:
        """Tell of the most frequent mark."""
        if not samples.marked or _has_ends(samples):
            return
        total = sum(len(each.samples) for each in samples.marked)
        held: dict[str, _Held] = defaultdict(_Held)
        for seen in samples.marked:
            for mark in seen.marks:
                held[mark.text].add(seen.step, mark)
        for text, each in sorted(held.items(), key=lambda pair: -pair[1].samples):
            if reason := _reason(text, each, total):
                yield self._mark(samples, text, each, total, reason)
                return

    def _mark(
        self, samples: Samples, text: str, held: _Held, total: int, reason: str
    ) -> Finding:
        steps = min(held.steps), max(held.steps)
        last = reason == "at-the-end"
        number = held.ends if last else held.samples
        first = held.places[0]
        return self.warning(
            f"{at_steps(*steps)}: {number} of {total} samples "
            f"{'end with' if last else 'hold'} {text!r}, which "
            f"is {first[3] - first[2]} common tokens here; none holds {samples.end}",
            cause="The mark is that of another model's tokenizer; this one reads it as "
            "text.",
            fix="tokenizer.eos_token in its place.",
            places=row_places(
                (row_name(m, r), s) for m, r, s, _ in held.places[:PLACES]
            ),
            steps=steps,
            reason=reason,
            evidence={
                "mark": text,
                "samples": number,
                "sample": first[1],
                "position": first[2],
                "threshold": SHARE if last else WITHIN,
            },
            healthy="EOS as one token at the end of each text",
        )

    def _not_heeded(self, samples: Samples) -> Results:
        """Tell of the token that ends nearly all samples, and no generation."""
        heeded, known = samples.ids("generation"), samples.sights
        if len(known) < SAMPLES or not heeded:
            return
        last = [(each, _end(each.sample)) for each in known if each.sample.exact]
        ends = [(sight, end.id) for sight, end in last if end is not None]
        ids = Counter(number for _, number in ends)
        number, count = ids.most_common(1)[0] if ids else (-1, 0)
        if count < SHARE * len(known) or number in heeded:
            return
        piece = samples.piece(number)
        stops = ", ".join(map(samples.piece, sorted(heeded)))
        yield self.of_samples(
            f"{count} samples end with {piece}, and generation ends at {stops} alone",
            [sight for sight, its in ends if its == number],
            lambda sample: sample.controls[-1].position,
            cause="The end of the answers is not among the eos_token_id of the "
            "generation config.",
            fix="Add it: model.generation_config.eos_token_id = [...], or make it the "
            "tokenizer's eos_token before training.",
            reason="not-heeded",
            evidence={
                "samples": count,
                "threshold": SHARE,
                "token": piece,
                "heeded": stops,
            },
            healthy="answers that end with a token of eos_token_id",
            settings=[Place("config", "generation_config.eos_token_id")],
        )


def _broken(facts: TemplateFacts) -> dict[str, int]:
    """Give the control strings of the end of an answer, where none is one token."""
    held = {s: n for s, n in facts.pieces.items() if s in facts.terminator}
    whole = facts.stops.get("template") or any(n == 1 for n in held.values())
    return {} if whole else held


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
    if held.ends >= max(SAMPLES, SHARE * total) and not paired:
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


def _end(sample: SampleFacts) -> Control | None:
    """Return the last control token, where it ends the sample and is trained."""
    last = sample.controls[-1] if sample.controls else None
    if last is None or not last.trained or last.position < sample.end - BEHIND:
        return None
    return last
