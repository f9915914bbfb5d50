"""The rule DAT048, pooled-at-padding.

## What it does
Finds classifiers on decoders that take the class of shorter texts from their padding.

## Why is this bad?
The class is read at the last token that is not `config.pad_token_id`. Where the
tokenizer pads with another token, that is the last column of the batch: the class of a
text hangs on how much longer its neighbours are, in training and at inference.

## Evidence
The ids and the attention mask of some samples, and the code of the model's forward,
which reads `pad_token_id`. The last id that is not `config.pad_token_id` is hidden by
the mask. 2 samples at least, and a tenth of all.
Measured: a Llama classifier with the PAD of EOS, and rows that are padded with `<pad>`,
reads 13 of 16 samples at their padding.
By hand: `(batch["input_ids"] != model.config.pad_token_id)` beside
`batch["attention_mask"]`.

## What to try
1. `model.config.pad_token_id = tokenizer.pad_token_id`, before training and in what is
   saved.
2. Padding on the left: the last column is text then.

## Known problems
Without an attention mask nothing is told. Classifiers that read their first token, or
the mean of all, are not concerned.

## References
- transformers, `GenericForSequenceClassification.forward`
"""

from ftlab.rules.reading.samples import NEEDS, samples_of
from ftlab.rules.reading.token_rules import SampleRule
from ftlab.rules.rule import Place, Results, Run

SAMPLES, SHARE = 2, 0.1
"""Samples that are read at their padding, and their share of all."""


class PooledAtPadding(SampleRule):
    """Finds classes that are read off padding."""

    code = "DAT048"
    requires = NEEDS

    def check(self, run: Run) -> Results:
        """Yield one finding for all samples."""
        samples = samples_of(run)
        found = samples.where(lambda sample: sample.pooled >= 0)
        if len(found) >= max(SAMPLES, SHARE * len(samples.sights)):
            taken = ", ".join(map(samples.piece, sorted(samples.ids("pooling"))))
            yield self.of_samples(
                f"{len(found)} of {len(samples.sights)} samples are classified by a "
                f"position of their padding; the model takes {taken} alone for padding",
                found,
                lambda sample: sample.pooled,
                cause="The rows are padded with another token than the config's "
                "pad_token_id.",
                fix="model.config.pad_token_id = tokenizer.pad_token_id",
                evidence={"samples": len(found), "threshold": SHARE},
                healthy="classes that are read at the last token of each text",
                settings=[Place("config", "model.config.pad_token_id")],
            )
