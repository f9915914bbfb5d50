"""The rule MEM002, outputs-outlive-their-step.

## What it does
Finds outputs of the model that something still holds when the next step's forward
begins.

## Why is this bad?
The logits of two steps, and their caches of keys and values, lie in memory at once: the
peak is higher than it need be, and memory runs out from the second step on.

## Evidence
Before the forwards of three steps in a row, from the sixth on, the tensors that the
model put out in the step before are alive. Told from 5 % of the bytes of the model's
weights: logits of 8 rows of 2,048 tokens over 128,256 tokens take 3.9 GiB in bfloat16,
a quarter of a model of 8B in that dtype. A note; a warning where they have 5 % of the
GPU's memory.

## What to try
1. `del output` once `loss.item()` was read, or compute the step in a function.
2. Keep numbers, not tensors: `loss.item()`, `logits.argmax(-1).cpu()`.
3. `model.config.use_cache = False` while training.

## Known problems
Where the next batch is much shorter there may be room for both.

## References
- meta-pytorch/torchtune#1046, foundation-model-stack/fms-fsdp#152
- huggingface/transformers#23808 (caches while training)
"""

from ftlab.records.holding import Growth, path_text
from ftlab.records.sizes import size
from ftlab.rules.rule import Results, Rule, Run, Severity, needs_step_values
from ftlab.runlog.codec import from_json


class OutputsOutliveTheirStep(Rule):
    """Finds what the model put out, held until the next forward."""

    code = "MEM002"
    requires = needs_step_values("idle_bytes", "the memory in use", "ftlab.watch(...)")

    def check(self, run: Run) -> Results:
        """Yield a finding for the holder of the largest."""
        for event in run.whole.events:
            if event.kind == "memory" and "kept" in event.detail:
                held = from_json(Growth, event.detail["kept"])
                weights, room = event.detail["weights"], event.detail["room"]
                share = event.detail["share"]
                tight = room and held.bytes >= share * room
                name = path_text(held.path)
                yield self.finding(
                    Severity.WARNING if tight else Severity.INFO,
                    f"`{name}` still holds {size(held.bytes)} of the step before "
                    f"({held.example}) when the forward of step {event.step} begins",
                    cause="A name keeps what the model put out until it is given the "
                    "next output, which is made before that.",
                    fix=f"Let go of `{name}` once the loss was read (del), or compute "
                    "the step in a function.",
                    places={"object": name},
                    steps=(event.step - 2, event.step),
                    evidence={
                        "bytes": held.bytes,
                        "share_of_weights": held.bytes / weights,
                        "threshold": share,
                    },
                    healthy="outputs are gone when the next forward begins",
                )
