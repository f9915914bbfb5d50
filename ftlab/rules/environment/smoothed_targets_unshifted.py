"""The rule ENV005, smoothed-targets-unshifted.

## What it does
Finds Trainers that compute a smoothed loss of a causal model without shifting the
labels: each position learns the token that it has read, not the next one.

## Why is this bad?
`label_smoothing_factor` takes the loss away from the model. The Trainer shifts labels
only where the name of the model's class is in its list of causal models. Most
vision-language models, models with remote code and custom subclasses are not. The loss
falls fast, since copying is easy, and the model repeats the last word again and again.

## Evidence
label_smoothing_factor is not 0; the loss is the Trainer's own; the class is not in
MODEL_FOR_CAUSAL_LM_MAPPING_NAMES; and the model's loss is transformers' causal one,
which shifts, in a model that is not an encoder-decoder. No threshold. Missing from the
list are 87 of 94 classes of vision-language models with transformers 5.23, 41 of 46
with 4.57.
Measured on both: 60 steps with 0.1 on a tiny LLaVA, and on a subclass of Llama. 95 %
of the most probable tokens are the token read, and at most 2 % the next one; with 0.0
it is at most 4 % and 90 %.
By hand: `(logits.argmax(-1) == input_ids).float().mean()` after some steps, and the
model's own `model(**batch).loss` against the loss that is logged.

## What to try
1. `label_smoothing_factor=0`.
2. A compute_loss_func that shifts: `cross_entropy(logits[:, :-1].flatten(0, 1),
   labels[:, 1:].flatten(), label_smoothing=0.1)`.

## Known problems
A forward that does not call self.loss_function is not judged: it is not known whether
it shifts. A collator that has shifted the labels already would be right here; the
model's own loss would then shift twice.

## References
- transformers, Trainer.compute_loss, LabelSmoother
- huggingface/transformers#17960, #27161 (the same with GPT-2, and with PEFT)
"""

from ftlab.rules.reading.asked import arguments, is_trainers, made
from ftlab.rules.reading.saving import needs_model, span
from ftlab.rules.rule import Results, Rule, Run


class SmoothedTargetsUnshifted(Rule):
    """Finds smoothed losses that teach to copy."""

    code = "ENV005"
    layer = "numerics"
    requires = needs_model

    def applies(self, run: Run) -> bool:
        """Tell whether a Trainer smooths labels."""
        return is_trainers(run) and (
            not run.facts.model or bool(arguments(run).get("label_smoothing_factor"))
        )

    def check(self, run: Run) -> Results:
        """Yield one finding where the two losses predict different tokens."""
        if made(run).get("smoothing") != "unshifted":
            return
        factor = arguments(run).get("label_smoothing_factor", 0.0)
        kind = str(run.facts.model.get("class", "the model"))
        yield self.error(
            f"label_smoothing_factor={factor} trains {kind} to copy each token: the "
            "smoothed loss does not shift the labels",
            cause="The Trainer shifts only for classes in its list of causal models; "
            "this one shifts in its own loss, which smoothing replaces.",
            fix="label_smoothing_factor=0, or a compute_loss_func that shifts: "
            "cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), "
            f"label_smoothing={factor}).",
            places={"config": "label_smoothing_factor", "call": "compute_loss"},
            steps=span(run),
            reason="unshifted",
            evidence={"factor": float(factor)},
            healthy="the loss compares each position with the token after it",
        )
