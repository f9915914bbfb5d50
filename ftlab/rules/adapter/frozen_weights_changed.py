"""The rule ADP007, frozen-weights-changed.

## What it does
Finds weights that do not require a gradient but change all the same: at a step, by a
write, or by merge cycles, as `(W + dW) - dW` is rounded twice and no longer W.

## Why is this bad?
With an adapter, the frozen base is what the adapter belongs to: only the adapter is
saved, and it will be loaded on the original base. Whatever was learned in the base is
lost, and with the adapter off the model is no longer the base model. Rounding errors of
merges add up: a long run that merges to sync weights (GRPO with a generation engine)
slowly degrades, and no adapter is the cause.

## Evidence
A sample of up to 256 elements of each frozen weight, compared with what it was when the
weight was first seen frozen: all of them at steps 0 to 4, 8, 16, 32, ..., after merging
and unmerging, and once a write is noticed: on the CPU 16 elements of 16 weights in turn
are looked at after each update, and after every fourth the writes that torch counts.
Any change counts but for the rounding of merge cycles: 8 epsilons of the dtype each
(measured: at most 2.8), and 8e-6 under an adapter, for what is merged and
taken out by hand; below 5e-4 that waits for the next look at the adapters, whose size
decides. A weight into which an adapter is merged at that time, and what
merge_and_unload leaves, are not compared. A weight that is trained, and frozen again,
is compared with what it was then. Left out is the base of an adapter that was set back
to 0 in the run: it was merged by hand and begun anew (ReLoRA). Weights that an
optimizer still holds and that have a gradient left were changed by it (*optimizer*),
the others by something else (*written*). Compared as well are those of an adapter that
is frozen while another one learns: for these, which are loaded, filled and swapped, the
optimizer alone counts, and only with a gradient of 0 or one that stays the same: two
that learn in turns have a new one each.
Measured with AdamW at 1e-2: after 4 steps of one adapter, 8 steps of another one
move the first by up to 0.045, the size it had, where `zero_grad(set_to_none=False)`
keeps its gradients at 0. Without an adapter in the model, and in no optimizer, a
change is only noted: a teacher that follows the trained weights does that.
*merge-cycles*: what rounding has changed under an adapter, from 1e-3 of the mean
magnitude on, as info after one cycle and as a warning from the second one on. For 4-bit
and 8-bit weights any packed byte that changed counts.
Measured (AdamW, lr 1e-4 to 1e-2): one cycle changes float32 by 1e-7 to 3e-7, float16 by
5e-4 to 2e-3, bfloat16 by 4e-3 to 2e-2; 100 cycles float32 by 1e-5 at most, bfloat16 by
0.27 to 0.99. The change grows with the number of cycles, about 1 epsilon each.
By hand: `before = {n: p.detach().clone() for n, p in model.named_parameters() if not
p.requires_grad}`, some steps, and compare with `torch.equal`.

## What to try
1. Freezing in the middle of a run: `p.requires_grad_(False); p.grad = None`, or rebuild
   the optimizer. An optimizer updates whatever has a gradient.
2. Adapters in turn: an optimizer for each, or `zero_grad()` with its defaults, which
   sets the gradients to None.
3. Look for `.data`, `copy_`, `load_state_dict` and re-initialisation in callbacks.
4. Reload the base weights before continuing.
5. *merge-cycles*: sync only the adapter, where the engine can serve it; merge into a
   copy, restore the base from one after each cycle, or hold it in float32.

## Known problems
Loading different base weights on purpose while watched is reported. Where single rows
of a weight change (an embedding), the sample may miss them. One cycle in bf16 costs
about one rounding and is harmless: the number of cycles counts.

## Known myths
*Merging and unmerging is lossless.* In float32 nearly: 1e-5 after 100 cycles. In bf16
not: 3 in 10 elements have changed after two cycles, 6 in 10 after ten.

## References
- huggingface/transformers#34468 (base weights changed by an initialisation)
- huggingface/peft#2018 (a tied weight changed by a merge)
- Lialin et al. 2023, ReLoRA (merged and begun anew, on purpose)
- huggingface/trl#6688 (drift over cycles, bf16 against float32)
- KohakuBlueleaf/LyCORIS#264
"""

from collections.abc import Sequence

from ftlab.rules.reading.adapter_states import calls_of
from ftlab.rules.reading.frozen import Change, changes_of
from ftlab.rules.reading.lora import begun_anew
from ftlab.rules.rule import Finding, Place, Results, Rule, Severity, needs_step_values
from ftlab.rules.words import at_steps, counted, in_words, number
from ftlab.runlog.run import Run

DRIFT = 1e-3
"""Change relative to the mean magnitude from which on it is told."""

CYCLES = 2
"""Merge cycles from which on errors add up."""


class FrozenWeightsChanged(Rule):
    """Finds frozen weights that change."""

    code = "ADP007"
    status = "stable"
    requires = needs_step_values(
        "frozen_compared", "a comparison of the frozen weights"
    )
    caused_by = ("ADP003", "ADP004", "ADP008", "ADP023", "ADP009")

    def applies(self, run: Run) -> bool:
        """Tell whether anything was frozen, or nothing is known of that."""
        models = [facts.model for facts in run.facts_history]
        counts = [(each.get("parameters"), each.get("trainable")) for each in models]
        return not counts or any(None in each or len({*each}) > 1 for each in counts)

    def check(self, run: Run) -> Results:
        """Yield one finding per reason."""
        changes = changes_of(run)
        if drifted := [each for each in changes if _is_drift(each)]:
            yield self._drift(run, drifted)
        found = [
            each
            for each in changes
            if not each.by_rounding and not (each.tied and each.layer)
        ]
        restarted = begun_anew(run) if found else set()
        found = [each for each in found if each.layer not in restarted]
        by_optimizer = [each for each in found if each.stepped]
        others = [each for each in found if not each.stepped]
        if by_optimizer:
            yield self._finding(run, by_optimizer, stepped=True)
        if others:
            yield self._finding(run, others, stepped=False)

    def _finding(self, run: Run, found: Sequence[Change], *, stepped: bool) -> Finding:
        names = [each.name.name for each in found]
        worst = max(found, key=lambda each: each.relative)
        first = min(each.first for each in found)
        last = max(each.last for each in found)
        under = bool(run.names("adapter_states"))
        place = Place("optimizer", "param_groups")
        return self.finding(
            Severity.WARNING if stepped or under else Severity.INFO,
            f"{at_steps(first, last)}: {counted(len(found), 'frozen weight')} changed "
            f"by up to {number(worst.relative)} of the mean magnitude: "
            f"{in_words(names)}",
            cause=_BY_OPTIMIZER if stepped else _BY_CODE,
            fix="After requires_grad_(False) set p.grad = None, or rebuild the "
            "optimizer from what is trainable."
            if stepped
            else "Look for .data, copy_, load_state_dict and re-initialisation in the "
            "loop and its callbacks; reload the base weights.",
            places=[*(Place("param", name) for name in names), *([place] * stepped)],
            steps=(first, last),
            reason="optimizer" if stepped else "written",
            evidence={
                "weights": len(found),
                "change": worst.relative,
                "changed_share": worst.share,
            },
            healthy="a frozen weight keeps every bit",
        )

    def _drift(self, run: Run, found: Sequence[Change]) -> Finding:
        found = sorted(found, key=lambda each: -each.relative)
        worst, cycles = found[0], max(each.cycles for each in found)
        names = [each.name.name for each in found]
        share = max(each.share for each in found)
        dtype = "packed bytes" if worst.quantized else worst.name.dtype
        much = number(share if worst.quantized else worst.relative)
        size = "of the bytes" if worst.quantized else "of the mean magnitude"
        last = max(each.last for each in found)
        return self.finding(
            Severity.WARNING if cycles >= CYCLES else Severity.INFO,
            f"step {last}: {counted(cycles, 'merge cycle')} changed "
            f"{counted(len(found), 'frozen weight')} ({dtype}) by up to {much} {size}: "
            f"{in_words(names)}",
            cause=f"Adding the adapter's product to weights in {dtype} and subtracting "
            "it again rounds twice; the errors stay in the base and add up.",
            fix="Restore the base weights from a copy after each cycle, merge into a "
            "copy, sync only the adapter, or hold the base in float32.",
            places={"param": names, "call": calls_of(run, "merge", "unmerge")},
            steps=(min(each.first for each in found), last),
            reason="merge-cycles",
            evidence={
                "cycles": cycles,
                "change": worst.relative,
                "changed_share": share,
                "weights": len(found),
                "dtype": dtype,
                "threshold": DRIFT,
            },
            healthy="a merge cycle changes float32 weights by 3e-7 of their mean "
            "magnitude",
        )


_BY_OPTIMIZER = (
    "They no longer require a gradient, but an optimizer holds them and they have one "
    "left: it is applied at every step."
)
_BY_CODE = (
    "Something other than the optimizer wrote to them: the change is too large for an "
    "adapter's merge cycle."
)


def _is_drift(each: Change) -> bool:
    """Tell what merge cycles have rounded, and by enough."""
    rounded = each.layer and not each.tied and each.cycles and each.by_rounding
    return bool(rounded) and (each.quantized or each.relative >= DRIFT)
