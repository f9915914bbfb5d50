"""The rule ADP050, copy-shares-memory.

## What it does
Finds copies that are none: two adapters of one model whose factors share memory, and
frozen tensors (of a target network, a reference, a saved copy) that share it with
trained ones.

## Why is this bad?
What should stay fixed, or be trained apart, moves with each update, bit for bit. The KL
to a reference or a consistency loss is always 0, rolling back to the best state changes
nothing, and two tasks overwrite each other. `requires_grad=False` does not help:
nothing is written to the copy, and nothing fails.

## Evidence
Read once before the first step. There is no threshold.
- *adapters*: address and shape of A and B of every two adapters in each layer. Both
  factors of a pair have the same address and either adapter is trainable. A single
  shared factor is intentional, as for tasks with a common A.
- *same-memory*: address, shape, strides and dtype of all parameters. At least two pairs
  are equal in all of them, are parameters of their own, and one is frozen and the other
  trainable. Not counted are tied weights (one parameter with two names), adapters that
  are shared as one parameter, projections that are shared as buffers, and parts of a
  flat buffer, which lie beside one another.

Measured with peft 0.21.2: `set_peft_model_state_dict(model, tensors, "ref",
low_cpu_mem_usage=True)` with the tensors of `get_peft_model_state_dict(model)` puts the
same tensors of "default" into "ref"; without low_cpu_mem_usage it copies them. With
torch 2.13 on a tiny Llama and its target, `assign=True`: the squared distance of their
logits is 0 in all of 8 steps, and grows to 0.019 without it.
By hand: `reference.data_ptr() == policy.data_ptr()`.

## What to try
1. `reference.data.copy_(policy.data)` instead of `reference.data = policy.data`.
2. `target.load_state_dict(online.state_dict())` without `assign=True`, or
   `copy.deepcopy(model)` for a whole reference.
3. An adapter: `{k: v.clone() for k, v in get_peft_model_state_dict(model).items()}`, or
   leave out low_cpu_mem_usage; `model.load_adapter(folder, adapter_name="ref")` reads a
   copy from the disk.

## Known problems
What is tied after the first step is not seen, nor a reference outside of the watched
model. Of two adapters only LoRA pairs are checked. A frozen view of a whole model that
should follow it (for generation during training, within one module) is reported, though
it is not a reference.

## References
- PyTorch, `Module.load_state_dict(assign=True)`: keeps the tensors that it is given
- pytorch/pytorch#34765, pytorch/tutorials#188 (a state dict is references)
- huggingface/trl#4723, #1193 (a second adapter as the reference)
- trl `trainer/dpo_trainer.py`: the values of the adapter are copied into "ref"
"""

from ftlab.rules.reading.saving import Described, needs_model, span, start
from ftlab.rules.reading.wiring import count_of, names_of, param_places, steps_of
from ftlab.rules.rule import Finding, Place, Results, Rule, Run
from ftlab.rules.words import counted, in_words


class CopySharesMemory(Rule):
    """Finds adapters that cannot differ, and frozen copies that are no copies."""

    code = "ADP050"
    status = "stable"
    requires = needs_model

    def check(self, run: Run) -> Results:
        """Yield one finding for every two adapters, and one for frozen tensors."""
        for row in start(run).get("shared_adapters") or ():
            if row["trainable"]:
                yield self._adapters(run, row)
        shared = run.facts.model.get("shared_memory") or {}
        if frozen := names_of(shared.get("frozen")):
            yield self._frozen(run, frozen, shared)

    def _adapters(self, run: Run, row: Described) -> Finding:
        one, other = row["adapters"]
        return self.warning(
            f"adapters {one} and {other} share memory in {row['shared']} of "
            f"{counted(row['pairs'], 'layer')}: {in_words(row['tensors'])}",
            cause="The tensors of one adapter were assigned to the other without "
            "copying (an assignment of .data, assign=True, low_cpu_mem_usage=True): "
            "every update changes both.",
            fix="Copy the values: p.data.copy_(q.data), or clone the tensors before "
            "they are loaded.",
            places={"param": row["tensors"], "call": "set_peft_model_state_dict"},
            steps=span(run),
            reason="adapters",
            evidence={"shared": row["shared"], "pairs": row["pairs"], "threshold": 0},
            healthy="each adapter has memory of its own",
        )

    def _frozen(self, run: Run, frozen: list[str], shared: Described) -> Finding:
        trained, count = names_of(shared.get("trained")), count_of(shared["frozen"])
        return self.warning(
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
            reason="same-memory",
            evidence={"tensors": count, "threshold": 0},
            healthy="frozen tensors have memory of their own",
        )
