"""The rule ADP053, reference-shares-memory.

## What it does
Finds frozen tensors (of a target network, a reference, a saved copy) that share memory
with trained tensors.

## Why is this bad?
The copy that should stay fixed moves with each update. The difference between the two
is always 0: a KL term, a consistency loss or a "before and after" has no effect, and
nothing fails.

## Evidence
The address, shape, strides and dtype of all parameters: two that are equal in all of
them, are parameters of their own, and of which one is frozen and the other trainable.
At least two such pairs. There is no threshold. Not counted are tied weights (one
parameter with two names), adapters that are shared as one parameter, projections that
are shared as buffers, and parts of a flat buffer, which lie beside one another.
Measured with torch 2.13 on a tiny Llama and its target, `assign=True`: the squared
distance of their logits is 0 in all of 8 steps, and grows to 0.019 without it.
By hand: `reference.data_ptr() == policy.data_ptr()`.

## What to try
1. `reference.data.copy_(policy.data)`, or `policy.detach().clone()`.
2. `target.load_state_dict(online.state_dict())` without `assign=True`, or with a
   `copy.deepcopy` of the state.
3. `copy.deepcopy(model)` for a whole reference.

## Known problems
A frozen view of a whole model that should follow it (for generation during training,
within one module) is reported, though it is not a reference. A reference outside of the
watched model is not seen. Two LoRA adapters that share memory are reported by ADP050.

## References
- pytorch/pytorch#34765, pytorch/tutorials#188 (a state dict is references)
- trl `trainer/dpo_trainer.py`: the values of the adapter are copied into "ref"
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.saving import needs_model
from ftlab.rules.reading.wiring import count_of, names_of, param_places, steps_of
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class ReferenceSharesMemory(Rule):
    """Finds frozen copies that are no copies."""

    code = "ADP053"
    name = "reference-shares-memory"
    since = "0.1.0"
    status = "preview"
    requires = (needs_model,)

    def check(self, run: Run) -> Iterator[Finding]:
        """Yield one finding for all of them."""
        shared = run.facts.model.get("shared_memory") or {}
        frozen, trained = (
            names_of(shared.get("frozen")),
            names_of(shared.get("trained")),
        )
        if not frozen:
            return
        count = count_of(shared["frozen"])
        yield self.finding(
            Severity.WARNING,
            f"from step {steps_of(run)[0]}: {counted(count, 'frozen tensor')} share "
            f"the memory of trained ones and change with them: {in_words(frozen)} and "
            f"{in_words(trained)}",
            cause="The tensors were assigned, not copied: reference.data = "
            "policy.data, or load_state_dict(policy.state_dict(), assign=True).",
            fix="reference.data.copy_(policy.data), or load_state_dict without "
            "assign=True; copy.deepcopy for a whole model.",
            places=[
                *param_places(frozen),
                Place("call", "load_state_dict"),
                *param_places(trained),
            ],
            steps=steps_of(run),
            evidence={"reason": "same-memory", "tensors": count, "threshold": 0},
            healthy="frozen tensors have memory of their own",
        )
