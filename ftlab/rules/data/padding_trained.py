"""The rule DAT025, padding-trained.

## What it does
Finds batches in which padding has labels that count.

## Why is this bad?
The model learns to predict padding, which is easy: the loss is low, says little of the
text, and depends on how much a batch is padded. The gradient of the text shrinks.

## Evidence
Samples of the batches: labels other than -100 at positions that the attention mask
hides (or, without a mask, at PAD behind a text), 2 and more in each of at least 2
samples. One label behind the text may be its end, where PAD is EOS. Of an
encoder-decoder the labels are read as texts of their own.
Measured: `labels = input_ids.clone()` behind `tokenizer(..., padding=True)` trains all
padding; `labels[attention_mask == 0] = -100` none.
By hand: `(labels != -100) & (attention_mask == 0)`.

## What to try
1. `labels[batch["attention_mask"] == 0] = -100`.
2. DataCollatorForLanguageModeling, DataCollatorForSeq2Seq or TRL's collator, which do
   so.

## Known problems
Only labels that the model is given are seen: a loss of one's own may leave them out.

## References
- torch, `cross_entropy`, `ignore_index=-100`
- transformers, DataCollatorForLanguageModeling
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

SAMPLES, LABELS = 2, 2
"""Samples with labels on padding, and such labels in each."""


class PaddingTrained(Rule):
    """Finds padding that has labels."""

    code = "DAT025"
    name = "padding-trained"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        sick = [e for e in samples.sights if _is_padded(e.sample)]
        if len(sick) >= SAMPLES:
            yield self._finding(samples, sick)

    def _finding(self, samples: Samples, sick: list[Sight]) -> Finding:
        steps, first = steps_of(sick), sick[0].sample
        count = sum(each.sample.padding_trained for each in sick)
        text = sum(each.sample.trained for each in samples.sights)
        return self.finding(
            Severity.WARNING,
            f"{at_steps(*steps)}: {count} labels of {len(sick)} samples are on "
            f"padding, beside {text} on text",
            cause="Labels hold the padding of their texts as it is.",
            fix="labels[attention_mask == 0] = -100; of a decoder's answers, "
            "labels[labels == tokenizer.pad_token_id] = -100.",
            places=token_places(sick, _first_pad),
            steps=steps,
            evidence={
                "labels": count,
                "samples": len(sick),
                "threshold": LABELS,
                "sample": first.row,
                "position": _first_pad(first),
            },
            healthy="-100 on all padding",
        )


def _is_padded(sample: SampleFacts) -> bool:
    """Tell whether padding has labels of its own, not those of a longer row."""
    return sample.padding_trained >= LABELS and sample.labels_of < 0


def _first_pad(sample: SampleFacts) -> int:
    return sample.end if sample.end < sample.width else 0
