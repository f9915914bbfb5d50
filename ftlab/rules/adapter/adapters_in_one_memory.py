"""The rule ADP050, adapters-in-one-memory.

## What it does
Finds two adapters of one model whose factors share memory: training one of them changes
the other one bit for bit.

## Why is this bad?
A copy of an adapter kept as the reference of preference training, as the best state so
far or as the start of a second task moves with the trained one: the KL to it is always
0, rolling back changes nothing, and two tasks overwrite each other.
`requires_grad=False` does not help: nothing is written to the copy.

## Evidence
Address and shape of A and B of every two adapters in each layer, read once before the
first step. A finding where both factors of a pair have the same address and either
adapter is trainable. There is no threshold. A single shared factor is intentional, as
for tasks with a common A, and is not reported.
Measured with peft 0.21.2: `set_peft_model_state_dict(model, tensors, "ref",
low_cpu_mem_usage=True)` with the tensors of `get_peft_model_state_dict(model)` puts the
same tensors of "default" into "ref"; without low_cpu_mem_usage it copies them.
By hand: `layer.lora_B["ref"].weight.data_ptr() ==
layer.lora_B["default"].weight.data_ptr()`.

## What to try
1. Copy: `{k: v.clone() for k, v in get_peft_model_state_dict(model).items()}`, or leave
   out low_cpu_mem_usage.
2. `p.data.copy_(q.data)` instead of `p.data = q.data`.
3. `model.load_adapter(folder, adapter_name="ref")` reads a copy from the disk.

## Known problems
What is tied after the first step is not seen. Only LoRA pairs are checked.

## References
- PyTorch, `Module.load_state_dict(assign=True)`: keeps the tensors that it is given
- huggingface/trl#4723, #1193 (a second adapter as the reference)
"""

from collections.abc import Iterator

from ftlab.records.finding import Finding, NotChecked, Place, Severity
from ftlab.records.name_words import in_words
from ftlab.rules.reading.saving import Described, has_adapters, needs_model, span, start
from ftlab.rules.rule import Rule
from ftlab.rules.words import counted
from ftlab.runlog.run import Run


class AdaptersInOneMemory(Rule):
    """Finds adapters that cannot differ."""

    code = "ADP050"
    name = "adapters-in-one-memory"
    since = "0.1.0"
    status = "stable"
    requires = (needs_model,)

    def applies(self, run: Run) -> bool:
        """Tell whether there are adapters."""
        return has_adapters(run)

    def check(self, run: Run) -> Iterator[Finding | NotChecked]:
        """Yield one finding for every two adapters."""
        for row in start(run).get("shared_adapters") or ():
            if row["trainable"]:
                yield self._finding(run, row)

    def _finding(self, run: Run, row: Described) -> Finding:
        one, other = row["adapters"]
        return self.finding(
            Severity.WARNING,
            f"adapters {one} and {other} share memory in {row['shared']} of "
            f"{counted(row['pairs'], 'layer')}: {in_words(row['tensors'])}",
            cause="The tensors of one adapter were assigned to the other without "
            "copying (an assignment of .data, assign=True, low_cpu_mem_usage=True): "
            "every update changes both.",
            fix="Copy the values: p.data.copy_(q.data), or clone the tensors before "
            "they are loaded.",
            places=[
                *(Place("param", name) for name in row["tensors"]),
                Place("call", "set_peft_model_state_dict"),
            ],
            steps=span(run),
            evidence={"shared": row["shared"], "pairs": row["pairs"], "threshold": 0},
            healthy="each adapter has memory of its own",
        )
