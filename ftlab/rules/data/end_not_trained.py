"""The rule DAT020, end-not-trained.

## What it does
Finds trainings in which the text before EOS is trained, and EOS itself never is.

## Why is this bad?
The model learns what to say and not when to be silent: it goes on until
`max_new_tokens`, and invents the next question on the way. The loss looks well.

## Evidence
Samples of the batches with their labels. Trained labels end directly before a token
that ends a text (the `eos_token_id` of the generation config, of the model's config or
of the tokenizer) at 2 places at least, of one sample or several, and in none of the
samples seen has such a token a label that counts. *pad-is-eos*: that token is also the
padding, which a collator leaves out by its id. *hidden*: the attention mask is 0 at the
end, with the text going on behind it (DAT053). *mask*: neither; a mask of answers or
completions ends one token too early.
Measured: transformers' DataCollatorForLanguageModeling with `pad_token = eos_token`
trains 0 of 12 real EOS, with a padding token of its own 12 of 12; after 60 steps of a
small Llama EOS at the end of an answer has a probability of 1e-5, and of 0.99.
By hand: `(labels == -100)[(input_ids == eos) & (attention_mask == 1)]`.

## What to try
1. A padding token of its own: an unused one of the vocabulary, or a new one.
2. Mask labels by `attention_mask`, not by `labels == pad_token_id`.
3. Put the end of the turn within `{% generation %}` ... `{% endgeneration %}`.

## Known problems
Who wants answers without an end, for texts that are to be continued, may leave it out.
Without an attention mask nothing is said of rows that are padded with EOS: what is
padding there and what is an end cannot be told. Only ends that generation heeds count.

## References
- huggingface/transformers#23530, huggingface/trl#976 (pad_token = eos_token)
- transformers, DataCollatorForLanguageModeling (`labels == pad_token_id`)
"""

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
from ftlab.rules.rule import Rule
from ftlab.rules.words import at_steps
from ftlab.runlog.run import Run

ENDS = 2
"""Ends before which training stops."""

_CAUSES = {
    "pad-is-eos": "PAD and EOS are one token, and the labels of all padding are left "
    "out by its id: those of every real end too.",
    "hidden": "The attention mask hides these ends, and the labels were cut by that "
    "mask.",
    "mask": "What marks the answers ends before the token that ends them.",
}
_FIXES = {
    "pad-is-eos": "Give the tokenizer a padding token of its own, or mask labels by "
    "the attention mask: labels[attention_mask == 0] = -100.",
    "hidden": "Make the mask by length, not by the ids, before labels are cut by it: "
    "arange(width) < lengths[:, None].",
    "mask": "Let the mask hold the end too: {% generation %} around content and end, "
    "or a completion that closes with EOS.",
}


class EndNotTrained(Rule):
    """Finds ends of texts that no label teaches."""

    code = "DAT020"
    name = "end-not-trained"
    since = "0.1.0"
    status = "preview"
    requires = (NEEDS,)
    caused_by = ("DAT053",)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding where no end at all is trained."""
        samples = samples_of(run)
        stops = samples.stops
        known = [each for each in samples.sights if is_causal(each.sample)]
        trained = any(
            c.trained and c.id in stops for each in known for c in each.sample.controls
        )
        left_out = [
            each for each in known if _end(each.sample, stops) and each.sample.exact
        ]
        ends = sum(len(_end(each.sample, stops)) for each in left_out)
        if not trained and ends >= ENDS:
            yield self._finding(samples, left_out)

    def _finding(self, samples: Samples, left_out: list[Sight]) -> Finding:
        places = [_end(each.sample, samples.stops)[-1] for each in left_out]
        first = left_out[0].sample
        number = next(s.after for s in first.stretches if s.end == places[0])
        reason = "pad-is-eos" if number in samples.ids("pad") else "mask"
        hidden = {token.position for token in first.hidden}
        reason = "hidden" if places[0] in hidden else reason
        steps = steps_of(left_out)
        return self.finding(
            Severity.WARNING if reason == "mask" else Severity.ERROR,
            f"{at_steps(*steps)}: {samples.piece(number)} ends {_samples(left_out)} "
            "but its label is never trained, unlike the text before it",
            cause=_CAUSES[reason],
            fix=_FIXES[reason],
            places=token_places(left_out, lambda e: _end(e, samples.stops)[-1]),
            steps=steps,
            evidence={
                "reason": reason,
                "samples": len(left_out),
                "trained_ends": 0,
                "token": samples.piece(number),
                "sample": first.row,
                "position": places[0],
            },
            healthy="a label that counts on the end of every answer",
        )


def _samples(sights: Sequence[Sight]) -> str:
    return "1 sample" if len(sights) == 1 else f"{len(sights)} samples"


def _end(sample: SampleFacts, stops: frozenset[int]) -> list[int]:
    """List the ends that stand directly behind what is trained."""
    return [each.end for each in sample.stretches if each.after in stops]
