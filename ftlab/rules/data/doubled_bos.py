"""The rule DAT022, doubled-bos.

## What it does
Finds batches whose samples begin with BOS twice, or have a second one where their
answer begins.

## Why is this bad?
The model has met one BOS in pre-training and will be served one: it is tuned on a
beginning that it never sees again. Answers get slightly worse, and llama.cpp warns. In
front of an answer it is trained: the model learns to begin a new text there.

## Evidence
Samples of the batches. *at-the-beginning*: the first two ids of at least half of them
are the tokenizer's BOS (the model's config tells it where no tokenizer is known), in 2
different samples at least. *before-answers*: 90 %, and 4 at least, begin with BOS and
have one more, with no control token right before it, which is the first token that is
trained or stands before that one, or the run compares pairs of answers.
Measured: a Llama-3 template rendered to text and tokenised with
`add_special_tokens=True` gives 2 in each of 4 rows, `apply_chat_template` itself 1;
prompt, chosen and rejected that were each encoded as a text have it in 16 of 16.
By hand: `batch["input_ids"][:, :2]`, or `ftlab.tokens(batch=..., tokenizer=...)`.

## What to try
1. `apply_chat_template(..., tokenize=True)`: it adds nothing of its own.
2. `tokenizer(rendered, add_special_tokens=False)`, also for an answer alone.

## Known problems
None is known where BOS and EOS are two tokens; where they are one, an empty document at
the beginning of a packed row looks the same, and the finding is a note.

## References
- huggingface/trl#1400 (double BOS), axolotl-ai-cloud/axolotl#1616 (before answers)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Severity
from ftlab.records.sample_facts import SampleFacts
from ftlab.rules.reading.samples import (
    NEEDS,
    Samples,
    Sight,
    samples_of,
    steps_of,
    token_places,
)
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

SAMPLES, SHARE = 2, 0.5
"""Different samples, and the share of all, that begin with BOS twice."""

ANSWERS, NEARLY_ALL = 4, 0.9
"""The same, of samples with a second BOS where their answer begins."""


class DoubledBos(Rule):
    """Finds samples that begin twice."""

    code = "DAT022"
    name = "doubled-bos"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        begin, known = samples.ids("bos"), samples.sights
        double = [
            each
            for each in known
            if each.sample.exact
            and len(set(each.sample.head[:2])) == 1
            and begin.issuperset(each.sample.head[:2])
            and each.sample.length > 1
        ]
        if len(double) >= max(SAMPLES, SHARE * len(known)):
            yield self._finding(samples, double)
            return
        compared = any(event.kind == "pairs" for event in run.whole.events)
        alone = begin - samples.stops
        late = [each for each in known if _second(each.sample, alone, compared) >= 0]
        if len(late) >= max(ANSWERS, NEARLY_ALL * len(known)):
            yield self._before_answers(samples, late, alone, compared)

    def _finding(self, samples: Samples, double: list[Sight]) -> Finding:
        steps, first = steps_of(double), double[0].sample
        bos = samples.piece(first.head[0])
        alone = first.head[0] not in samples.stops
        return self.finding(
            Severity.WARNING if alone else Severity.INFO,
            f"{at_steps(*steps)}: {len(double)} of {len(samples.sights)} samples begin "
            f"with {bos} twice",
            cause="The template writes BOS, and the tokenizer adds another one to the "
            "rendered text.",
            fix="tokenizer(text, add_special_tokens=False) for rendered text, or "
            "apply_chat_template(..., tokenize=True).",
            places=token_places(double, lambda sample: sample.start + 1),
            steps=steps,
            evidence={
                "reason": "at-the-beginning",
                "samples": len(double),
                "threshold": SHARE,
                "token": bos,
                "sample": first.row,
                "position": first.start + 1,
            },
            healthy="one BOS, or none, at the beginning of a sample",
        )

    def _before_answers(
        self, samples: Samples, late: list[Sight], bos: frozenset[int], compared: bool
    ) -> Finding:
        steps, first = steps_of(late), late[0].sample
        position = _second(first, bos, compared)
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {len(late)} of {len(samples.sights)} samples have a "
            f"second {samples.piece(first.head[0])} where their answer begins",
            cause="Prompt and answer were encoded as two texts, each with its BOS.",
            fix="tokenizer(answer, add_special_tokens=False).",
            places=token_places(late, lambda each: _second(each, bos, compared)),
            steps=steps,
            evidence={
                "reason": "before-answers",
                "samples": len(late),
                "threshold": NEARLY_ALL,
                "token": samples.piece(first.head[0]),
                "sample": first.row,
                "position": position,
            },
            healthy="one BOS, or none, at the beginning of a sample",
        )


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
