"""The rule DAT022, beginning-wrong.

## What it does
Finds samples that do not begin once: without the BOS that the chat template writes,
with BOS twice, with a second one where their answer begins, or with the whole prompt
twice in a row.

## Why is this bad?
The model has met one BOS in front of every text in pre-training and will be served one;
much attention rests on that first token. Tuned on another beginning the loss begins
higher, answers get slightly worse, and llama.cpp warns. What stands twice where the
answer belongs is trained or rated as its beginning: the model learns to begin a new
text there, or to repeat a question before it answers.

## Evidence
Samples of the batches.
- *missing*: what the chat template writes begins with the BOS that the tokenizer adds
  by itself. Of the samples with turns 4 at least, and 90 %, begin with the opening of a
  turn, and no sample holds BOS anywhere: rows that were cut begin with common text,
  packed ones hold BOS further on. Measured: rendered text without its BOS, tokenised
  with `add_special_tokens=False`: 16 of 16 samples; where one of the two is left as it
  is, none. Templates that write no BOS (ChatML) are left in peace.
- *at-the-beginning*: the first two ids of half of the samples, 2 different ones at
  least, are the tokenizer's BOS (the model's config tells it where no tokenizer is
  known). Measured: a Llama-3 template rendered to text and tokenised with
  `add_special_tokens=True` gives 2 in each of 4 rows, `apply_chat_template` itself 1.
- *before-answers*: 90 %, and 4 at least, begin with BOS and have one more, with no
  control token right before it, which is the first token that is trained or stands
  before that one, or the run compares pairs of answers. Measured: prompt, chosen and
  rejected that were each encoded as a text have it in 16 of 16.
- *prompt-twice*: what a sample begins with is followed by itself, 4 different words at
  least, and by more that is no control token; up to 4 tokens at its beginning may be
  others, where their text is the same but for a space in front. In 0.9 of all samples,
  or in 0.5 where control tokens are repeated too, which no quotation has; 4 different
  samples at least. Measured: a `prompt` column and completions that begin with it give
  32 of 32 rows; answers that quote the question, and prompts of several examples, none.

By hand: `batch["input_ids"][:, :2]`, `tokenizer.decode(batch["input_ids"][0])`, or
`ftlab.tokens(batch=..., tokenizer=...)`.

## What to try
1. `apply_chat_template(..., tokenize=True)`: it writes one BOS and adds nothing.
2. `tokenizer(text)` for rendered text without BOS, and for text with it, or an answer
   alone, `tokenizer(text, add_special_tokens=False)`.
3. `completion.removeprefix(prompt)`; or no prompt column: TRL finds the prompt that
   `chosen` and `rejected` share.

## Known problems
A missing BOS is not judged without a template, and that the base model was trained with
one is taken from template and tokenizer. Where BOS and EOS are one token, an empty
document at the beginning of a packed row looks like a double BOS: a note. Where prompts
are bare questions and all answers begin with the whole of them, nothing tells the two
apart; a prompt that was cut at its beginning is not seen.

## References
- unslothai/notebooks#251 (Gemma trained without BOS)
- Xiao et al., arXiv:2309.17453 (attention rests on the first tokens)
- huggingface/trl#1400 (double BOS), axolotl-ai-cloud/axolotl#1616 (before answers)
- TRL, dataset formats: explicit and implicit prompts
"""

from ftlab.records.sample_facts import SampleFacts, Twice
from ftlab.rules.reading.samples import Samples, Sight, samples_of
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.reading.turns import OPENINGS, TurnSight, template_of, turn_sights
from ftlab.rules.rule import Finding, Results, Run, Severity

SAMPLES, SHARE = 4, 0.9
"""Different samples, and the share of all, that begin so."""

DOUBLE, OF_DOUBLE = 2, 0.5
"""The same, of samples that begin with BOS twice."""

MARKED = 0.5
"""Share of samples whose prompt stands twice, control tokens and all."""

SPACES = "\u0120\u2581 "
"""How vocabularies write a space in front of a word."""


class BeginningWrong(SampleRule):
    """Finds samples that begin twice, or without a beginning."""

    code = "DAT022"
    caused_by = ("EXP017",)

    def check(self, run: Run) -> Results:
        """Yield one finding about BOS, and one about prompts."""
        samples = samples_of(run)
        yield from self._missing(run, samples)
        yield from self._doubled(run, samples)
        yield from self._prompts(samples)

    def _missing(self, run: Run, samples: Samples) -> Results:
        facts, begin = template_of(run), samples.ids("bos")
        held = {c.id for each in samples.sights for c in each.sample.controls}
        if facts is None or not facts.repeats_bos or not begin or begin & held:
            return
        known = turn_sights(run)
        opened = [each for each in known if _begins_with_an_opening(each)]
        if len(opened) < max(SAMPLES, SHARE * len(known)):
            return
        bos = samples.piece(min(begin))
        yield self.of_turns(
            run,
            f"none of {len(opened)} samples begins with {bos}, which the template "
            "writes and the tokenizer adds",
            [(each, each.sample.turns[0]) for each in opened],
            lambda turn: turn.start,
            cause="BOS was taken out of the rendered text, or the template left aside, "
            "and add_special_tokens=False kept the tokenizer from adding it.",
            fix="apply_chat_template(..., tokenize=True), or add_special_tokens=True "
            "for text that was rendered without BOS.",
            reason="missing",
            evidence={"samples": len(opened), "threshold": SHARE, "token": bos},
            healthy="one BOS in front of every conversation",
        )

    def _doubled(self, run: Run, samples: Samples) -> Results:
        begin, known = samples.ids("bos"), samples.sights
        double = [each for each in known if _is_double(each.sample, begin)]
        if known and len(double) >= max(DOUBLE, OF_DOUBLE * len(known)):
            yield self._bos(samples, double, "at-the-beginning")
            return
        compared = any(event.kind == "pairs" for event in run.whole.events)
        alone = begin - samples.stops
        late = [each for each in known if _second(each.sample, alone, compared) >= 0]
        if late and len(late) >= max(SAMPLES, SHARE * len(known)):
            yield self._bos(samples, late, "before-answers", compared=compared)

    def _bos(
        self,
        samples: Samples,
        found: list[Sight],
        reason: str,
        *,
        compared: bool = False,
    ) -> Finding:
        first = found[0].sample.head[0]
        alone = samples.ids("bos") - samples.stops
        early = reason == "at-the-beginning"
        bos = samples.piece(first)
        return self.of_samples(
            f"{len(found)} of {len(samples.sights)} samples "
            + (
                f"begin with {bos} twice"
                if early
                else f"have a second {bos} where their answer begins"
            ),
            found,
            lambda each: each.start + 1 if early else _second(each, alone, compared),
            severity=Severity.INFO if first in samples.stops else Severity.WARNING,
            cause="The template writes BOS, and the tokenizer adds another one to the "
            "rendered text."
            if early
            else "Prompt and answer were encoded as two texts, each with its BOS.",
            fix="tokenizer(text, add_special_tokens=False) for rendered text, or "
            "apply_chat_template(..., tokenize=True)."
            if early
            else "tokenizer(answer, add_special_tokens=False).",
            reason=reason,
            evidence={
                "samples": len(found),
                "threshold": OF_DOUBLE if early else SHARE,
                "token": bos,
            },
            healthy="one BOS, or none, at the beginning of a sample",
        )

    def _prompts(self, samples: Samples) -> Results:
        found = [
            (sight, twice)
            for sight in samples.sights
            if (twice := sight.sample.twice) is not None and _same(samples, twice)
        ]
        marked = sum(bool(twice.controls) for _, twice in found)
        share = MARKED if 2 * marked > len(found) else SHARE
        if len(found) < max(SAMPLES, share * len(samples.sights)):
            return
        first, twice = found[0]
        again = {id(sight.sample): twice.again for sight, twice in found}
        yield self.of_samples(
            f"{len(found)} of {len(samples.sights)} samples begin with the same text "
            f"twice in a row; sample {first.sample.row} has tokens {twice.start} to "
            f"{twice.again - 1} again from {twice.again} on",
            [sight for sight, _ in found],
            lambda sample: again[id(sample)],
            cause="The prompt is put in front of completions that begin with it.",
            fix="Take the prompt out of the completions, or leave out the prompt "
            "column.",
            reason="prompt-twice",
            evidence={
                "samples": len(found),
                "all": len(samples.sights),
                "threshold": share,
            },
            healthy="one prompt, and an answer behind it",
        )


def _begins_with_an_opening(sight: TurnSight) -> bool:
    first = sight.sample.turns[0]
    return first.part in OPENINGS and first.start == sight.sample.start


def _is_double(sample: SampleFacts, bos: frozenset[int]) -> bool:
    head = sample.head[:2]
    known = sample.exact and sample.length > 1
    return known and len(set(head)) == 1 and bos.issuperset(head)


def _second(sample: SampleFacts, bos: frozenset[int], compared: bool) -> int:
    """Return the place of the one other BOS of a sample, before its answer, or -1."""
    places = {each.position: each.id for each in sample.controls}
    begins = [place for place, number in places.items() if number in bos]
    if sample.documents > 1 or len(begins) != 2 or begins[0] != sample.start:
        return -1
    second = begins[1]
    border = sample.stretches[0].start if sample.stretches else -1
    answers = compared or (sample.start < border and border in (second, second + 1))
    return second if answers and second - 1 not in places else -1


def _same(samples: Samples, twice: Twice) -> bool:
    """Tell whether both beginnings are one text, but for a space in front."""
    begin = samples.ids("bos")
    one, two = (
        [i for i in ids if i not in begin] for ids in (twice.first, twice.second)
    )
    if not one and not two:
        return True
    known = [[samples.pieces.get(each) for each in ids] for ids in (one, two)]
    texts = ["".join(p or "" for p in pieces).lstrip(SPACES) for pieces in known]
    return all(map(all, known)) and texts[0] == texts[1]
