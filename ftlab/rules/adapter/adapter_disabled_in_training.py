"""The rule ADP003, adapter-disabled-in-training.

## What it does
Finds training forwards that run with adapter layers switched off.

## Why is this bad?
The layers compute what the base model computes. Their adapters are not in the graph and
learn nothing, and PEFT freezes them as well. Where something else is trained too (a
head), nothing fails: the loss keeps falling, through the head alone.

## Evidence
The flag of every adapter layer, read at each forward with a graph; there is no
threshold. A pass is wrong when a layer is off in *every* forward that the same backward
follows: a reference pass with the adapter off and a graph, beside the one with it on,
is not. An optimizer must hold the adapter. Which call switched it off is read from the
operations, where it was made while watched. A module in `modules_to_save` that is off
counts like a layer.
Measured: found at the step of the first such forward, on LoRA and IA3, through
`disable_adapter_layers`, transformers' `disable_adapters` and a flag set by hand.
By hand: `[m.disable_adapters for m in model.modules() if hasattr(m,
"disable_adapters")]`.

## What to try
1. Compare with the base model in `with model.disable_adapter():`, which switches the
   adapter on again when it ends, even after an exception.
2. `model.base_model.enable_adapter_layers()`. After transformers' own
   `enable_adapters()` check modules_to_save: 5.23 leaves those switched off.

## Known problems
Training a head on the bare base, with an adapter that the optimizer holds too, looks
the same.

## References
- huggingface/peft#493, #703, #912
- NVIDIA-NeMo/Megatron-Bridge#5945
"""

from ftlab.rules.reading.adapter_states import (
    Pass,
    adapter_tensors,
    calls_of,
    needs_states,
    passes_of,
    tensors_in,
)
from ftlab.rules.rule import Finding, Place, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, in_words, listed


class AdapterDisabledInTraining(Rule):
    """Finds adapters that are switched off while the model is trained."""

    code = "ADP003"
    status = "stable"
    requires = needs_states

    def check(self, run: Run) -> Results:
        """Yield one finding for all layers."""
        found = [each for each in passes_of(run) if each.in_all("disabled")]
        if found and adapter_tensors(run):
            yield self._finding(run, found)

    def _finding(self, run: Run, found: list[Pass]) -> Finding:
        layers = found[-1].in_all("disabled")
        of = found[-1].forwards[0].layers
        first, last = found[0].step, found[-1].step
        calls = calls_of(run, "disable_adapters")
        named = f"{listed(calls)}() was" if calls else "A call that was not seen"
        cause = (
            f"{named} called and not undone before training continued."
            if calls
            else f"{named} switched them off: before watching began, or by hand."
        )
        return self.finding(
            Severity.ERROR if len(layers) == of else Severity.WARNING,
            f"{at_steps(first, last)}: {len(layers)} of {of} adapter layers were "
            f"disabled in training forwards: {in_words(layers)}",
            cause=cause + " A disabled layer runs only the base layer, and PEFT "
            "freezes its adapter.",
            fix="Use `with model.disable_adapter():` around the comparison, or call "
            "enable_adapter_layers() before training continues.",
            places=[
                *(Place("module", path) for path in layers),
                *(Place("call", call) for call in calls or _USUAL),
                Place("config", "disable_adapters"),
                *tensors_in(run, layers),
            ],
            steps=(first, last),
            evidence={
                "disabled_layers": len(layers),
                "layers": of,
                "passes": len(found),
                "threshold": 0,
            },
            healthy="no adapter layer is disabled in a forward that backward follows",
        )


_USUAL = ("disable_adapter_layers",)
