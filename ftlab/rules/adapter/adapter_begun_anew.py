"""The rule ADP037, adapter-begun-anew.

## What it does
Finds adapters that are reset to their initial values during training, so that what they
have learned is lost.

## Why is this bad?
Each reset costs all that was learned since the last one; what is saved at the end
contains only the last stretch. The loss jumps back to that of the base model, which in
a noisy curve looks like an epoch boundary, and the optimizer's moments belong to other
weights.

## Evidence
For methods that add a product (LoRA, DoRA, LoHa, LoKr, VeRA, AdaLoRA): `grad_l2` of the
tensors of each layer. While one factor is 0 the gradients of the others are exactly 0;
a step at which they are so again, after they were not, and at which a gradient still
arrives, in at least half of the adapter's layers. For IA3: `off_one`, exactly 0 after
it was above. Twice is a warning, once is info. Not counted:
- after a merge, an unload, a save or a change of the adapters since the last step (as
  in ReLoRA, or one adapter per task), or where the base under it has changed by as
  much,
- when an optimizer steps that had not before (folds of a cross-validation),
- tensors in float16, whose small gradients are 0 as well.
Measured over 40 steps with a reset after each 8 (LoRA, LoHa, IA3): all 4 resets; in the
healthy runs of the gallery none.
By hand: print `max(p.abs().max() for n, p in model.named_parameters() if "lora_B" in
n)` after each epoch; it must not be 0 again.

## What to try
1. Move `reset_lora_parameters`, `reset_adapter_parameters` or `nn.init` out of the
   loop: they belong where the adapter is created.
2. For ReLoRA merge first: `model.merge_and_unload()`, then a new adapter, then a new
   optimizer.
3. For several tasks: save the adapter, then start again with a new optimizer.

## Known problems
A reset right after a checkpoint is taken for the beginning of a new task. If only some
layers are reset in turn, up to half of them, it is not reported.

## References
- Lialin et al. 2023, ReLoRA, arXiv:2307.05695 (merge, then reset)
- huggingface/peft: `LoraLayer.reset_lora_parameters`, `IA3Layer.reset_ia3_parameters`
"""

from ftlab.rules.reading.needs import needs_gradients
from ftlab.rules.reading.restarts import Restarts, restarts_of
from ftlab.rules.reading.wiring import may_hold_adapters
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import at_steps, counted, in_words, listed

OFTEN = 2
"""Restarts from which it is a habit of the loop."""

SOME = 4
"""Steps that are named in a message."""


class AdapterBegunAnew(Rule):
    """Finds adapters that lose what they learned, again and again."""

    code = "ADP037"
    status = "stable"
    requires = needs_gradients
    applies = staticmethod(may_hold_adapters)

    def check(self, run: Run) -> Results:
        """Yield one finding per adapter."""
        for adapter, restarts in restarts_of(run).items():
            yield self._finding(adapter, restarts)

    def _finding(self, adapter: str, found: Restarts) -> Finding:
        steps = found.steps
        count = len(steps)
        named = listed([str(step) for step in steps], SOME)
        return self.finding(
            Severity.WARNING if count >= OFTEN else Severity.INFO,
            f"{at_steps(steps[0], steps[-1])}: adapter {adapter} returned to its "
            f"initial values {counted(count, 'time')} (step {named}), in "
            f"{len(found.modules)} of {counted(found.layers, 'layer')}: "
            f"{in_words(found.modules)}",
            cause="Something in the loop restores the adapter's initial values: a "
            "reset at each epoch, or an initialisation that is called again.",
            fix="Reset an adapter where it is created, not in the loop; merge or save "
            "it before it is reset.",
            places={"module": found.modules, "object": f"adapter {adapter}"},
            steps=(steps[0], steps[-1]),
            reason="set-back",
            evidence={
                "restarts": count,
                "layers": len(found.modules),
                "threshold": OFTEN,
            },
            healthy="after its first update an adapter never returns to its initial "
            "values",
        )
