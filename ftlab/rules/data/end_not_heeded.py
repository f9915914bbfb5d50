"""The rule DAT026, end-not-heeded.

## What it does
Finds trainings whose answers end with a token at which the model's generation does not
stop.

## Why is this bad?
The model learns to write the end of its turn at the right place, and `generate` goes on
behind it to `max_new_tokens`: a question that the model makes up, and an answer to it.

## Evidence
Samples of the batches, 4 different ones at least, and what ends a generation: the
`eos_token_id` of the generation config, or of the model's config without one. At least
90 % of the samples end with one and the same control token (whitespace behind it left
out), its label counts, and generation does not end there.
Measured: `<|eot_id|>` ends the answers and `eos_token_id` is `<|end_of_text|>`: 20 of
20 tokens more after the end; with both in the list none.
By hand: `model.generation_config.eos_token_id` against the last ids of a row.

## What to try
1. `model.generation_config.eos_token_id = [old, new]`, saved with the model.
2. `tokenizer.eos_token = "..."` before training: a Trainer takes it over to the model.

## Known problems
Who passes `eos_token_id` or stop words to each call of `generate`, or serves with an
engine that is told so, has it right: a warning.

## References
- vllm-project/vllm#4180, oobabooga/textgen#5885 (`<|eot_id|>` of Llama 3)
"""

from collections import Counter
from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.sample_facts import Control, SampleFacts
from ftlab.rules.reading.samples import (
    BEHIND,
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

SAMPLES, SHARE = 4, 0.9
"""Samples, and the share of them that end with the same token."""


class EndNotHeeded(Rule):
    """Finds ends that are learnt, and at which nothing stops."""

    code = "DAT026"
    name = "end-not-heeded"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT028", "DAT073")

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding where nearly all samples end so."""
        samples = samples_of(run)
        heeded, known = samples.ids("generation"), samples.sights
        if len(known) < SAMPLES or not heeded:
            return
        ends = {id(each): _end(each.sample) for each in known if each.sample.exact}
        ids = Counter(end.id for end in ends.values() if end is not None)
        number, count = ids.most_common(1)[0] if ids else (-1, 0)
        if count >= SHARE * len(known) and number not in heeded:
            ended = [
                each
                for each in known
                if (end := ends.get(id(each))) is not None and end.id == number
            ]
            yield self._finding(samples, number, ended)

    def _finding(self, samples: Samples, number: int, ended: list[Sight]) -> Finding:
        steps, first = steps_of(ended), ended[0].sample
        heeded = ", ".join(map(samples.piece, sorted(samples.ids("generation"))))
        piece = samples.piece(number)
        setting = Place("config", "generation_config.eos_token_id")
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {len(ended)} samples end with {piece}, and "
            f"generation ends at {heeded} alone",
            cause="The end of the answers is not among the eos_token_id of the "
            "generation config.",
            fix="Add it: model.generation_config.eos_token_id = [...], or make it the "
            "tokenizer's eos_token before training.",
            places=[setting, *token_places(ended, _position)],
            steps=steps,
            evidence={
                "samples": len(ended),
                "threshold": SHARE,
                "token": piece,
                "heeded": heeded,
                "sample": first.row,
                "position": _position(first),
            },
            healthy="answers that end with a token of eos_token_id",
        )


def _end(sample: SampleFacts) -> Control | None:
    """Return the last control token, where it ends the sample and is trained."""
    last = sample.controls[-1] if sample.controls else None
    if last is None or not last.trained or last.position < sample.end - BEHIND:
        return None
    return last


def _position(sample: SampleFacts) -> int:
    return sample.controls[-1].position
