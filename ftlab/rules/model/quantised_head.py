"""The rule MOD007, quantised-head.

## What it does
Finds heads in 4 or 8 bits in a model that is trained: a new task head, which then
cannot learn, and the output embeddings.

## Why is this bad?
A quantised weight requires no gradient. A new head that was quantised always stays a
random projection, and the adapter has to bend the whole model towards it. Output
embeddings in 4 bits put their rounding error straight into the logits, where no later
layer can compensate.

## Evidence
Linear layers outside of the numbered blocks and of the pretrained body whose weight is
quantised, in a run with an optimizer. With as many rows as the vocabulary it is the
output head; others are task heads. A head is new if its deviation is that of the
model's `initializer_range`, or of `nn.Linear` itself, within 4 standard errors
(s / sqrt(2 n)) plus 3 % for the rounding of 4 bits. A head with an adapter, one in 8
bits that is not new, and a task head that is not new are info.
Measured over 600 fresh heads in NF4: the deviation moves by at most 3.4 % (2 x 64
weights), from 64 x 256 on by at most 0.3 %. A tiny Llama in NF4 is off by 15 % in its
logits with the head in floating point, and by 17 % with the head in NF4 too.
By hand: `{n: type(m).__name__ for n, m in model.named_modules() if "head" in n}`, and
`model.score.weight.dtype`.

## What to try
1. Do not set `llm_int8_skip_modules`, or name the head in it as well: it replaces what
   transformers would have skipped.
2. In a loop that swaps layers: skip what is not in a numbered block.
3. With a head left in floating point: `modules_to_save=["score"]`.

## Known problems
With 256,000 rows the memory saved may be worth the error of a 4-bit head.

## Known myths
"A new head in 4 bits is silent with transformers": measured on 5.23, a head that the
checkpoint lacks raises at its first forward, and so does `modules_to_save` of a 4-bit
head; one that was saved with the checkpoint, and one that a loop has swapped, does not.

## References
- huggingface/transformers#24037 (`llm_int8_skip_modules` and a classifier)
- unslothai/unsloth#5027, unslothai/unsloth-zoo#594 (heads converted to Linear4bit)
- transformers `quantizers/base.py` (`get_keys_to_not_convert`)
"""

from collections.abc import Mapping
from typing import Any

from ftlab.rules.reading.needs import needs_model_facts
from ftlab.rules.reading.wiring import is_trained, steps_of
from ftlab.rules.rule import Finding, Results, Rule, Run, Severity
from ftlab.rules.words import number

CAUSES: Mapping[str, str] = {
    "fresh-head": "The new head was quantised with the rest of the model: quantised "
    "weights require no gradient, so it keeps its random initialization.",
    "task-head": "The head was quantised with the rest of the model. It cannot be "
    "trained.",
    "output-head": "The output embeddings were quantised with the blocks: a list in "
    "llm_int8_skip_modules replaces the default, and a custom loop skips nothing by "
    "itself.",
}


class QuantisedHead(Rule):
    """Finds heads that are quantised in a model that is trained."""

    code = "MOD007"
    status = "stable"
    requires = needs_model_facts

    def applies(self, run: Run) -> bool:
        """Leave models without quantised heads, or that are only used, out."""
        model = run.facts.model
        return not model or (bool(model.get("quantised_heads")) and is_trained(run))

    def check(self, run: Run) -> Results:
        """Yield one finding per head."""
        for head in run.facts.model["quantised_heads"]:
            yield self._finding(run, head)

    def _finding(self, run: Run, head: Mapping[str, Any]) -> Finding:
        kind, severity = _judged(head)
        first, _ = steps = steps_of(run)
        fresh = (
            ", and still at its random initialization: deviation "
            f"{number(head['std'])}, initialized with {number(head['drawn_with'])}"
            if kind == "fresh-head"
            else ""
        )
        last = str(head["module"]).rpartition(".")[2]
        return self.finding(
            severity,
            f"step {first}: {head['module']} {tuple(head['shape'])} is in "
            f"{head['bits']} bits{fresh}",
            cause=CAUSES[kind],
            fix=f'Quantise with "{last}" added to llm_int8_skip_modules, or do not set '
            "that at all.",
            places={
                "module": head["module"],
                "param": f"{head['module']}.weight",
                "config": "llm_int8_skip_modules",
            },
            steps=steps,
            reason=kind,
            evidence={
                "bits": head["bits"],
                "std": head["std"],
                "threshold": "4 standard errors and 3 %",
            },
            healthy="heads are in floating point",
        )


def _judged(head: Mapping[str, Any]) -> tuple[str, Severity]:
    """Tell what kind of head it is, and how bad that is."""
    if head["kind"] == "output":
        told = head["adapted"] or head["bits"] == 8
        return "output-head", Severity.INFO if told else Severity.WARNING
    if head["drawn_with"] is None or head["adapted"]:
        return "task-head", Severity.INFO
    return "fresh-head", Severity.ERROR
